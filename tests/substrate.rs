//! Substrate's runtimes on every engine: the cases that Substrate's own executor is tested with,
//! and blocks.

#![cfg(feature = "chain")]

#[path = "substrate/blocks.rs"]
mod blocks;
#[path = "substrate/cases.rs"]
mod cases;
#[path = "substrate/turns.rs"]
mod turns;

use cases::{Settings, TestFunctions};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    ArtifactFolder, Config, Imports, InstanceFrom, MemoryFrom, Strategy, Support,
};
use touchstone_substrate_host::Builder;

type Executor = touchstone_substrate_host::Executor<TestFunctions>;

/// A brand-new instance for each call, as the runtime itself makes them.
const NEW: [Strategy; 2] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [Strategy::new(Recreate, Segments), Strategy::new(Interpreted, Segments)]
};
/// The strategies of a runtime's own, and the fastest of Touchstone's.
const STRATEGIES: [Strategy; 5] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [
        Strategy::TRACKED,
        Strategy::new(Pooling, CopyOnWrite),
        Strategy::new(Recreate, CopyOnWrite),
        NEW[0],
        NEW[1],
    ]
};

/// Compiled code of this process: LLVM takes a minute for the runtime of the chain.
fn artifacts() -> ArtifactFolder {
    static FOLDER: LazyLock<Scratch> = LazyLock::new(|| Scratch::new().unwrap());
    ArtifactFolder::open(FOLDER.path()).unwrap()
}

/// One test at a time has the runtime of the chain, so that each engine compiles it once.
fn alone() -> MutexGuard<'static, ()> {
    static CHAIN: Mutex<()> = Mutex::new(());
    CHAIN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engines of this build that take functions of the host.
fn engines() -> impl Iterator<Item = Arc<dyn MeasuredEngine>> {
    touchstone_runtimes::engines().into_iter().filter(|engine| engine.capabilities().functions)
}

/// The settings of an executor by each of some strategies that it supports for a runtime.
fn builders(
    engine: &Arc<dyn MeasuredEngine>,
    code: &[u8],
    strategies: &[Strategy],
) -> Vec<(String, Builder<TestFunctions>)> {
    let guest = GuestModule::new("runtime", code, HeapPages::default()).unwrap();
    let supported = strategies.iter().filter(|strategy| {
        !matches!(engine.support_for(**strategy, &guest), Support::Unsupported { .. })
    });
    supported
        .map(|strategy| {
            let builder = Executor::builder(Arc::clone(engine), *strategy);
            (format!("{}_{strategy}", engine.id()), builder.artifacts(artifacts()))
        })
        .collect()
}

/// Does something with the settings of each executor of this build that supports a runtime.
fn on_all(code: &[u8], work: impl Fn(&str, Builder<TestFunctions>)) {
    let mut count = 0;
    for engine in engines() {
        for (name, builder) in builders(&engine, code, &STRATEGIES) {
            work(&name, builder);
            count += 1;
        }
    }
    assert!(count > 0, "this build has no engine that runs a runtime");
}

/// Does something with each executor of a case.
fn each_executor(wasm: &[u8], settings: Settings, work: &dyn Fn(&str, Executor)) {
    on_all(wasm, |name, mut builder| {
        if settings.stubs {
            builder = builder.config(stubs());
        }
        if let Some(pages) = settings.heap_pages {
            builder = builder.heap_pages(pages);
        }
        work(name, builder.build());
    });
}

fn stubs() -> Config {
    Config { imports: Imports::Trap, ..Config::default() }
}
