//! An empty call of a host function, through the contract and through Wasmtime's own interface, in
//! turns: a million calls a sample.
//!
//! `func_wrap` compiles the closure into the call. A table of functions, whose closures are known
//! at run time only, needs at least the second way: a boxed closure behind `func_new_unchecked`.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use std::hint::black_box;
use std::sync::Arc;
use touchstone_executor::{Strategy, Trap};
use turns::{CALLS, empty_calls};
use wasmtime::{Caller, Linker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines = touchstone_wasmtime::engines();
    let own = engines.iter().find(|engine| engine.id() == "wasmtime").ok_or("no engine")?;
    let (wasm, mut own) = empty_calls(&**own, Strategy::TRACKED)?;
    let engine = wasmtime::Engine::default();
    let module = wasmtime::Module::new(&engine, &wasm)?;
    let empty = wasmtime::FuncType::new(&engine, [], []);
    type Body = dyn Fn(&mut Caller<'_, ()>) -> Result<(), Box<Trap>> + Send + Sync;
    let body: Arc<Body> = Arc::new(|_| Ok(()));
    let body = black_box(body);
    for against in ["func_wrap", "a boxed closure", "func_new"] {
        let mut linker = Linker::new(&engine);
        match (against, Arc::clone(&body)) {
            ("func_wrap", _) => linker.func_wrap("env", "f", |_: Caller<'_, ()>| ())?,
            ("func_new", _) => linker.func_new("env", "f", empty.clone(), |_, _, _| Ok(()))?,
            (_, body) => {
                let call = move |mut caller: Caller<'_, ()>, _: &mut [_]| {
                    body(&mut caller).map_err(|trap| wasmtime::Error::new(*trap))
                };
                // SAFETY: a function without results has none to write.
                unsafe { linker.func_new_unchecked("env", "f", empty.clone(), call) }?
            }
        };
        let mut store = wasmtime::Store::new(&engine, ());
        let raw = linker.instantiate(&mut store, &module)?;
        let raw = raw.get_typed_func::<i32, ()>(&mut store, "f")?;
        turns::compare(&format!("a million calls, against {against}"), &mut own, || {
            raw.call(&mut store, CALLS).expect("it returns");
        });
    }
    Ok(())
}
