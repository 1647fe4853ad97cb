//! In the place of Substrate's crate of this name: its interface, on Touchstone's engines.
//!
//! A patch in the manifest of a node's workspace puts it there, without a change of the node:
//!
//! ```toml
//! [patch.crates-io]
//! sc-executor-wasmtime = { path = "…/touchstone/systems/substrate/sc-executor-wasmtime" }
//! ```
//!
//! The environment variable `TOUCHSTONE_EXECUTOR` names engine and strategy, as in the tables of
//! Touchstone: `wasmi_interpreted`. The default is `wasmtime_instance_reuse_tracked`. The
//! instantiation strategy that the node asks for is ignored.
//!
//! Workers that validate parachains use more of the crate: [`prepare_runtime_artifact`] and the
//! functions beside it return an error.

use sc_executor_common::error::{Error, MessageWithBacktrace, WasmError};
use sc_executor_common::wasm_runtime::{AllocationStats, WasmInstance};
use sp_wasm_interface::HostFunctions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages, deterministic};
use touchstone_executor::{Imports, Strategy, Trap, TrapKind};
use touchstone_substrate_host::{CallError, Runtime, functions};

pub use sc_executor_common::runtime_blob::RuntimeBlob;
pub use sc_executor_common::wasm_runtime::{HeapAllocStrategy, WasmModule};

/// The environment variable that names engine and strategy.
const VARIABLE: &str = "TOUCHSTONE_EXECUTOR";
const DEFAULT: &str = "wasmtime_instance_reuse_tracked";

/// The way of making instances, which is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the original")]
pub enum InstantiationStrategy {
    PoolingCopyOnWrite,
    RecreateInstanceCopyOnWrite,
    Pooling,
    RecreateInstance,
}

/// Limits of the stack.
#[derive(Clone)]
pub struct DeterministicStackLimit {
    /// Values that the guest may have on its stack. Code that counts them is added to the guest.
    pub logical_max: u32,
    /// Bytes of the machine's stack. Ignored: each engine has its own limit.
    pub native_stack_max: u32,
}

/// Settings that change what a guest does.
#[derive(Clone)]
#[allow(missing_docs, reason = "the names are those of the original")]
pub struct Semantics {
    /// Ignored.
    pub instantiation_strategy: InstantiationStrategy,
    pub deterministic_stack_limit: Option<DeterministicStackLimit>,
    /// Code that makes NaNs canonical is added to the guest.
    pub canonicalize_nans: bool,
    pub parallel_compilation: bool,
    /// Replaced by that of each instance.
    pub heap_alloc_strategy: HeapAllocStrategy,
    /// These four are ignored: an engine has the features that it has.
    pub wasm_multi_value: bool,
    pub wasm_bulk_memory: bool,
    pub wasm_reference_types: bool,
    pub wasm_simd: bool,
}

/// Settings of a runtime.
#[derive(Clone)]
pub struct Config {
    /// `true` if a missing host function is an error only when it is called.
    pub allow_missing_func_imports: bool,
    /// Ignored.
    pub cache_path: Option<PathBuf>,
    /// Settings that change what a guest does.
    pub semantics: Semantics,
}

/// A loaded runtime.
pub struct WasmtimeRuntime(Arc<Runtime>);

/// Loads a runtime with the host functions `H`.
///
/// # Errors
///
/// When the engine cannot load it, or `TOUCHSTONE_EXECUTOR` names none of this build.
pub fn create_runtime<H: HostFunctions>(
    mut blob: RuntimeBlob,
    config: Config,
) -> Result<WasmtimeRuntime, WasmError> {
    let Config { allow_missing_func_imports, semantics, .. } = config;
    let other = |error: &dyn std::fmt::Display| WasmError::Other(error.to_string());
    if let Some(limit) = semantics.deterministic_stack_limit {
        blob = blob.inject_stack_depth_metering(limit.logical_max)?;
    }
    blob.convert_memory_import_into_export()?;
    // The limit is that of each call.
    blob.clear_memory_max_limit()?;
    let mut wasm = blob.serialize();
    if semantics.canonicalize_nans
        && let Some((changed, _)) = deterministic(&wasm).map_err(|error| other(&error))?
    {
        wasm = changed;
    }
    let guest = GuestModule::new("runtime", &wasm, HeapPages::default());
    let guest = guest.map_err(|error| other(&error))?;
    let (engine, strategy) = chosen().map_err(WasmError::Other)?;
    let config = touchstone_executor::Config {
        functions: functions::<H>(),
        imports: if allow_missing_func_imports { Imports::Trap } else { Imports::Error },
        parallel_compilation: semantics.parallel_compilation,
        ..touchstone_executor::Config::default()
    };
    let runtime = Runtime::new(&*engine, strategy, &guest, &config, None);
    Ok(WasmtimeRuntime(Arc::new(runtime.map_err(|error| other(&error))?)))
}

