//! A loaded module, and calls on it.

use crate::code::Code;
use crate::settings::{self, ID};
use crate::{host, probe, trap};
use sc_executor_common::wasm_runtime::{HeapAllocStrategy, WasmInstance, WasmModule};
use sc_executor_wasmtime::WasmtimeRuntime;
use std::sync::Arc;
use touchstone_executor::adapter::{EnforcedLimits, Exports, UNPREPARED, admit_imports};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Abi, CallOptions, Config, EffectiveConfig, Error, ExportId, Instance, Module, Outcome, Result,
    Strategy, TrapKind,
};

/// A module under one strategy.
pub(crate) struct LoadedSubstrate {
    runtime: WasmtimeRuntime,
    heap: HeapAllocStrategy,
    exports: Exports,
    strategy: Strategy,
    config: Arc<Config>,
    effective: EffectiveConfig,
}

impl LoadedSubstrate {
    pub(crate) fn new(
        guest: &GuestModule,
        code: &Code,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        admit_imports(ID, strategy, guest, config, &host::OFFERED)?;
        let heap = settings::heap(guest);
        let settings = settings::settings(strategy, heap, config)?;
        Ok(Self {
            runtime: code.load::<()>(strategy.code, settings)?,
            heap,
            exports: Exports::of(guest),
            strategy,
            config: Arc::new(config.clone()),
            effective: settings::describe(strategy, guest, config),
        })
    }
}

impl Module for LoadedSubstrate {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let export = self.exports.find(name, abi)?;
        match abi {
            Abi::Substrate => Ok(export),
            _ => Err(Error::ExportUnsupported {
                engine: ID,
                name: name.to_owned(),
                reason: format!("it calls by Substrate's convention only, not by {abi}"),
            }),
        }
    }

    /// One instance object for all calls of a thread, as Substrate's own cache of
    /// runtimes keeps it.
    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        let instance = self
            .runtime
            .new_instance(self.heap)
            .map_err(Error::runtime(ID, "make an instance object"))?;
        let logs = (self.config.max_log_level > 0).then(|| Arc::clone(&self.config));
        Ok(Box::new(Calling { instance, exports: self.exports.clone(), logs, prepared: false }))
    }

    fn probe(&mut self) -> Result<()> {
        let memory = probe::memory(self.strategy, &self.config)?;
        self.effective = std::mem::take(&mut self.effective).with("memory", memory);
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        self.effective.clone()
    }
}

/// Makes calls. The executor's "instance" makes a new instance in each call and drops it again, so
/// there is nothing to prepare or finish, and calls share no state.
struct Calling {
    instance: Box<dyn WasmInstance>,
    exports: Exports,
    /// How the guest logs; `None` where nothing is logged.
    logs: Option<Arc<Config>>,
    prepared: bool,
}

impl Instance for Calling {
    fn prepare(&mut self) -> Result<()> {
        self.prepared = true;
        Ok(())
    }

    /// No limit can be kept; a context, which none of the four host functions asks for, is ignored.
    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        output.clear();
        if !self.prepared {
            return Err(UNPREPARED);
        }
        let own = self.exports.get(export.index()).filter(|_| self.exports.has(export));
        let function = own.ok_or(Error::FOREIGN_HANDLE)?;
        options.map_or(Ok(()), |options| EnforcedLimits::default().check(&options))?;
        // The executor would cut the length off.
        if u32::try_from(input.len()).is_err() {
            let reason = "it is larger than 4 GiB".to_owned();
            return Ok(Outcome::Trapped(TrapKind::BadInput { reason }.into()));
        }
        let called =
            host::with(self.logs.as_ref(), || self.instance.call_export(&function.name, input));
        match called {
            Ok(bytes) => {
                // The executor's own buffer: a copy would be time that it does not take.
                *output = bytes;
                Ok(Outcome::Returned)
            }
            Err(error) => trap::sort(error).map(Outcome::Trapped),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.prepared = false;
        Ok(())
    }
}
