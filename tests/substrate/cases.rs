//! The cases of `sc-executor`'s integration tests, by their names, with a runtime in text.

use super::{Executor, on_all, stubs};
use touchstone_executor::Config;
use touchstone_substrate_host::chain::sp_core::traits::CallContext;
use touchstone_substrate_host::chain::{Client, Node, Overlay, RUNTIME, State, query};

fn wasm() -> Vec<u8> {
    wat::parse_str(include_str!("cases.wat")).unwrap()
}

/// Does something with the runtime on each executor. Imports that nobody answers are stubs.
fn each(work: impl Fn(&str, &Node<Executor>)) {
    with(&wasm(), |builder| builder.config(stubs()), work);
}

type Settings = touchstone_substrate_host::Builder<super::TestFunctions>;

fn with(
    wasm: &[u8],
    settings: impl Fn(Settings) -> Settings,
    work: impl Fn(&str, &Node<Executor>),
) {
    on_all(wasm, |name, builder| {
        work(name, &Node::new(settings(builder).build(), wasm.to_vec()));
    });
}

fn ask(node: &Node<Executor>, method: &str, data: &[u8]) -> Result<Vec<u8>, String> {
    query(node, &State::default(), method, data)
}

/// The word that each of two calls returns.
fn words(node: &Node<Executor>, method: &str) -> [u32; 2] {
    [(); 2].map(|()| u32::from_le_bytes(ask(node, method, &[]).unwrap().try_into().unwrap()))
}

fn refusal(node: &Node<Executor>, method: &str) -> String {
    ask(node, method, &[]).unwrap_err()
}

#[test]
fn returning_should_work() {
    each(|name, node| {
        assert_eq!(ask(node, "returns_input", b"ten bytes!").unwrap(), b"ten bytes!", "{name}");
        assert_eq!(ask(node, "returns_input", &[7; 100_000]).unwrap(), [7; 100_000], "{name}");
        assert_eq!(ask(node, "empty_return", &[]).unwrap(), b"", "{name}");
    });
}

#[test]
fn call_not_existing_function() {
    each(|name, node| {
        let refused = refusal(node, "calls_missing_external");
        assert!(refused.contains("env.missing_external"), "{name}: {refused}");
        let refused = refusal(node, "calls_yet_another_missing_external");
        assert!(refused.contains("env.yet_another_missing_external"), "{name}: {refused}");
    });
}

#[test]
fn a_missing_function_is_an_error_unless_stubs_are_wanted() {
    with(
        &wasm(),
        |builder| builder.config(Config::default()),
        |name, node| {
            let refused = refusal(node, "empty_return");
            let names = ["env.missing_external", "env.yet_another_missing_external"];
            assert!(names.iter().all(|own| refused.contains(own)), "{name}: {refused}");
        },
    );
}

#[test]
fn a_method_that_does_not_exist_is_an_error() {
    each(|name, node| {
        let refused = refusal(node, "returns_inputs");
        assert!(refused.contains("returns_inputs"), "{name}: {refused}");
    });
}

#[test]
fn unreachable_intrinsic() {
    each(|name, node| {
        let refused = refusal(node, "unreachable_intrinsic");
        assert!(refused.contains("unreachable"), "{name}: {refused}");
        assert_eq!(ask(node, "returns_input", b"a").unwrap(), b"a", "{name}");
    });
}

#[test]
fn return_panic_in_host_function() {
    each(|name, node| {
        let refused = refusal(node, "panics_in_host");
        let all = ["ext_test_panics_version_1", "panicked: test"];
        assert!(all.iter().all(|part| refused.contains(part)), "{name}: {refused}");
        assert_eq!(words(node, "restoration_of_globals"), [33; 2], "{name}");
    });
}

#[test]
fn abort_on_panic() {
    each(|name, node| {
        let refused = refusal(node, "abort_on_panic");
        assert!(refused.starts_with("the runtime's reason"), "{name}: {refused}");
        // It is not that of the next call.
        let refused = refusal(node, "unreachable_intrinsic");
        assert!(!refused.contains("reason"), "{name}: {refused}");
    });
}

