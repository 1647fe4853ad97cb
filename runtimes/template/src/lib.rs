//! A template for a backend: an adapter of one strategy. CONTRIBUTING.md has the steps.
//!
//! It runs wasmi through its plain interface, with a new instance for each call. `runtimes/wasmi`
//! is the adapter that is measured; no registry lists this one.

mod live;

use live::{LiveInstance, ModuleData};
use std::sync::Arc;
use touchstone_executor::adapter::{LoadedGuest, LoadedModule, MeasuredEngine, admit, loaded};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, Config, EffectiveConfig, Engine, Error, Execution, Feature, Features,
    Module, Result, Strategy, Support,
};

pub(crate) const ID: &str = "template";

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(Template)]
}

struct Template;

impl Engine for Template {
    fn id(&self) -> &'static str {
        ID
    }

    /// Name and version of the linked runtime, as every record has it.
    fn version(&self) -> &str {
        "wasmi 2"
    }

    fn execution(&self) -> Execution {
        Execution::Interpreted
    }

    fn capabilities(&self) -> Capabilities {
        let features = Features::WASM2.without(Feature::Vectors).without(Feature::HostReferences);
        Capabilities { features, deadline: false, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        match strategy {
            Strategy::INTERPRETED => Support::Native,
            _ => Support::unsupported("the template has one strategy, `interpreted`"),
        }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        let module = wasmi::Module::new(&wasmi::Engine::default(), guest.wasm())
            .map_err(Error::runtime(ID, "translate the module"))?;
        Ok(Artifact::new(self, guest, strategy, config, module))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, module) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        let shared = Arc::new(ModuleData { guest, module: wasmi::Module::clone(module) });
        let effective = EffectiveConfig::new().with("execution", "interpreted");
        let module = LoadedModule::fresh::<LiveInstance>(&shared.guest, &shared, effective);
        loaded(strategy, config, Box::new(module))
    }
}

impl MeasuredEngine for Template {}
