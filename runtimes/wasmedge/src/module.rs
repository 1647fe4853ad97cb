//! A loaded module, and the probe of its mode.

use crate::api::Settings;
use crate::code::{COMPILER, Code, LoadedCode, changes};
use crate::fresh::FreshInstance;
use crate::reuse::Resident;
use crate::rewrite::{Added, Changes};
use crate::{api, signals, sizes};
use std::sync::Arc;
use touchstone_executor::adapter::{LoadedGuest, MappingKind, Reused, mapping_kind};
use touchstone_executor::guest::{GuestModule, ModuleInfo};
use touchstone_executor::memory::{MemoryTemplate, ResetMethod};
use touchstone_executor::{
    Abi, CodeFrom, Config, EffectiveConfig, Error, Execution, ExportId, Instance, InstanceFrom,
    MemoryFrom, Module, Result, Strategy,
};

/// The parts that all instances of a module share.
pub(crate) struct SharedModule {
    pub(crate) settings: Settings,
    pub(crate) code: LoadedCode,
    pub(crate) changes: Changes,
    pub(crate) added: Vec<Added>,
    /// The start function is an export that the host calls.
    pub(crate) has_start: bool,
    pub(crate) reset: ResetMethod,
    /// The clean memory, if memories are Touchstone's and the module's bytes determine it.
    pub(crate) template: Option<MemoryTemplate>,
    pub(crate) guest: LoadedGuest,
}

impl SharedModule {
    pub(crate) fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    /// Checks that a memory has the size of its template.
    pub(crate) fn check_size(&self, bytes: usize, template: &MemoryTemplate) -> Result<()> {
        if bytes != template.whole_size() {
            let failed = Error::runtime(self.guest.engine, "lay out the memory");
            return Err(failed("it has another size than the module says"));
        }
        Ok(())
    }

    /// Checks how the memory at `base` is mapped, and describes it.
    pub(crate) fn check_memory(
        &self,
        base: *mut u8,
        template: Option<&MemoryTemplate>,
    ) -> Result<String> {
        let Some(offset) = self.guest.guest.first_data_byte() else {
            return Ok("no data at a known place to look at".to_owned());
        };
        let found = mapping_kind(base as usize + offset as usize);
        let wants_image = template.is_some_and(|template| template.image().is_some());
        match found {
            Some(MappingKind::PrivateFile(name))
                if wants_image && name.contains("touchstone-image") =>
            {
                Ok("image mapped copy-on-write".to_owned())
            }
            Some(MappingKind::Anonymous) if !wants_image => Ok("anonymous".to_owned()),
            Some(other) => Err(Error::WrongMode {
                engine: self.guest.engine,
                strategy: self.guest.strategy,
                reason: format!("its memory is mapped as {other:?}"),
            }),
            None => Ok("not probed: /proc/self/maps has no answer".to_owned()),
        }
    }
}

/// A module loaded under one strategy.
pub(crate) struct WasmEdgeModule {
    shared: Arc<SharedModule>,
    claimed: Execution,
    /// The mapping of a live instance's memory, once it was probed.
    memory: Option<String>,
}

