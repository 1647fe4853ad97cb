//! Clean calls on a new instance of Wasmtime's pool under many settings of the pool, in turns: how
//! much of a memory it keeps resident, and if it finds written pages by `PAGEMAP_SCAN`. Prints each
//! setting's time over that of the setting that Touchstone compares with, the median of the rounds.
//!
//! ```sh
//! cargo run --release -p touchstone-wasmtime --example pool_settings
//! ```

use std::time::Instant;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Store,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const GUESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/");
/// Rounds, and the time of a sample in ns.
const ROUNDS: usize = 41;
const SAMPLE: u128 = 400_000;
const KIB: usize = 1024;

/// Settings of a pool.
#[derive(Clone, Copy, PartialEq)]
struct Setting {
    /// Bytes of a memory that are kept, and of a table up to 64 KiB.
    keep: usize,
    scan: bool,
    copy_on_write: bool,
}

/// Touchstone's `pooling_cow_resident`.
const COMPARED: Setting = Setting { keep: 4096 * KIB, scan: true, copy_on_write: true };

fn settings() -> Vec<Setting> {
    let resident = |scan: bool| {
        let sizes = [64, 256, 1024, 4096, 16_384, 65_536, 262_144];
        let sizes = sizes.into_iter().filter(move |kib| scan || *kib <= 1024);
        sizes.map(move |kib| Setting { keep: kib * KIB, scan, copy_on_write: true })
    };
    let none = [true, false].map(|own| Setting { keep: 0, scan: false, copy_on_write: own });
    none.into_iter().chain(resident(true)).chain(resident(false)).collect()
}

/// A call with its input.
#[derive(Clone, Copy)]
enum Call {
    /// In Substrate's convention: an export, and if it is told to write 256 pages.
    Substrate(&'static str, bool),
    /// An export that gets a file, in memory of the guest's allocator.
    Bytes(&'static str, &'static str),
}

const CASES: [(&str, &str, u32, Call); 6] = [
    ("empty, 32 pages", "test-runtime", 32, Call::Substrate("test_empty_return", false)),
    ("empty, 2048 pages", "test-runtime", 2048, Call::Substrate("test_empty_return", false)),
    ("1 MiB, 32 pages", "test-runtime", 32, Call::Substrate("test_dirty_plenty_memory", true)),
    ("1 MiB, 2048 pages", "test-runtime", 2048, Call::Substrate("test_dirty_plenty_memory", true)),
    ("JSON, 39 B", "json-module", 0, Call::Bytes("run_small_bytes", "small.json")),
    ("JSON, 1.4 KB", "json-module", 0, Call::Bytes("run_big_bytes", "big.json")),
];

/// A module in a pool of its own.
struct Pooled {
    pre: InstancePre<()>,
    call: Call,
    input: Vec<u8>,
    base: u32,
}

impl Pooled {
    fn new(setting: Setting, guest: &GuestModule, call: Call) -> Result<Self> {
        let (mut config, mut pool) = (Config::new(), PoolingAllocationConfig::default());
        pool.total_core_instances(4).total_memories(4).total_tables(4).table_elements(20_000);
        if setting.keep > 0 {
            let scan = if setting.scan { Enabled::Yes } else { Enabled::No };
            pool.linear_memory_keep_resident(setting.keep)
                .table_keep_resident(64 * KIB)
                .pagemap_scan(scan);
        }
        config.concurrency_support(false).gc_support(false);
        config.memory_init_cow(setting.copy_on_write);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, guest.wasm())?;
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&module)?;
        let base = guest.info().heap_base.ok_or("no heap base")?.next_multiple_of(8);
        let input = match call {
            Call::Substrate(_, false) => Vec::new(),
            Call::Substrate(_, true) => [base.to_le_bytes(), 16_u32.to_le_bytes()].concat(),
            Call::Bytes(_, file) => std::fs::read(format!("{GUESTS}inputs/{file}"))?,
        };
        Ok(Self { pre: linker.instantiate_pre(&module)?, call, input, base })
    }

    fn call(&self) -> Result<()> {
        let mut store = Store::new(self.pre.module().engine(), ());
        let instance = self.pre.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("no memory")?;
        let length = self.input.len() as u32;
        match self.call {
            Call::Substrate(export, _) => {
                // Behind the eight bytes of Substrate's allocator.
                let place = self.base + 8;
                memory.write(&mut store, place as usize, &self.input)?;
                let run = instance.get_typed_func::<(u32, u32), u64>(&mut store, export)?;
                run.call(&mut store, (place, length))?;
            }
            Call::Bytes(export, _) => {
                let alloc = instance.get_typed_func::<u32, u32>(&mut store, "alloc")?;
                let place = alloc.call(&mut store, length)?;
                memory.write(&mut store, place as usize, &self.input)?;
                let run = instance.get_typed_func::<(u32, u32), ()>(&mut store, export)?;
                run.call(&mut store, (place, length))?;
            }
        }
        Ok(())
    }

    /// Time of a call, ns.
    fn sample(&self, calls: u32) -> Result<f64> {
        let start = Instant::now();
        (0..calls).try_for_each(|_| self.call())?;
        Ok(start.elapsed().as_nanos() as f64 / f64::from(calls))
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<()> {
    for (name, file, extra, call) in CASES {
        let bytes = std::fs::read(format!("{GUESTS}built/{file}.wasm"))?;
        let growth = if extra > 0 { Growth::Fixed } else { Growth::AsDeclared };
        let guest = GuestModule::new(file, &bytes, HeapPages { extra, growth })?;
        let settings = settings();
        let sides = settings.iter().map(|setting| Pooled::new(*setting, &guest, call));
        let sides: Vec<Pooled> = sides.collect::<Result<_>>()?;
        let mut counts = Vec::new();
        for side in &sides {
            side.sample(50)?;
            counts.push((SAMPLE / (side.sample(50)? as u128).max(1)).clamp(1, 10_000) as u32);
        }
        let mut times = vec![Vec::new(); sides.len()];
        for round in 0..ROUNDS {
            // Each round begins with another one.
            for step in 0..sides.len() {
                let side = (step * 7 + round) % sides.len();
                times[side].push(sides[side].sample(counts[side])?);
            }
        }
        let compared = settings.iter().position(|own| *own == COMPARED).ok_or("it is missing")?;
        let of_compared = times[compared].clone();
        for (setting, times) in settings.iter().zip(&mut times) {
            let ratios = times.iter().zip(&of_compared).map(|(one, other)| one / other);
            let ratio = median(&mut ratios.collect::<Vec<_>>());
            let Setting { keep, scan, copy_on_write } = setting;
            let how = match (keep, scan, copy_on_write) {
                (0, _, true) => "copy-on-write, nothing resident".to_owned(),
                (0, ..) => "copied segments, nothing resident".to_owned(),
                (_, true, _) => format!("{} KiB resident, PAGEMAP_SCAN", keep / KIB),
                (_, false, _) => format!("{} KiB resident, cleared", keep / KIB),
            };
            println!("{name}\t{how}\t{:.0} ns\t{ratio:.3}", median(times));
        }
    }
    Ok(())
}
