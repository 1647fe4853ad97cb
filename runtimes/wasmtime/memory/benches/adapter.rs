//! The embedder's own store with this crate, against Touchstone's adapter of Wasmtime: the same
//! call on the same module, in turns.
//!
//! ```sh
//! cargo bench -p touchstone-wasmtime-memory --bench adapter
//! ```

mod turns;

use touchstone_executor::adapter::{RawCall, RawFrame, copy_output};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Imports};
use touchstone_wasmtime_memory::{Clean, configure, prepare};
use turns::{Call, Result};
use wasmtime::{Engine, Instance, Linker, Module, Store};

const GUEST: &[u8] = include_bytes!("../../../../test-runtime/built/test-runtime.wasm");
const HEAP: HeapPages =
    HeapPages { extra: 2048, growth: touchstone_executor::guest::Growth::Fixed };
/// Pages that a call writes to, 16 of 64 KiB.
const MIB: &[u32] = &[16];

fn input(guest: &GuestModule, numbers: &[u32]) -> Vec<u8> {
    let base = guest.info().heap_base.filter(|_| !numbers.is_empty());
    base.into_iter().chain(numbers.iter().copied()).flat_map(u32::to_le_bytes).collect()
}

/// Imports that the host does not have trap, on both sides.
fn config() -> Config {
    Config { imports: Imports::Trap, ..Config::default() }
}

/// The adapter, by its contract.
fn adapter(guest: &GuestModule, export: &str, input: Vec<u8>) -> Result<Call> {
    let engines = touchstone_wasmtime::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let (config, strategy) = (config(), "instance_reuse_tracked".parse()?);
    let artifact = engine.compile(guest, strategy, &config)?;
    let module = engine.load(guest, &artifact, strategy, &config)?;
    let export = module.export(export, Abi::Substrate)?;
    let mut instance = module.new_instance()?;
    let mut output = Vec::new();
    Ok(Box::new(move || {
        let outcome = instance.call(export, &input, &mut output).unwrap();
        assert!(outcome.trap().is_none());
        let _ = &module;
    }))
}

/// The side of the crate: a store with the memory, the header and the input of the adapter's side.
fn own(guest: &GuestModule, export: &str, input: &[u8]) -> Result<Call> {
    let pages = guest.info().memory.ok_or("no memory")?.minimum;
    let mut settings = wasmtime::Config::new();
    configure(&mut settings);
    settings.concurrency_support(false).gc_support(false);
    let engine = Engine::new(&settings)?;
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
    let (strategy, config) = ("instance_reuse_tracked".parse()?, config());
    let frame = RawFrame::of(guest, &RawCall { strategy, config: &config, export, input });
    let frame = frame.ok_or("no heap base")?;
    let mut output = Vec::new();
    Ok(Box::new(move || {
        frame.place(memory.data_mut(&mut store)).unwrap();
        let packed = call.call(&mut store, (frame.pointer(), frame.length())).unwrap();
        copy_output(memory.data(&store), packed, &mut output).unwrap();
        clean.reset(&mut store).unwrap();
    }))
}

fn sides(export: &str, numbers: &[u32]) -> Result<[Call; 2]> {
    let guest = GuestModule::new("test-runtime", GUEST, HEAP)?;
    let input = input(&guest, numbers);
    Ok([own(&guest, export, &input)?, adapter(&guest, export, input)?])
}

fn main() -> Result<()> {
    turns::run(
        ["own store", "adapter"],
        &[
            ("empty call", || sides("test_empty_return", &[])),
            ("1 MiB of zeros written", || sides("test_dirty_plenty_memory", MIB)),
            ("1 MiB of ones written", || sides("test_dirty_with_ones", MIB)),
        ],
    )
}
