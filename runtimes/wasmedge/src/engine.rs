//! The two engines: what they can do, compiling, and loading.

use crate::api::{self, RunMode};
use crate::code::{COMPILER, Code, changes};
use crate::frames::Frames;
use crate::module::Loaded;
use crate::rewrite::{Rewritten, rewrite};
use crate::{raw, signals};
use sha2::{Digest, Sha256};
use std::sync::{Arc, LazyLock};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, ArtifactFolder, ArtifactKey, CodeFrom, Config, Engine, Execution, Feature, Features,
    InstanceFrom, MemoryFrom, Module, RawCall, RawCaller, Result, Strategy, Support,
};
use wasmedge_sys::ffi;

/// How an engine makes and runs code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// WasmEdge's interpreter.
    Interpreter,
    /// Compiled ahead of time.
    Compiled,
    /// What the Rust interface offers as its just-in-time mode: interpreted, with
    /// nothing said. Here for the test that this is seen.
    JustInTime,
}

impl Mode {
    /// WasmEdge's name for it.
    pub(crate) fn run_mode(self) -> RunMode {
        match self {
            Self::Interpreter => ffi::WasmEdge_RunMode_Interpreter,
            Self::Compiled => ffi::WasmEdge_RunMode_AOT,
            Self::JustInTime => ffi::WasmEdge_RunMode_JIT,
        }
    }
}

/// WasmEdge in one mode.
#[derive(Debug)]
pub(crate) struct WasmEdge {
    mode: Mode,
}

impl WasmEdge {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode }
    }

    /// Only what LLVM has compiled is worth keeping.
    fn key(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        rewritten: &Rewritten,
    ) -> Option<ArtifactKey> {
        let made_of =
            format!("{COMPILER}; frames measured; of {:x?}", Sha256::digest(&rewritten.wasm));
        (self.mode == Mode::Compiled)
            .then(|| ArtifactKey::new(self, guest, strategy, config, &made_of))
            .flatten()
    }

    fn artifact(&self, code: Code) -> Artifact {
        Artifact::of_code(self.id(), Arc::clone(&code.compiled), code)
    }
}

impl Engine for WasmEdge {
    fn id(&self) -> &'static str {
        match self.mode {
            Mode::Interpreter => "wasmedge",
            Mode::Compiled => "wasmedge_aot",
            Mode::JustInTime => "wasmedge_jit",
        }
    }

    fn version(&self) -> &str {
        static VERSION: LazyLock<String> = LazyLock::new(|| format!("wasmedge {}", api::version()));
        &VERSION
    }

    fn execution(&self) -> Execution {
        match self.mode {
            Mode::Interpreter => Execution::Interpreted,
            Mode::Compiled | Mode::JustInTime => Execution::Compiled,
        }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled && self.mode != Mode::Compiled {
            return Support::unsupported("no code is compiled that could be stored");
        }
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => {
                Support::unsupported("a new instance each call is called recreate_instance here")
            }
            (InstanceFrom::Pooling | InstanceFrom::PoolingLate, _) => {
                Support::unsupported("WasmEdge has no pooling allocator")
            }
            (InstanceFrom::Recreate, MemoryFrom::Segments) => Support::Native,
            // WasmEdge makes the memory; it is imported by one instance after the other,
            // and mapped over with the image.
            (InstanceFrom::Recreate, memory) => Support::on_recycled_memory(memory),
            (InstanceFrom::Reuse, memory) => Support::reset_in_place(memory),
        }
    }

    fn features(&self) -> Features {
        // Exceptions would pass by the code that counts the stack (`rewrite.rs`).
        let features = Features::WASM2.with(Feature::RelaxedVectors);
        match self.mode {
            Mode::Interpreter | Mode::JustInTime => features.with(Feature::TailCalls),
            // Nothing says that LLVM turns every tail call into a jump: those it does not
            // would run off the machine's stack, uncounted.
            Mode::Compiled => features,
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let support = self.support(strategy);
        let info = guest.info();
        let needs_image = strategy.instance == InstanceFrom::Recreate
            && changes(strategy, &Config::default()).memory_of_ours;
        // An instance that is reused shows its clean content when it was made.
        let image_refusal = needs_image.then(|| info.image_refusal()).flatten();
        support.unless(strategy.refusal(info, self.features()).or(image_refusal))
    }

    fn maps_regions(&self, strategy: Strategy) -> Support {
        let is_mapped_over = changes(strategy, &Config::default()).memory_of_ours;
        match self.support(strategy) {
            _ if self.mode != Mode::Compiled => Support::unsupported(Support::NO_REGION),
            Support::Unsupported { reason } => Support::Unsupported { reason },
            _ if !is_mapped_over => Support::unsupported("its memories are WasmEdge's own"),
            _ => Support::Emulated { how: "mapped over the end of WasmEdge's memory" },
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        match changes(strategy, &Config::default()).memory_of_ours {
            true => "memory imported",
            false => "memory defined",
        }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.check(strategy, guest)?;
        api::log_off();
        let native = self.mode == Mode::Compiled;
        if native {
            // Before anything is compiled: it keeps others' handlers in place.
            signals::guard(self.id())?;
        }
        let changes = changes(strategy, config);
        let rewritten = rewrite(guest, changes, &Frames::default())?;
        let key = self.key(guest, strategy, config, &rewritten);
        let code = match native {
            true => Code::compiled(self.id(), guest, changes, rewritten)?,
            false => Code::interpreted(guest, changes, rewritten),
        };
        Ok(self.artifact(code).keyed(key))
    }

    fn restore(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        if self.mode != Mode::Compiled {
            return Ok(None);
        }
        self.check(strategy, guest)?;
        let changes = changes(strategy, config);
        let rewritten = rewrite(guest, changes, &Frames::default())?;
        let Some(key) = self.key(guest, strategy, config, &rewritten) else { return Ok(None) };
        let Some(compiled) = folder.read(&key)? else { return Ok(None) };
        let code = Code::restored(guest, changes, &rewritten, compiled)?;
        Ok(Some(self.artifact(code).keyed(Some(key))))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        self.check(strategy, guest)?;
        api::log_off();
        let code: &Code = artifact.content(self.id())?;
        let (engine, claimed) = (self.id(), self.execution());
        let mode = self.mode.run_mode();
        let loaded = Loaded::new(engine, claimed, mode, guest, code, strategy, config)?;
        Ok(Box::new(loaded))
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        if !self.has_raw(call.strategy) {
            return Ok(None);
        }
        api::log_off();
        raw::caller(self.id(), self.mode == Mode::Compiled, guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native
    }
}
