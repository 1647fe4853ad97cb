//! Tables of host functions, and calls of their functions by a guest without an engine.

use super::*;
use crate::guest::WASM_PAGE;
use crate::host::HostState;
use crate::memory::Region;
use crate::test_support::{FakeGuest, refusal};
use crate::{Config, Reference, Value, ValueType, adapter};
use std::panic::panic_any;
use std::sync::Mutex;

fn names(functions: &Functions) -> Vec<String> {
    functions.iter().map(|f| format!("{}.{}", f.module(), f.name())).collect()
}

fn guest(functions: &Functions) -> FakeGuest {
    FakeGuest::new(&Config { functions: functions.clone(), ..Config::default() })
}

/// A guest with one function, `env.f`.
fn with(
    params: &[ValueType],
    results: &[ValueType],
    body: impl Fn(&mut HostCall<'_>) -> Result<(), Trap> + Send + Sync + 'static,
) -> FakeGuest {
    let mut functions = Functions::none();
    functions.add("env", "f", Signature::new(params, results), body);
    guest(&functions)
}

const F: (&str, &str) = ("env", "f");

fn import(module: &str, name: &str, signature: Option<Signature>) -> FunctionImport {
    FunctionImport { module: module.to_owned(), name: name.to_owned(), signature }
}

mod table {
    use super::*;

    #[test]
    fn the_last_function_of_a_name_stays() {
        let mut one = Functions::none();
        one.wrap("b", "f", |_: &mut HostCall<'_>| Ok(1_u32)).wrap(
            "a",
            "g",
            |_: &mut HostCall<'_>| Ok(2_u32),
        );
        let mut other = Functions::none();
        other.wrap("a", "g", |_: &mut HostCall<'_>| Ok(3_u32));
        let both = one.clone().with(&other);
        assert_eq!(names(&both), ["a.g", "b.f"]);
        assert_eq!(guest(&both).call_integers(("a", "g"), &[]), Ok(3));
        assert_eq!(guest(&one).call_integers(("a", "g"), &[]), Ok(2));
        one.wrap("b", "f", |_: &mut HostCall<'_>| Ok(4_u32));
        assert_eq!(guest(&one).call_integers(("b", "f"), &[]), Ok(4));
        assert_eq!(guest(&both).call_integers(("b", "f"), &[]), Ok(1));
        other.extend(&both);
        assert_eq!(names(&other), ["a.g", "b.f"]);
        assert!(other.find("a", "f").is_none());
        assert!(other.find("c", "g").is_none());
    }

    #[test]
    fn the_standard_functions_are_the_same_each_time() {
        let (one, other) = (Functions::standard(), Functions::standard());
        let of = |module| one.iter().filter(|function| function.module() == module).count();
        assert_eq!([of("env"), of("wapc")], [6, 9]);
        assert_eq!(one.iter().count(), 15 + crate::wasi::functions().iter().count());
        for function in one.iter() {
            let same = other.find(function.module(), function.name()).unwrap();
            assert!(Arc::ptr_eq(function, same));
        }
    }

    #[test]
    fn a_function_answers_an_import_of_its_type_only() {
        let functions = Functions::standard();
        let answers = |signature| functions.answer(&import("env", "input_len", signature));
        let ty = Signature::new(&[], &[ValueType::I64]);
        assert_eq!(answers(Some(ty)).unwrap().name(), "input_len");
        assert!(answers(Some(Signature::new(&[], &[ValueType::I32]))).is_none());
        assert!(answers(None).is_none());
        assert!(functions.answer(&import("ENV", "input_len", None)).is_none());
    }

    #[test]
    fn a_table_shows_its_functions() {
        let mut functions = Functions::none();
        functions.wrap("env", "f", |_: &mut HostCall<'_>, _: u32, _: f64| Ok((1_u64, 2_f32)));
        assert_eq!(format!("{functions:?}"), "[env.f: (i32, f64) -> (i64, f32)]");
    }
}

mod imports {
    use super::*;

    /// Imports of which the host has the last one only.
    fn some() -> Vec<FunctionImport> {
        let (i32, i64) = (ValueType::I32, ValueType::I64);
        vec![
            import("env", "ext_allocator_malloc_version_2", Some(Signature::new(&[i32], &[i32]))),
            import("env", "input_len", Some(Signature::new(&[], &[i32]))),
            import("other", "g\n", None),
            import("env", "input_len", Some(Signature::new(&[], &[i64]))),
        ]
    }

    #[test]
    fn all_missing_imports_are_named_with_what_the_host_has() {
        let refused = Functions::standard().resolve(&some(), Imports::Error).unwrap_err();
        let Error::MissingImports { imports } = &refused else { panic!("{refused}") };
        assert_eq!(
            imports[..],
            [
                "env.ext_allocator_malloc_version_2 (i32) -> (i32); near: \
                 env.ext_allocator_malloc_version_1",
                "env.input_len () -> (i32); the host's has the type () -> (i64)",
                "other.g\\n with references of types that no host can pass",
            ]
        );
        let text = refused.to_string();
        assert!(
            text.starts_with("the host does not have 3 of the module's imports: env."),
            "{text}"
        );
    }

    #[test]
    fn a_message_lists_a_number_of_imports() {
        let many: Vec<_> = (0..30).map(|n| import("m", &format!("f{n}"), None)).collect();
        let text = Functions::none().resolve(&many, Imports::Error).unwrap_err().to_string();
        assert!(text.contains("m.f19 ") && !text.contains("m.f20 "), "{text}");
        assert!(text.ends_with("; and 10 more"), "{text}");
    }

    #[test]
    fn nothing_is_missing_where_all_are_answered() {
        let known = &some()[3..];
        let found = Functions::standard().resolve(known, Imports::Error).unwrap();
        assert!(Arc::ptr_eq(&found[0], Functions::standard().find("env", "input_len").unwrap()));
        assert!(Functions::none().resolve(&[], Imports::Error).unwrap().is_empty());
    }

    fn run(function: &Arc<HostFunction>, params: &[Value]) -> Result<Vec<Value>, TrapKind> {
        let mut functions = Functions::none();
        functions.insert(Arc::clone(function));
        let name = (function.module(), function.name());
        guest(&functions).call(name, params).map_err(|trap| trap.kind)
    }

    #[test]
    fn stubs_trap_with_the_name_of_their_import() {
        let found = Functions::standard().resolve(&some(), Imports::Trap).unwrap();
        for (function, import) in found.iter().zip(&some()[..3]) {
            let (module, name) = (import.module.clone(), import.name.clone());
            let trap = TrapKind::MissingImport { module, name };
            assert_eq!(run(function, &[Value::I32(1)]), Err(trap));
        }
        assert_eq!(run(&found[3], &[]), Ok(vec![Value::I64(0)]));
    }

    #[test]
    fn stubs_give_zeros_and_null() {
        let all = [
            ValueType::I32,
            ValueType::I64,
            ValueType::F32,
            ValueType::F64,
            ValueType::V128,
            ValueType::FuncRef,
            ValueType::ExternRef,
        ];
        let imports = [import("a", "f", Some(Signature::new(&all, &all))), import("a", "g", None)];
        let found = Functions::none().resolve(&imports, Imports::Zero).unwrap();
        let zeros = all.map(Value::zero).to_vec();
        assert_eq!(run(&found[0], &zeros), Ok(zeros));
        // The host cannot make a value of a type that it does not know.
        let trap = TrapKind::MissingImport { module: "a".to_owned(), name: "g".to_owned() };
        assert_eq!(run(&found[1], &[]), Err(trap));
    }
}

mod values;

mod memory {
    use super::*;

    /// A function that reads, and one that writes zeros or prepares them to be written.
    fn reading_and_writing() -> FakeGuest {
        let mut functions = Functions::none();
        functions
            .wrap("env", "read", |call: &mut HostCall<'_>, at: u32, length: u32| {
                call.read(at, length).map(|bytes| bytes.len() as u32)
            })
            .wrap("env", "write", |call: &mut HostCall<'_>, at: u32, length: u32| {
                call.write(at, &vec![0; length as usize])
            })
            .wrap("env", "writable", |call: &mut HostCall<'_>, at: u32, length: u32| {
                call.writable(at, length)?.fill(0);
                Ok(())
            });
        guest(&functions)
    }

    #[test]
    fn addresses_are_checked_and_nothing_is_written_in_part() {
        let mut guest = reading_and_writing();
        let end = WASM_PAGE as u64;
        guest.memory.fill(7);
        for (at, length) in
            [(end, 1), (end - 3, 4), (0, end + 1), (1 << 31, 0), (u64::from(u32::MAX), 2)]
        {
            for name in ["read", "write", "writable"] {
                let reason = refusal(guest.call_integers(("env", name), &[at, length]), name);
                let expected =
                    format!("{length} bytes at {at:#x} lie outside the memory of 65536 bytes");
                assert_eq!(reason, expected);
            }
        }
        assert!(guest.memory.iter().all(|byte| *byte == 7));
        for (at, length) in [(0, end), (end, 0), (0, 0), (end - 4, 4)] {
            assert_eq!(guest.call_integers(("env", "read"), &[at, length]), Ok(length));
            for name in ["write", "writable"] {
                guest.memory.fill(7);
                assert_eq!(guest.call_integers(("env", name), &[at, length]), Ok(0));
                let written = guest.memory.iter().filter(|byte| **byte == 0).count();
                assert_eq!(written as u64, length, "{name}");
            }
        }
        guest.memory.clear();
        assert_eq!(guest.call_integers(("env", "read"), &[0, 0]), Ok(0));
        refusal(guest.call_integers(("env", "read"), &[0, 1]), "read");
    }

    #[test]
    fn a_region_is_no_part_of_it() {
        let mut functions = Functions::none();
        functions
            .wrap("env", "size", |call: &mut HostCall<'_>| Ok(call.memory().len() as u32))
            .wrap("env", "write", |call: &mut HostCall<'_>, at: u32| call.write(at, &[1]));
        let region = Some(Arc::new(Region::new(1).unwrap()));
        let config = Config { functions, region, ..Config::default() };
        let mut guest = FakeGuest::new(&config);
        guest.memory.resize(3 * WASM_PAGE, 0);
        let own = 2 * WASM_PAGE as u64;
        assert_eq!(guest.call_integers(("env", "size"), &[]), Ok(own));
        assert_eq!(guest.call_integers(("env", "write"), &[own - 1]), Ok(0));
        refusal(guest.call_integers(("env", "write"), &[own]), "write");
    }

    #[test]
    fn it_grows_while_a_function_runs() {
        let mut functions = Functions::none();
        functions.wrap("env", "f", |call: &mut HostCall<'_>, pages: u32| {
            let grown = call.grow(pages);
            let end = call.memory().len() as u32;
            call.write(end - 1, &[9])?;
            Ok((u32::from(grown), end))
        });
        let mut guest = guest(&functions);
        guest.most = 3;
        for (pages, grown, size) in [(2, 1, 3), (1, 0, 3), (0, 1, 3), (u32::MAX, 0, 3)] {
            let results = guest.call(F, &[Value::I32(pages.cast_signed())]).unwrap();
            assert_eq!(results, [Value::I32(grown), Value::I32(size * WASM_PAGE as i32)]);
        }
        assert_eq!(guest.memory.last(), Some(&9));
    }
}

mod heap {
    use super::*;
    use crate::guest::imports::{FREE, MALLOC};

    #[test]
    fn blocks_come_from_the_hosts_allocator_and_grow_the_memory() {
        let mut guest = guest(&Functions::standard());
        guest.most = 4;
        let first = guest.call_integers(("env", MALLOC), &[100]).unwrap();
        assert!(first >= 1024 && first.is_multiple_of(8), "{first}");
        let large = guest.call_integers(("env", MALLOC), &[100_000]).unwrap();
        assert!(guest.memory.len() as u64 >= large + 100_000);
        assert_eq!(guest.call_integers(("env", FREE), &[first]), Ok(0));
        refusal(guest.call_integers(("env", FREE), &[first]), FREE);
        assert_eq!(guest.call_integers(("env", MALLOC), &[100]), Ok(first));
        refusal(guest.call_integers(("env", MALLOC), &[1 << 20]), MALLOC);
    }

    #[test]
    fn without_a_heap_base_nothing_is_allocated() {
        let config = Config::default();
        let mut guest = FakeGuest::with_host(HostState::new(None, &config), &config);
        refusal(guest.call_integers(("env", MALLOC), &[1]), MALLOC);
    }

    #[test]
    fn a_packed_place_is_address_and_length() {
        let mut functions = Functions::none();
        functions
            .wrap("env", "twice", |call: &mut HostCall<'_>, packed: u64| {
                let bytes = call.at(packed)?.repeat(2);
                call.place(&bytes)
            })
            .wrap("env", "copy", |call: &mut HostCall<'_>, packed: u64| {
                let bytes = call.at(packed)?.to_vec();
                let placed = call.place(&bytes)?;
                call.free(placed as u32)?;
                Ok(placed)
            });
        let mut guest = guest(&functions);
        guest.memory[8..11].copy_from_slice(b"abc");
        let place = guest.call_integers(("env", "twice"), &[3 << 32 | 8]).unwrap();
        assert_eq!(place >> 32, 6);
        assert_eq!(&guest.memory[place as u32 as usize..][..6], b"abcabc");
        let freed = guest.call_integers(("env", "copy"), &[3 << 32 | 8]).unwrap();
        assert_eq!(guest.call_integers(("env", "copy"), &[3 << 32 | 8]), Ok(freed));
        refusal(guest.call_integers(("env", "twice"), &[2 << 32 | 65_535]), "twice");
    }
}

