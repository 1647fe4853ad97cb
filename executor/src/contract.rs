//! The contract itself: engine → artifact → module → instance.

use crate::abi::ALLOCATOR;
use crate::guest::GuestModule;
use crate::{
    Abi, Artifact, CallOptions, Config, EffectiveConfig, Error, Features, Outcome, Result,
    Signature, Strategy, Support,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One runtime in one mode of execution.
pub trait Engine: Send + Sync {
    /// Short name, as in filters and tables: `wasmtime`.
    fn id(&self) -> &'static str;

    /// Version of the linked runtime, such as `48.0.8`, as stored in every record.
    fn version(&self) -> &str;

    /// The claimed way of executing guests.
    /// [`probe::check_execution`](crate::harness::check_execution) compares the claim with
    /// the speed of a kernel.
    fn execution(&self) -> Execution;

    /// The abilities of the runtime, whatever the strategy is. The default is
    /// [`Capabilities::default`].
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Support of the strategy on this machine.
    fn support(&self, strategy: Strategy) -> Support;

    /// Support of the strategy for this module, decided from the module's bytes.
    /// [`compile`](Self::compile) and [`load`](Self::load) refuse the same modules, for the same
    /// reasons. The default asks [`support`](Self::support), refuses components and modules with
    /// features beyond the [`capabilities`](Self::capabilities), and refuses reuse in place for
    /// modules with state that cannot be restored.
    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let refusal = strategy.refusal(guest.info(), self.capabilities().features);
        self.support(strategy).unless(refusal)
    }

    /// Support of a [`Region`](crate::memory::Region) in the memories of a strategy. A write there
    /// must be a trap of the guest. The default refuses.
    fn maps_regions(&self, _strategy: Strategy) -> Support {
        Support::unsupported(match self.execution() {
            Execution::Interpreted => Support::NO_REGION,
            Execution::Native => {
                "native code has no traps: a write to a read-only page would be a fault of the host"
            }
            Execution::Compiled => "nothing maps a region into its memories",
        })
    }

    /// Class of the strategy's artifact. Strategies with the same class share an artifact.
    /// The default is one class for all.
    fn artifact_class(&self, _strategy: Strategy) -> &'static str {
        "any"
    }

    /// Compiles a guest to the form that this engine loads: machine code for a compiler, translated
    /// code for an interpreter. Fails when the runtime cannot compile the module.
    fn compile(&self, guest: &GuestModule, strategy: Strategy, config: &Config)
    -> Result<Artifact>;

    /// Makes a module that can be instantiated under the strategy. Call [`Module::probe`] before
    /// publishing numbers. Fails when the strategy is unsupported, the artifact is not this
    /// engine's or not this guest's, or the runtime fails.
    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>>;
}

/// The abilities of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The features that modules may use.
    pub features: Features,
    /// `true` if the runtime can stop a guest at [`Config::deadline`](crate::Config::deadline). A
    /// host of one that cannot runs it in a process that it can end.
    pub deadline: bool,
    /// `true` if endless recursion is a [trap](crate::TrapKind::StackOverflow). Otherwise it ends
    /// the host's process.
    pub recursion: bool,
    /// `true` if guests can import all of [`Config::functions`](crate::Config::functions).
    /// Otherwise only the [standard](crate::Functions::standard) ones are answered.
    pub functions: bool,
}

/// WebAssembly 2.0, guests that can be stopped, and functions of the host.
impl Default for Capabilities {
    fn default() -> Self {
        Self { features: Features::WASM2, deadline: true, recursion: true, functions: true }
    }
}

/// How a guest's code is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Execution {
    /// By an interpreter, of WebAssembly or of translated code.
    Interpreted,
    /// As machine code compiled from the module.
    Compiled,
    /// As machine code of the host's compiler, without a module.
    Native,
}

impl std::fmt::Display for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Interpreted => "interpreted",
            Self::Compiled => "compiled",
            Self::Native => "native",
        })
    }
}

