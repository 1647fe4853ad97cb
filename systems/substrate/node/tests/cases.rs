//! The cases of `sc-executor`'s integration tests through an unmodified `WasmExecutor` over the
//! patch, on the engine and the strategy in `TOUCHSTONE_EXECUTOR`.

// The runtime of the cases, and the cases.
#[path = "../../../../tests/substrate/cases.rs"]
mod cases;

use cases::{Settings, TestFunctions, wasm};
use sc_executor::error::Error;
use sc_executor::{HeapAllocStrategy, WasmExecutor};
use touchstone_substrate_host::chain::sp_core::Blake2Hasher;
use touchstone_substrate_host::chain::sp_core::traits::{
    CallContext, CodeExecutor, RuntimeCode, WrappedRuntimeCode,
};
use touchstone_substrate_host::chain::sp_state_machine::TestExternalities;

type Executor = WasmExecutor<TestFunctions>;

fn each_executor(_: &[u8], settings: Settings, work: &dyn Fn(&str, Executor)) {
    let mut builder = Executor::builder().with_allow_missing_host_functions(settings.stubs);
    if let Some(extra_pages) = settings.heap_pages {
        let heap = HeapAllocStrategy::Static { extra_pages };
        builder =
            builder.with_onchain_heap_alloc_strategy(heap).with_offchain_heap_alloc_strategy(heap);
    }
    let name = std::env::var("TOUCHSTONE_EXECUTOR");
    work(name.as_deref().unwrap_or("the default"), builder.build());
}

/// A node distinguishes errors by their kinds.
#[test]
fn errors_are_of_the_original_kinds() {
    let executor = Executor::builder().with_allow_missing_host_functions(true).build();
    let wasm = wasm();
    let failed = |method: &str| {
        let mut state = TestExternalities::<Blake2Hasher>::default();
        let code_fetcher = WrappedRuntimeCode(wasm.as_slice().into());
        let code = RuntimeCode { code_fetcher: &code_fetcher, heap_pages: None, hash: vec![1] };
        let context = CallContext::Offchain;
        executor.call(&mut state.ext(), &code, method, &[], context).0.unwrap_err()
    };
    let error = failed("no_such_method");
    assert!(matches!(&error, Error::MethodNotFound(name) if name == "no_such_method"), "{error:?}");
    let error = failed("return_huge_len");
    assert!(matches!(error, Error::OutputExceedsBounds), "{error:?}");
    let error = failed("unreachable_intrinsic");
    assert!(matches!(error, Error::AbortedDueToTrap(_)), "{error:?}");
    let error = failed("calls_missing_external");
    assert!(matches!(error, Error::AbortedDueToTrap(_)), "{error:?}");
    let error = failed("panics_in_host");
    assert!(
        matches!(&error, Error::AbortedDueToTrap(own) if own.message.starts_with("host code panicked")),
        "{error:?}"
    );
    let error = failed("abort_on_panic");
    assert!(
        matches!(&error, Error::AbortedDueToPanic(own) if own.message == "the runtime's reason"),
        "{error:?}"
    );
}
