//! A template for a backend: an adapter of one strategy. CONTRIBUTING.md has the steps.
//!
//! It runs wasmi through its plain interface, with a new instance for each call. `runtimes/wasmi`
//! is the adapter that is measured; no registry lists this one.

mod live;

use live::{LiveInstance, ModuleData};
use std::sync::Arc;
use touchstone_executor::adapter::{LoadedGuest, LoadedModule};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Config, EffectiveConfig, Engine, Error, Execution, Feature, Features, Module, Result,
    Strategy, Support,
};

pub(crate) const ID: &str = "template";

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
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

    fn support(&self, strategy: Strategy) -> Support {
        match strategy {
            Strategy::INTERPRETED => Support::Native,
            _ => Support::unsupported("the template has one strategy, `interpreted`"),
        }
    }

    fn features(&self) -> Features {
        Features::WASM2.without(Feature::Vectors).without(Feature::HostReferences)
    }

    fn has_deadline(&self) -> bool {
        false
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.check(strategy, guest)?;
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
        self.check(strategy, guest)?;
        let module: &wasmi::Module = artifact.open(self, guest, strategy, config)?;
        let guest = LoadedGuest::new(ID, guest, strategy, config);
        let shared = Arc::new(ModuleData { guest, module: module.clone() });
        let effective = EffectiveConfig::new().with("instance", "new store for each call");
        Ok(Box::new(LoadedModule::fresh::<LiveInstance>(&shared.guest, &shared, effective)))
    }
}
