//! Host functions of the embedder.

use super::{Loaded, each_that_compiles_with, each_with, guest, load};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::{
    Abi, CallOptions, Config, Context, ContextKind, Error, Functions, HostCall, Imports, Instance,
    InterruptHandle, Limits, Outcome, State, Strategy, Support, TrapKind,
};

fn with(functions: Functions) -> Config {
    Config { functions, ..Config::default() }
}

fn little(number: u32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// One call with options.
fn call_with(
    loaded: &Loaded,
    instance: &mut dyn Instance,
    name: &str,
    options: CallOptions<'_>,
) -> (Result<Outcome, Error>, Vec<u8>) {
    let (export, mut output) = (loaded.export(name, Abi::Plain), Vec::new());
    instance.prepare().unwrap();
    let outcome = instance.invoke(export, &[], &mut output, Some(options));
    instance.finish().unwrap();
    (outcome, output)
}

pub(crate) fn values_go_to_the_host_and_back(strategy: Strategy) {
    let mut functions = Functions::none();
    functions
        .wrap("env", "mix", |_: &mut HostCall<'_>, a: i32, b: i64, c: f32, d: f64| {
            Ok(f64::from(a) + b as f64 + f64::from(c) + d)
        })
        .wrap("env", "nothing", |_: &mut HostCall<'_>| Ok(()))
        .wrap("env", "narrow", |_: &mut HostCall<'_>, a: f32| Ok(a.to_bits()))
        .wrap("own", "many", |_: &mut HostCall<'_>, a: u64, b: u64, c: u64, d: u64, e: u64| {
            Ok(a * 10_000 + b * 1000 + c * 100 + d * 10 + e)
        });
    let text = r#"(module
        (import "env" "mix" (func $mix (param i32 i64 f32 f64) (result f64)))
        (import "env" "nothing" (func $nothing))
        (import "env" "narrow" (func $narrow (param f32) (result i32)))
        (import "own" "many" (func $many (param i64 i64 i64 i64 i64) (result i64)))
        (func (export "mix") (result f64)
            (call $mix (i32.const -1) (i64.const 1000) (f32.const 0.5) (f64.const 0.25)))
        (func (export "narrow") (param f32) (result i32)
            (call $nothing) (call $narrow (local.get 0)))
        (func (export "many") (result i64)
            (call $many (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5))))"#;
    each_with(strategy, &guest(text), &with(functions), |loaded| {
        let instance = &mut *loaded.instance();
        let plain = |name| loaded.export(name, Abi::Plain);
        for _ in 0..2 {
            let mixed = loaded.output(instance, plain("mix"), b"");
            assert_eq!(mixed, 999.75_f64.to_le_bytes(), "{}", loaded.name);
            // The payload of a NaN is kept.
            let nan = 0x7fa0_0001_u32.to_le_bytes();
            assert_eq!(loaded.output(instance, plain("narrow"), &nan), nan, "{}", loaded.name);
            let many = loaded.output(instance, plain("many"), b"");
            assert_eq!(many, 12_345_u64.to_le_bytes(), "{}", loaded.name);
        }
    });
    let mut functions = Functions::none();
    functions.wrap("env", "swap", |_: &mut HostCall<'_>, a: i32, b: i64| Ok((b, a)));
    let text = r#"(module
        (import "env" "swap" (func $swap (param i32 i64) (result i64 i32)))
        (func (export "swap") (result i64 i32) (call $swap (i32.const 1) (i64.const 2))))"#;
    each_that_compiles_with(strategy, &guest(text), &with(functions), |loaded| {
        let swap = loaded.export("swap", Abi::Plain);
        let found = loaded.output(&mut *loaded.instance(), swap, b"");
        assert_eq!(found, [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], "{}", loaded.name);
    });
}

