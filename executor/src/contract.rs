//! The contract itself: engine → artifact → module → instance.

use crate::abi::{ALLOCATOR, Abi};
use crate::code::CompiledCode;
use crate::config::{Config, EffectiveConfig};
use crate::error::{Error, Result};
use crate::folder::{ArtifactFolder, ArtifactKey};
use crate::guest::GuestModule;
use crate::outcome::Outcome;
use crate::signature::Signature;
use crate::strategy::{CodeFrom, Strategy};
use crate::support::Support;
use std::any::Any;
use std::sync::Arc;

/// One runtime in one mode of execution.
pub trait Engine: Send + Sync {
    /// Short name, as in filters and tables: `wasmtime`.
    fn id(&self) -> &'static str;

    /// Version of the linked runtime: the receipt in every record.
    fn version(&self) -> &str;

    /// How this engine executes guests. A claim, which
    /// [`probe::check_execution`](crate::probe::check_execution) holds against
    /// the speed of a kernel.
    fn execution(&self) -> Execution;

    /// The id of the engine of this build that executes guest code in the same way, for
    /// an engine that differs from it only in compiling, loading or set-up. A case about
    /// the guest's own work need not run on both. The default is none.
    fn executes_like(&self) -> Option<&'static str> {
        None
    }

    /// Number of calls after which the runtime catches up on work that it put off, such as
    /// dropping the pages of many instances together. A measurement covers whole periods. The
    /// default is 1: nothing is put off.
    fn period(&self, _strategy: Strategy) -> u64 {
        1
    }

    /// Whether the strategy can be had here at all, on this machine.
    fn support(&self, strategy: Strategy) -> Support;

    /// Whether the strategy can be had for this module, told from its bytes
    /// alone. The default asks [`support`](Self::support) and refuses components, and
    /// reuse in place for modules with state that cannot be brought back.
    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        self.support(strategy).unless(guest.info().refusal(strategy))
    }

    /// Strategies with the same class share an artifact. The default is one
    /// class for all.
    fn artifact_class(&self, _strategy: Strategy) -> &'static str {
        "any"
    }

    /// Turns a guest into what this engine loads: machine code for a compiler,
    /// translated code for an interpreter.
    ///
    /// # Errors
    ///
    /// When the runtime cannot compile the module.
    fn compile(&self, guest: &GuestModule, strategy: Strategy, config: &Config)
    -> Result<Artifact>;

    /// What [`compile`](Self::compile) would make, taken over from another process of the
    /// run, which [saved](Artifact::save) it into the folder. `None` where there is
    /// nothing that was made of exactly this by exactly this engine; the default is that
    /// an engine takes nothing over.
    ///
    /// # Errors
    ///
    /// When there is something that cannot be read, or the strategy is unsupported.
    fn restore(
        &self,
        _guest: &GuestModule,
        _strategy: Strategy,
        _config: &Config,
        _folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        Ok(None)
    }

    /// Puts the artifact where [`load`](Self::load) will take it from under the
    /// strategy, for instance into a file: what happens ahead of time and is no
    /// part of loading. `load` does it if it was not done. The default stages the
    /// artifact's [`code`](Artifact::code) for strategies that load it from a file.
    ///
    /// # Errors
    ///
    /// When it cannot be stored, or another engine made the artifact.
    fn stage(&self, artifact: &Artifact, strategy: Strategy) -> Result<()> {
        match artifact.code(self.id())? {
            Some(code) if strategy.code == CodeFrom::Precompiled => code.stage().map(drop),
            _ => Ok(()),
        }
    }

    /// Makes a module that can be instantiated under the strategy. Whoever
    /// publishes numbers has to [`probe`](Module::probe) it first.
    ///
    /// # Errors
    ///
    /// When the strategy is unsupported, the artifact is not this engine's or
    /// not this guest's, or the runtime fails.
    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>>;

    /// The same call on a clean instance, written against the runtime's own
    /// interface: what this adapter is held against. `None` where the strategy
    /// is not the runtime's own.
    ///
    /// # Errors
    ///
    /// When the runtime fails to set it up.
    fn raw(&self, _guest: &GuestModule, _call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        Ok(None)
    }

    /// Whether instances answer [`Instance::operators`] where
    /// [`Config::metered`](crate::Config::metered) asks for it.
    fn has_meter(&self) -> bool {
        false
    }

    /// Whether [`raw`](Self::raw) has something for the strategy.
    fn has_raw(&self, _strategy: Strategy) -> bool {
        false
    }
}

