//! Wasmer's settings for each strategy, in one place.

use crate::memory::Memories;
use std::num::NonZero;
use touchstone_executor::adapter::MemoryClass;
use touchstone_executor::guest::{ModuleInfo, Table};
use touchstone_executor::{
    CodeFrom, Config, EffectiveConfig, Features, InstanceFrom, MemoryFrom, Strategy,
};
use wasmer::sys::{Cranelift, EngineBuilder};

pub(crate) const ID: &str = "wasmer";

/// The reason why a module cannot run under a strategy.
pub(crate) fn refusal(strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    // Wasmer keeps the entries of a function table of fixed size twice, and its
    // interface writes only the copy that compiled code does not look at.
    let fixed = |table: &Table| table.maximum == Some(table.minimum);
    strategy.refusal(info, Features::WASM2).or_else(|| match MemoryClass::of(strategy) {
        MemoryClass::OwnImage => info.image_refusal(),
        MemoryClass::Resettable if info.writes_tables && info.tables.iter().any(fixed) => Some(
            "the module writes a table of fixed size, whose entries Wasmer's interface cannot \
             bring back"
                .to_owned(),
        ),
        _ => None,
    })
}

/// An engine that compiles.
pub(crate) fn compiling(config: &Config) -> wasmer::Engine {
    let threads = match (config.parallel_compilation, std::thread::available_parallelism()) {
        (true, Ok(threads)) => threads,
        _ => NonZero::<usize>::MIN,
    };
    let mut cranelift = Cranelift::new();
    cranelift.num_threads(threads);
    EngineBuilder::new(cranelift).engine().into()
}

/// An engine that only runs, with its memories on top.
pub(crate) fn running(memories: Memories) -> wasmer::Engine {
    let mut engine = EngineBuilder::headless().engine();
    engine.set_tunables(memories);
    engine.into()
}

pub(crate) fn describe(strategy: Strategy, config: &Config) -> EffectiveConfig {
    let reset = match (strategy.instance, strategy.memory) {
        (InstanceFrom::Recreate, MemoryFrom::Segments) => {
            "memory unmapped, a new one mapped".to_owned()
        }
        (_, memory) => memory.reset_method().to_string(),
    };
    let words = EffectiveConfig::new()
        .with("execution", "compiled")
        .with("compiler", "Cranelift, optimised for speed")
        .with("compilation", if config.parallel_compilation { "parallel" } else { "one thread" })
        .with(
            "instances",
            match strategy.instance {
                InstanceFrom::Reuse => "one, reset in place",
                _ => "new store and instance each call",
            },
        )
        .with("reset", reset)
        .with("bounds checks", "by a 4 GiB reservation and guard pages")
        .with("metering", if config.is_interruptible() { "on (deadline)" } else { "off" })
        .with(
            "code",
            match strategy.code {
                CodeFrom::InProcess => "compiled in this process, handed over in memory",
                CodeFrom::Precompiled => "copied from an ahead-of-time artifact in a file",
            },
        );
    if strategy.instance == InstanceFrom::Reuse {
        words.with("grown memory or table", "the instance is replaced by a new one")
    } else {
        words
    }
}
