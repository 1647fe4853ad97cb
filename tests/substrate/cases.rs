//! The cases of `sc-executor`'s integration tests, by their names, with a runtime in text. The
//! program on the crate for a node's patch has them too. `docs/substrate.md` lists the cases that
//! are left out.

use super::{Executor, each_executor};
use touchstone_substrate_host::chain::codec::Encode;
use touchstone_substrate_host::chain::sp_core::offchain::testing::TestOffchainExt;
use touchstone_substrate_host::chain::sp_core::offchain::{
    OffchainDbExt, OffchainOverlayedChange, OffchainWorkerExt, STORAGE_PREFIX,
};
use touchstone_substrate_host::chain::sp_core::storage::StateVersion;
use touchstone_substrate_host::chain::sp_core::traits::{
    CallContext, CodeExecutor, Externalities, RuntimeCode, WrappedRuntimeCode,
};
use touchstone_substrate_host::chain::sp_core::{Blake2Hasher, Pair, ed25519, sr25519};
use touchstone_substrate_host::chain::sp_io;
use touchstone_substrate_host::chain::sp_io::hashing::{
    blake2_128, blake2_256, sha2_256, twox_128, twox_256,
};
use touchstone_substrate_host::chain::sp_state_machine::TestExternalities;
use touchstone_substrate_host::chain::sp_wasm_interface::{
    Function, FunctionContext, HostFunctions, Result as HostResult, Signature, Value,
    if_wasmtime_is_enabled,
};
use touchstone_substrate_host::chain::{
    Client, Node, Overlay, RUNTIME, State, SubstrateHostFunctions, query,
};

/// Substrate's functions, and one that panics.
pub(crate) type TestFunctions = (SubstrateHostFunctions, Panics);

/// Settings of the executors of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// `true` if imports that nobody answers are stubs.
    pub(crate) stubs: bool,
    /// Pages that a memory may grow by, if not the default.
    pub(crate) heap_pages: Option<u32>,
}

const STUBS: Settings = Settings { stubs: true, heap_pages: None };
/// Beside the one page of the runtime: a block of 1 MiB with its header.
const ONE_BLOCK: Settings = Settings { heap_pages: Some(17), ..STUBS };

pub(crate) fn wasm() -> Vec<u8> {
    wat::parse_str(include_str!("cases.wat")).unwrap()
}

/// Does something with the runtime on each executor.
fn each(work: impl Fn(&str, &Case)) {
    with(&wasm(), STUBS, work);
}

fn with(wasm: &[u8], settings: Settings, work: impl Fn(&str, &Case)) {
    each_executor(wasm, settings, &|name, executor| {
        let node = Node::new(executor.clone(), wasm.to_vec());
        work(name, &Case { node, executor, wasm: wasm.to_vec() });
    });
}

/// A runtime on an executor.
struct Case {
    node: Node<Executor>,
    executor: Executor,
    wasm: Vec<u8>,
}

impl Case {
    fn ask(&self, method: &str, data: &[u8]) -> Result<Vec<u8>, String> {
        query(&self.node, &State::default(), method, data)
    }

    /// The word that each of two calls returns.
    fn words(&self, method: &str) -> [u32; 2] {
        [(); 2].map(|()| {
            let answer = self.ask(method, &[]).unwrap();
            u32::from_le_bytes(answer.try_into().unwrap())
        })
    }

    fn refusal(&self, method: &str) -> String {
        self.ask(method, &[]).unwrap_err()
    }

    /// A call over externalities, with the heap pages of its state.
    fn call(
        &self,
        ext: &mut dyn Externalities,
        heap_pages: Option<u64>,
        method: &str,
        data: &[u8],
    ) -> Result<Vec<u8>, String> {
        let code_fetcher = WrappedRuntimeCode(self.wasm.as_slice().into());
        let hash = blake2_256(&self.wasm).to_vec();
        let code = RuntimeCode { code_fetcher: &code_fetcher, heap_pages, hash };
        let context = CallContext::Onchain { import: false };
        let (called, _) = self.executor.call(ext, &code, method, data, context);
        called.map_err(|error| error.to_string())
    }
}