pub(crate) fn the_host_grows_the_memory_and_writes_at_its_end(strategy: Strategy) {
    let mut functions = Functions::none();
    functions.wrap("env", "extend", |call: &mut HostCall<'_>, pages: u32| {
        let before = call.memory().len();
        if !call.grow(pages) {
            return Ok(u32::MAX);
        }
        let size = call.memory().len();
        assert_eq!(size, before + pages as usize * WASM_PAGE);
        call.write(size as u32 - 4, &7_u32.to_le_bytes())?;
        call.writable(before as u32 - 2, 4)?.fill(9);
        Ok(size as u32)
    });
    let text = r#"(module
        (import "env" "extend" (func $extend (param i32) (result i32)))
        (memory (export "memory") 1 8)
        (func (export "one") (param i32) (result i32) (call $extend (local.get 0))
            (i32.add (i32.load (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4))))))"#;
    each_with(strategy, &guest(text), &with(functions), |loaded| {
        let instance = &mut *loaded.instance();
        let export = loaded.export("one", Abi::Plain);
        for pages in [1_u32, 3, 7, 1] {
            let found = loaded.output(instance, export, &pages.to_le_bytes());
            let expected = (1 + pages) * WASM_PAGE as u32 + 7;
            assert_eq!(found, little(expected), "{} {pages}", loaded.name);
        }
        let refused = loaded.output(instance, export, &8_u32.to_le_bytes());
        assert_eq!(refused, little(u32::MAX), "{}", loaded.name);
    });
}

pub(crate) fn addresses_outside_the_memory_are_refused(strategy: Strategy) {
    let mut functions = Functions::none();
    functions
        .wrap("env", "read", |call: &mut HostCall<'_>, at: u32, length: u32| {
            call.read(at, length).map(|bytes| bytes.len() as u32)
        })
        .wrap("env", "write", |call: &mut HostCall<'_>, at: u32, value: u32| {
            call.write(at, &value.to_le_bytes())
        });
    let text = r#"(module
        (import "env" "read" (func $read (param i32 i32) (result i32)))
        (import "env" "write" (func $write (param i32 i32)))
        (memory (export "memory") 1 1)
        (func (export "read") (param i32 i32) (result i32)
            (i32.store (i32.const 8) (i32.const 1))
            (call $read (local.get 0) (local.get 1)))
        (func (export "write") (param i32 i32) (result i32)
            (call $write (local.get 0) (local.get 1))
            (i32.load (local.get 0)))
        (func (export "eight") (result i32) (i32.load (i32.const 8))))"#;
    each_with(strategy, &guest(text), &with(functions), |loaded| {
        let instance = &mut *loaded.instance();
        let call = |instance: &mut dyn Instance, name: &str, at: u32, value: u32| {
            let input = [at.to_le_bytes(), value.to_le_bytes()].concat();
            loaded.outcome(instance, loaded.export(name, Abi::Plain), &input)
        };
        let end = WASM_PAGE as u32;
        for (at, length) in [(0, end), (end, 0), (end - 1, 1)] {
            let found = call(instance, "read", at, length);
            assert_eq!(found, (Outcome::Returned, little(length)), "{}", loaded.name);
        }
        let written = call(instance, "write", end - 4, 77);
        assert_eq!(written, (Outcome::Returned, little(77)), "{}", loaded.name);
        for (name, at, value) in
            [("read", end, 1), ("read", 1, u32::MAX), ("read", u32::MAX, 1), ("write", end - 3, 1)]
        {
            let (outcome, _) = call(instance, name, at, value);
            match outcome.trap().map(|trap| &trap.kind) {
                Some(TrapKind::HostFunction { name: found, .. }) => assert_eq!(found, name),
                other => panic!("{} {name} {at} {value}: {other:?}", loaded.name),
            }
            let eight = loaded.export("eight", Abi::Plain);
            assert_eq!(loaded.output(instance, eight, b""), little(0), "{}", loaded.name);
        }
    });
}

pub(crate) fn state_of_the_host_is_brought_back(strategy: Strategy) {
    let (count, notes) = (State::new(10_u32), State::new(Vec::<u32>::new()));
    let mut functions = Functions::none();
    functions.wrap("env", "count", move |call: &mut HostCall<'_>| {
        let count = call.state(&count);
        *count += 1;
        let count = *count;
        let notes = call.state(&notes);
        notes.push(count);
        Ok(count * 100 + notes.len() as u32)
    });
    let text = |start: &str| {
        format!(
            r#"(module
                (import "env" "count" (func $count (result i32)))
                (memory (export "memory") 1)
                (func $start (drop (call $count)))
                {start}
                (func (export "twice") (result i32) (drop (call $count)) (call $count))
                (func (export "trap") (drop (call $count)) (unreachable)))"#
        )
    };
    for (start, expected) in [("", 1202_u32), ("(start $start)", 1303)] {
        each_with(strategy, &guest(&text(start)), &with(functions.clone()), |loaded| {
            let instance = &mut *loaded.instance();
            let (twice, trap) =
                ["twice", "trap"].map(|name| loaded.export(name, Abi::Plain)).into();
            for _ in 0..3 {
                let found = loaded.output(instance, twice, b"");
                assert_eq!(found, little(expected), "{}", loaded.name);
                let (outcome, _) = loaded.outcome(instance, trap, b"");
                assert_eq!(outcome, Outcome::Trapped(TrapKind::Unreachable.into()));
            }
        });
    }
}

