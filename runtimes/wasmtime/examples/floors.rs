//! Calls on clean instances, in turns with the least that they can take.
//!
//! * An empty call on a new instance each, and the least that Wasmtime takes for it. That is an
//!   instance of the same module without data, on a memory that nobody makes clean, and a call
//!   without a check of types. As in the adapter, eight instances follow each other in one store.
//! * A call that writes to each page of 1 MiB, and a loop with AVX2 that reads so many pages once.
//!
//! ```sh
//! cargo run --release -p touchstone-wasmtime --example floors
//! ```

#[path = "../../../tests/fixtures/turns.rs"]
#[expect(dead_code, reason = "the calls of host functions are those of the other examples")]
mod turns;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, ExportId, Imports, Instance, InstanceFrom, MemoryFrom, Strategy,
};
use wasmtime::{
    Engine, Extern, InstancePre, LinearMemory, Linker, MemoryCreator, MemoryType, Module, Store,
    ValRaw,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const GUEST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built/test-runtime.wasm");
const EXPORT: &str = "test_empty_return";
/// Takes a place and a number of pages, and writes a byte into each page of the host from there on.
const DIRTY: &str = "test_dirty_plenty_memory";
/// Pages of WebAssembly in 1 MiB.
const MIB: u32 = 16;
/// Instances that follow each other in a store.
const TENANTS: usize = 8;
/// Calls of a sample.
const CALLS: usize = 2_000;
/// Addresses of a memory, with the guard behind it.
const RESERVED: usize = (4 << 30) + (64 << 20);

/// One of eight mappings that serve all instances in turn.
struct Dirty {
    base: usize,
    size: usize,
}

// SAFETY: the mapping at `base` is never unmapped and does not move; `size` bytes of it are
// accessible, and the guard behind them is not. Of the instances in a store, each has another one.
unsafe impl LinearMemory for Dirty {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.size
    }

    fn grow_to(&mut self, _size: usize) -> wasmtime::Result<()> {
        wasmtime::bail!("it does not grow")
    }

    fn as_ptr(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.base)
    }
}

struct Mappings {
    bases: Vec<usize>,
    next: AtomicUsize,
}

// SAFETY: as above. `minimum` bytes were made accessible.
unsafe impl MemoryCreator for Mappings {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        _reserved: Option<usize>,
        _guard: usize,
    ) -> std::result::Result<Box<dyn LinearMemory>, String> {
        let base = self.bases[self.next.fetch_add(1, Ordering::Relaxed) % self.bases.len()];
        Ok(Box::new(Dirty { base, size: minimum }))
    }
}

/// A mapping whose first bytes are accessible.
fn map(size: usize) -> Result<usize> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, of which the first bytes are opened.
    let base = unsafe {
        let base = mmap_anonymous(std::ptr::null_mut(), RESERVED, ProtFlags::empty(), flags)?;
        mprotect(base, size, MprotectFlags::READ | MprotectFlags::WRITE)?;
        base
    };
    Ok(base.expose_provenance())
}

/// The module on memories that nobody makes clean.
fn floor(guest: &GuestModule) -> Result<InstancePre<()>> {
    let memory = guest.info().memory.ok_or("no memory")?;
    let size = memory.minimum as usize * 65_536;
    let bases = (0..TENANTS).map(|_| map(size)).collect::<Result<_>>()?;
    let mut settings = wasmtime::Config::new();
    settings.concurrency_support(false).gc_support(false).memory_init_cow(false);
    settings.memory_may_move(false);
    settings.with_host_memory(Arc::new(Mappings { bases, next: AtomicUsize::new(0) }));
    let engine = Engine::new(&settings)?;
    let module = Module::new(&engine, guest.without_data()?)?;
    let mut linker = Linker::new(&engine);
    linker.define_unknown_imports_as_traps(&module)?;
    Ok(linker.instantiate_pre(&module)?)
}

