//! An empty call of a host function, through the contract and through wasmi's own interface, in
//! turns: a million calls a sample.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, Functions, HostCall, Strategy, TypedExport};

const LOOP: &str = include_str!("../../../tests/fixtures/host_call.wat");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wasm = wat::parse_str(LOOP)?;
    let mut functions = Functions::none();
    functions.wrap("env", "f", |_: &mut HostCall<'_>| Ok(()));
    let config = Config { functions, ..Config::default() };
    let engines = touchstone_wasmi::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmi").ok_or("no engine")?;
    let guest = GuestModule::new("loop", &wasm, HeapPages::default())?;
    let artifact = engine.compile(&guest, Strategy::INTERPRETED, &config)?;
    let module = engine.load(&guest, &artifact, Strategy::INTERPRETED, &config)?;
    let f = TypedExport::<(i32,), ()>::of(&guest, &*module, "f")?;
    let mut instance = module.new_instance()?;

    const CALLS: i32 = 1_000_000;
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
            || f.call(&mut *instance, (CALLS,)).expect("it runs").expect("it returns"),
            || raw.call(&mut store, CALLS).expect("it returns"),
        );
    }
    Ok(())
}
