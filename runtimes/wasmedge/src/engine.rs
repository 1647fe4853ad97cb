//! The two engines.

use crate::api::{self, RunMode};
use crate::code::{COMPILER, Code, LEVEL, changes};
use crate::rewrite::{Rewritten, rewrite};
use crate::{module, raw, signals};
use sha2::{Digest, Sha256};
use std::sync::{Arc, LazyLock};
use touchstone_executor::adapter::{
    ArtifactKey, CompiledCode, LoadedGuest, MeasuredEngine, MemoryClass, RawCall, RawCaller, admit,
    loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, ArtifactFolder, Capabilities, CodeFrom, Config, Engine, Error, Execution, Feature,
    Features, InstanceFrom, MemoryFrom, Module, Result, Strategy, Support,
};
use wasmedge_sys::ffi;

/// Execution modes of WasmEdge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Interpreter,
    /// Compiled ahead of time.
    Compiled,
    /// The just-in-time mode of the Rust interface, which silently interprets. For the test that
    /// the probe finds out.
    JustInTime,
}

impl Mode {
    /// The claimed way.
    pub(crate) fn execution(self) -> Execution {
        match self {
            Self::Interpreter => Execution::Interpreted,
            Self::Compiled | Self::JustInTime => Execution::Compiled,
        }
    }

    pub(crate) fn run_mode(self) -> RunMode {
        match self {
            Self::Interpreter => ffi::WasmEdge_RunMode_Interpreter,
            Self::Compiled => ffi::WasmEdge_RunMode_AOT,
            Self::JustInTime => ffi::WasmEdge_RunMode_JIT,
        }
    }
}

pub(crate) struct WasmEdge(pub(crate) Mode);

impl WasmEdge {
    /// Only compiled code is stored.
    fn key(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        rewritten: &Rewritten,
    ) -> Option<ArtifactKey> {
        let made_of = format!("{COMPILER}; of {:x?}", Sha256::digest(&rewritten.wasm));
        (self.0 == Mode::Compiled)
            .then(|| ArtifactKey::new(self, guest, strategy, config, &made_of))
            .flatten()
    }

    fn artifact(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        code: Code,
    ) -> Artifact {
        let compiled = Arc::clone(&code.compiled);
        Artifact::new(self, guest, strategy, config, code).of_code(compiled)
    }
}

impl Engine for WasmEdge {
    fn id(&self) -> &'static str {
        match self.0 {
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
        self.0.execution()
    }

    /// The interpreter takes memory for each call of a recursion, and compiled code the thread's
    /// stack. WasmEdge 0.17 limits neither.
    fn capabilities(&self) -> Capabilities {
        let features = Features::WASM2.with(Feature::RelaxedVectors);
        let features = match self.0 {
            Mode::Interpreter | Mode::JustInTime => features.with(Feature::TailCalls),
            // LLVM may leave a tail call as a call, which takes stack.
            Mode::Compiled => features,
        };
        Capabilities { features, recursion: false, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled && self.0 != Mode::Compiled {
            return Support::unsupported("no code is compiled that could be stored");
        }
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => {
                Support::unsupported("a new instance each call is called recreate_instance here")
            }
            (InstanceFrom::Pooling, _) => Support::unsupported("WasmEdge has no pooling allocator"),
            (InstanceFrom::Recreate, MemoryFrom::Segments) => Support::Native,
            // One instance after the other imports the memory, over which the image is mapped.
            (InstanceFrom::Recreate, memory) => Support::on_recycled_memory(memory),
            (InstanceFrom::Reuse, _) => Support::reset_in_place(strategy),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        // A reused instance shows its clean content after instantiation.
        let needs_image = MemoryClass::of(strategy) == MemoryClass::OwnImage;
        let image_refusal = needs_image.then(|| info.image_refusal()).flatten();
        let refusal = strategy.refusal(info, self.capabilities().features).or(image_refusal);
        self.support(strategy).unless(refusal)
    }

    fn maps_regions(&self, strategy: Strategy) -> Support {
        match self.support(strategy) {
            _ if self.0 != Mode::Compiled => Support::unsupported(Support::NO_REGION),
            Support::Unsupported { reason } => Support::Unsupported { reason },
            _ if !MemoryClass::of(strategy).is_own() => {
                Support::unsupported("its memories are WasmEdge's own")
            }
            _ => Support::Emulated { how: "mapped over the end of WasmEdge's memory" },
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        if MemoryClass::of(strategy).is_own() { "memory imported" } else { "memory defined" }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        api::log_off();
        let changes = changes(strategy, config);
        let rewritten = rewrite(guest, changes)?;
        let key = self.key(guest, strategy, config, &rewritten);
        let compiled = match self.0 {
            Mode::Compiled => {
                // First, because it keeps others' handlers in place.
                signals::guard(self.id())?;
                api::compile(&rewritten.wasm, LEVEL)
                    .map_err(Error::runtime(self.id(), "compile the module"))?
            }
            Mode::Interpreter | Mode::JustInTime => rewritten.wasm.clone(),
        };
        let compiled = Arc::new(CompiledCode::new(compiled));
        let code = Code { changes, rewritten, compiled };
        Ok(self.artifact(guest, strategy, config, code).keyed(key))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, code) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        api::log_off();
        loaded(strategy, config, Box::new(module::load(self.0, guest, code)?))
    }
}

impl MeasuredEngine for WasmEdge {
    fn restore(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        if self.0 != Mode::Compiled {
            return Ok(None);
        }
        admit(self, strategy, guest, config)?;
        let changes = changes(strategy, config);
        let rewritten = rewrite(guest, changes)?;
        let Some(key) = self.key(guest, strategy, config, &rewritten) else { return Ok(None) };
        let Some(compiled) = folder.read(&key)? else { return Ok(None) };
        let code = Code { changes, rewritten, compiled: Arc::new(compiled) };
        Ok(Some(self.artifact(guest, strategy, config, code).keyed(Some(key))))
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        api::log_off();
        raw::caller(self.id(), self.0 == Mode::Compiled, guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native
    }
}
