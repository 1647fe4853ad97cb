//! Host functions and limits of a call, where tinywasm is special: it takes host functions that
//! are not `Send`, lets go of its stores when it panics, and leaves growth to its memories.

use std::sync::Arc;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Context, Error, Functions, HostCall, Instance, InterruptHandle,
    Limits, Module, Outcome, Result, State, Strategy, Trap, TrapKind,
};

fn supported(guest: &GuestModule) -> Vec<Strategy> {
    let engine = touchstone_tinywasm::engines().remove(0);
    let all = Strategy::all().into_iter();
    all.filter(|strategy| engine.support_for(*strategy, guest).is_supported()).collect()
}

fn guest(text: &str) -> GuestModule {
    let heap = HeapPages { extra: 0, growth: Growth::AsDeclared };
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), heap).unwrap()
}

fn load(guest: &GuestModule, strategy: Strategy, config: &Config) -> Box<dyn Module> {
    let engine = touchstone_tinywasm::engines().remove(0);
    let artifact = engine.compile(guest, strategy, config).unwrap();
    engine.load(guest, &artifact, strategy, config).unwrap()
}

/// Runs a test on a module under every strategy.
fn everywhere(text: &str, config: &Config, mut test: impl FnMut(&dyn Module, &mut dyn Instance)) {
    let guest = guest(text);
    for strategy in supported(&guest) {
        let module = load(&guest, strategy, config);
        test(&*module, &mut *module.new_instance().unwrap());
    }
}

/// A use of the instance with one call.
fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    export: (&str, Abi),
    input: &[u8],
    options: CallOptions<'_>,
) -> Result<Result<Vec<u8>, TrapKind>> {
    let export = module.export(export.0, export.1)?;
    let mut output = Vec::new();
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

fn fuel(fuel: u64) -> CallOptions<'static> {
    limited(Limits { fuel: Some(fuel), ..Limits::default() })
}

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
    let text = r#"(module
        (import "env" "grow" (func $grow (result i32)))
        (memory (export "memory") 1 5)
        (func (export "most") (result i32)
          (drop (memory.grow (i32.const 0)))
          (loop $more
            (br_if $more (call $grow))
            (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
          memory.size))"#;
    everywhere(text, &config, |module, instance| {
        let limits = [(None, 5_u32), (Some(3), 3), (Some(1), 1), (Some(0), 1), (Some(9), 5)];
        for (limit, most) in limits.into_iter().chain(limits) {
            let found = call(module, instance, ("most", Abi::Plain), b"", pages(limit));
            assert_eq!(found.unwrap(), Ok(most.to_le_bytes().to_vec()), "{limit:?}");
        }
    });
}

#[test]
fn the_limit_holds_where_the_host_places_the_input() {
    let text = r#"(module
        (memory (export "memory") 1) (global (export "__heap_base") i32 (i32.const 1024))
        (func (export "size") (param i32 i32) (result i64)
          (i32.store8 (i32.const 8) (memory.size)) (i64.const 0x100000008)))"#;
    everywhere(text, &Config::default(), |module, instance| {
        let input = [1; 100_000];
        let mut size =
            |limit| call(module, instance, ("size", Abi::Substrate), &input, pages(limit)).unwrap();
        assert!(matches!(size(Some(1)), Err(TrapKind::BadInput { .. })));
        assert!(size(Some(8)).is_ok());
        assert!(size(None).is_ok());
    });
}

const LOOP: &str = r#"(module
    (import "env" "host" (func $host (param i32)))
    (memory (export "memory") 1)
    (func $count (param $n i32)
      (loop $again
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br_if $again (local.get $n))))
    (func (export "count") (param i32) (call $count (local.get 0)))
    (func (export "hosts") (param $n i32)
      (loop $again
        (call $host (local.get $n))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br_if $again (local.get $n))))
    (func (export "alloc") (param i32) (result i32) (call $count (local.get 0)) (i32.const 8))
    (func (export "bytes") (param i32 i32) (call $count (local.get 1))))"#;