/// The engine and the strategy of the environment variable.
fn chosen() -> Result<(Arc<dyn MeasuredEngine>, Strategy), String> {
    let name = std::env::var(VARIABLE).unwrap_or_else(|_| DEFAULT.to_owned());
    let all = touchstone_runtimes::engines();
    let mut fitting = all.iter().filter_map(|engine| {
        let strategy = name.strip_prefix(engine.id())?.strip_prefix('_')?.parse().ok()?;
        Some((Arc::clone(engine), strategy))
    });
    fitting.next().ok_or_else(|| {
        let ids: Vec<_> = all.iter().map(|engine| engine.id()).collect();
        format!(
            "{VARIABLE} is '{name}', which is no engine of this build ({}) with a strategy",
            ids.join(", ")
        )
    })
}

impl WasmModule for WasmtimeRuntime {
    fn new_instance(&self, heap: HeapAllocStrategy) -> Result<Box<dyn WasmInstance>, Error> {
        Ok(Box::new(Instance { runtime: Arc::clone(&self.0), heap }))
    }
}

/// A limit for calls. The instances themselves are the runtime's.
struct Instance {
    runtime: Arc<Runtime>,
    heap: HeapAllocStrategy,
}

impl WasmInstance for Instance {
    fn call_with_allocation_stats(
        &mut self,
        method: &str,
        data: &[u8],
    ) -> (Result<Vec<u8>, Error>, Option<AllocationStats>) {
        let most = match self.heap {
            HeapAllocStrategy::Static { extra_pages } => {
                self.runtime.pages().saturating_add(extra_pages)
            }
            HeapAllocStrategy::Dynamic { maximum_pages } => maximum_pages.unwrap_or(u32::MAX),
        };
        (self.runtime.call(method, data, most).map_err(translated), None)
    }

    fn set_heap_alloc_strategy(&mut self, heap: HeapAllocStrategy) {
        self.heap = heap;
    }
}

fn translated(error: CallError) -> Error {
    use touchstone_executor::Error as Host;
    let with = |message: String| MessageWithBacktrace { message, backtrace: None };
    match error {
        CallError::Trapped { message: Some(message), .. } => {
            Error::AbortedDueToPanic(with(message))
        }
        CallError::Trapped { trap: Trap { kind: TrapKind::BadResult { .. }, .. }, .. } => {
            Error::OutputExceedsBounds
        }
        CallError::Trapped { trap, .. } => Error::AbortedDueToTrap(with(trap.to_string())),
        CallError::Host(Host::NoSuchExport { name, .. }) => Error::MethodNotFound(name),
        CallError::Host(Host::HostPanicked { message, .. }) => Error::AbortedDueToTrap(with(
            format!("host code panicked while being called by the runtime: {message}"),
        )),
        error => Error::Other(error.to_string()),
    }
}

fn no_artifacts() -> WasmError {
    WasmError::Other("Touchstone's engines have no artifacts in files for other processes".into())
}

/// An error: see the [crate's](crate) description.
///
/// # Errors
///
/// Always.
pub fn prepare_runtime_artifact(_: RuntimeBlob, _: &Semantics) -> Result<Vec<u8>, WasmError> {
    Err(no_artifacts())
}

/// An error: see the [crate's](crate) description.
///
/// # Errors
///
/// Always.
///
/// # Safety
///
/// None: it does nothing. The original is unsafe.
pub unsafe fn create_runtime_from_artifact<H: HostFunctions>(
    _: &Path,
    _: Config,
) -> Result<WasmtimeRuntime, WasmError> {
    Err(no_artifacts())
}

/// An error: see the [crate's](crate) description.
///
/// # Errors
///
/// Always.
///
/// # Safety
///
/// None: it does nothing. The original is unsafe.
pub unsafe fn create_runtime_from_artifact_bytes<H: HostFunctions>(
    _: &[u8],
    _: Config,
) -> Result<WasmtimeRuntime, WasmError> {
    Err(no_artifacts())
}
