//! The engine: supported strategies, translating, and loading.

use crate::{ID, api, layout, module, raw};
use touchstone_executor::adapter::{
    LoadedGuest, MeasuredEngine, MemoryClass, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, CodeFrom, Config, Engine, Execution, Feature, Features, InstanceFrom,
    Module, Result, Strategy, Support,
};

/// Seen with `(elem (i32.const 0) funcref (ref.null func))`: `ref.is_null` of the entry is 0.
const NULL_ELEMENTS: &str =
    "an element segment has a null reference, which WAMR takes for a function";

pub(crate) struct Wamr {
    version: String,
}

impl Wamr {
    pub(crate) fn new() -> Self {
        Self { version: api::version() }
    }
}

impl Engine for Wamr {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn execution(&self) -> Execution {
        Execution::Interpreted
    }

    fn capabilities(&self) -> Capabilities {
        // Its vectors need sources that the build would fetch from GitHub.
        let features = Features::WASM2.without(Feature::Vectors).with(Feature::TailCalls);
        Capabilities { features, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled {
            return Support::unsupported(
                "the crate builds WAMR's interpreter alone, which loads no compiled code",
            );
        }
        Support::of_interpreter("WAMR", strategy).unless(layout::refusal())
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        let refusal = strategy.refusal(info, self.capabilities().features);
        let refusal = refusal.or_else(|| match strategy.instance {
            _ if info.null_elements => Some(NULL_ELEMENTS.to_owned()),
            InstanceFrom::Recreate => info.image_refusal(),
            _ => None,
        });
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
        let program = module::prepare(guest, strategy, config)?;
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

impl MeasuredEngine for Wamr {
    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        if !self.has_raw(call.strategy) {
            return Ok(None);
        }
        raw::caller(guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native
    }
}
