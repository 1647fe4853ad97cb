//! The host functions, on the executor's own allocator.
//!
//! The executor takes host functions as a type at compile time, without a place for state. So it
//! has these four only, whatever the host's table has. What logging needs is left on the calling
//! thread for the time of a call.

use sp_wasm_interface::wasmtime::Caller;
use sp_wasm_interface::{
    Function, FunctionContext, HostFunctionRegistry, HostFunctions, Pointer, anyhow,
};
use std::cell::RefCell;
use std::sync::Arc;
use touchstone_executor::adapter::HostState;
use touchstone_executor::guest::imports::{FREE, MALLOC};
use touchstone_executor::{Config, Trap, TrapKind};

const MAX_LOG_LEVEL: &str = "ext_logging_max_level_version_1";
const LOG: &str = "ext_logging_log_version_1";

/// The functions of [`Host`], of the module `env`.
pub(crate) const OFFERED: [&str; 4] = [MALLOC, FREE, MAX_LOG_LEVEL, LOG];

/// Allocator and log. Input that the guest fetches does not exist here: only
/// Substrate's convention can be called.
pub(crate) struct Host;

impl HostFunctions for Host {
    fn host_functions() -> Vec<&'static dyn Function> {
        // The dynamic way, which this executor does not go.
        Vec::new()
    }

    fn register_static<T: HostFunctionRegistry>(registry: &mut T) -> Result<(), T::Error> {
        registry.register_static(
            MALLOC,
            |caller: Caller<'_, T::State>, size: u32| -> anyhow::Result<u32> {
                T::with_function_context(caller, |guest| guest.allocate_memory(size))
                    .map(u32::from)
                    .map_err(refusal(MALLOC))
            },
        )?;
        registry.register_static(
            FREE,
            |caller: Caller<'_, T::State>, pointer: u32| -> anyhow::Result<()> {
                T::with_function_context(caller, |guest| {
                    guest.deallocate_memory(Pointer::new(pointer))
                })
                .map_err(refusal(FREE))
            },
        )?;
        registry.register_static(MAX_LOG_LEVEL, |_: Caller<'_, T::State>| -> u32 {
            current().map_or(0, |config| config.max_log_level)
        })?;
        registry.register_static(
            LOG,
            |caller: Caller<'_, T::State>, level: u32, target: u64, message: u64| {
                T::with_function_context(caller, |guest| log(guest, level, target, message))
                    .map_err(refusal(LOG))
            },
        )
    }
}

/// Turns the executor's words into a trap that `trap::sort` recognises.
fn refusal(function: &'static str) -> impl FnOnce(String) -> anyhow::Error {
    move |reason| anyhow::Error::new(refused(function, reason))
}

/// The trap of a function with a reason.
pub(crate) fn refused(function: &str, reason: impl Into<String>) -> Trap {
    TrapKind::HostFunction { name: function.to_owned(), reason: reason.into() }.into()
}

fn log(
    guest: &mut dyn FunctionContext,
    level: u32,
    target: u64,
    message: u64,
) -> Result<(), String> {
    let Some(config) = current() else { return Ok(()) };
    let host = HostState::new(None, &config);
    if !host.logs(level) {
        return Ok(());
    }
    let mut text =
        |packed: u64| guest.read_memory(Pointer::new(packed as u32), (packed >> 32) as u32);
    host.log_texts(level, &text(target)?, &text(message)?);
    Ok(())
}

thread_local! {
    /// Where the call that runs on this thread logs; `None` where it logs nothing.
    static CURRENT: RefCell<Option<Arc<Config>>> = const { RefCell::new(None) };
}

fn current() -> Option<Arc<Config>> {
    // Cloned, because a log sink may make calls of its own.
    CURRENT.with_borrow(Clone::clone)
}

/// Runs a call whose guest logs as `config` says.
pub(crate) fn with<T>(config: Option<&Arc<Config>>, call: impl FnOnce() -> T) -> T {
    /// Puts the outer call's setting back, also when a log sink panics.
    struct Outer(Option<Arc<Config>>);
    impl Drop for Outer {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _outer = Outer(CURRENT.replace(config.cloned()));
    call()
}