/// How a guest's code is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Execution {
    /// By an interpreter, of WebAssembly or of code of its own.
    Interpreted,
    /// As machine code that was made of the module.
    Compiled,
    /// As machine code of the host's own compiler; there is no module.
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

/// What a raw reference is to call, in Substrate's convention.
#[derive(Debug, Clone, Copy)]
pub struct RawCall<'a> {
    /// How a clean instance comes about.
    pub strategy: Strategy,
    /// Settings, the same as the adapter's.
    pub config: &'a Config,
    /// The export.
    pub export: &'a str,
    /// Its input.
    pub input: &'a [u8],
}

/// Makes one call on a clean instance and puts the output into the buffer.
pub type RawCaller = Box<dyn FnMut(&mut Vec<u8>) -> Result<()> + Send>;

/// A guest as an engine keeps it between `compile` and `load`.
#[derive(Clone)]
pub struct Artifact {
    engine: &'static str,
    size: usize,
    code: Option<Arc<CompiledCode>>,
    /// Under which the code can be kept; `None` where it cannot.
    key: Option<ArtifactKey>,
    content: Arc<dyn Any + Send + Sync>,
}

impl Artifact {
    /// Wraps what an engine made. `size` is in bytes, 0 where the runtime does
    /// not say.
    pub fn new<T: Any + Send + Sync>(engine: &'static str, size: usize, content: T) -> Self {
        Self { engine, size, code: None, key: None, content: Arc::new(content) }
    }

    /// The same for code that is loaded from a file where a strategy says so. `content`
    /// is what else the engine has to know.
    pub fn of_code<T: Any + Send + Sync>(
        engine: &'static str,
        code: impl Into<Arc<CompiledCode>>,
        content: T,
    ) -> Self {
        let code = code.into();
        let (size, code) = (code.bytes().len(), Some(code));
        Self { engine, size, code, key: None, content: Arc::new(content) }
    }

    /// The same with the key of its code, by which other processes of the run may take it
    /// over.
    #[must_use]
    pub fn keyed(self, key: Option<ArtifactKey>) -> Self {
        Self { key, ..self }
    }

    /// Saves the code for [`Engine::restore`] in other processes of the run. `false` where
    /// the engine offers no such thing; nothing was written then.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, folder: &ArtifactFolder) -> Result<bool> {
        let (Some(key), Some(code)) = (&self.key, &self.code) else { return Ok(false) };
        folder.write(key, code).map(|()| true)
    }

    /// Size in bytes, 0 where the runtime does not say.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// What `engine` put in.
    ///
    /// # Errors
    ///
    /// When another engine made the artifact.
    pub fn content<T: Any>(&self, engine: &'static str) -> Result<&T> {
        self.check(engine)?;
        self.content.downcast_ref().ok_or_else(|| Error::BadArtifact {
            engine,
            reason: "its content is of another type".to_owned(),
        })
    }

    /// The compiled code that `engine` put in; `None` where it keeps none.
    ///
    /// # Errors
    ///
    /// When another engine made the artifact.
    pub fn code(&self, engine: &'static str) -> Result<Option<&CompiledCode>> {
        self.check(engine).map(|()| self.code.as_deref())
    }

    fn check(&self, engine: &'static str) -> Result<()> {
        if self.engine == engine {
            return Ok(());
        }
        Err(Error::BadArtifact { engine, reason: format!("it was made by {}", self.engine) })
    }
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact")
            .field("engine", &self.engine)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// A loaded module. Shared by all threads.
pub trait Module: Send + Sync {
    /// Finds an export once, checks its signature against the convention, and
    /// gives the handle that calls use.
    ///
    /// # Errors
    ///
    /// When there is no such function, its signature does not fit, or this
    /// backend cannot call it ([`Error::ExportUnsupported`]).
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId>;

    /// An instance for one thread at a time. Nothing needs to be clean yet:
    /// `prepare` sees to that.
    ///
    /// # Errors
    ///
    /// When the runtime cannot make one.
    fn new_instance(&self) -> Result<Box<dyn Instance>>;

    /// Looks at a live instance: is what the strategy's name says really in
    /// force? What was seen becomes part of [`effective`](Self::effective).
    ///
    /// # Errors
    ///
    /// [`Error::WrongMode`] when it is not.
    fn probe(&mut self) -> Result<()> {
        Ok(())
    }

    /// What is really in force.
    fn effective(&self) -> EffectiveConfig;
}

/// Makes calls, one after the other, each on a clean state.
pub trait Instance: Send {
    /// Brings about a clean state: instantiates, resets or takes from the pool.
    /// After a call that was not finished, it finishes first.
    ///
    /// # Errors
    ///
    /// When the runtime fails; the instance may be prepared again.
    fn prepare(&mut self) -> Result<()>;