pub(crate) fn a_panic_of_the_host_is_an_error(strategy: Strategy) {
    let mut functions = Functions::none();
    functions.wrap("env", "fail", |call: &mut HostCall<'_>| {
        call.write(0, b"half")?;
        if call.memory().len() > 1 {
            panic!("expected by the test");
        }
        Ok(())
    });
    let text = r#"(module
        (import "env" "fail" (func $fail))
        (memory (export "memory") 1)
        (global $g (mut i32) (i32.const 5))
        (func (export "fail") (global.set $g (i32.const 6)) (call $fail))
        (func (export "sum") (result i32) (i32.add (global.get $g) (i32.load (i32.const 0)))))"#;
    each_with(strategy, &guest(text), &with(functions), |loaded| {
        let instance = &mut *loaded.instance();
        let (fail, sum) = ["fail", "sum"].map(|name| loaded.export(name, Abi::Plain)).into();
        for _ in 0..3 {
            match instance.call(fail, &[], &mut Vec::new()) {
                Err(Error::HostPanicked { module, name, message }) => {
                    assert_eq!((&*module, &*name), ("env", "fail"), "{}", loaded.name);
                    assert_eq!(message, "expected by the test", "{}", loaded.name);
                }
                other => panic!("{}: {other:?}", loaded.name),
            }
            assert_eq!(loaded.output(instance, sum, b""), little(5), "{}", loaded.name);
        }
    });
}

/// A context that borrows.
struct Request<'a> {
    answers: &'a mut Vec<String>,
}

struct RequestKind;

impl ContextKind for RequestKind {
    type Value<'a> = Request<'a>;
}

pub(crate) fn a_context_belongs_to_its_call(strategy: Strategy) {
    let mut functions = Functions::none();
    functions
        .wrap("env", "name", |call: &mut HostCall<'_>| {
            let name = call.context::<String>()?;
            name.push('!');
            Ok(name.len() as u32)
        })
        .wrap("env", "answer", |call: &mut HostCall<'_>| {
            call.with_context::<RequestKind, _>(|request| request.answers.push("done".to_owned()))
        });
    let text = r#"(module
        (import "env" "name" (func $name (result i32)))
        (import "env" "answer" (func $answer))
        (func (export "name") (result i32) (call $name))
        (func (export "answer") (call $answer)))"#;
    each_with(strategy, &guest(text), &with(functions), |loaded| {
        let instance = &mut *loaded.instance();
        let mut name = String::from("alice");
        for length in [6, 7] {
            let options =
                CallOptions { context: Some(Context::new(&mut name)), ..CallOptions::default() };
            let (outcome, output) = call_with(loaded, instance, "name", options);
            assert_eq!((outcome.unwrap(), output), (Outcome::Returned, little(length)));
        }
        assert_eq!(name, "alice!!", "{}", loaded.name);
        let mut answers = Vec::new();
        let mut request = Request { answers: &mut answers };
        let context = Some(Context::of_kind::<RequestKind>(&mut request));
        let options = CallOptions { context, ..CallOptions::default() };
        assert_eq!(call_with(loaded, instance, "answer", options).0.unwrap(), Outcome::Returned);
        assert_eq!(answers, ["done"], "{}", loaded.name);
        // Of another type, and none.
        let mut number = 5_u32;
        let context = Some(Context::new(&mut number));
        for context in [context, None] {
            let options = CallOptions { context, ..CallOptions::default() };
            let (outcome, _) = call_with(loaded, instance, "name", options);
            let trap = outcome.unwrap().trap().map(|trap| trap.kind.to_string());
            assert!(trap.is_some_and(|trap| trap.contains("context")), "{}", loaded.name);
        }
        let plain = loaded.outcome(instance, loaded.export("answer", Abi::Plain), b"").0;
        assert!(matches!(plain.trap().map(|trap| &trap.kind), Some(TrapKind::HostFunction { .. })));
    });
}

