//! Ways of running WasmEdge that no engine offers, for the tests of this crate.

use crate::api::{self, Ast, Executor, Settings, Source, Store};
use crate::engine::{Mode, WasmEdge};
use crate::signals;
use crate::signals::{FaultRange, while_running};
use touchstone_executor::adapter::MeasuredEngine;
use wasmedge_sys::ffi;

/// An engine that claims to compile, in WasmEdge's just-in-time mode, which interprets.
#[must_use]
pub fn just_in_time() -> Box<dyn MeasuredEngine> {
    Box::new(WasmEdge(Mode::JustInTime))
}

/// Calls compiled code that traps, on several threads, with or without the guardian.
/// Fails if WasmEdge cannot be set up, or a call does not end in the trap.
pub fn trap_on_threads(
    wasm: &[u8],
    threads: usize,
    calls: usize,
    guard: bool,
) -> Result<(), String> {
    api::log_off();
    if guard {
        signals::guard("wasmedge_aot").map_err(|error| error.to_string())?;
    }
    let bytes = api::compile(wasm, ffi::WasmEdge_CompilerOptimizationLevel_O0)?;
    std::thread::scope(|scope| {
        let started: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| trap_often(&bytes, calls))).collect();
        started.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        })
    })
}

fn trap_often(bytes: &[u8], calls: usize) -> Result<(), String> {
    let settings = Settings::new(ffi::WasmEdge_RunMode_AOT)?;
    let module = Ast::load(&settings, Source::Bytes(bytes))?;
    let (executor, store) = (Executor::new(&settings)?, Store::new()?);
    // SAFETY: the module imports nothing.
    let instance = unsafe { executor.instantiate(&store, &module) };
    let instance = instance.map_err(|failure| failure.to_string())?;
    let function = instance.function("trap").ok_or("there is no function 'trap'")?;
    for _ in 0..calls {
        // SAFETY: the function is of the live instance, and takes and gives nothing.
        let ended = while_running(FaultRange::Anywhere, || unsafe {
            executor.invoke(function, &[], &mut [])
        });
        match ended {
            Err(failure) if failure.code() == Some(0x0408) => {}
            other => return Err(format!("the call ended with {other:?}")),
        }
    }
    Ok(())
}
