//! Substrate's own executor, `sc-executor-wasmtime`, under the trait that nodes call.

use crate::runtime::lock;
use crate::version;
use sc_executor_common::runtime_blob::RuntimeBlob;
use sc_executor_common::wasm_runtime::{HeapAllocStrategy, WasmModule};
pub use sc_executor_wasmtime::InstantiationStrategy;
use sc_executor_wasmtime::{Config, Semantics, WasmtimeRuntime, create_runtime};
use sp_core::traits::{CallContext, CodeExecutor, Externalities, ReadRuntimeVersion, RuntimeCode};
use sp_externalities::set_and_run_with_externalities;
use sp_wasm_interface::HostFunctions;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// A node's default: the start is as large as the limit.
const HEAP: HeapAllocStrategy = HeapAllocStrategy::Static { extra_pages: 2048 };

/// The id of this executor among Touchstone's engines.
pub const ENGINE: &str = "substrate";

type Known = Option<(Vec<u8>, Arc<WasmtimeRuntime>)>;

/// Substrate's executor with the settings of a node, and its way of making instances.
pub struct Baseline<H> {
    instances: InstantiationStrategy,
    /// The runtime that was called last.
    known: Arc<Mutex<Known>>,
    functions: PhantomData<fn() -> H>,
}

impl<H> Clone for Baseline<H> {
    fn clone(&self) -> Self {
        Self { known: Arc::clone(&self.known), ..*self }
    }
}

impl<H: HostFunctions> Baseline<H> {
    /// An executor that makes instances in this way.
    #[must_use]
    pub fn new(instances: InstantiationStrategy) -> Self {
        Self { instances, known: Arc::default(), functions: PhantomData }
    }

    fn runtime(&self, code: &RuntimeCode<'_>) -> Result<Arc<WasmtimeRuntime>, String> {
        let mut known = lock(&self.known);
        if let Some((hash, runtime)) = &*known
            && *hash == code.hash
        {
            return Ok(Arc::clone(runtime));
        }
        let wasm = code.code_fetcher.fetch_runtime_code().ok_or("the code was not found")?;
        let runtime = Arc::new(self.load(&wasm)?);
        *known = Some((code.hash.clone(), Arc::clone(&runtime)));
        Ok(runtime)
    }

    fn load(&self, code: &[u8]) -> Result<WasmtimeRuntime, String> {
        let blob = RuntimeBlob::uncompress_if_needed(code).map_err(|error| error.to_string())?;
        let semantics = Semantics {
            instantiation_strategy: self.instances,
            deterministic_stack_limit: None,
            canonicalize_nans: false,
            parallel_compilation: true,
            heap_alloc_strategy: HEAP,
            wasm_multi_value: false,
            wasm_bulk_memory: false,
            wasm_reference_types: false,
            wasm_simd: false,
        };
        let config = Config { allow_missing_func_imports: true, cache_path: None, semantics };
        create_runtime::<H>(blob, config).map_err(|error| error.to_string())
    }
}

fn call(runtime: &WasmtimeRuntime, method: &str, data: &[u8]) -> Result<Vec<u8>, String> {
    let instance = runtime.new_instance(HEAP);
    instance.and_then(|mut own| own.call(method, data)).map_err(|error| error.to_string())
}

impl<H: HostFunctions> CodeExecutor for Baseline<H> {
    type Error = String;

    fn call(
        &self,
        ext: &mut dyn Externalities,
        runtime_code: &RuntimeCode<'_>,
        method: &str,
        data: &[u8],
        _context: CallContext,
    ) -> (Result<Vec<u8>, String>, bool) {
        let called = self.runtime(runtime_code).and_then(|runtime| {
            set_and_run_with_externalities(ext, || call(&runtime, method, data))
        });
        (called, false)
    }
}

impl<H: HostFunctions> ReadRuntimeVersion for Baseline<H> {
    fn read_runtime_version(
        &self,
        wasm_code: &[u8],
        ext: &mut dyn Externalities,
    ) -> Result<Vec<u8>, String> {
        if let Some(version) = version::embedded(wasm_code)? {
            return Ok(version);
        }
        let runtime = self.load(wasm_code)?;
        set_and_run_with_externalities(ext, || call(&runtime, "Core_version", &[]))
    }
}
