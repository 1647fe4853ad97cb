//! The engine: what it supports, compiling and loading.

use crate::module::Loaded;
use crate::raw;
use crate::rewrite::{Changes, rewrite};
use crate::settings::{self, Class, ID};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, CodeFrom, Config, Engine, Error, Execution, InstanceFrom, MemoryFrom, Module,
    RawCall, RawCaller, Result, Strategy, Support,
};

/// Wasmer with Cranelift.
#[derive(Debug)]
pub(crate) struct Wasmer {
    version: String,
}

/// What `compile` hands to `load`.
pub(crate) struct Compiled {
    /// What it was made from.
    guest: GuestModule,
    /// The serialized module.
    bytes: Vec<u8>,
    /// What was done to the guest before it was compiled.
    class: Class,
    deadline: bool,
    /// The same bytes as a file without a name, made when first asked for. It
    /// goes with the process, however that ends.
    file: OnceLock<File>,
}

impl Wasmer {
    pub(crate) fn new() -> Self {
        Self { version: format!("wasmer {}", wasmer::sys::vm::VERSION) }
    }

    fn check(&self, strategy: Strategy, guest: &GuestModule) -> Result<()> {
        match self.support_for(strategy, guest) {
            Support::Unsupported { reason } => {
                Err(Error::Unsupported { engine: ID, strategy, reason })
            }
            Support::Native | Support::Emulated { .. } => Ok(()),
        }
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
            (InstanceFrom::Pooling | InstanceFrom::PoolingLate, _) => {
                Support::unsupported("Wasmer has no pooling allocator")
            }
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
        let stripped;
        let wasm = match class {
            Class::OwnImage => {
                stripped = guest.without_data()?;
                &stripped
            }
            Class::Segments => guest.wasm(),
        };
        let changes = Changes { start: guest.info().has_start, clock: config.deadline.is_some() };
        let wasm = rewrite(wasm, changes)?;
        let engine = settings::compiling(config);
        let bytes = wasmer::Module::new(&engine, wasm)
            .map_err(Error::runtime(ID, "compile the module"))?
            .serialize()
            .map_err(Error::runtime(ID, "serialize the module"))?
            .to_vec();
        let compiled = Compiled {
            guest: guest.clone(),
            class,
            deadline: config.deadline.is_some(),
            file: OnceLock::new(),
            bytes,
        };
        Ok(Artifact::new(ID, compiled.bytes.len(), compiled))
    }

    fn stage(&self, artifact: &Artifact, strategy: Strategy) -> Result<()> {
        if strategy.code == CodeFrom::Precompiled {
            artifact.content::<Compiled>(ID)?.file()?;
        }
        Ok(())
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
        let loaded =
            Loaded::new(guest, strategy, config, |engine| compiled.load(engine, strategy.code))?;
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

    /// From memory or from a file.
    fn load(&self, engine: &wasmer::Engine, code: CodeFrom) -> Result<wasmer::Module> {
        match code {
            // SAFETY: the bytes come from `serialize` in this process and were
            // not in anybody's hands since.
            CodeFrom::InProcess => unsafe {
                wasmer::Module::deserialize(engine, self.bytes.as_slice())
            },
            CodeFrom::Precompiled => {
                // Wasmer opens files by name only, and this one has none but
                // its descriptor's.
                let name = format!("/proc/self/fd/{}", self.file()?.as_raw_fd());
                // SAFETY: as above; the file has no name by which anybody else
                // could reach it, and is not written after `file` made it.
                unsafe { wasmer::Module::deserialize_from_file(engine, name) }
            }
        }
        .map_err(Error::runtime(ID, "load the compiled module"))
    }

    fn file(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let write = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.bytes)?;
            Ok(file)
        };
        let file = write().map_err(Error::system("cannot write the precompiled module"))?;
        // Another thread may have been faster; its file serves as well.
        Ok(self.file.get_or_init(|| file))
    }
}