/// A loaded module. Shared by all threads.
pub trait Module: Send + Sync {
    /// Resolves an export once and returns the handle for calls. The export's signature must fit
    /// the convention. Fails when there is no such function, its signature does not fit, or this
    /// backend cannot call it ([`Error::ExportUnsupported`]).
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId>;

    /// Makes an instance for one thread at a time. The instance need not be clean before `prepare`.
    /// Fails when the runtime cannot make an instance.
    fn new_instance(&self) -> Result<Box<dyn Instance>>;

    /// Checks on a live instance that the mode named by the strategy is in force. The findings
    /// become part of [`effective`](Self::effective). Fails with [`Error::WrongMode`] when another
    /// mode is in force.
    fn probe(&mut self) -> Result<()> {
        Ok(())
    }

    /// The effective configuration.
    fn effective(&self) -> EffectiveConfig;
}

/// Makes calls, one after the other, each on a clean state.
///
/// ```no_run
/// use touchstone_executor::{Abi, Module, Outcome, Result};
///
/// fn greet(module: &dyn Module) -> Result<()> {
///     let greet = module.export("greet", Abi::Bytes)?;
///     let (mut instance, mut output) = (module.new_instance()?, Vec::new());
///     match instance.call(greet, b"world", &mut output)? {
///         Outcome::Returned => println!("{output:?}"),
///         Outcome::Trapped(trap) => println!("the guest trapped: {trap}"),
///     }
///     Ok(())
/// }
/// ```
pub trait Instance: Send {
    /// Provides a clean state: instantiates, resets or takes from the pool. An unfinished call is
    /// finished first. After an error of the runtime, the instance may be prepared again.
    fn prepare(&mut self) -> Result<()>;

    /// Runs an export once. `output` is cleared, and holds the export's output if the result is
    /// [`Outcome::Returned`], or what a program of [`Abi::Wasi`] wrote before a trap. A call with
    /// options has a context or limits of its own, or can be interrupted. Fails when the host side
    /// fails, `prepare` was not called before, or the handle is of another module, with
    /// [`Error::LimitUnsupported`] for a limit that the engine cannot enforce.
    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome>;

    /// Returns, drops or resets the instance after a call. Fails where the runtime does.
    fn finish(&mut self) -> Result<()>;

    /// Makes the three steps of a call, and gives their errors; `finish` runs even when `invoke`
    /// fails. The tables time this function.
    fn call(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        self.prepare()?;
        let outcome = self.invoke(export, input, output, None);
        self.finish()?;
        outcome
    }

    /// The same of a call with options.
    fn call_with(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: CallOptions<'_>,
    ) -> Result<Outcome> {
        self.prepare()?;
        let outcome = self.invoke(export, input, output, Some(options));
        self.finish()?;
        outcome
    }

    /// Releases the resident memory of an idle instance. The next call is as clean, and slower.
    /// Call this function between `finish` and `prepare`; before a `finish` it does nothing. Fails
    /// when the kernel refuses; the instance remains usable.
    fn trim(&mut self) -> Result<()> {
        Ok(())
    }

    /// Number of operators that the guest executed, by the runtime's own count: one per
    /// operator, none for operators that only shape the code, and one per function entered.
    /// The start of the count is unspecified, so use differences only. `None` without
    /// [`Config::metered`](crate::Config::metered), before `prepare`, and on runtimes without
    /// a count.
    fn operators(&mut self) -> Option<u64> {
        None
    }

    /// The linear memory between `prepare` and `finish`, for tests that compare
    /// states; `None` if there is none or it is not accessible.
    fn memory(&mut self) -> Option<&[u8]> {
        None
    }
}

/// Step of an instance's call, for backends that need to remember it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallState {
    /// The state may be dirty.
    #[default]
    Idle,
    /// `prepare` was done.
    Prepared,
    /// `invoke` was done at least once.
    Used,
}