pub(crate) fn the_host_calls_other_instances(strategy: Strategy) {
    let inner = r#"(module
        (memory (export "memory") 1)
        (global $g (mut i32) (i32.const 0))
        (func (export "f") (param i32) (result i32)
            (global.set $g (i32.add (global.get $g) (i32.const 1)))
            (i32.store (i32.const 100) (i32.add (i32.load (i32.const 100)) (local.get 0)))
            (i32.add (global.get $g) (i32.load (i32.const 100))))
        (func (export "trap") (param i32) (result i32) unreachable))"#;
    let outer = r#"(module
        (import "env" "inner" (func $inner (param i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "f") (result i32)
            (i32.store (i32.const 100) (i32.const 1000))
            (i32.add (call $inner (i32.const 5)) (i32.load (i32.const 100)))))"#;
    for engine in crate::engines() {
        let (inner, outer) = (guest(inner), guest(outer));
        let supported = [&inner, &outer].map(|guest| {
            !matches!(engine.support_for(strategy, guest), Support::Unsupported { .. })
        });
        if supported != [true, true] {
            continue;
        }
        let name = engine.id();
        let inner = load(&*engine, &inner, strategy, &Config::default()).unwrap();
        let exports = ["f", "trap"].map(|name| inner.export(name, Abi::Plain).unwrap());
        let instance = Arc::new(Mutex::new(inner.new_instance().unwrap()));
        let mut functions = Functions::none();
        functions.wrap("env", "inner", move |call: &mut HostCall<'_>, number: i32| {
            let mut output = Vec::new();
            let mut instance = instance.lock().unwrap();
            let trapped = instance.call(exports[1], &number.to_le_bytes(), &mut output);
            let trapped = trapped.map_err(|error| call.refuse(error))?;
            assert!(trapped.trap().is_some());
            let returned = instance.call(exports[0], &number.to_le_bytes(), &mut output);
            let returned = returned.map_err(|error| call.refuse(error))?;
            assert!(returned.trap().is_none(), "{returned:?}");
            let bytes = output.try_into().map_err(|_| call.refuse("no number"))?;
            Ok(i32::from_le_bytes(bytes))
        });
        let outer = load(&*engine, &outer, strategy, &with(functions)).unwrap();
        let export = outer.export("f", Abi::Plain).unwrap();
        let mut instance = outer.new_instance().unwrap();
        for _ in 0..3 {
            let mut output = Vec::new();
            let outcome = instance.call(export, &[], &mut output).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{name} {strategy}");
            assert_eq!(output, little(1006), "{name} {strategy}");
        }
    }
}

const LIMITED: &str = r#"(module
    (import "env" "calls" (func $calls))
    (memory (export "memory") 1 20)
    (table $table 1 20 funcref)
    (func (export "loop") (loop $l (br $l)))
    (func (export "calls") (loop $l (call $calls) (br $l)))
    (func (export "count") (result i32) (local $i i32)
        (loop $l (br_if $l (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (i32.const 1000)))) (local.get $i))
    (func (export "grow") (result i32) (memory.grow (i32.const 5)))
    (func (export "size") (result i32) (memory.size)))"#;

