//! The two engines.

use crate::code::Codes;
use crate::{module, raw, record};
use touchstone_executor::adapter::{
    LoadedGuest, MeasuredEngine, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, CodeFrom, Config, Engine, Execution, Feature, Features, InstanceFrom,
    MemoryFrom, Module, Result, Strategy, Support,
};
use wasmi::{CompilationMode, CustomFuelCosts};

/// The linked wasmi, which has no constant for it. A test below compares it with the lock file.
const VERSION: &str = "wasmi 2.0.0";
/// Frames of a guest's call stack. wasmi's default of 1000 is less than half a MiB of stack has
/// room for in compiled code. Values have wasmi's own limit, 1 MB.
const MAX_FRAMES: usize = 16_384;

pub(crate) struct Wasmi {
    /// Translates each function at its first call, not all of them before the first call of any.
    pub(crate) is_lazy: bool,
}

impl Wasmi {
    fn wasmi_config(&self, config: &Config) -> wasmi::Config {
        let mut wasmi = wasmi::Config::default();
        let uses_fuel = config.is_interruptible() || config.metered;
        wasmi
            .compilation_mode(match self.is_lazy {
                false => CompilationMode::Eager,
                true => CompilationMode::Lazy,
            })
            .consume_fuel(uses_fuel)
            .ignore_custom_sections(true)
            .set_max_recursion_depth(MAX_FRAMES)
            // wasmi keeps two stacks by default. Further calls at the same time would allocate one
            // each.
            .set_max_cached_stacks(config.instances.max(2) as usize);
        if uses_fuel {
            // Fuel measures what a guest does, and not translation, which the first call does. 64
            // copied bytes take one unit, as wasmi sets it.
            wasmi.fuel_cost(CustomFuelCosts {
                bytes_copied_per_fuel: 64,
                fuel_per_bytes_translated: 0,
                fuel_per_bytes_validated: 0,
            });
        }
        wasmi
    }
}

impl Engine for Wasmi {
    fn id(&self) -> &'static str {
        if self.is_lazy { "wasmi_lazy" } else { "wasmi" }
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn execution(&self) -> Execution {
        Execution::Interpreted
    }

    fn capabilities(&self) -> Capabilities {
        // wasmi has vectors and 64-bit memories behind features that are not built in.
        let features = Features::WASM2
            .without(Feature::Vectors)
            .with(Feature::TailCalls)
            .with(Feature::MultiMemory);
        Capabilities { features, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled {
            return Support::unsupported("wasmi cannot store translated code");
        }
        let of_all = Support::of_interpreter("wasmi", strategy);
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Recreate, memory) if memory != MemoryFrom::Segments => {
                Support::unsupported(
                    "wasmi zero-fills every memory that a new instance gets, so none can start \
                     from an image",
                )
            }
            // Memories are lent through `Memory::new_static`.
            (InstanceFrom::Reuse, _) => of_all.unless(record::refusal()),
            _ => of_all,
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        match strategy.instance {
            InstanceFrom::Reuse => "memory imported",
            _ => "memory defined",
        }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        let (wasmi, instances) = (self.wasmi_config(config), config.instances as usize);
        let codes = Codes::new(self.id(), &wasmi, guest, strategy, instances)?;
        // wasmi does not tell the size of its code.
        Ok(Artifact::new(self, guest, strategy, config, codes))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, codes) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        loaded(strategy, config, Box::new(module::load(codes, guest)?))
    }
}

impl MeasuredEngine for Wasmi {
    fn executes_like(&self) -> Option<&'static str> {
        self.is_lazy.then_some("wasmi")
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        raw::caller(self.id(), &self.wasmi_config(call.config), guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_linked_one() {
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
        // Outside the workspace there is no lock file to compare with.
        let Ok(lock) = std::fs::read_to_string(lock) else { return };
        let versions: Vec<_> = lock
            .split("[[package]]")
            .filter(|package| package.contains("\nname = \"wasmi\"\n"))
            .filter_map(|package| package.split("version = \"").nth(1)?.split('"').next())
            .map(|version| format!("wasmi {version}"))
            .collect();
        assert_eq!(versions, [VERSION]);
    }
}
