//! The embedder's own store with this crate, against a new instance of `InstancePre` in Wasmtime's
//! pool, tuned: the same call, in turns.
//!
//! ```sh
//! cargo bench -p touchstone-wasmtime-memory --features preview2 --bench pool
//! ```

#[cfg(feature = "preview2")]
#[path = "../tests/guests/preview2.rs"]
mod preview2;
mod turns;

use touchstone_wasmtime_memory::{Clean, configure, prepare};
use turns::{Call, Case, Result};
use wasmtime::component::{self, Component};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, Linker, Module, PoolingAllocationConfig,
    Store,
};

/// The guest traps unless it finds what a new instance has, and changes all of it.
const COMPONENT: &str = include_str!("../tests/guests/component.wat");
const MODULE: &str = r#"(module
    (memory 64) (data (i32.const 1024) "data of the module") (global $calls (mut i32) (i32.const 0))
    (func (export "call")
        (if (global.get $calls) (then unreachable))
        (if (i32.load (i32.const 4096)) (then unreachable))
        (i32.store (i32.const 4096) (i32.const 1))
        (global.set $calls (i32.const 1))))"#;
/// Handles that the guests have at a time.
const HANDLES: u32 = 4;

/// Settings of both sides: nothing that costs time in each store and is not used.
fn settings() -> Config {
    let mut config = Config::new();
    config.concurrency_support(false).gc_support(false);
    config
}

fn reset_in_place() -> Result<Engine> {
    let mut config = settings();
    configure(&mut config);
    Ok(Engine::new(&config)?)
}

/// Pages are kept, and the kernel is asked which were written.
fn pooled() -> Result<Engine> {
    let (mut config, mut pool) = (settings(), PoolingAllocationConfig::default());
    pool.linear_memory_keep_resident(4 << 20)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Ok(Engine::new(&config)?)
}

fn module() -> Result<[Call; 2]> {
    let wasm = wat::parse_str(MODULE)?;
    let engine = reset_in_place()?;
    let module = Module::new(&engine, prepare(&wasm)?)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
    let call = instance.get_typed_func::<(), ()>(&mut store, "call")?;
    let mut clean = Clean::snapshot(&mut store, &instance)?;
    let own = move || {
        call.call(&mut store, ()).unwrap();
        clean.reset(&mut store).unwrap();
    };
    let engine = pooled()?;
    let module = Module::new(&engine, &wasm)?;
    let export = module.get_export_index("call").ok_or("no export")?;
    let pre = Linker::new(&engine).instantiate_pre(&module)?;
    let pool = move || {
        let mut store = Store::new(&engine, ());
        let instance = pre.instantiate(&mut store).unwrap();
        let call = instance.get_module_export(&mut store, &export);
        let call = call.and_then(wasmtime::Extern::into_func).unwrap();
        call.typed::<(), ()>(&store).unwrap().call(&mut store, ()).unwrap();
    };
    Ok([Box::new(own), Box::new(pool)])
}

/// The sides of a component's export, with new data of the store for each call, which is checked
/// after it.
fn component<T: 'static>(
    text: &str,
    export: &str,
    link: fn(&mut component::Linker<T>) -> wasmtime::Result<()>,
    data: fn() -> T,
    check: fn(&T),
) -> Result<[Call; 2]> {
    let wasm = wat::parse_str(text)?;
    let linked = |engine: &Engine, wasm: &[u8]| -> Result<_> {
        let component = Component::new(engine, wasm)?;
        let mut linker = component::Linker::new(engine);
        link(&mut linker)?;
        let index = component.get_export_index(None, export).ok_or("no export")?;
        Ok((linker.instantiate_pre(&component)?, index))
    };
    let engine = reset_in_place()?;
    let (pre, index) = linked(&engine, &prepare(&wasm)?)?;
    let mut store = Store::new(&engine, data());
    let instance = pre.instantiate(&mut store)?;
    let call = instance.get_typed_func::<(), ()>(&mut store, index)?;
    let mut clean = Clean::snapshot_component(&mut store, &instance, HANDLES)?;
    let own = move || {
        call.call(&mut store, ()).unwrap();
        check(store.data());
        clean.reset_with(&mut store, |host| *host = data()).unwrap();
    };
    let engine = pooled()?;
    let (pre, index) = linked(&engine, &wasm)?;
    let pool = move || {
        let mut store = Store::new(&engine, data());
        let instance = pre.instantiate(&mut store).unwrap();
        let call = instance.get_typed_func::<(), ()>(&mut store, index).unwrap();
        call.call(&mut store, ()).unwrap();
        check(store.data());
    };
    Ok([Box::new(own), Box::new(pool)])
}

const CASES: &[Case] = &[
    ("module", module),
    ("component", || component(COMPONENT, "call", |_| Ok(()), || (), |()| ())),
    #[cfg(feature = "preview2")]
    ("component of WASI 0.2, which writes to a stream and reads a clock", || {
        use preview2::{GUEST, Host};
        let written = |host: &Host| assert_eq!(&host.output.contents()[..], b"call 1\n");
        component(GUEST, "run", wasmtime_wasi::p2::add_to_linker_sync, Host::new, written)
    }),
];

fn main() -> Result<()> {
    turns::run(["reset", "pool"], CASES)
}