mod input_and_log {
    use super::*;

    #[test]
    fn the_input_is_copied_into_the_memory() {
        let mut guest = guest(&Functions::standard());
        guest.host.set_input(b"input");
        assert_eq!(guest.call_integers(("env", "input_len"), &[]), Ok(5));
        let end = WASM_PAGE as u64;
        assert_eq!(guest.call_integers(("env", "input"), &[end - 5]), Ok(0));
        assert!(guest.memory.ends_with(b"input"));
        for at in [end - 4, 1 << 32, u64::MAX] {
            let reason = refusal(guest.call_integers(("env", "input"), &[at]), "input");
            assert!(reason.starts_with("5 bytes at "), "{reason}");
        }
    }

    #[test]
    fn lines_are_logged_up_to_the_hosts_level() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let mut functions = Functions::standard();
        functions.wrap("env", "own", |call: &mut HostCall<'_>, level: u32| {
            call.log(level, "host", "own");
            Ok(u32::from(call.logs(level)))
        });
        let config = Config {
            functions,
            max_log_level: 3,
            log: Some(Arc::new(move |level, target, message| {
                sink.lock().unwrap().push(format!("{level} {target} {message}"));
            })),
            ..Config::default()
        };
        let mut guest = FakeGuest::new(&config);
        guest.memory[..9].copy_from_slice(b"targettex");
        assert_eq!(guest.call_integers(("env", "ext_logging_max_level_version_1"), &[]), Ok(3));
        let log = "ext_logging_log_version_1";
        let (target, text, outside) = (6 << 32, 3 << 32 | 6, 1 << 32 | 65_536);
        assert_eq!(guest.call_integers(("env", log), &[2, target, text]), Ok(0));
        // What is not logged is not read either.
        assert_eq!(guest.call_integers(("env", log), &[3, outside, text]), Ok(0));
        refusal(guest.call_integers(("env", log), &[2, outside, text]), log);
        refusal(guest.call_integers(("env", log), &[2, target, outside]), log);
        assert_eq!(guest.call_integers(("env", "own"), &[0]), Ok(1));
        assert_eq!(guest.call_integers(("env", "own"), &[3]), Ok(0));
        assert_eq!(*lines.lock().unwrap(), ["2 target tex", "0 host own"]);
    }
}

