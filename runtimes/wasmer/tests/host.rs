//! Host functions and limits of a call, where Wasmer is special: growth is limited by its memories,
//! which know only the thread's running calls, and functions are typed or not.

use std::sync::{Arc, OnceLock};
use std::time::Duration;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Error, Functions, HostCall, Instance, InterruptHandle, Limits,
    Module, Outcome, Result, Signature, Strategy, Trap, TrapKind, ValueType,
};

fn load(text: &str, strategy: Strategy, config: &Config) -> Option<Box<dyn Module>> {
    let engine = touchstone_wasmer::engines().remove(0);
    let heap = HeapPages { extra: 0, growth: Growth::AsDeclared };
    let guest = GuestModule::new("guest", &wat::parse_str(text).unwrap(), heap).unwrap();
    if !engine.support_for(strategy, &guest).is_supported() {
        return None;
    }
    let artifact = engine.compile(&guest, strategy, config).unwrap();
    artifact.stage(strategy).unwrap();
    Some(engine.load(&guest, &artifact, strategy, config).unwrap())
}

/// Runs a test on a module under every strategy.
fn everywhere(text: &str, config: &Config, mut test: impl FnMut(&dyn Module, &mut dyn Instance)) {
    for strategy in Strategy::all() {
        if let Some(module) = load(text, strategy, config) {
            test(&*module, &mut *module.new_instance().unwrap());
        }
    }
}

/// A use of the instance with one call.
fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    export: &str,
    input: &[u8],
    options: CallOptions<'_>,
) -> Result<Result<Vec<u8>, TrapKind>> {
    let (export, mut output) = (module.export(export, Abi::Plain)?, Vec::new());
    instance.prepare()?;
    let outcome = instance.invoke(export, input, &mut output, Some(options));
    instance.finish()?;
    Ok(match outcome? {
        Outcome::Returned => Ok(output),
        Outcome::Trapped(Trap { kind, .. }) => Err(kind),
    })
}

fn limited(limits: Limits) -> CallOptions<'static> {
    CallOptions { limits, ..CallOptions::default() }
}

fn pages(pages: Option<u32>) -> CallOptions<'static> {
    limited(Limits { pages, ..Limits::default() })
}

/// Grows as far as it may, by itself and by the host in turns, and gives the pages.
const GROWING: &str = r#"(module
    (import "env" "grow" (func $grow (result i32)))
    (memory (export "memory") 1 5)
    (func (export "most") (result i32)
      (drop (memory.grow (i32.const 0)))
      (loop $more
        (br_if $more (call $grow))
        (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
      memory.size))"#;

#[test]
fn growth_by_guest_and_host_ends_at_the_limit_of_the_call() {
    let mut functions = Functions::none();
    functions.wrap("env", "grow", |call: &mut HostCall<'_>| {
        let grown = call.grow(1);
        let size = call.memory().len() as u32;
        if grown {
            call.write(size - 1, &[7])?;
        }
        Ok(u32::from(grown))
    });
    let config = Config { functions, ..Config::default() };
    everywhere(GROWING, &config, |module, instance| {
        let limits = [(None, 5_u32), (Some(3), 3), (Some(1), 1), (Some(0), 1), (Some(9), 5)];
        for (limit, most) in limits.into_iter().chain(limits) {
            let found = call(module, instance, "most", b"", pages(limit));
            assert_eq!(found.unwrap(), Ok(most.to_le_bytes().to_vec()), "{limit:?}");
        }
    });
}

/// Each instance has the limit of its own call, while calls are inside each other.
#[test]
fn a_call_inside_a_call_has_its_own_limit() {
    for strategy in Strategy::all() {
        let inner: Arc<OnceLock<Box<dyn Module>>> = Arc::default();
        let own = Arc::clone(&inner);
        let mut functions = Functions::none();
        functions.wrap("env", "grow", move |call: &mut HostCall<'_>| {
            for (limit, most) in [(Some(4), 4_u32), (None, 5)] {
                let module = &**own.get().unwrap();
                let mut instance = module.new_instance().unwrap();
                let found = crate::call(module, &mut *instance, "most", b"", pages(limit));
                assert_eq!(found.unwrap(), Ok(most.to_le_bytes().to_vec()));
            }
            Ok(u32::from(call.grow(1)))
        });
        let mut plain = Functions::none();
        plain.wrap("env", "grow", |call: &mut HostCall<'_>| Ok(u32::from(call.grow(1))));
        let config = |functions| Config { functions, ..Config::default() };
        let Some(outer) = load(GROWING, strategy, &config(functions)) else { continue };
        inner.get_or_init(|| load(GROWING, strategy, &config(plain)).unwrap());
        let mut instance = outer.new_instance().unwrap();
        for (limit, most) in [(Some(2), 2_u32), (Some(3), 3), (None, 5)] {
            let found = call(&*outer, &mut *instance, "most", b"", pages(limit));
            assert_eq!(found.unwrap(), Ok(most.to_le_bytes().to_vec()), "{strategy}");
        }
    }
}

