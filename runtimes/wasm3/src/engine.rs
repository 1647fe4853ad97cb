//! The two engines.

use crate::machine::{Environment, layout};
use crate::{blocks, module, raw};
use touchstone_executor::adapter::{
    LoadedGuest, MeasuredEngine, MemoryClass, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, CodeFrom, Config, Engine, Error, Execution, Feature, Features,
    InstanceFrom, Module, Result, Strategy, Support,
};

pub(crate) struct Wasm3 {
    eager: bool,
    version: String,
}

impl Wasm3 {
    /// `eager` compiles all functions when an instance is made, not each one at its first call.
    pub(crate) fn new(eager: bool) -> Self {
        // Header and library are built from one copy of Wasm3.
        let version = wasm3_sys::M3_VERSION.strip_suffix(b"\0").unwrap_or(wasm3_sys::M3_VERSION);
        Self { eager, version: format!("Wasm3 {}", String::from_utf8_lossy(version)) }
    }
}

impl Engine for Wasm3 {
    fn id(&self) -> &'static str {
        if self.eager { "wasm3_eager" } else { "wasm3" }
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn execution(&self) -> Execution {
        Execution::Interpreted
    }

    fn capabilities(&self) -> Capabilities {
        // Its tail calls use up the stack as calls do.
        let features = Features::WASM2.without(Feature::Vectors);
        Capabilities { features, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled {
            return Support::unsupported("Wasm3 cannot store its code");
        }
        Support::of_interpreter("Wasm3", strategy).unless(layout::refusal())
    }

    /// A new instance needs its content before it exists, under every kind of memory.
    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        let refusal = strategy
            .refusal(info, self.capabilities().features)
            .or_else(|| match strategy.instance {
                InstanceFrom::Recreate => info.image_refusal(),
                _ => None,
            })
            .or_else(|| blocks::refusal(info.nesting))
            .or_else(|| module::refusal(strategy, info));
        self.support(strategy).unless(refusal)
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        if MemoryClass::of(strategy).is_own() { "memory lent" } else { "memory of its own" }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        let program = module::prepare(self.id(), self.eager, guest, strategy, config)?;
        Environment::new(self.id())?
            .parses(&program.wasm)
            .map_err(Error::runtime(self.id(), "parse the module"))?;
        // Wasm3 keeps its code with each instance: the artifact has the module's bytes only.
        Ok(Artifact::new(self, guest, strategy, config, program))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, program) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        loaded(strategy, config, Box::new(module::load(program, guest)?))
    }
}

impl MeasuredEngine for Wasm3 {
    fn executes_like(&self) -> Option<&'static str> {
        self.eager.then_some("wasm3")
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        raw::caller(self.id(), self.eager, guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native
    }
}
