//! The engine: what it supports, compiling and loading.

use crate::code::{self, Code};
use crate::module::LoadedSubstrate;
use crate::refusal;
use crate::settings::{self, ID};
use sc_executor_common::wasm_runtime::WasmModule;
use touchstone_executor::adapter::{MeasuredEngine, RawCall, RawCaller, admit_if, loaded};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, Capabilities, CodeFrom, Config, Engine, Error, Execution, Module, Result, Strategy,
    Support,
};

/// The linked executor and its Wasmtime. Neither has a constant to ask for; a test
/// below holds this one against the lock file.
const VERSION: &str = "sc-executor-wasmtime 0.47.0, wasmtime 36.0.20";

#[derive(Debug)]
pub(crate) struct Substrate;

impl Engine for Substrate {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn execution(&self) -> Execution {
        Execution::Compiled
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { deadline: false, functions: false, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        settings::support(strategy)
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        match self.support(strategy) {
            Support::Native => Support::Native.unless(refusal::of(guest)),
            other => other,
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        settings::class(strategy)
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.admit(strategy, guest, config)?;
        let settings = settings::settings(strategy, settings::heap(guest), config)?;
        let blob = code::blob(guest.wasm()).map_err(|error| unsupported(strategy, &error))?;
        let code = Code::compile(blob, &settings)?;
        let bytes = code.bytes();
        Ok(Artifact::new(self, guest, strategy, config, code).of_code(bytes))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        self.admit(strategy, guest, config)?;
        let code: &Code = artifact.open(self, guest, strategy, config)?;
        let module = LoadedSubstrate::new(guest, code, strategy, config)?;
        loaded(strategy, config, Box::new(module))
    }
}

impl MeasuredEngine for Substrate {
    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native && strategy.code == CodeFrom::InProcess
    }

    /// Compiled and loaded in one step, as Substrate's nodes do it.
    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        let heap = settings::heap(guest);
        let settings = settings::settings(call.strategy, heap, call.config)?;
        let blob = code::blob(guest.wasm())?;
        let mut instance =
            sc_executor_wasmtime::create_runtime::<crate::host::Host>(blob, settings)
                .map_err(Error::runtime(ID, "compile the module"))?
                .new_instance(heap)
                .map_err(Error::runtime(ID, "make an instance object"))?;
        let (export, input) = (call.export.to_owned(), call.input.to_vec());
        Ok(Some(Box::new(move |output| {
            *output = instance
                .call_export(&export, &input)
                .map_err(Error::runtime(ID, "call the guest"))?;
            Ok(())
        })))
    }
}

fn unsupported(strategy: Strategy, reason: &dyn std::fmt::Display) -> Error {
    Error::Unsupported { engine: ID, strategy, reason: reason.to_string() }
}

impl Substrate {
    /// Refuses what `admit` refuses, without reading the module again: that is no part of loading.
    fn admit(&self, strategy: Strategy, guest: &GuestModule, config: &Config) -> Result<()> {
        let support = settings::support(strategy).unless(refusal::of_known(guest.info()));
        admit_if(self, support, strategy, config)
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
        let versions = |name: &str| -> Vec<String> {
            lock.split("[[package]]")
                .filter(|package| package.contains(&format!("\nname = \"{name}\"\n")))
                .filter_map(|package| package.split("version = \"").nth(1)?.split('"').next())
                .map(|version| format!("{name} {version}"))
                .collect()
        };
        let (executor, wasmtime) = VERSION.split_once(", ").unwrap();
        assert_eq!(versions("sc-executor-wasmtime"), [executor]);
        // Wasmtime's own backend has another one.
        let linked: Vec<_> = versions("wasmtime")
            .into_iter()
            .filter(|version| version.starts_with("wasmtime 36."))
            .collect();
        assert_eq!(linked, [wasmtime]);
    }
}
