//! Calls on clean instances: `clean_calls ENGINE STRATEGY`, for instance
//!
//! ```sh
//! cargo run --release --features=wasmtime --example clean_calls wasmtime instance_reuse_tracked
//! ```

use anyhow::{Context, Result, ensure};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, MeasuredEngine, Strategy};

/// A guest that counts its calls: `f` returns the number of calls that it remembers.
const COUNTER: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "f") (result i32)
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (i32.load (i32.const 0))))"#;

/// Makes two calls on one module and returns their results.
fn two_calls(engine: &dyn MeasuredEngine, strategy: Strategy) -> Result<[Vec<u8>; 2]> {
    let (config, mut outputs) = (Config::default(), [Vec::new(), Vec::new()]);
    let guest = GuestModule::new("counter", &wat::parse_str(COUNTER)?, HeapPages::default())?;
    // Once: compile, load, look up the export.
    let artifact = engine.compile(&guest, strategy, &config)?;
    let module = engine.load(&guest, &artifact, strategy, &config)?;
    let export = module.export("f", Abi::Plain)?;
    // On each thread: an instance. Each call finds it as if it were new.
    let mut instance = module.new_instance()?;
    for output in &mut outputs {
        let outcome = instance.call(export, &[], output)?;
        ensure!(outcome.trap().is_none(), "the guest trapped: {outcome:?}");
    }
    Ok(outputs)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: clean_calls ENGINE STRATEGY";
    let (name, strategy) = arguments.next().zip(arguments.next()).context(usage)?;
    let engines = touchstone_runtimes::engines();
    let engine = engines.iter().find(|engine| engine.id() == name);
    let engine = engine.with_context(|| format!("no engine '{name}' in this build"))?;
    let [first, second] = two_calls(&**engine, strategy.parse()?)?;
    println!("first call: {first:?}, second call: {second:?}");
    Ok(())
}
