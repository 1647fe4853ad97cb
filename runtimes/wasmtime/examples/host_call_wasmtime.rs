//! An empty call of a host function, through the contract and through Wasmtime's own interface, in
//! turns: a million calls a sample.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use touchstone_executor::Strategy;
use turns::{CALLS, empty_calls};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines = touchstone_wasmtime::engines();
    let own = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let (wasm, mut own) = empty_calls(&**own, Strategy::TRACKED)?;
    let engine = wasmtime::Engine::default();
    let module = wasmtime::Module::new(&engine, &wasm)?;
    let empty = wasmtime::FuncType::new(&engine, [], []);
    for is_typed in [true, false] {
        let mut store = wasmtime::Store::new(&engine, ());
        let mut linker = wasmtime::Linker::new(&engine);
        match is_typed {
            true => linker.func_wrap("env", "f", |_: wasmtime::Caller<'_, ()>| ())?,
            false => linker.func_new("env", "f", empty.clone(), |_, _, _| Ok(()))?,
        };
        let raw = linker.instantiate(&mut store, &module)?;
        let raw = raw.get_typed_func::<i32, ()>(&mut store, "f")?;
        turns::compare(
            if is_typed { "a million calls, against func_wrap" } else { "against func_new" },
            &mut own,
            || raw.call(&mut store, CALLS).expect("it returns"),
        );
    }
    Ok(())
}
