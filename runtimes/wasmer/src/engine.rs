//! The engine: what it supports, compiling and loading.

use crate::rewrite::{Changes, rewrite};
use crate::settings::{self, ID};
use crate::{module, raw};
use std::borrow::Cow;
use std::os::fd::AsRawFd;
use touchstone_executor::adapter::{
    CompiledCode, LoadedGuest, MeasuredEngine, MemoryClass, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, CodeFrom, Config, Engine, Error, Execution, InstanceFrom, MemoryFrom, Module, Result,
    Strategy, Support,
};

pub(crate) struct Wasmer {
    version: String,
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
            (InstanceFrom::Reuse, _) => Support::reset_in_place(strategy),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        self.support(strategy).unless(settings::refusal(strategy, guest.info()))
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
        let wasm: Cow<'_, [u8]> = match MemoryClass::of(strategy) {
            MemoryClass::OwnImage => guest.without_data()?.into(),
            MemoryClass::Resettable => guest.resettable()?,
            MemoryClass::Segments => guest.wasm().into(),
        };
        let changes = Changes { start: guest.info().has_start, clock: config.is_interruptible() };
        let wasm = rewrite(&wasm, changes)?;
        let engine = settings::compiling(config);
        let bytes = wasmer::Module::new(&engine, wasm)
            .map_err(Error::runtime(ID, "compile the module"))?
            .serialize()
            .map_err(Error::runtime(ID, "serialize the module"))?
            .to_vec();
        Ok(Artifact::new(self, guest, strategy, config, ()).of_code(CompiledCode::new(bytes)))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, ()) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        let code = artifact.code(ID)?.ok_or(Error::Misuse("an artifact without code"))?;
        let load = |engine: &_| load_module(code, engine, strategy.code);
        loaded(strategy, config, Box::new(module::load(guest, load)?))
    }
}

impl MeasuredEngine for Wasmer {
    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native && strategy.code == CodeFrom::InProcess
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        raw::caller(guest, call)
    }
}

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
            // Wasmer opens files by name only, and this one has none but its descriptor's.
            let name = format!("/proc/self/fd/{}", code.staged(ID)?.as_raw_fd());
            // SAFETY: as above: `staged` has just seen these bytes in the file, which
            // has no name by which others could reach it.
            unsafe { wasmer::Module::deserialize_from_file(engine, name) }
        }
    }
    .map_err(Error::runtime(ID, "load the compiled module"))
}