fn counting(config: Config) -> Config {
    let mut functions = Functions::none();
    functions.wrap("env", "host", |_: &mut HostCall<'_>, _: i32| Ok(()));
    Config { functions, ..config }
}

#[test]
fn fuel_ends_a_call_in_steps_of_128_instructions() {
    let config = counting(Config { metered: true, ..Config::default() });
    everywhere(LOOP, &config, |module, instance| {
        let mut count = |n: u32, options| {
            let n = n.to_le_bytes();
            call(module, instance, ("count", Abi::Plain), &n, options).unwrap().map(drop)
        };
        assert_eq!(count(1, fuel(0)), Err(TrapKind::OutOfFuel));
        assert_eq!(count(1, fuel(1)), Ok(()));
        assert_eq!(count(1_000_000, fuel(300_000)), Err(TrapKind::OutOfFuel));
        assert_eq!(count(100_000, fuel(1_000_000)), Ok(()));
        assert_eq!(count(100_000, fuel(u64::MAX)), Ok(()));
        assert_eq!(count(1_000_000, CallOptions::default()), Ok(()));
    });
}

#[test]
fn the_guests_allocator_and_the_export_share_the_fuel() {
    let config = counting(Config { metered: true, ..Config::default() });
    everywhere(LOOP, &config, |module, instance| {
        // Both count the bytes.
        let input = [0; 50_000];
        let mut least = 0;
        for given in (10_000..1_000_000).step_by(10_000) {
            let ended = call(module, instance, ("bytes", Abi::Bytes), &input, fuel(given));
            if ended.unwrap().is_ok() {
                break;
            }
            least = given;
        }
        // How much one of them needs.
        let n = 50_000_u32.to_le_bytes();
        let half = call(module, instance, ("count", Abi::Plain), &n, fuel(least / 2 + 20_000));
        assert!(half.unwrap().is_ok(), "{least}");
    });
}

#[test]
fn an_interrupt_ends_loops_and_calls_of_the_host() {
    let config = counting(Config { interruptible: true, ..Config::default() });
    everywhere(LOOP, &config, |module, instance| {
        for export in ["count", "hosts"] {
            let handle = InterruptHandle::new();
            let interrupted = |instance: &mut dyn Instance| {
                let options =
                    CallOptions { interrupt: Some(handle.clone()), ..CallOptions::default() };
                let endless = 0_u32.to_le_bytes();
                call(module, instance, (export, Abi::Plain), &endless, options).unwrap()
            };
            std::thread::scope(|scope| {
                scope.spawn(|| handle.interrupt());
                assert_eq!(interrupted(instance), Err(TrapKind::Interrupted));
            });
            // Also before it begins.
            assert_eq!(interrupted(instance), Err(TrapKind::Interrupted));
        }
        let options = CallOptions::default();
        let one = 1_u32.to_le_bytes();
        assert!(call(module, instance, ("hosts", Abi::Plain), &one, options).unwrap().is_ok());
    });
}

#[test]
fn limits_that_are_not_enforced_are_refused() {
    everywhere(LOOP, &counting(Config::default()), |module, instance| {
        let refused = |instance: &mut dyn Instance, options, name: &str| {
            let one = 1_u32.to_le_bytes();
            let refused = call(module, instance, ("count", Abi::Plain), &one, options);
            let is_it =
                matches!(&refused, Err(Error::LimitUnsupported { limit, .. }) if *limit == name);
            assert!(is_it, "{refused:?}");
        };
        refused(instance, fuel(1), "fuel");
        let interrupt = Some(InterruptHandle::new());
        refused(instance, CallOptions { interrupt, ..CallOptions::default() }, "an interrupt");
        let table_entries = Some(1);
        let limits = Limits { table_entries, ..Limits::default() };
        refused(instance, limited(limits), "table entries");
    });
}

/// `memory.init` with a negative length makes tinywasm panic.
#[test]
fn a_panic_of_tinywasm_takes_the_context_and_the_limits_along() {
    let calls = State::new(0_u32);
    let mut functions = Functions::none();
    functions.wrap("env", "host", move |call: &mut HostCall<'_>| {
        *call.state(&calls) += 1;
        let calls = *call.state(&calls);
        *call.context::<u32>()? += 1;
        Ok(calls)
    });
    let config = Config { functions, metered: true, ..Config::default() };
    let text = r#"(module
        (import "env" "host" (func $host (result i32)))
        (memory (export "memory") 1 4) (data "x")
        (func (export "panics")
          (drop (call $host))
          (memory.init 0 (i32.const 0) (i32.const 0) (i32.const -1)))
        (func (export "returns") (result i32)
          (drop (memory.grow (i32.const 3))) (call $host)))"#;
    everywhere(text, &config, |module, instance| {
        let mut seen = 0_u32;
        for _ in 0..2 {
            let limits = Limits { pages: Some(2), fuel: Some(1000), ..Limits::default() };
            let context = Some(Context::new(&mut seen));
            let options = CallOptions { context, limits, ..CallOptions::default() };
            let ended = call(module, instance, ("panics", Abi::Plain), b"", options);
            assert!(matches!(ended, Ok(Err(TrapKind::Other | TrapKind::MemoryOutOfBounds))));

            let context = Some(Context::new(&mut seen));
            let options = CallOptions { context, ..CallOptions::default() };
            let ended = call(module, instance, ("returns", Abi::Plain), b"", options).unwrap();
            assert_eq!(ended, Ok(1_u32.to_le_bytes().to_vec()));
            assert_eq!(instance.memory().map(<[u8]>::len), None);

            let options = CallOptions::default();
            let ended = call(module, instance, ("returns", Abi::Plain), b"", options).unwrap();
            assert!(matches!(ended, Err(TrapKind::HostFunction { .. })), "{ended:?}");
        }
        assert_eq!(seen, 4);
    });
}

#[test]
fn a_host_function_calls_instances_of_the_same_module() {
    let text = r#"(module
        (import "env" "next" (func $next (param i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "run") (param i32) (result i32)
          (i32.store (i32.const 0) (local.get 0))
          (if (result i32) (local.get 0)
            (then (i32.add (call $next (local.get 0)) (i32.load (i32.const 0))))
            (else (i32.const 0)))))"#;
    let guest = guest(text);
    for strategy in supported(&guest) {
        let inner: Arc<std::sync::OnceLock<Box<dyn Module>>> = Arc::default();
        let module = Arc::clone(&inner);
        let mut functions = Functions::none();
        functions.wrap("env", "next", move |_: &mut HostCall<'_>, n: i32| {
            let module = &**module.get().unwrap();
            let mut instance = module.new_instance().unwrap();
            let input = (n - 1).to_le_bytes();
            let options = CallOptions::default();
            let sum = call(module, &mut *instance, ("run", Abi::Plain), &input, options).unwrap();
            Ok(i32::from_le_bytes(sum.unwrap().try_into().unwrap()))
        });
        let config = Config { functions, ..Config::default() };
        let module = inner.get_or_init(|| load(&guest, strategy, &config));
        let mut instance = module.new_instance().unwrap();
        for _ in 0..2 {
            let input = 10_i32.to_le_bytes();
            let options = CallOptions::default();
            let sum = call(&**module, &mut *instance, ("run", Abi::Plain), &input, options);
            assert_eq!(sum.unwrap(), Ok(55_i32.to_le_bytes().to_vec()));
        }
    }
}
