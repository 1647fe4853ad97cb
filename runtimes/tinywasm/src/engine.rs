//! The engine: supported strategies, translating, and loading.

use crate::{module, raw};
use tinywasm::engine::{Config as Settings, StackConfig};
use tinywasm::parser::{Parser, ParserOptions};
use touchstone_executor::adapter::{
    LoadedGuest, MeasuredEngine, MemoryClass, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, CodeFrom, Config, Engine, Error, Execution, Feature, Features,
    InstanceFrom, Module, Result, Strategy, Support,
};

pub(crate) const ID: &str = "tinywasm";
/// The linked tinywasm, which has no constant for it. A test compares this one with the lock file.
const VERSION: &str = "tinywasm 0.10.0";

/// Frames of a guest's call stack, as on the other interpreters. tinywasm's default of 1024 is less
/// than compilers offer.
const MAX_FRAMES: usize = 16_384;
/// Entries of each of the three stacks of values.
const MAX_VALUES: usize = 256 * 1024;

pub(crate) struct TinyWasm;

/// The settings of every engine here. By default, tinywasm reserves whole stacks for each new
/// store; these start at 2 KiB, which an idle instance keeps, and grow.
pub(crate) fn settings() -> Settings {
    Settings::new()
        .with_value_stack_32(StackConfig::dynamic(128, MAX_VALUES))
        .with_value_stack_64(StackConfig::dynamic(64, MAX_VALUES))
        .with_value_stack_128(StackConfig::dynamic(8, MAX_VALUES))
        .with_call_stack(StackConfig::dynamic(16, MAX_FRAMES))
}

/// Parses and validates a module. Its memory must exist from the start, not from the first write:
/// the host writes first.
pub(crate) fn parse(wasm: &[u8]) -> Result<tinywasm::Module> {
    let options = ParserOptions::default().with_local_memory_allocation_optimization(false);
    Parser::with_options(options)
        .parse_module_bytes(wasm)
        .map_err(|error| Error::runtime(ID, "translate the module")(format!("{error:?}")))
}

impl Engine for TinyWasm {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn execution(&self) -> Execution {
        Execution::Interpreted
    }

    fn capabilities(&self) -> Capabilities {
        let features = Features::WASM2.with(Feature::TailCalls).with(Feature::RelaxedVectors);
        Capabilities { features, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled {
            return Support::unsupported("stored bytecode of tinywasm is not used here");
        }
        match strategy.instance {
            InstanceFrom::Interpreted => Support::Emulated {
                how: "a new instance each call on Touchstone's recycled memory; written pages are \
                      zeroed (found with PAGEMAP_SCAN where the kernel answers it, else all \
                      dropped), then data segments copied in",
            },
            _ => Support::of_interpreter("tinywasm", strategy),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        let refusal = strategy.refusal(info, self.capabilities().features);
        let refusal = refusal.or_else(|| info.import_refusal()).or_else(|| {
            (MemoryClass::of(strategy) == MemoryClass::OwnImage)
                .then(|| info.image_refusal())
                .flatten()
        });
        self.support(strategy).unless(refusal)
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        MemoryClass::of(strategy).name()
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        let module = match MemoryClass::of(strategy) {
            MemoryClass::OwnImage => parse(&guest.without_data()?)?,
            MemoryClass::Segments => parse(guest.wasm())?,
            MemoryClass::Resettable => parse(&guest.with_host_sized_memory()?)?,
        };
        // tinywasm does not tell the size of its code.
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
        loaded(strategy, config, Box::new(module::load(module, guest)?))
    }
}

impl MeasuredEngine for TinyWasm {
    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        raw::caller(guest, call)
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        // On a memory of tinywasm's own.
        strategy == Strategy::INTERPRETED
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
            .filter(|package| package.contains("\nname = \"tinywasm\"\n"))
            .filter_map(|package| package.split("version = \"").nth(1)?.split('"').next())
            .map(|version| format!("tinywasm {version}"))
            .collect();
        assert_eq!(versions, [VERSION]);
    }
}