/// Reads all of it once.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
fn read(words: &[u64]) -> u64 {
    words.iter().fold(0, |all, word| all | word)
}

/// A call that writes to each page of 1 MiB, against a loop that reads the same number of pages.
fn against_reading(guest: &GuestModule, engine: &dyn MeasuredEngine) -> Result<()> {
    let words = vec![1_u64; (MIB as usize * 65_536) / 8];
    let heap_base = guest.info().heap_base.ok_or("no heap base")?;
    let input = [heap_base.to_le_bytes(), MIB.to_le_bytes()].concat();
    for strategy in [
        Strategy::new(InstanceFrom::Reuse, MemoryFrom::Tracked),
        Strategy::new(InstanceFrom::Pooling, MemoryFrom::Resident),
    ] {
        let (mut instance, run) = instance(guest, engine, strategy, DIRTY)?;
        let mut output = Vec::new();
        let own = || {
            for _ in 0..CALLS {
                let ended = instance.call(run, &input, &mut output).expect("it is clean");
                assert!(ended.trap().is_none());
            }
        };
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_unsafe, reason = "it needs nothing"))]
        let raw = || {
            for _ in 0..CALLS {
                // SAFETY: `main` has looked for what this needs of the processor.
                black_box(unsafe { read(black_box(&words)) });
            }
        };
        turns::compare(
            &format!("{CALLS} calls that write 1 MiB, {strategy}, against reading it"),
            own,
            raw,
        );
    }
    Ok(())
}

/// An instance, and an export of Substrate's convention.
fn instance(
    guest: &GuestModule,
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    export: &str,
) -> Result<(Box<dyn Instance>, ExportId)> {
    let config = Config { imports: Imports::Trap, ..Config::default() };
    let artifact = engine.compile(guest, strategy, &config)?;
    let module = engine.load(guest, &artifact, strategy, &config)?;
    Ok((module.new_instance()?, module.export(export, Abi::Substrate)?))
}

fn main() -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    if !is_x86_feature_detected!("avx2") {
        return Err("the loop that reads needs AVX2".into());
    }
    let bytes = std::fs::read(GUEST)?;
    let heap = HeapPages { extra: 2048, growth: Growth::Fixed };
    let guest = GuestModule::new("test-runtime", &bytes, heap)?;
    let base = guest.info().heap_base.ok_or("no heap base")?.cast_signed();
    let pre = floor(&guest)?;
    let export = pre.module().get_export_index(EXPORT).ok_or("no such export")?;
    let engines = touchstone_wasmtime::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    for strategy in [
        Strategy::new(InstanceFrom::Recreate, MemoryFrom::Tracked),
        Strategy::new(InstanceFrom::Pooling, MemoryFrom::Resident),
    ] {
        let (mut instance, run) = instance(&guest, &**engine, strategy, EXPORT)?;
        let mut output = Vec::new();
        let own = || {
            for _ in 0..CALLS {
                let ended = instance.call(run, &[], &mut output).expect("it is clean");
                assert!(ended.trap().is_none());
            }
        };
        let raw = || {
            for _ in 0..CALLS / TENANTS {
                let mut store = Store::new(pre.module().engine(), ());
                for _ in 0..TENANTS {
                    let instance = pre.instantiate(&mut store).expect("an instance");
                    let found = instance.get_module_export(&mut store, &export);
                    let run = found.and_then(Extern::into_func).expect("a function");
                    let mut values = [ValRaw::i32(base), ValRaw::i32(0)];
                    // SAFETY: the export has the type of Substrate's convention, or the contract
                    // would not have found it: the array holds the parameters and has room for the
                    // result.
                    unsafe { run.call_unchecked(&mut store, &raw mut values[..]) }
                        .expect("it returns");
                }
            }
        };
        turns::compare(&format!("{CALLS} calls, {strategy}, against the floor"), own, raw);
    }
    against_reading(&guest, &**engine)
}
