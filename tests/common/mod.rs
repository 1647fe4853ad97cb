//! The harness of the behaviour tests: every engine of the test program (its function `engines`),
//! one strategy, one guest.

#[macro_use]
mod behaviours;
pub(crate) mod bytes;
pub(crate) mod calling;
pub(crate) mod clean;
#[path = "../fixtures/compiled.rs"]
mod compiled;
#[path = "../fixtures/either.rs"]
mod either;
pub(crate) mod guests;
pub(crate) mod host_functions;
pub(crate) mod limits;
pub(crate) mod moving;
pub(crate) mod storage;
#[path = "../fixtures/time.rs"]
pub(crate) mod time;
pub(crate) mod traps;
pub(crate) mod wapc;
pub(crate) mod wasi;

pub(crate) use compiled::guest_with;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, ExportId, Imports, Instance, Module, Outcome, Strategy, Support, TrapKind,
};

/// A guest from text, with the memory it declares.
pub(crate) fn guest(wat: &str) -> GuestModule {
    guest_with(wat, HeapPages::default())
}

/// A guest loaded by one engine under one strategy.
pub(crate) struct Loaded {
    /// For messages: engine and strategy.
    pub(crate) name: String,
    pub(crate) module: Box<dyn Module>,
    /// Endless recursion is a trap.
    pub(crate) limits_recursion: bool,
}

impl Loaded {
    pub(crate) fn instance(&self) -> Box<dyn Instance> {
        self.module.new_instance().unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    pub(crate) fn export(&self, name: &str, abi: Abi) -> ExportId {
        self.module.export(name, abi).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// An export that the guest has in two conventions.
    pub(crate) fn either(&self, name: &str) -> ExportId {
        either::either(&*self.module, name).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// One call that returns. On a busy machine a short deadline may end it; it is made again then.
    pub(crate) fn output(
        &self,
        instance: &mut dyn Instance,
        export: ExportId,
        input: &[u8],
    ) -> Vec<u8> {
        for _ in 0..100 {
            match self.outcome(instance, export, input) {
                (Outcome::Returned, output) => return output,
                (Outcome::Trapped(trap), _) if trap.kind == TrapKind::DeadlineExceeded => {}
                (Outcome::Trapped(trap), _) => panic!("{}: {trap}", self.name),
            }
        }
        panic!("{}: a hundred calls exceeded the deadline", self.name);
    }

    /// One call, however it ends. The buffer starts with what must be cleared. A deadline counts
    /// from the instantiation on.
    pub(crate) fn outcome(
        &self,
        instance: &mut dyn Instance,
        export: ExportId,
        input: &[u8],
    ) -> (Outcome, Vec<u8>) {
        let mut output = b"left over".to_vec();
        match instance.call(export, input, &mut output) {
            Ok(outcome) => (outcome, output),
            Err(Error::Instantiation { trap }) if trap.kind == TrapKind::DeadlineExceeded => {
                (Outcome::Trapped(trap), Vec::new())
            }
            Err(error) => panic!("{}: {error}", self.name),
        }
    }
}

/// Runs a test on every engine that supports the strategy for the guest.
pub(crate) fn each(strategy: Strategy, guest: &GuestModule, test: impl Fn(&Loaded)) {
    each_with(strategy, guest, &Config::default(), test);
}

/// The same with a configuration.
pub(crate) fn each_with(
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    test: impl Fn(&Loaded),
) {
    run(strategy, guest, config, false, test);
}

/// The same for guests that use what an engine may lack: it is left out when it
/// does not compile the guest.
pub(crate) fn each_that_compiles(strategy: Strategy, guest: &GuestModule, test: impl Fn(&Loaded)) {
    each_that_compiles_with(strategy, guest, &Config::default(), test);
}

/// The same with a configuration.
pub(crate) fn each_that_compiles_with(
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    test: impl Fn(&Loaded),
) {
    run(strategy, guest, config, true, test);
}

fn run(
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
    optional: bool,
    test: impl Fn(&Loaded),
) {
    // A test of missing imports loads its guest itself.
    let config = &Config { imports: Imports::Trap, ..config.clone() };
    let mut covered = Vec::new();
    for engine in crate::engines() {
        let name = format!("{} {strategy}", engine.id());
        if matches!(engine.support_for(strategy, guest), Support::Unsupported { .. }) {
            continue;
        }
        match load(&*engine, guest, strategy, config) {
            Ok(module) => {
                test(&Loaded { name, module, limits_recursion: engine.capabilities().recursion });
            }
            Err(error) if optional => {
                println!("{name}: left out: {error}");
                continue;
            }
            // Not every executor can stop a call.
            Err(error @ Error::Unsupported { .. }) if config.deadline.is_some() => {
                println!("{name}: left out: {error}");
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        }
        covered.push(engine.id());
    }
    println!("{strategy} covered: {covered:?}");
}

/// Compiles, unless another test did, and loads.
pub(crate) fn load(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> touchstone_executor::Result<Box<dyn Module>> {
    let artifact = compiled::artifact(engine, guest, strategy, config)?;
    let mut module = engine.load(guest, &artifact, strategy, config)?;
    module.probe()?;
    Ok(module)
}
