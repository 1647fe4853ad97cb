//! `CodeExecutor` over the contract.

use crate::bridge::functions;
use crate::runtime::{CallError, Runtime, lock};
use crate::version;
use sp_core::traits::{CallContext, CodeExecutor, Externalities, ReadRuntimeVersion, RuntimeCode};
use sp_externalities::set_and_run_with_externalities;
use sp_wasm_interface::HostFunctions;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{ArtifactFolder, Config, Imports, Strategy};

/// Pages that a runtime's memory may grow by, unless the state says otherwise: Substrate's default.
const HEAP_PAGES: u32 = 2048;
/// Modules that are kept: a runtime, and the one that replaces it in an upgrade.
const MODULES: usize = 2;
/// Settings of an [`Executor`].
pub struct Builder<H> {
    shared: Shared,
    functions: PhantomData<fn() -> H>,
}

impl<H: HostFunctions> Builder<H> {
    /// Settings of the engine. Host functions are replaced by those of `H`. The default is that of
    /// [`Config`]: imports that `H` does not have are an error, and 32 instances may live.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.shared.config = Config { functions: functions::<H>(), ..config };
        self
    }

    /// Pages of 64 KiB that a runtime's memory may grow by, where the state does not say it
    /// (`:heappages`). Importing a block may take twice as many. 2,048 by default.
    #[must_use]
    pub fn heap_pages(mut self, pages: u32) -> Self {
        self.shared.heap_pages = pages;
        self
    }

    /// Number of modules that are kept for later calls, at least one. Two by default.
    #[must_use]
    pub fn modules(mut self, count: usize) -> Self {
        self.shared.capacity = count.max(1);
        self
    }

    /// A private folder through which processes of the same program share compiled code, until the
    /// machine restarts.
    #[must_use]
    pub fn artifacts(mut self, folder: ArtifactFolder) -> Self {
        self.shared.artifacts = Some(folder);
        self
    }

    /// The executor.
    #[must_use]
    pub fn build(self) -> Executor<H> {
        Executor { shared: Arc::new(self.shared), functions: PhantomData }
    }
}

/// Executes runtimes on an engine by a strategy, with the host functions `H`, such as
/// `sp_io::SubstrateHostFunctions`. Each call has the clean state of a brand-new instance. A clone
/// shares modules and instances.
///
/// A runtime is compiled at the first call with the hash of its code, and kept. Each thread makes
/// its calls on an instance of its own, as long as the settings allow as many.
///
/// ```no_run
/// use sp_core::traits::{CallContext, CodeExecutor, RuntimeCode};
/// use touchstone_executor::Strategy;
/// use touchstone_substrate_host::Executor;
///
/// # fn version<H: sp_wasm_interface::HostFunctions>(
/// #     engine: std::sync::Arc<dyn touchstone_executor::adapter::MeasuredEngine>,
/// #     state: &mut dyn sp_core::traits::Externalities,
/// #     code: &RuntimeCode<'_>,
/// # ) {
/// // An engine of `touchstone_runtimes::engines()`.
/// let executor = Executor::<H>::builder(engine, Strategy::TRACKED).build();
/// let (version, _) =
///     executor.call(state, code, "Core_version", &[], CallContext::Offchain);
/// # drop(version);
/// # }
/// ```
pub struct Executor<H> {
    shared: Arc<Shared>,
    functions: PhantomData<fn() -> H>,
}

impl<H> Clone for Executor<H> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), functions: PhantomData }
    }
}

impl<H> fmt::Debug for Executor<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Executor of {}, {}", self.shared.engine.id(), self.shared.strategy)
    }
}

impl<H: HostFunctions> Executor<H> {
    /// The settings of an executor.
    #[must_use]
    pub fn builder(engine: Arc<dyn MeasuredEngine>, strategy: Strategy) -> Builder<H> {
        let config = Config { functions: functions::<H>(), ..Config::default() };
        let shared = Shared {
            engine,
            strategy,
            config,
            heap_pages: HEAP_PAGES,
            capacity: MODULES,
            artifacts: None,
            modules: Mutex::default(),
        };
        Builder { shared, functions: PhantomData }
    }

