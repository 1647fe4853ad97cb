//! Substrate's runtimes on every engine: the cases that Substrate's own executor is tested with,
//! and blocks.

#![cfg(feature = "chain")]

#[path = "substrate/blocks.rs"]
mod blocks;
#[path = "substrate/cases.rs"]
mod cases;

use std::sync::{Arc, LazyLock};
use touchstone_executor::adapter::Scratch;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    ArtifactFolder, Config, Imports, InstanceFrom, MemoryFrom, Strategy, Support,
};
use touchstone_substrate_host::Builder;
use touchstone_substrate_host::chain::SubstrateHostFunctions;
use touchstone_substrate_host::chain::sp_wasm_interface::{
    Function, FunctionContext, HostFunctions, Result, Signature, Value, if_wasmtime_is_enabled,
};

/// Substrate's functions, and one that panics.
type TestFunctions = (SubstrateHostFunctions, Panics);
type Executor = touchstone_substrate_host::Executor<TestFunctions>;

/// The strategies of a runtime's own, and the fastest of Touchstone's.
const STRATEGIES: [Strategy; 5] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [
        Strategy::TRACKED,
        Strategy::new(Pooling, CopyOnWrite),
        Strategy::new(Recreate, CopyOnWrite),
        Strategy::new(Recreate, Segments),
        Strategy::new(Interpreted, Segments),
    ]
};

/// Compiled code of this process: LLVM takes a minute for the runtime of the chain.
fn artifacts() -> ArtifactFolder {
    static FOLDER: LazyLock<Scratch> = LazyLock::new(|| Scratch::new().unwrap());
    ArtifactFolder::open(FOLDER.path()).unwrap()
}

/// Does something with the settings of each executor of this build that supports a runtime.
fn on_all(code: &[u8], work: impl Fn(&str, Builder<TestFunctions>)) {
    let guest = GuestModule::new("runtime", code, HeapPages::default()).unwrap();
    let engines = touchstone_runtimes::engines();
    let mut count = 0;
    for engine in engines.iter().filter(|engine| engine.id() != "substrate") {
        for strategy in STRATEGIES {
            if !matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. }) {
                count += 1;
                let name = format!("{}_{strategy}", engine.id());
                let builder = Executor::builder(Arc::clone(engine), strategy);
                work(&name, builder.artifacts(artifacts()));
            }
        }
    }
    assert!(count > 0, "this build has no engine that runs a runtime");
}

/// A host function that panics.
struct Panics;

impl Function for Panics {
    fn name(&self) -> &str {
        "ext_test_panics_version_1"
    }

    fn signature(&self) -> Signature {
        Signature::new_with_args(&[][..])
    }

    fn execute(
        &self,
        _: &mut dyn FunctionContext,
        _: &mut dyn Iterator<Item = Value>,
    ) -> Result<Option<Value>> {
        panic!("test")
    }
}

impl HostFunctions for Panics {
    fn host_functions() -> Vec<&'static dyn Function> {
        vec![&Self]
    }

    if_wasmtime_is_enabled! {
        fn register_static<T>(_: &mut T) -> core::result::Result<(), T::Error>
        where
            T: touchstone_substrate_host::chain::sp_wasm_interface::HostFunctionRegistry,
        {
            Ok(())
        }
    }
}

fn stubs() -> Config {
    Config { imports: Imports::Trap, ..Config::default() }
}