    /// Runs an export once. `output` is cleared and holds the export's output
    /// when [`Outcome::Returned`] comes back.
    ///
    /// # Errors
    ///
    /// When the host side breaks, or without a `prepare` before.
    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome>;

    /// Gives back, drops or decommits what the call used.
    ///
    /// # Errors
    ///
    /// When the runtime fails.
    fn finish(&mut self) -> Result<()>;

    /// The three steps in a row: what the tables time.
    ///
    /// # Errors
    ///
    /// Those of the three steps; `finish` runs even when `invoke` fails.
    fn call(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        self.prepare()?;
        let outcome = self.invoke(export, input, output);
        self.finish()?;
        outcome
    }

    /// Lets go of what an idle instance keeps resident: the next call is as clean,
    /// and slower. Meant between `finish` and `prepare`; before a `finish` nothing
    /// happens.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the instance can be used all the same.
    fn trim(&mut self) -> Result<()> {
        Ok(())
    }

    /// Operators that the guest executed since a point of the runtime's choice, by the
    /// runtime's own count: one for each, whatever its length, none for those that only
    /// shape the code, and one more for each function that is entered. Only
    /// differences mean something. `None` without
    /// [`Config::metered`](crate::Config::metered), before `prepare`, and where
    /// there is no such count.
    fn operators(&mut self) -> Option<u64> {
        None
    }

    /// The linear memory between `prepare` and `finish`, for tests that compare
    /// states; `None` where there is none or it cannot be seen.
    fn memory(&mut self) -> Option<&[u8]> {
        None
    }
}

/// Where an instance stands between `prepare` and `finish`, for backends that
/// need to remember it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallState {
    /// Nothing is known to be clean.
    #[default]
    Idle,
    /// `prepare` was done.
    Prepared,
    /// `invoke` was done at least once.
    Used,
}

/// Handle of an export of one module, under one convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportId {
    /// Position in the module's list of exported functions.
    pub index: u32,
    /// The convention it is called by.
    pub abi: Abi,
    /// Position of the guest's allocator, where the convention needs it.
    allocator: Option<u32>,
}

impl ExportId {
    /// The handle of an export that needs no other one beside it.
    #[must_use]
    pub const fn new(index: u32, abi: Abi) -> Self {
        Self { index, abi, allocator: None }
    }

    /// The guest's allocator, for [`Abi::Bytes`].
    pub(crate) const fn allocator(self) -> Option<u32> {
        self.allocator
    }
}

/// The exported functions of a module: the part of [`Module::export`] that is
/// the same for every backend.
#[derive(Debug, Clone)]
pub struct Exports(Arc<[crate::guest::FunctionExport]>);

impl Exports {
    /// The list of a guest.
    #[must_use]
    pub fn of(guest: &GuestModule) -> Self {
        Self(guest.info().exports.clone().into())
    }

    /// Looks an export up and checks its signature.
    ///
    /// # Errors
    ///
    /// When there is no such function, it is an import passed on, or its
    /// signature does not fit. The same for what the convention needs beside it.
    pub fn find(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let index = self.position(name)?;
        abi.check(name, self.0[index as usize].signature.as_ref())?;
        let allocator = match abi {
            Abi::Bytes => {
                let position = self.position(ALLOCATOR)?;
                abi.check_allocator(self.0[position as usize].signature.as_ref())?;
                Some(position)
            }
            _ => None,
        };
        Ok(ExportId { index, abi, allocator })
    }

    /// The handle's position of an export, whatever its type.
    ///
    /// # Errors
    ///
    /// When there is no such function, or it is an import passed on.
    pub fn position(&self, name: &str) -> Result<u32> {
        let Some(index) = self.0.iter().position(|export| export.name == name) else {
            return Err(Error::NoSuchExport {
                name: name.to_owned(),
                candidates: crate::guest::similar(
                    name,
                    self.0.iter().map(|export| export.name.as_str()),
                ),
            });
        };
        if self.0[index].imported {
            return Err(Error::ExportImported { name: name.to_owned() });
        }
        Ok(index as u32)
    }

    /// The export at a handle's position; `None` for the handle of another module.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&crate::guest::FunctionExport> {
        self.0.get(index as usize)
    }

    /// Its type; `None` also where it uses other types than numbers.
    #[must_use]
    pub fn signature(&self, index: u32) -> Option<&Signature> {
        self.get(index)?.signature.as_ref()
    }

    /// All of them, in the order of their handles.
    pub fn iter(&self) -> impl Iterator<Item = &crate::guest::FunctionExport> {
        self.0.iter()
    }
}
