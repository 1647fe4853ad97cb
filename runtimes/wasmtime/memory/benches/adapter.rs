//! The embedder's own store with this crate, against Touchstone's adapter of Wasmtime: the same
//! call on the same module, in turns.
//!
//! ```sh
//! cargo bench -p touchstone-wasmtime-memory --bench adapter
//! ```
//!
//! Each of twelve processes measures pairs of slots in random order and takes the median of their
//! ratios. Printed are the median of the processes and the 2nd lowest and 2nd highest, which is an
//! interval of 99 % for the median.

use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::{RawCall, RawFrame, copy_output};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config};
use touchstone_wasmtime_memory::{Clean, configure, prepare};
use wasmtime::{Engine, Instance, Linker, Module, Store};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
type Call = Box<dyn FnMut(&mut Vec<u8>)>;

const GUEST: &[u8] = include_bytes!("../../../../test-runtime/built/test-runtime.wasm");
const HEAP: HeapPages =
    HeapPages { extra: 2048, growth: touchstone_executor::guest::Growth::Fixed };
/// Calls: name, export, numbers of the input behind the heap base.
const CASES: [(&str, &str, &[u32]); 3] = [
    ("empty call", "test_empty_return", &[]),
    ("1 MiB of zeros written", "test_dirty_plenty_memory", &[16]),
    ("1 MiB of ones written", "test_dirty_with_ones", &[16]),
];
const PROCESSES: usize = 12;
const PAIRS: usize = 400;
const SLOT: Duration = Duration::from_micros(100);

fn input(guest: &GuestModule, numbers: &[u32]) -> Vec<u8> {
    let base = guest.info().heap_base.filter(|_| !numbers.is_empty());
    base.into_iter().chain(numbers.iter().copied()).flat_map(u32::to_le_bytes).collect()
}

/// The adapter, by its contract.
fn adapter(guest: &GuestModule, export: &str, input: Vec<u8>) -> Result<Call> {
    let engines = touchstone_wasmtime::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let (config, strategy) = (Config::default(), "instance_reuse_tracked".parse()?);
    let artifact = engine.compile(guest, strategy, &config)?;
    let module = engine.load(guest, &artifact, strategy, &config)?;
    let export = module.export(export, Abi::Substrate)?;
    let mut instance = module.new_instance()?;
    Ok(Box::new(move |output| {
        let outcome = instance.call(export, &input, output).unwrap();
        assert!(outcome.trap().is_none());
        let _ = &module;
    }))
}

/// The side of the crate: a store with the memory, the header and the input of the adapter's side.
fn own(guest: &GuestModule, export: &str, input: &[u8]) -> Result<Call> {
    let pages = guest.info().memory.ok_or("no memory")?.minimum;
    let mut config = wasmtime::Config::new();
    configure(&mut config);
    config.concurrency_support(false).gc_support(false);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, prepare(GUEST)?)?;
    let mut linker = Linker::new(&engine);
    linker.define_unknown_imports_as_traps(&module)?;
    let mut store = Store::new(&engine, ());
    // Not `Memory::new`, whose memories do not come from the configured creator.
    let memory = format!("(module (memory (export \"memory\") {pages} {pages}))");
    let memory = Module::new(&engine, wat::parse_str(memory)?)?;
    let memory = Instance::new(&mut store, &memory, &[])?.get_memory(&mut store, "memory");
    let memory = memory.ok_or("no memory")?;
    linker.define(&store, "env", "memory", memory)?;
    let instance = linker.instantiate(&mut store, &module)?;
    let call = instance.get_typed_func::<(u32, u32), u64>(&mut store, export)?;
    let mut clean = Clean::snapshot(&mut store, &instance)?;
    let (strategy, config) = ("instance_reuse_tracked".parse()?, Config::default());
    let frame = RawFrame::of(guest, &RawCall { strategy, config: &config, export, input });
    let frame = frame.ok_or("no heap base")?;
    Ok(Box::new(move |output| {
        frame.place(memory.data_mut(&mut store)).unwrap();
        let packed = call.call(&mut store, (frame.pointer(), frame.length())).unwrap();
        copy_output(memory.data(&store), packed, output).unwrap();
        clean.reset(&mut store).unwrap();
    }))
}

/// Nanoseconds of a call, over a slot.
fn slot(call: &mut Call, calls: u32, output: &mut Vec<u8>) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call(output);
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The medians of both sides and of the ratios, in this process.
fn measure(case: usize) -> Result<[f64; 3]> {
    let (_, export, numbers) = CASES[case];
    let guest = GuestModule::new("test-runtime", GUEST, HEAP)?;
    let input = input(&guest, numbers);
    let mut sides = [own(&guest, export, &input)?, adapter(&guest, export, input)?];
    let mut output = Vec::new();
    let calls = sides.each_mut().map(|call| {
        slot(call, 2000, &mut output);
        (SLOT.as_nanos() as f64 / slot(call, 2000, &mut output)).ceil() as u32
    });
    let mut times = [Vec::new(), Vec::new()];
    let random = RandomState::new();
    for pair in 0..PAIRS {
        let first = (random.hash_one(pair) & 1) as usize;
        for side in [first, 1 - first] {
            times[side].push(slot(&mut sides[side], calls[side], &mut output));
        }
    }
    let mut ratios: Vec<f64> =
        times[0].iter().zip(&times[1]).map(|(own, other)| own / other).collect();
    let [mut own, mut other] = times;
    Ok([median(&mut own), median(&mut other), median(&mut ratios)])
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, case] = &arguments[..]
        && child == "--child"
    {
        let [own, other, ratio] = measure(case.parse()?)?;
        println!("{own} {other} {ratio}");
        return Ok(());
    }
    for (case, (name, ..)) in CASES.iter().enumerate() {
        let mut columns = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..PROCESSES {
            let child = Command::new(std::env::current_exe()?);
            let output = { child }.args(["--child", &case.to_string()]).output()?;
            let text = String::from_utf8(output.stdout)?;
            for (column, number) in columns.iter_mut().zip(text.split_whitespace()) {
                column.push(number.parse()?);
            }
        }
        let [own, other, ratio] = columns.each_mut().map(|column| median(column));
        let [.., ratios] = &columns;
        let (low, high) = (ratios[1], ratios[PROCESSES - 2]);
        println!(
            "{name}: own store {own:.0} ns, adapter {other:.0} ns, own/adapter {ratio:.3} \
             [{low:.3}–{high:.3}]"
        );
    }
    Ok(())
}