mod ends {
    use super::*;

    /// A value whose drop panics.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn a_panic_is_a_trap_and_then_an_error_of_the_host() {
        let mut guest = with(&[ValueType::I32], &[ValueType::I32], |call| match call.params() {
            [Value::I32(0)] => panic!("a text"),
            [Value::I32(1)] => panic!("a text with {}", 1),
            [Value::I32(2)] => panic_any(5_u32),
            [Value::I32(3)] => panic_any(Bomb),
            _ => call.give(&[Value::I32(7)]),
        });
        for (number, text) in [(0, "a text"), (1, "a text with 1"), (2, ""), (3, "")] {
            let trap = guest.call(F, &[Value::I32(number)]).unwrap_err();
            match adapter::outcome(Err(trap)) {
                Err(Error::HostPanicked { module, name, message }) => {
                    assert_eq!((&*module, &*name, &*message), ("env", "f", text));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(guest.call(F, &[Value::I32(4)]), Ok(vec![Value::I32(7)]));
    }

    #[test]
    fn a_guest_whose_time_is_over_ends_after_the_function() {
        let state = State::new(0_u32);
        let mut guest = with(&[], &[], {
            let state = state.clone();
            move |call| {
                *call.state(&state) += 1;
                Ok(())
            }
        });
        guest.stop = Some(TrapKind::Interrupted);
        assert_eq!(guest.call(F, &[]).unwrap_err().kind, TrapKind::Interrupted);
        assert_eq!(*guest.host.states.get(&state), 1);
    }

    #[test]
    fn a_refusal_carries_the_name_of_its_function() {
        let mut guest = with(&[], &[], |call| Err(call.refuse(format_args!("reason {}", 5))));
        let ended = guest.call(F, &[]);
        assert_eq!(ended.clone().unwrap_err().to_string(), "host function f: reason 5");
        assert_eq!(refusal(ended, "f"), "reason 5");
    }
}

mod state;
