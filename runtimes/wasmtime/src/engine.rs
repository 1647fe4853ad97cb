//! The engine: what it supports, compiling and loading.

use crate::component::LoadedComponent;
use crate::deadline::code;
use crate::memory::Use;
use crate::{collected, component, image, module, nearcore, raw, settings};
use std::borrow::Cow;
use std::os::fd::AsRawFd;
use touchstone_executor::adapter::{
    ArtifactKey, CompiledCode, LoadedGuest, MeasuredEngine, RawCall, RawCaller, admit, loaded,
};
use touchstone_executor::guest::{GuestModule, ModuleInfo};
use touchstone_executor::{
    Artifact, ArtifactFolder, Capabilities, CodeFrom, Config, Engine, Error, Execution, Feature,
    Features, InstanceFrom, MemoryFrom, Module, Result, Strategy, Support,
};
use wasmtime::component::Component;

/// Which of Wasmtime's code generators makes the code, and under whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// The optimising compiler.
    Cranelift,
    /// The single-pass compiler.
    Winch,
    /// Cranelift's code for the Pulley interpreter.
    Pulley,
    /// The optimising compiler, and all settings as nearcore has them.
    Nearcore,
}

impl Compiler {
    /// `true` if its code compares each access with the memory's size. Pulley uses no signals, and
    /// so no guard pages.
    pub(crate) fn checks_bounds(self) -> bool {
        self == Self::Pulley
    }
}

pub(crate) struct Wasmtime {
    id: &'static str,
    version: String,
    compiler: Compiler,
}

impl Wasmtime {
    pub(crate) fn new(id: &'static str, compiler: Compiler) -> Self {
        Self { id, version: format!("wasmtime {}", wasmtime_environ::VERSION), compiler }
    }

    fn artifact(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        code: CompiledCode,
    ) -> Artifact {
        // It has everything that `settings::for_compiling` takes from a configuration.
        let key = ArtifactKey::new(self, guest, strategy, config, "");
        Artifact::new(self, guest, strategy, config, ()).of_code(code).keyed(key)
    }
}

impl Engine for Wasmtime {
    fn id(&self) -> &'static str {
        self.id
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn execution(&self) -> Execution {
        match self.compiler {
            Compiler::Cranelift | Compiler::Winch | Compiler::Nearcore => Execution::Compiled,
            Compiler::Pulley => Execution::Interpreted,
        }
    }

    fn capabilities(&self) -> Capabilities {
        let features = {
            let basic = Features::WASM2.without(Feature::HostReferences);
            let memories = basic.with(Feature::MultiMemory).with(Feature::Memory64);
            match self.compiler {
                Compiler::Cranelift | Compiler::Pulley => {
                    let more = memories.with(Feature::TailCalls).with(Feature::RelaxedVectors);
                    more.and(collected::COLLECTED)
                }
                // Winch has no tail calls, and no collector.
                Compiler::Winch => memories,
                // The settings of a node, which needs none of them.
                Compiler::Nearcore => basic,
            }
        };
        Capabilities { features, ..Capabilities::default() }
    }

    fn support(&self, strategy: Strategy) -> Support {
        if self.compiler == Compiler::Nearcore {
            return nearcore::support(strategy);
        }
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => {
                Support::unsupported("a new instance each call is called recreate_instance here")
            }
            (InstanceFrom::Reuse, _) => Support::reset_in_place(strategy),
            (InstanceFrom::Recreate, memory) if memory.restores_in_place() => {
                Support::on_recycled_memory(memory)
            }
            (InstanceFrom::Pooling, MemoryFrom::Resident) => {
                let refusal = strategy.memory.reset_method().refusal();
                Support::Native.unless(refusal.map(str::to_owned))
            }
            (InstanceFrom::Recreate, _)
            | (InstanceFrom::Pooling, MemoryFrom::Segments | MemoryFrom::CopyOnWrite) => {
                Support::Native
            }
            (InstanceFrom::Pooling, _) => {
                Support::unsupported("Wasmtime's pool does not know of tracked memories")
            }
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let info = guest.info();
        let refusal = match &info.component {
            Some(component) => component::refusal(strategy, info, component),
            None => strategy
                .refusal(info, self.capabilities().features)
                .or_else(|| info.import_refusal())
                .or_else(|| slots(strategy, info))
                .or_else(|| collected::refusal(strategy, info)),
        };
        let refusal = refusal.or_else(|| image::refusal(self.compiler, strategy, info));
        self.support(strategy).unless(refusal)
    }

