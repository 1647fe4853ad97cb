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

    let raw = wasmtime::Engine::default();
    let mut store = wasmtime::Store::new(&raw, ());
    let mut linker = wasmtime::Linker::new(&raw);
    linker.func_wrap("env", "f", |_: wasmtime::Caller<'_, ()>| ())?;
    let raw = linker.instantiate(&mut store, &wasmtime::Module::new(&raw, &wasm)?)?;
    let raw = raw.get_typed_func::<i32, ()>(&mut store, "f")?;
    const CALLS: i32 = 1_000_000;
    turns::compare(
        "Wasmtime, a million empty host calls",
        || f.call(&mut *instance, (CALLS,)).expect("the host works").expect("the guest returns"),
        || raw.call(&mut store, CALLS).expect("the guest returns"),
    );
    Ok(())
}