#[test]
fn functions_without_a_typed_closure_get_all_values() {
    use ValueType::{ExternRef, F32, F64, FuncRef, I32, I64, V128};
    let mut functions = Functions::none();
    let all = [I32, I64, F32, F64, V128, FuncRef, ExternRef];
    functions.add("env", "back", Signature::new(&all, &all), |call| {
        let params = call.params();
        call.give(params)
    });
    functions.wrap("env", "sum", |_: &mut HostCall<'_>, a: f32, b: f32| Ok(a + b));
    let text = r#"(module
        (import "env" "back" (func $back
          (param i32 i64 f32 f64 v128 funcref externref)
          (result i32 i64 f32 f64 v128 funcref externref)))
        (import "env" "sum" (func $sum (param f32 f32) (result f32)))
        (func (export "back")
          (param i32 i64 f32 f64 v128 funcref externref)
          (result i32 i64 f32 f64 v128 funcref externref)
          (call $back (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
            (local.get 5) (local.get 6)))
        (func (export "sum") (param f32) (result f32) (call $sum (local.get 0) (f32.const 1)))
        (elem declare func 0)
        (func (export "opaque") (result i32)
          (call $back (i32.const 0) (i64.const 0) (f32.const 0) (f64.const 0)
            (v128.const i64x2 0 0) (ref.func 0) (ref.null extern))
          drop drop drop drop drop drop))"#;
    let config = Config { functions, ..Config::default() };
    everywhere(text, &config, |module, instance| {
        let mut input: Vec<u8> = (1..=40).collect();
        input.extend([0, 0]);
        let options = CallOptions::default;
        let found = call(module, instance, "back", &input, options()).unwrap();
        assert_eq!(found, Ok(input));
        let half = 0.5_f32.to_le_bytes();
        let sum = call(module, instance, "sum", &half, options()).unwrap();
        assert_eq!(sum, Ok(1.5_f32.to_le_bytes().to_vec()));
        // The host cannot give back a reference to a function.
        let refused = call(module, instance, "opaque", b"", options()).unwrap();
        assert!(matches!(refused, Err(TrapKind::HostFunction { .. })), "{refused:?}");
    });
}

const LOOP: &str = r#"(module
    (import "env" "host" (func $host))
    (memory (export "memory") 1)
    (func (export "loop") (loop $again (br $again)))
    (func (export "hosts") (loop $again (call $host) (br $again)))
    (func (export "nothing")))"#;

fn looping(config: Config) -> Config {
    let mut functions = Functions::none();
    functions.wrap("env", "host", |_: &mut HostCall<'_>| Ok(()));
    Config { functions, ..config }
}

#[test]
fn calls_end_at_their_deadline_and_where_they_are_interrupted() {
    let config = looping(Config { interruptible: true, ..Config::default() });
    everywhere(LOOP, &config, |module, instance| {
        let deadline = Some(Duration::from_millis(1));
        for export in ["loop", "hosts"] {
            let options = limited(Limits { deadline, ..Limits::default() });
            let ended = call(module, instance, export, b"", options).unwrap();
            assert_eq!(ended, Err(TrapKind::DeadlineExceeded));

            let handle = InterruptHandle::new();
            let interrupt =
                || CallOptions { interrupt: Some(handle.clone()), ..Default::default() };
            std::thread::scope(|scope| {
                scope.spawn(|| handle.interrupt());
                let ended = call(module, instance, export, b"", interrupt()).unwrap();
                assert_eq!(ended, Err(TrapKind::Interrupted));
            });
            // Also before it begins.
            let ended = call(module, instance, "nothing", b"", interrupt()).unwrap();
            assert_eq!(ended, Err(TrapKind::Interrupted));
        }
        let ended = call(module, instance, "nothing", b"", CallOptions::default()).unwrap();
        assert_eq!(ended, Ok(vec![]));
    });
}

#[test]
fn limits_that_are_not_enforced_are_refused() {
    everywhere(LOOP, &looping(Config::default()), |module, instance| {
        let none = Limits::default();
        for (limits, name) in [
            (Limits { deadline: Some(Duration::MAX), ..none }, "a deadline"),
            (Limits { fuel: Some(1), ..none }, "fuel"),
            (Limits { table_entries: Some(1), ..none }, "table entries"),
        ] {
            let refused = call(module, instance, "nothing", b"", limited(limits));
            let is_it =
                matches!(&refused, Err(Error::LimitUnsupported { limit, .. }) if *limit == name);
            assert!(is_it, "{refused:?}");
        }
    });
}