    fn maps_regions(&self, strategy: Strategy) -> Support {
        match self.support(strategy) {
            _ if self.compiler.checks_bounds() => Support::unsupported(Support::NO_REGION),
            _ if Use::of(strategy).is_none() => {
                Support::unsupported("its memories are Wasmtime's own")
            }
            Support::Unsupported { reason } => Support::Unsupported { reason },
            _ => Support::Emulated { how: "mapped at the end of Touchstone's memory" },
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
        admit(self, strategy, guest, config)?;
        let settings = settings::for_compiling(self.compiler, strategy, config, guest.info())
            .map_err(Error::runtime(self.id, "configure its compiler"))?;
        let engine = wasmtime::Engine::new(&settings)
            .map_err(Error::runtime(self.id, "start its compiler"))?;
        let wasm = match settings::class(strategy) {
            settings::OWN_IMAGE => guest.without_data()?.into(),
            settings::OWN => {
                let enter = || guest.with_entries(config.is_interruptible());
                match settings::enters(config).then(enter).transpose()?.flatten() {
                    Some(wasm) => wasm.into(),
                    None => guest.resettable()?,
                }
            }
            _ => Cow::Borrowed(guest.wasm()),
        };
        let by_signal = code::is_stopped_by_signal(self.compiler, strategy, config, guest.info());
        let wasm = if by_signal { code::stoppable(&wasm, guest.info())? } else { wasm };
        let bytes = match guest.info().component {
            Some(_) => engine.precompile_component(&wasm),
            None => engine.precompile_module(&wasm),
        }
        .map_err(Error::runtime(self.id, "compile the module"))?;
        Ok(self.artifact(guest, strategy, config, CompiledCode::new(bytes)))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, ()) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        let (id, compiler) = (self.id, self.compiler);
        let code = artifact.code(id)?.ok_or(Error::Misuse("an artifact without code"))?;
        if guest.info().component.is_some() {
            if config.region.is_some() {
                let reason = "a component has memories of its own, without a shared region";
                return Err(Error::unhostable(reason));
            }
            let load = |engine: &_| load_component(code, id, engine, strategy.code);
            let module = LoadedComponent::new(compiler, guest, load)?;
            return loaded(strategy, config, Box::new(module));
        }
        let load = |engine: &_| load_module(code, id, engine, strategy.code);
        loaded(strategy, config, Box::new(module::load(compiler, guest, load)?))
    }
}

impl MeasuredEngine for Wasmtime {
    fn executes_like(&self) -> Option<&'static str> {
        (self.compiler == Compiler::Nearcore).then_some("wasmtime")
    }

    fn period(&self, strategy: Strategy) -> u64 {
        match (&self.compiler, strategy.instance) {
            (Compiler::Nearcore, InstanceFrom::Pooling) => nearcore::BATCH as u64,
            _ => 1,
        }
    }

    fn restore(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        let key = ArtifactKey::new(self, guest, strategy, config, "");
        let code = key.map(|key| folder.read(&key)).transpose()?.flatten();
        Ok(code.map(|code| self.artifact(guest, strategy, config, code)))
    }

    fn has_meter(&self) -> bool {
        // The peer has nothing to say here that the others do not.
        self.compiler != Compiler::Nearcore
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        self.support(strategy) == Support::Native && strategy.code == CodeFrom::InProcess
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        if guest.info().component.is_some() {
            return Ok(None);
        }
        raw::caller(self.id, self.compiler, guest, call)
    }
}

fn slots(strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    let unusual = [Feature::MultiMemory, Feature::Memory64];
    let unusual = unusual.into_iter().find(|feature| info.features.has(*feature))?;
    (strategy.instance == InstanceFrom::Pooling).then(|| {
        format!("it uses {unusual}; a slot of the pool has one memory with 32-bit addresses here")
    })
}

fn load_module(
    code: &CompiledCode,
    id: &'static str,
    engine: &wasmtime::Engine,
    from: CodeFrom,
) -> Result<wasmtime::Module> {
    match from {
        // SAFETY: the bytes come from `precompile_module` in this process, or in another one
        // of the run by the run's private folder (see `ArtifactFolder`), and were not in
        // anybody's hands since.
        CodeFrom::InProcess => unsafe { wasmtime::Module::deserialize(engine, code.bytes()) },
        CodeFrom::Precompiled => {
            let file = code
                .staged(id)?
                .try_clone()
                .map_err(Error::system("cannot open the precompiled module"))?;
            // SAFETY: as above: `staged` has just seen these bytes in the file, which
            // has no name by which others could reach it.
            unsafe { wasmtime::Module::deserialize_open_file(engine, file) }
        }
    }
    .map_err(Error::runtime(id, "load the compiled module"))
}

fn load_component(
    code: &CompiledCode,
    id: &'static str,
    engine: &wasmtime::Engine,
    from: CodeFrom,
) -> Result<Component> {
    match from {
        // SAFETY: the bytes come from `precompile_component` in this process, or in another one
        // of the run by the run's private folder (see `ArtifactFolder`), and were not in
        // anybody's hands since.
        CodeFrom::InProcess => unsafe { Component::deserialize(engine, code.bytes()) },
        CodeFrom::Precompiled => {
            // Wasmtime takes a component only by a file's name.
            let path = format!("/proc/self/fd/{}", code.staged(id)?.as_raw_fd());
            // SAFETY: as above: `staged` has just seen these bytes in the file, which
            // has no other name by which others could reach it.
            unsafe { Component::deserialize_file(engine, path) }
        }
    }
    .map_err(Error::runtime(id, "load the compiled component"))
}
