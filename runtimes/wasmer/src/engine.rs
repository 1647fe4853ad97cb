//! The engine: what it supports, compiling and loading.

use crate::module::Loaded;
use crate::raw;
use crate::rewrite::{Changes, rewrite};
use crate::settings::{self, Class, ID};
use std::borrow::Cow;
use std::os::fd::AsRawFd;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, CodeFrom, CompiledCode, Config, Engine, Error, Execution, InstanceFrom, MemoryFrom,
    Module, RawCall, RawCaller, Result, Strategy, Support,
};

/// Wasmer with Cranelift.
#[derive(Debug)]
pub(crate) struct Wasmer {
    version: String,
}

/// What `compile` hands to `load` beside the serialized module.
struct Compiled {
    /// What it was made from.
    guest: GuestModule,
    /// What was done to the guest before it was compiled.
    class: Class,
    deadline: bool,
}

impl Wasmer {
    pub(crate) fn new() -> Self {
        Self { version: format!("wasmer {}", wasmer::sys::vm::VERSION) }
    }
}

impl Engine for Wasmer {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn execution(&self) -> Execution {
        Execution::Compiled
    }

    fn support(&self, strategy: Strategy) -> Support {
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => {
                Support::unsupported("a new instance each call is called recreate_instance here")
            }
            (InstanceFrom::Pooling, _) => Support::unsupported("Wasmer has no pooling allocator"),
            (InstanceFrom::Recreate, MemoryFrom::Segments) => Support::Native,
            (InstanceFrom::Recreate, memory) => Support::on_recycled_memory(memory),
            (InstanceFrom::Reuse, memory) => Support::reset_in_place(memory),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        match self.support(strategy) {
            refused @ Support::Unsupported { .. } => refused,
            support => match settings::refusal(strategy, info) {
                Some(reason) => Support::unsupported(reason),
                None => support,
            },
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        Class::of(strategy).name()
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.check(strategy, guest)?;
        let class = Class::of(strategy);
        let wasm: Cow<'_, [u8]> = match class {
            Class::OwnImage => guest.without_data()?.into(),
            Class::Resettable => guest.resettable()?,
            Class::Segments => guest.wasm().into(),
        };
        let changes = Changes { start: guest.info().has_start, clock: config.deadline.is_some() };
        let wasm = rewrite(&wasm, changes)?;
        let engine = settings::compiling(config);
        let bytes = wasmer::Module::new(&engine, wasm)
            .map_err(Error::runtime(ID, "compile the module"))?
            .serialize()
            .map_err(Error::runtime(ID, "serialize the module"))?
            .to_vec();
        let compiled =
            Compiled { guest: guest.clone(), class, deadline: config.deadline.is_some() };
        Ok(Artifact::of_code(ID, CompiledCode::new(bytes), compiled))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        self.check(strategy, guest)?;
        let compiled: &Compiled = artifact.content(ID)?;
        compiled.check(guest, strategy, config)?;
        let code = artifact.code(ID)?.ok_or(Error::Misuse("an artifact without code"))?;
        let loaded = Loaded::new(guest, strategy, config, |engine| {
            load_module(code, engine, strategy.code)
        })?;
        Ok(Box::new(loaded))
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native && strategy.code == CodeFrom::InProcess
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        if !self.has_raw(call.strategy) {
            return Ok(None);
        }
        raw::caller(guest, call)
    }
}

impl Compiled {
    /// Signatures, offsets and sizes are taken from the guest: with another
    /// one's code they would be wrong, and unsafe.
    fn check(&self, guest: &GuestModule, strategy: Strategy, config: &Config) -> Result<()> {
        let reason = if !self.guest.is_same(guest) {
            format!("it was made from another guest, {}", self.guest.name())
        } else if self.class != Class::of(strategy) {
            format!(
                "it was compiled for {} memories, {strategy} needs {}",
                self.class.name(),
                Class::of(strategy).name()
            )
        } else if self.deadline != config.deadline.is_some() {
            "it was made with another setting of the deadline".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::BadArtifact { engine: ID, reason })
    }
}

/// From memory or from a file.
fn load_module(
    code: &CompiledCode,
    engine: &wasmer::Engine,
    from: CodeFrom,
) -> Result<wasmer::Module> {
    match from {
        // SAFETY: the bytes come from `serialize` in this process and were not in
        // anybody's hands since.
        CodeFrom::InProcess => unsafe { wasmer::Module::deserialize(engine, code.bytes()) },
        CodeFrom::Precompiled => {
            // Wasmer opens files by name only, and this one has none but its
            // descriptor's.
            let name = format!("/proc/self/fd/{}", code.staged(ID)?.as_raw_fd());
            // SAFETY: as above: `staged` has just seen these bytes in the file, which
            // has no name by which others could reach it.
            unsafe { wasmer::Module::deserialize_from_file(engine, name) }
        }
    }
    .map_err(Error::runtime(ID, "load the compiled module"))
}
