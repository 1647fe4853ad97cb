//! An empty call of a host function, through the contract and through Wasmtime's own interface, in
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
    let engines = touchstone_wasmtime::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let guest = GuestModule::new("loop", &wasm, HeapPages::default())?;
    let artifact = engine.compile(&guest, Strategy::TRACKED, &config)?;
    let module = engine.load(&guest, &artifact, Strategy::TRACKED, &config)?;
    let f = TypedExport::<(i32,), ()>::of(&guest, &*module, "f")?;
    let mut instance = module.new_instance()?;

    const CALLS: i32 = 1_000_000;
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
            || f.call(&mut *instance, (CALLS,)).expect("it runs").expect("it returns"),
            || raw.call(&mut store, CALLS).expect("it returns"),
        );
    }
    Ok(())
}
