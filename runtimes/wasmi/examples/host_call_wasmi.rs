//! An empty call of a host function, through the contract and through wasmi's own interface, in
//! turns: a million calls a sample.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use touchstone_executor::Strategy;
use turns::{CALLS, empty_calls};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines = touchstone_wasmi::engines();
    let own = engines.iter().find(|engine| engine.id() == "wasmi").ok_or("no engine")?;
    let (wasm, mut own) = empty_calls(&**own, Strategy::INTERPRETED)?;
    let engine = wasmi::Engine::default();
    let module = wasmi::Module::new(&engine, &wasm)?;
    for is_typed in [true, false] {
        let mut store = wasmi::Store::new(&engine, ());
        let mut linker = wasmi::Linker::new(&engine);
        let empty = wasmi::FuncType::new([], []);
        match is_typed {
            true => linker.func_wrap("env", "f", |_: wasmi::Caller<'_, ()>| ())?,
            false => linker.func_new("env", "f", empty, |_, _, _| Ok(()))?,
        };
        let raw = linker.instantiate_and_start(&mut store, &module)?;
        let raw = raw.get_typed_func::<i32, ()>(&mut store, "f")?;
        turns::compare(
            if is_typed { "a million calls, against func_wrap" } else { "against func_new" },
            &mut own,
            || raw.call(&mut store, CALLS).expect("it returns"),
        );
    }
    Ok(())
}