/// Handle of an export of one loaded module, under one convention. Instances of other modules, also
/// of another one loaded from the same guest, refuse it with [`Error::FOREIGN_HANDLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportId {
    index: u32,
    abi: Abi,
    module: u32,
    /// Position of the guest's allocator, if the convention needs it, else [`NO_ALLOCATOR`].
    allocator: u32,
}

const NO_ALLOCATOR: u32 = u32::MAX;

impl ExportId {
    /// Position in the module's list of exported functions.
    #[inline]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// The calling convention, which the function's type was found to fit.
    #[inline]
    pub const fn abi(self) -> Abi {
        self.abi
    }

    /// The guest's allocator, for [`Abi::Bytes`].
    pub(crate) fn allocator(self) -> Option<u32> {
        (self.allocator != NO_ALLOCATOR).then_some(self.allocator)
    }
}

/// The exported functions of a module: the part of [`Module::export`] that is
/// the same for every backend.
#[derive(Debug, Clone)]
pub struct Exports {
    /// Number of the loaded module in this process.
    module: u32,
    all: Arc<[crate::guest::FunctionExport]>,
    /// Their positions in the order of their names.
    by_name: Arc<[u32]>,
}

impl Exports {
    /// The list of a guest that is being loaded. Handles of other lists are foreign to this one.
    pub fn of(guest: &GuestModule) -> Self {
        static MODULES: AtomicU32 = AtomicU32::new(0);
        let all: Arc<[_]> = guest.info().exports.clone().into();
        let mut by_name: Vec<u32> = (0..all.len() as u32).collect();
        by_name.sort_by_key(|index| &all[*index as usize].name);
        let module = MODULES.fetch_add(1, Ordering::Relaxed);
        Self { module, by_name: by_name.into(), all }
    }

    /// The handle of the export at a position.
    pub const fn handle(&self, index: u32, abi: Abi) -> ExportId {
        ExportId { index, abi, module: self.module, allocator: NO_ALLOCATOR }
    }

    /// `true` for a handle of this list.
    #[inline]
    pub const fn has(&self, handle: ExportId) -> bool {
        handle.module == self.module
    }

    /// Looks an export up and checks its signature. Fails when there is no such function, it is a
    /// re-exported import, or its signature does not fit. The same holds for the allocator, if the
    /// convention needs it.
    pub fn find(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let index = self.position(name)?;
        abi.check(name, self.all[index as usize].signature.as_ref())?;
        let allocator = match abi {
            Abi::Bytes => {
                let position = self.position(ALLOCATOR)?;
                abi.check_allocator(self.all[position as usize].signature.as_ref())?;
                position
            }
            _ => NO_ALLOCATOR,
        };
        Ok(ExportId { allocator, ..self.handle(index, abi) })
    }

    /// The handle's position of an export, whatever its type. Fails when there is no such function,
    /// or it is a re-exported import.
    pub fn position(&self, name: &str) -> Result<u32> {
        let named = |index: &u32| self.all[*index as usize].name.as_str();
        let Ok(place) = self.by_name.binary_search_by_key(&name, named) else {
            let names = self.all.iter().map(|export| export.name.as_str());
            let candidates = crate::text::similar(name, names);
            return Err(Error::NoSuchExport { name: name.to_owned(), candidates });
        };
        let index = self.by_name[place];
        if self.all[index as usize].imported {
            return Err(Error::ExportImported { name: name.to_owned() });
        }
        Ok(index)
    }

    /// The export at a position.
    pub fn get(&self, index: u32) -> Option<&crate::guest::FunctionExport> {
        self.all.get(index as usize)
    }

    /// Type of the export; `None` also if no host can call it.
    pub fn signature(&self, index: u32) -> Option<&Signature> {
        self.get(index)?.signature.as_ref()
    }

    /// All of them, in the order of their handles.
    pub fn iter(&self) -> impl Iterator<Item = &crate::guest::FunctionExport> {
        self.all.iter()
    }
}