#[test]
fn returns_mutable_static() {
    each(|name, node| {
        assert_eq!(words(node, "returns_mutable_static"), [33; 2], "{name}");
        assert_eq!(words(node, "returns_mutable_static_bss"), [1; 2], "{name}");
    });
}

#[test]
fn restoration_of_globals() {
    each(|name, node| assert_eq!(words(node, "restoration_of_globals"), [33; 2], "{name}"));
}

#[test]
fn heap_is_reset_between_calls() {
    each(|name, node| {
        let [first, second] = words(node, "heap_is_reset");
        assert_eq!(first, second, "{name}");
        assert_eq!(words(node, "memory_is_cleared"), [0; 2], "{name}");
    });
}

#[test]
fn should_trap_when_heap_exhausted() {
    // A page for the runtime, 17 for the heap: one block of 1 MiB with its header.
    with(
        &wasm(),
        |builder| builder.config(stubs()).heap_pages(17),
        |name, node| {
            assert_eq!(ask(node, "allocate", &[1]).unwrap(), b"", "{name}");
            let refused = ask(node, "allocate", &[2]).unwrap_err();
            assert!(refused.contains("memory is full"), "{name}: {refused}");
            assert_eq!(ask(node, "allocate", &[1]).unwrap(), b"", "{name}");
        },
    );
}

#[test]
fn import_doubles_heap_strategy() {
    with(
        &wasm(),
        |builder| builder.config(stubs()).heap_pages(17),
        |name, node| {
            let allocates = |import, blocks| {
                let (state, context) = (State::default(), CallContext::Onchain { import });
                node.call(&state, &mut Overlay::default(), "allocate", &[blocks], context).is_ok()
            };
            let all = [(false, 1), (false, 2), (true, 2), (true, 3), (false, 2)];
            let found = all.map(|(import, blocks)| allocates(import, blocks));
            assert_eq!(found, [true, false, true, false, false], "{name}");
        },
    );
}

#[test]
fn freeing_what_was_not_allocated_is_refused() {
    each(|name, node| {
        let refused = refusal(node, "free_of_nothing");
        assert!(refused.contains("not an allocation"), "{name}: {refused}");
    });
}

#[test]
fn output_exceeds_bounds() {
    each(|name, node| {
        for method in ["return_huge_len", "return_max_memory_offset_plus_one", "return_overflow"] {
            let refused = refusal(node, method);
            assert!(refused.contains("outside the memory"), "{name}, {method}: {refused}");
        }
        assert_eq!(ask(node, "return_max_memory_offset", &[]).unwrap(), [0], "{name}");
    });
}

#[test]
fn storage_should_work() {
    each(|name, node| {
        let (state, mut overlay) = (State::default(), Overlay::default());
        let mut set = |value: &[u8]| {
            let context = CallContext::Onchain { import: false };
            node.call(&state, &mut overlay, "storage", value, context).unwrap()
        };
        assert_eq!(set(b"one"), [0], "{name}");
        assert_eq!(set(b"two"), [&[1, 3 << 2][..], b"one"].concat(), "{name}");
    });
}

#[test]
fn a_host_function_reads_the_version_of_another_runtime() {
    each(|name, node| {
        let found = ask(node, "runtime_version", RUNTIME).unwrap();
        let text = String::from_utf8_lossy(&found);
        assert!(found[0] == 1 && text.contains("touchstone-chain"), "{name}: {text}");
        assert_eq!(ask(node, "runtime_version", b"no runtime").unwrap(), [0], "{name}");
    });
}

#[test]
fn parallel_execution() {
    each(|name, node| {
        std::thread::scope(|scope| {
            for thread in 0..5_u8 {
                scope.spawn(move || {
                    for round in 0..20 {
                        let data = [thread, round];
                        assert_eq!(ask(node, "returns_input", &data).unwrap(), data, "{name}");
                        assert_eq!(words(node, "restoration_of_globals"), [33; 2], "{name}");
                    }
                });
            }
        });
    });
}
