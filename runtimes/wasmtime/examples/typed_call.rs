//! A clean empty call with values, as README shows it, in turns with the call that the page times:
//! of the same export by Substrate's convention, on another hot instance of the same module.
//!
//! ```sh
//! cargo run --release -p touchstone-wasmtime --example typed_call
//! ```

#[path = "../../../tests/fixtures/turns.rs"]
#[expect(dead_code, reason = "the calls of host functions are those of the other examples")]
mod turns;

use std::time::Duration;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Imports, InstanceFrom, Limits, MemoryFrom, Strategy, TypedExport,
};

const GUEST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built/test-runtime.wasm");
const EXPORT: &str = "test_empty_return";
/// Calls of a sample.
const CALLS: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bytes = std::fs::read(GUEST)?;
    let guest = GuestModule::new("test-runtime", &bytes, HeapPages::default())?;
    let base = guest.info().heap_base.ok_or("no heap base")?.cast_signed();
    let engines = touchstone_wasmtime::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let second = Some(Duration::from_secs(1));
    for (instance, deadline) in
        [(InstanceFrom::Reuse, None), (InstanceFrom::Reuse, second), (InstanceFrom::Recreate, None)]
    {
        let strategy = Strategy::new(instance, MemoryFrom::Tracked);
        let interruptible = deadline.is_some();
        let config = Config { imports: Imports::Trap, interruptible, ..Config::default() };
        let artifact = engine.compile(&guest, strategy, &config)?;
        let module = engine.load(&guest, &artifact, strategy, &config)?;
        let run = TypedExport::<(i32, i32), i64>::of(&guest, &*module, EXPORT)?;
        let timed = module.export(EXPORT, Abi::Substrate)?;
        let (mut one, mut other) = (module.new_instance()?, module.new_instance()?);
        let typed = || {
            for _ in 0..CALLS {
                let ended = match deadline {
                    None => run.call(&mut *one, (base, 0)),
                    Some(_) => {
                        let limits = Limits { deadline, ..Limits::default() };
                        let options = CallOptions { limits, ..CallOptions::default() };
                        run.call_with(&mut *one, (base, 0), options)
                    }
                };
                ended.expect("it is clean").expect("it returns");
            }
        };
        let mut output = Vec::new();
        let page = || {
            for _ in 0..CALLS {
                let outcome = other.call(timed, &[], &mut output).expect("it is clean");
                assert!(outcome.trap().is_none());
            }
        };
        let limit = if interruptible { ", with a deadline" } else { "" };
        turns::compare(&format!("{CALLS} calls with values{limit}, {strategy}"), typed, page);
    }
    Ok(())
}