pub(crate) fn limits_are_enforced_or_refused_by_name(strategy: Strategy) {
    let mut functions = Functions::none();
    functions.wrap("env", "calls", |_: &mut HostCall<'_>| Ok(()));
    let config = Config { interruptible: true, metered: true, ..with(functions) };
    let short = Some(Duration::from_millis(20));
    let cases = [
        ("loop", Limits { deadline: short, ..Limits::default() }, Some(TrapKind::DeadlineExceeded)),
        (
            "calls",
            Limits { deadline: short, ..Limits::default() },
            Some(TrapKind::DeadlineExceeded),
        ),
        ("loop", Limits { fuel: Some(10_000), ..Limits::default() }, Some(TrapKind::OutOfFuel)),
        ("count", Limits { fuel: Some(10_000_000), ..Limits::default() }, None),
    ];
    each_that_compiles_with(strategy, &guest(LIMITED), &config, |loaded| {
        let instance = &mut *loaded.instance();
        for (name, limits, expected) in cases.clone() {
            let options = || CallOptions { limits, ..CallOptions::default() };
            match (call_with(loaded, instance, name, options()).0, expected) {
                (Err(Error::LimitUnsupported { .. }), _) => continue,
                (Ok(Outcome::Returned), None) => {}
                (Ok(Outcome::Trapped(trap)), Some(expected)) if trap.kind == expected => {}
                (other, _) => panic!("{} {name} {limits:?}: {other:?}", loaded.name),
            }
            let size = loaded.export("size", Abi::Plain);
            assert_eq!(loaded.output(instance, size, b""), little(1), "{}", loaded.name);
        }
        let limits = Limits { pages: Some(3), ..Limits::default() };
        for _ in 0..2 {
            let options = CallOptions { limits, ..CallOptions::default() };
            let (outcome, output) = call_with(loaded, instance, "grow", options);
            if !matches!(outcome, Err(Error::LimitUnsupported { .. })) {
                assert_eq!(output, little(u32::MAX), "{} {outcome:?}", loaded.name);
            }
            // The next call has no such limit.
            let grow = loaded.export("grow", Abi::Plain);
            assert_eq!(loaded.output(instance, grow, b""), little(1), "{}", loaded.name);
        }
    });
    // A module that was loaded without the checks cannot be stopped.
    let config = with(config.functions);
    each_that_compiles_with(strategy, &guest(LIMITED), &config, |loaded| {
        let instance = &mut *loaded.instance();
        for (name, limits, _) in cases.clone() {
            let options = CallOptions { limits, ..CallOptions::default() };
            let refused = call_with(loaded, instance, name, options).0;
            assert!(matches!(refused, Err(Error::LimitUnsupported { .. })), "{}", loaded.name);
        }
    });
}

pub(crate) fn an_interrupt_ends_a_call(strategy: Strategy) {
    let handle = InterruptHandle::new();
    let own = handle.clone();
    let mut functions = Functions::none();
    functions.wrap("env", "calls", move |_: &mut HostCall<'_>| {
        own.interrupt();
        Ok(())
    });
    let config = Config { interruptible: true, ..with(functions) };
    each_that_compiles_with(strategy, &guest(LIMITED), &config, |loaded| {
        let instance = &mut *loaded.instance();
        for name in ["calls", "loop"] {
            handle.clear();
            let other = handle.clone();
            let thread = (name == "loop").then(|| {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(10));
                    other.interrupt();
                })
            });
            let options = CallOptions { interrupt: Some(handle.clone()), ..CallOptions::default() };
            let (outcome, _) = call_with(loaded, instance, name, options);
            // It must not interrupt the calls on the next engine.
            if let Some(thread) = thread {
                thread.join().unwrap();
            }
            match outcome {
                Err(Error::LimitUnsupported { .. }) => break,
                Ok(Outcome::Trapped(trap)) if trap.kind == TrapKind::Interrupted => {}
                other => panic!("{} {name}: {other:?}", loaded.name),
            }
            // Without the handle, calls run.
            let count = loaded.export("count", Abi::Plain);
            assert_eq!(loaded.output(instance, count, b""), little(1000), "{}", loaded.name);
        }
    });
}

pub(crate) fn missing_imports_are_named_or_stubs(strategy: Strategy) {
    let text = r#"(module
        (import "env" "ext_allocator_malloc_version_2" (func $near (param i32) (result i32)))
        (import "env" "input_len" (func $other (result i32)))
        (import "mine" "f" (func $f (param f64 i32) (result f32)))
        (func (export "zero") (result f32) (call $f (f64.const 1) (i32.const 2)))
        (func (export "sum") (result i32) (i32.add (call $near (i32.const 1)) (call $other))))"#;
    let guest = guest(text);
    let config = |imports| Config { imports, ..Config::default() };
    for engine in crate::engines() {
        if matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. }) {
            continue;
        }
        let name = format!("{} {strategy}", engine.id());
        let Err(refused) = load(&*engine, &guest, strategy, &config(Imports::Error)) else {
            panic!("{name} loads it");
        };
        let Error::MissingImports { imports } = &refused else { panic!("{name}: {refused}") };
        assert_eq!(
            imports[..],
            [
                "env.ext_allocator_malloc_version_2 (i32) -> (i32); near: \
                 env.ext_allocator_malloc_version_1",
                "env.input_len () -> (i32); the host's has the type () -> (i64)",
                "mine.f (f64, i32) -> (f32)"
            ],
            "{name}"
        );
        let module = load(&*engine, &guest, strategy, &config(Imports::Zero)).unwrap();
        let mut instance = module.new_instance().unwrap();
        for export in ["zero", "sum"] {
            let mut output = Vec::new();
            let export = module.export(export, Abi::Plain).unwrap();
            let outcome = instance.call(export, &[], &mut output).unwrap();
            assert_eq!((outcome, output), (Outcome::Returned, vec![0; 4]), "{name}");
        }
    }
}
