//! Substrate's host functions with a clock.

use sp_io::SubstrateHostFunctions;
use sp_wasm_interface::{
    Function, FunctionContext, HostFunctions, Result, Signature, Value, if_wasmtime_is_enabled,
};
use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The work of host functions. The allocator's is not among it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Number of calls.
    pub calls: u64,
    /// Time in them.
    pub time: Duration,
}

thread_local! {
    static SPENT: Cell<Spent> = const { Cell::new(Spent { calls: 0, time: Duration::ZERO }) };
}

/// The work of this thread's calls of [`Metered`] functions since the last time that it was asked.
pub fn spent() -> Spent {
    SPENT.take()
}

/// `sp_io::SubstrateHostFunctions`, whose time is taken.
pub struct Metered;

struct Timed(&'static dyn Function);

impl Function for Timed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn signature(&self) -> Signature {
        self.0.signature()
    }

    fn execute(
        &self,
        context: &mut dyn FunctionContext,
        args: &mut dyn Iterator<Item = Value>,
    ) -> Result<Option<Value>> {
        let started = Instant::now();
        let result = self.0.execute(context, args);
        let Spent { calls, time } = SPENT.get();
        SPENT.set(Spent { calls: calls + 1, time: time + started.elapsed() });
        result
    }
}

static ALL: LazyLock<Vec<Timed>> =
    LazyLock::new(|| SubstrateHostFunctions::host_functions().into_iter().map(Timed).collect());

impl HostFunctions for Metered {
    fn host_functions() -> Vec<&'static dyn Function> {
        ALL.iter().map(|function| function as &'static dyn Function).collect()
    }

    if_wasmtime_is_enabled! {
        // The way of Substrate's own executor, without the clock.
        fn register_static<T>(registry: &mut T) -> core::result::Result<(), T::Error>
        where
            T: sp_wasm_interface::HostFunctionRegistry,
        {
            SubstrateHostFunctions::register_static(registry)
        }
    }
}