    /// Compiles and loads a runtime, unless that was done.
    ///
    /// # Errors
    ///
    /// When the code is missing, or the engine cannot load it.
    pub fn load(&self, code: &RuntimeCode<'_>) -> Result<(), CallError> {
        self.shared.module(code).map(drop)
    }
}

/// The parts of an executor that its clones share.
struct Shared {
    engine: Arc<dyn MeasuredEngine>,
    strategy: Strategy,
    config: Config,
    heap_pages: u32,
    capacity: usize,
    artifacts: Option<ArtifactFolder>,
    /// By the hash of their code; the one that was used last is the last.
    modules: Mutex<Vec<(Vec<u8>, Slot)>>,
}

/// The place of a module that may not be loaded yet.
type Slot = Arc<Mutex<Option<Arc<Runtime>>>>;

impl Shared {
    fn module(&self, code: &RuntimeCode<'_>) -> Result<Arc<Runtime>, CallError> {
        // A thread that needs another module does not wait while this one is compiled.
        let slot = self.slot(&code.hash);
        let mut loaded = lock(&slot);
        if let Some(loaded) = &*loaded {
            return Ok(Arc::clone(loaded));
        }
        let wasm = code.code_fetcher.fetch_runtime_code().ok_or(CallError::NoCode)?;
        let new = Arc::new(self.load(&wasm, &self.config)?);
        *loaded = Some(Arc::clone(&new));
        Ok(new)
    }

    fn slot(&self, hash: &[u8]) -> Slot {
        let mut modules = lock(&self.modules);
        let place = modules.iter().position(|(own, _)| own == hash);
        let found = place.map(|place| modules.remove(place));
        let (hash, slot) = found.unwrap_or_else(|| (hash.to_vec(), Slot::default()));
        if modules.len() == self.capacity {
            modules.remove(0);
        }
        modules.push((hash, Arc::clone(&slot)));
        slot
    }

    fn load(&self, code: &[u8], config: &Config) -> Result<Runtime, CallError> {
        let guest = GuestModule::new("runtime", code, HeapPages::default())
            .map_err(touchstone_executor::Error::from)?;
        let engine = &*self.engine;
        Runtime::new(engine, self.strategy, &guest, config, self.artifacts.as_ref())
    }
}

impl<H: HostFunctions> CodeExecutor for Executor<H> {
    type Error = CallError;

    fn call(
        &self,
        ext: &mut dyn Externalities,
        runtime_code: &RuntimeCode<'_>,
        method: &str,
        data: &[u8],
        context: CallContext,
    ) -> (Result<Vec<u8>, CallError>, bool) {
        let on_chain = || runtime_code.heap_pages.and_then(|pages| u32::try_from(pages).ok());
        let growth = match context {
            CallContext::Offchain => self.shared.heap_pages,
            CallContext::Onchain { import } => {
                let pages = on_chain().unwrap_or(self.shared.heap_pages);
                if import { pages.saturating_mul(2) } else { pages }
            }
        };
        let called = self.shared.module(runtime_code).and_then(|module| {
            let most = module.pages().saturating_add(growth);
            set_and_run_with_externalities(ext, || module.call(method, data, most))
        });
        (called, false)
    }
}

impl<H: HostFunctions> ReadRuntimeVersion for Executor<H> {
    fn read_runtime_version(
        &self,
        wasm_code: &[u8],
        ext: &mut dyn Externalities,
    ) -> Result<Vec<u8>, String> {
        if let Some(version) = version::embedded(wasm_code)? {
            return Ok(version);
        }
        // A runtime may import functions that this host does not have, and not call them here.
        let config = Config { imports: Imports::Trap, ..self.shared.config.clone() };
        let module = self.shared.load(wasm_code, &config).map_err(|error| error.to_string())?;
        let most = module.pages().saturating_add(self.shared.heap_pages);
        let called = set_and_run_with_externalities(ext, || module.call("Core_version", &[], most));
        called.map_err(|error| error.to_string())
    }
}
