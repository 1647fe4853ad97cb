//! The engine: what it can do, "compiling" and loading.

use crate::{guests, module};
use touchstone_executor::adapter::{LoadedGuest, MeasuredEngine, admit, loaded};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    Artifact, CodeFrom, Config, Engine, Error, Execution, InstanceFrom, MemoryFrom, Module, Result,
    Strategy, Support,
};

pub(crate) const ID: &str = "native";

/// The compiler of the host, and with it of the guests' library.
pub(crate) const COMPILER: &str = env!("TOUCHSTONE_NATIVE_RUSTC");

pub(crate) struct Native;

impl Engine for Native {
    fn id(&self) -> &'static str {
        ID
    }

    fn version(&self) -> &str {
        COMPILER
    }

    fn execution(&self) -> Execution {
        Execution::Native
    }

    fn support(&self, strategy: Strategy) -> Support {
        if strategy.code == CodeFrom::Precompiled {
            return Support::unsupported(
                "the code is always compiled ahead of time, for the host; the strategy without \
                 `_precompiled` is the same",
            );
        }
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Interpreted, _) => Support::unsupported("nothing is interpreted here"),
            (InstanceFrom::Pooling, _) => Support::unsupported("there is no runtime with a pool"),
            (InstanceFrom::Recreate, MemoryFrom::Segments) => Support::Emulated {
                how: "Touchstone's memory, made for each call; the data segments are copied in",
            },
            (InstanceFrom::Recreate, MemoryFrom::CopyOnWrite) => Support::Emulated {
                how: "Touchstone's memory, made for each call, mapped copy-on-write from an image",
            },
            (InstanceFrom::Recreate, _) => Support::unsupported(
                "without a runtime, an instance is its memory: on a recycled one, this is \
                 instance_reuse with the same kind of memory",
            ),
            (InstanceFrom::Reuse, _) => Support::reset_in_place(strategy),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        let refusal = strategy.refusal(guest.info(), self.capabilities().features);
        let refusal = refusal.or_else(|| guests::find(guest).err().map(str::to_owned));
        self.support(strategy).unless(refusal)
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        admit(self, strategy, guest, config)?;
        // rustc did it, when the library was built.
        let known = guests::find(guest).map_err(Error::Misuse)?;
        Ok(Artifact::new(self, guest, strategy, config, known))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        let (guest, known) = LoadedGuest::open(self, guest, artifact, strategy, config)?;
        loaded(strategy, config, Box::new(module::load(known, guest)?))
    }
}

impl MeasuredEngine for Native {}