impl WasmEdgeModule {
    pub(crate) fn new(
        engine: &'static str,
        claimed: Execution,
        mode: api::RunMode,
        guest: &GuestModule,
        code: &Code,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Self> {
        let wanted = changes(strategy, config);
        if claimed == Execution::Compiled {
            signals::guard(engine)?;
        }
        let settings = Settings::new(mode).map_err(Error::runtime(engine, "configure itself"))?;
        let loaded = code.load(engine, &settings, strategy.code)?;
        let reset = strategy.memory.reset_method();
        let info = guest.info();
        let template = match info.memory {
            Some(_) if wanted.memory_of_ours && info.image_refusal().is_none() => Some(
                MemoryTemplate::new(guest.initial_content()?, reset)?
                    .sharing(config.region.clone())?,
            ),
            _ => None,
        };
        if config.region.is_some() {
            // Only machine code faults at a write there.
            if loaded.executable == 0 {
                return Err(Error::no_region("WasmEdge interprets the module"));
            }
            if template.is_none() {
                let unknown = info.image_refusal();
                let reason = unknown.as_deref().unwrap_or("no template looks after the memory");
                return Err(Error::no_region(reason));
            }
        }
        let shared = SharedModule {
            settings,
            code: loaded,
            changes: code.changes,
            added: code.rewritten.added.clone(),
            has_start: code.rewritten.has_start,
            reset,
            template,
            guest: LoadedGuest::new(engine, guest, strategy, config)?,
        };
        Ok(Self { shared: Arc::new(shared), claimed, memory: None })
    }

    fn has_code(&self) -> bool {
        self.shared.info().functions > self.shared.info().imports.len()
    }
}

impl Module for WasmEdgeModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.shared.guest.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(match self.shared.guest.strategy.instance {
            InstanceFrom::Reuse => Box::new(Reused::<Resident>::new(&self.shared)),
            _ => Box::new(FreshInstance::new(&self.shared)),
        })
    }

    /// WasmEdge silently interprets code without machine code. Machine code must have become
    /// executable when the module was loaded.
    fn probe(&mut self) -> Result<()> {
        let is_native = self.shared.code.executable > 0;
        if self.has_code() && is_native != (self.claimed == Execution::Compiled) {
            let reason = match is_native {
                true => "machine code became executable when the module was loaded",
                false => {
                    "no machine code became executable when the module was loaded: WasmEdge \
                          would interpret it"
                }
            };
            return Err(Error::WrongMode {
                engine: self.shared.guest.engine,
                strategy: self.shared.guest.strategy,
                reason: reason.to_owned(),
            });
        }
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let base = instance.memory().map(|memory| memory.as_ptr().cast_mut());
        if let Some(base) = base.filter(|base| !base.is_null()) {
            let wants_image = self.shared.guest.strategy.memory != MemoryFrom::Segments;
            let template = self.shared.template.as_ref().filter(|_| wants_image);
            // With a start function, each instance probes its own content.
            if template.is_some() || !wants_image {
                self.memory = Some(self.shared.check_memory(base, template)?);
            }
        }
        instance.finish()
    }

    fn effective(&self) -> EffectiveConfig {
        let shared = &self.shared;
        let effective = EffectiveConfig::new();
        let effective = match (self.has_code(), shared.code.executable) {
            (false, _) => effective.with("execution", self.claimed.to_string()),
            (true, 0) => effective.with("execution", "interpreted"),
            (true, bytes) => effective
                .with("execution", "compiled")
                .with("compiler", COMPILER)
                .with("machine code", format!("{} KiB became executable", bytes >> 10))
                .with(
                    "signals",
                    "WasmEdge's handlers held by a thread that stays in a call; ours in front, \
                     which leaves other runtimes' faults to them",
                ),
        };
        let reset = match (shared.guest.strategy.instance, shared.reset) {
            (InstanceFrom::Recreate, ResetMethod::Segments) => "everything is dropped".to_owned(),
            (_, reset) => reset.to_string(),
        };
        let put_back = match (sizes::refusal(), shared.code.executable) {
            (Some(_), _) => "the instance is replaced by a new one",
            (None, 0) => "its first size put back, what lies behind cleaned",
            (None, _) => "its first size put back, what lies behind cleaned and closed",
        };
        let (instance, grown) =
            match (shared.guest.strategy.instance, shared.changes.memory_of_ours) {
                (InstanceFrom::Reuse, _) => ("one, reset in place", put_back),
                (_, true) => ("new each call, importing one memory", put_back),
                (_, false) => ("new each call", "dropped with the instance"),
            };
        let memory = self.memory.as_deref().unwrap_or("not probed");
        effective
            .with("compilation", "one thread")
            .with("stack", "the thread's; WasmEdge does not limit recursion")
            .with("instance", instance)
            .with("reset", reset)
            .with("grown memory", grown)
            .with(
                "grown table",
                match shared.guest.strategy.instance {
                    InstanceFrom::Reuse => "the instance is replaced by a new one",
                    _ => "dropped with the instance",
                },
            )
            .with(
                "memory",
                match shared.info().memory {
                    Some(_) => format!("WasmEdge's, 12 GiB of addresses each; {memory}"),
                    None => "none".to_owned(),
                },
            )
            .with(
                "deadline",
                if shared.guest.config.is_interruptible() {
                    "on, by code added to functions and loops"
                } else {
                    "off"
                },
            )
            .with("statistics", "off")
            .with(
                "code",
                match shared.guest.strategy.code {
                    CodeFrom::InProcess => "handed over in memory",
                    CodeFrom::Precompiled => "read from a universal module in a file",
                },
            )
    }
}
