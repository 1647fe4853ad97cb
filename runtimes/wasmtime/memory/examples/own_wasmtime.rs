//! Plain Wasmtime with a `Linker`, reset between calls, against a new instance of `InstancePre` in
//! Wasmtime's tuned pool. Both make the same calls, timed in turns:
//!
//! ```sh
//! cargo run --release -p touchstone-wasmtime-memory --example own_wasmtime
//! ```

use std::time::Instant;
use touchstone_wasmtime_memory::{Clean, configure, prepare};
use wasmtime::{
    Caller, Config, Enabled, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Result, Store,
};

/// `call(n)` writes to `n` pages of 4 KiB, tells the host, and returns how many calls it remembers.
const GUEST: &str = r#"(module
    (import "host" "log" (func $log (param i32)))
    (memory 64) (data (i32.const 1024) "data of the module")
    (global $calls (mut i32) (i32.const 0))
    (func (export "call") (param $pages i32) (result i32)
        (loop $next
            (i32.store8 (i32.mul (local.get $pages) (i32.const 4096)) (i32.const 1))
            (br_if $next
                (local.tee $pages (i32.sub (local.get $pages) (i32.const 1)))))
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (call $log (global.get $calls))
        (global.get $calls)))"#;

/// Data of the host in each store.
#[derive(Default)]
struct Host {
    log: Vec<i32>,
}

fn linked(config: &Config, wasm: &[u8]) -> Result<InstancePre<Host>> {
    let engine = Engine::new(config)?;
    let module = Module::new(&engine, wasm)?;
    let mut linker = Linker::new(&engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Host>, value: i32| {
        caller.data_mut().log.push(value);
    })?;
    linker.instantiate_pre(&module)
}

/// One instance for all calls.
fn reset_in_place(wasm: &[u8]) -> Result<impl FnMut(i32) -> Result<i32> + use<>> {
    let mut config = settings();
    configure(&mut config);
    let pre = linked(&config, &prepare(wasm)?)?;
    let mut store = Store::new(pre.module().engine(), Host::default());
    let instance = pre.instantiate(&mut store)?;
    let call = instance.get_typed_func::<i32, i32>(&mut store, "call")?;
    let mut clean = Clean::snapshot(&mut store, &instance)?;
    Ok(move |pages| {
        let result = call.call(&mut store, pages)?;
        clean.reset_with(&mut store, |host| host.log.clear())?;
        Ok(result)
    })
}

/// A new instance for each call, in a pool that keeps pages and asks the kernel which were written.
fn pooled(wasm: &[u8]) -> Result<impl FnMut(i32) -> Result<i32> + use<>> {
    let (mut config, mut pool) = (settings(), PoolingAllocationConfig::default());
    pool.linear_memory_keep_resident(4 << 20)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let pre = linked(&config, wasm)?;
    let export = pre.module().get_export_index("call").expect("the module exports it");
    Ok(move |pages| {
        let mut store = Store::new(pre.module().engine(), Host::default());
        let instance = pre.instantiate(&mut store)?;
        let call = instance.get_module_export(&mut store, &export);
        let call = call.and_then(wasmtime::Extern::into_func).expect("a function");
        call.typed::<i32, i32>(&store)?.call(&mut store, pages)
    })
}

/// Settings of both sides: nothing that costs time in each store and is not used.
fn settings() -> Config {
    let mut config = Config::new();
    config.concurrency_support(false).gc_support(false);
    config
}

fn main() -> Result<()> {
    let wasm = wat::parse_str(GUEST)?;
    let (mut clean, mut pool) = (reset_in_place(&wasm)?, pooled(&wasm)?);
    for (name, pages) in [("one page written", 1), ("1 MiB written", 256)] {
        let slot = |call: &mut dyn FnMut(i32) -> Result<i32>| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..50 {
                assert_eq!(call(pages)?, 1, "a call remembers the one before");
            }
            Ok(start.elapsed().as_secs_f64() / 50.0)
        };
        let mut times = Vec::new();
        for round in 0..400 {
            let (ours, theirs) = match round % 2 {
                0 => (slot(&mut clean)?, slot(&mut pool)?),
                _ => {
                    let theirs = slot(&mut pool)?;
                    (slot(&mut clean)?, theirs)
                }
            };
            times.push((theirs / ours, ours * 1e9, theirs * 1e9));
        }
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        // The median of the pairs, and an interval of 95 % for it.
        let ([low, high], (ratio, ours, theirs)) = ([times[180].0, times[219].0], times[200]);
        println!(
            "{name}: reset {ours:.0} ns, pool {theirs:.0} ns, ratio {ratio:.1} [{low:.1}–{high:.1}]"
        );
    }
    Ok(())
}