/// A host function that panics.
pub(crate) struct Panics;

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
    ) -> HostResult<Option<Value>> {
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

#[test]
fn returning_should_work() {
    each(|name, case| {
        assert_eq!(case.ask("returns_input", b"ten bytes!").unwrap(), b"ten bytes!", "{name}");
        assert_eq!(case.ask("returns_input", &[7; 100_000]).unwrap(), [7; 100_000], "{name}");
        assert_eq!(case.ask("empty_return", &[]).unwrap(), b"", "{name}");
    });
}

#[test]
fn call_not_existing_function() {
    each(|name, case| {
        let refused = case.refusal("calls_missing_external");
        assert!(refused.contains("env.missing_external"), "{name}: {refused}");
        let refused = case.refusal("calls_yet_another_missing_external");
        assert!(refused.contains("env.yet_another_missing_external"), "{name}: {refused}");
    });
}

#[test]
fn a_missing_function_is_an_error_unless_stubs_are_wanted() {
    with(&wasm(), Settings { stubs: false, ..STUBS }, |name, case| {
        let refused = case.refusal("empty_return");
        let names = ["env.missing_external", "env.yet_another_missing_external"];
        assert!(names.iter().all(|own| refused.contains(own)), "{name}: {refused}");
    });
}

#[test]
fn a_method_that_does_not_exist_is_an_error() {
    each(|name, case| {
        let refused = case.refusal("returns_inputs");
        assert!(refused.contains("returns_inputs"), "{name}: {refused}");
    });
}

#[test]
fn unreachable_intrinsic() {
    each(|name, case| {
        let refused = case.refusal("unreachable_intrinsic");
        assert!(refused.contains("unreachable"), "{name}: {refused}");
        assert_eq!(case.ask("returns_input", b"a").unwrap(), b"a", "{name}");
    });
}

#[test]
fn return_panic_in_host_function() {
    each(|name, case| {
        let refused = case.refusal("panics_in_host");
        let all = ["panicked", ": test"];
        assert!(all.iter().all(|part| refused.contains(part)), "{name}: {refused}");
        assert_eq!(case.words("restoration_of_globals"), [33; 2], "{name}");
    });
}

#[test]
fn abort_on_panic() {
    each(|name, case| {
        let refused = case.refusal("abort_on_panic");
        assert!(refused.contains("the runtime's reason"), "{name}: {refused}");
        // It is not that of the next call.
        let refused = case.refusal("unreachable_intrinsic");
        assert!(!refused.contains("reason"), "{name}: {refused}");
    });
}

#[test]
fn returns_mutable_static() {
    each(|name, case| {
        assert_eq!(case.words("returns_mutable_static"), [33; 2], "{name}");
        assert_eq!(case.words("returns_mutable_static_bss"), [1; 2], "{name}");
    });
}

#[test]
fn restoration_of_globals() {
    each(|name, case| {
        assert_eq!(case.words("restoration_of_globals"), [33; 2], "{name}");
        // After a trap, too.
        case.refusal("unreachable_intrinsic");
        assert_eq!(case.words("restoration_of_globals"), [33; 2], "{name}");
    });
}

#[test]
fn heap_is_reset_between_calls() {
    each(|name, case| {
        let [first, second] = case.words("heap_is_reset");
        assert_eq!(first, second, "{name}");
        assert_eq!(case.words("memory_is_cleared"), [0; 2], "{name}");
    });
}

#[test]
fn should_trap_when_heap_exhausted() {
    with(&wasm(), ONE_BLOCK, |name, case| {
        assert_eq!(case.ask("allocate", &[1]).unwrap(), b"", "{name}");
        let refused = case.ask("allocate", &[2]).unwrap_err();
        assert!(refused.contains("memory is full"), "{name}: {refused}");
        assert_eq!(case.ask("allocate", &[1]).unwrap(), b"", "{name}");
    });
}

#[test]
fn import_doubles_heap_strategy() {
    with(&wasm(), ONE_BLOCK, |name, case| {
        let allocates = |import, blocks| {
            let (state, context) = (State::default(), CallContext::Onchain { import });
            let mut overlay = Overlay::default();
            case.node.call(&state, &mut overlay, "allocate", &[blocks], context).is_ok()
        };
        let all = [(false, 1), (false, 2), (true, 2), (true, 3), (false, 2)];
        let found = all.map(|(import, blocks)| allocates(import, blocks));
        assert_eq!(found, [true, false, true, false, false], "{name}");
    });
}

#[test]
fn freeing_what_was_not_allocated_is_refused() {
    each(|name, case| {
        let refused = case.refusal("free_of_nothing");
        assert!(refused.contains("not an allocation"), "{name}: {refused}");
    });
}

#[test]
fn output_exceeds_bounds() {
    each(|name, case| {
        for method in ["return_huge_len", "return_max_memory_offset_plus_one", "return_overflow"] {
            let refused = case.refusal(method);
            // The second is that of `sc-executor`.
            let is_right = ["outside the memory", "bounds of wasm memory"]
                .iter()
                .any(|words| refused.contains(words));
            assert!(is_right, "{name}, {method}: {refused}");
        }
        assert_eq!(case.ask("return_max_memory_offset", &[]).unwrap(), [0], "{name}");
    });
}

#[test]
fn storage_should_work() {
    each(|name, case| {
        let (state, mut overlay) = (State::default(), Overlay::default());
        let mut set = |value: &[u8]| {
            let context = CallContext::Onchain { import: false };
            case.node.call(&state, &mut overlay, "storage", value, context).unwrap()
        };
        assert_eq!(set(b"one"), [0], "{name}");
        assert_eq!(set(b"two"), [&[1, 3 << 2][..], b"one"].concat(), "{name}");
    });
}

#[test]
fn a_host_function_reads_the_version_of_another_runtime() {
    each(|name, case| {
        let found = case.ask("runtime_version", RUNTIME).unwrap();
        let text = String::from_utf8_lossy(&found);
        assert!(found[0] == 1 && text.contains("touchstone-chain"), "{name}: {text}");
        assert_eq!(case.ask("runtime_version", b"no runtime").unwrap(), [0], "{name}");
    });
}

#[test]
fn parallel_execution() {
    each(|name, case| {
        std::thread::scope(|scope| {
            for thread in 0..5_u8 {
                scope.spawn(move || {
                    for round in 0..20 {
                        let data = [thread, round];
                        assert_eq!(case.ask("returns_input", &data).unwrap(), data, "{name}");
                        assert_eq!(case.words("restoration_of_globals"), [33; 2], "{name}");
                    }
                });
            }
        });
    });
}

#[test]
fn panicking_should_work() {
    each(|name, case| {
        assert!(case.ask("conditional_panic", &[1]).is_err(), "{name}");
        assert_eq!(case.ask("conditional_panic", &[0]).unwrap(), b"", "{name}");
        assert!(case.ask("conditional_panic", &[1]).is_err(), "{name}");
    });
}

#[test]
fn return_value() {
    each(|name, case| {
        assert_eq!(case.ask("return_value", &[]).unwrap(), 1234_u64.encode(), "{name}");
    });
}

#[test]
fn return_i8() {
    each(|name, case| {
        assert_eq!(case.ask("return_i8", &[]).unwrap(), (-66_i8).encode(), "{name}");
    });
}

#[test]
fn take_i8() {
    each(|name, case| {
        assert_eq!(case.ask("take_i8", &(-66_i8).encode()).unwrap(), b"", "{name}");
        assert!(case.ask("take_i8", &66_i8.encode()).is_err(), "{name}");
    });
}

#[test]
fn memory_is_cleared_between_invocations() {
    // A memory of the runtime's own, and no segment where the word lies.
    let own = ("(import \"env\" \"memory\" (memory 1))", "(memory (export \"memory\") 1)");
    let text = include_str!("cases.wat");
    assert!(text.contains(own.0));
    // Imports come first.
    let text =
        text.replace(own.0, "").replace("(global (export", &format!("{} (global (export", own.1));
    with(&wat::parse_str(text).unwrap(), STUBS, |name, case| {
        assert_eq!(case.words("returns_mutable_static_bss"), [1; 2], "{name}");
    });
}

#[test]
fn different_heap_strategy_per_instance() {
    each(|name, case| {
        let allocates = |pages| {
            let mut state = TestExternalities::<Blake2Hasher>::default();
            case.call(&mut state.ext(), Some(pages), "allocate", &[1]).is_ok()
        };
        assert_eq!([1024, 8, 1024].map(allocates), [true, false, true], "{name}");
    });
}

#[test]
fn allocate_two_gigabyte() {
    let all = Settings { heap_pages: Some(60_000), ..STUBS };
    with(&wasm(), all, |name, case| {
        match case.ask("allocate_two_gigabyte", &[]) {
            Ok(answer) => assert_eq!(answer, (10_u32 * 1024 * 1024 * 205).encode(), "{name}"),
            // The slots of a pool may be smaller.
            Err(refused) => assert!(
                name.contains("_pooling") && refused.contains("memory is full"),
                "{name}: {refused}"
            ),
        }
    });
}

#[test]
fn hashing_should_work() {
    each(|name, case| {
        for data in [&b""[..], b"Hello world!"] {
            let hashes = [
                ("blake2_256", blake2_256(data).to_vec()),
                ("blake2_128", blake2_128(data).to_vec()),
                ("sha2_256", sha2_256(data).to_vec()),
                ("twox_256", twox_256(data).to_vec()),
                ("twox_128", twox_128(data).to_vec()),
            ];
            for (method, hash) in hashes {
                assert_eq!(case.ask(method, data).unwrap(), hash, "{name}, {method}");
            }
        }
    });
}

#[test]
fn ed25519_verify_should_work() {
    let pair = ed25519::Pair::from_seed(&blake2_256(b"test"));
    verifies("ed25519_verify", &pair.public().0, |message| pair.sign(message).0);
}

#[test]
fn sr25519_verify_should_work() {
    let pair = sr25519::Pair::from_seed(&blake2_256(b"test"));
    verifies("sr25519_verify", &pair.public().0, |message| pair.sign(message).0);
}

fn verifies(method: &str, public: &[u8], sign: impl Fn(&[u8]) -> [u8; 64]) {
    each(|name, case| {
        let verify = |signed: &[u8]| {
            case.ask(method, &[public, &sign(signed), &b"all ok!"[..]].concat()).unwrap()
        };
        assert_eq!(verify(b"all ok!"), 1_u32.encode(), "{name}");
        assert_eq!(verify(b"all is not ok!"), 0_u32.encode(), "{name}");
    });
}

#[test]
fn ordered_trie_root_should_work() {
    let values = vec![b"zero".to_vec(), b"one".to_vec(), b"two".to_vec()];
    let expected = sp_io::trie::blake2_256_ordered_root(values.clone(), StateVersion::V1);
    each(|name, case| {
        let root = case.ask("ordered_trie_root", &values.encode()).unwrap();
        assert_eq!(root, expected.0, "{name}");
    });
}

#[test]
fn clear_prefix_should_work() {
    each(|name, case| {
        let mut state = TestExternalities::<Blake2Hasher>::default();
        let mut ext = state.ext();
        let keys = ["aaa", "aab", "aba", "abb", "bbb"].map(|key| key.as_bytes().to_vec());
        for key in &keys {
            ext.set_storage(key.clone(), b"1".to_vec());
        }
        case.call(&mut ext, None, "clear_prefix", b"ab").unwrap();
        let left = keys.map(|key| ext.storage(&key).is_some());
        assert_eq!(left, [true, true, false, false, true], "{name}");
    });
}

#[test]
fn offchain_index() {
    each(|name, case| {
        let mut state = TestExternalities::<Blake2Hasher>::default();
        let (offchain, _state) = TestOffchainExt::new();
        state.register_extension(OffchainWorkerExt::new(offchain));
        case.call(&mut state.ext(), None, "offchain_index", b"k").unwrap();
        let key = (STORAGE_PREFIX.to_vec(), b"k".to_vec());
        let found = state.overlayed_changes().clone().offchain_drain_committed();
        let found: Vec<_> =
            found.filter(|(own, _)| *own == key).map(|(_, change)| change).collect();
        assert_eq!(found, [OffchainOverlayedChange::SetValue(b"k".to_vec())], "{name}");
    });
}

#[test]
fn offchain_local_storage_should_work() {
    each(|name, case| {
        let mut state = TestExternalities::<Blake2Hasher>::default();
        let (offchain, kept) = TestOffchainExt::new();
        state.register_extension(OffchainDbExt::new(offchain.clone()));
        state.register_extension(OffchainWorkerExt::new(offchain));
        let answer = case.call(&mut state.ext(), None, "offchain_local_storage", b"test");
        assert_eq!(answer.unwrap(), Some(b"test".to_vec()).encode(), "{name}");
        assert_eq!(kept.read().persistent_storage.get(b"test"), Some(b"test".to_vec()), "{name}");
    });
}
