//! Native code where a module would trap, log or be refused.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Error, Functions, HostCall, Imports, Instance, InterruptHandle,
    Limits, Module, Outcome, Signature, Strategy, Support, TrapKind, ValueType,
};

fn built(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built");
    std::fs::read(format!("{folder}/{name}.wasm")).unwrap()
}

fn guest() -> GuestModule {
    guest_with(Growth::Fixed)
}

fn guest_with(growth: Growth) -> GuestModule {
    let heap = HeapPages { extra: 32, growth };
    GuestModule::new("test-runtime", &built("test-runtime"), heap).unwrap()
}

/// The guest imports a function that no host has.
fn config() -> Config {
    Config { imports: Imports::Trap, ..Config::default() }
}

fn engine() -> Box<dyn MeasuredEngine> {
    touchstone_native::engines().remove(0)
}

fn load(strategy: Strategy, config: &Config) -> Box<dyn Module> {
    try_load(&guest(), strategy, config).unwrap()
}

fn try_load(
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Box<dyn Module>, Error> {
    let artifact = engine().compile(guest, strategy, config)?;
    let mut module = engine().load(guest, &artifact, strategy, config)?;
    module.probe()?;
    Ok(module)
}

/// Runs a test under every strategy there is.
fn everywhere(test: impl Fn(&dyn Module, &mut dyn Instance)) {
    let guest = guest();
    for strategy in Strategy::all() {
        if engine().support_for(strategy, &guest).is_supported() {
            let module = load(strategy, &config());
            test(&*module, &mut *module.new_instance().unwrap());
        }
    }
}

fn call(module: &dyn Module, instance: &mut dyn Instance, export: &str, input: &[u8]) -> Outcome {
    let export = module.export(export, Abi::Substrate).unwrap();
    instance.call(export, input, &mut Vec::new()).unwrap()
}

fn kind(outcome: Outcome) -> TrapKind {
    outcome.trap().expect("it should trap").kind.clone()
}

#[test]
fn a_panic_is_a_trap_and_the_next_call_is_clean() {
    everywhere(|module, instance| {
        for _ in 0..3 {
            // `test_peek` takes four bytes.
            let outcome = call(module, instance, "test_peek", &[1]);
            let trap = outcome.trap().unwrap();
            assert_eq!(trap.kind, TrapKind::Unreachable);
            assert_eq!(trap.detail, "the input is too short");
            assert_eq!(kind(call(module, instance, "test_trap", &[])), TrapKind::Unreachable);
            assert_eq!(call(module, instance, "test_empty_return", &[]), Outcome::Returned);
        }
    });
}

#[test]
fn addresses_outside_the_memory_trap() {
    let base = guest().info().heap_base.unwrap();
    everywhere(|module, instance| {
        let size = guest().info().memory.unwrap().initial_bytes() as u32;
        let poke = |address: u32| [&address.to_le_bytes()[..], &[7]].concat();
        assert_eq!(call(module, instance, "test_poke", &poke(size - 1)), Outcome::Returned);
        assert_eq!(
            kind(call(module, instance, "test_poke", &poke(size))),
            TrapKind::MemoryOutOfBounds
        );
        assert_eq!(
            kind(call(module, instance, "test_peek", &size.to_le_bytes())),
            TrapKind::MemoryOutOfBounds
        );
        // 33 pages do not fit above the heap base, of 32 extra ones.
        let dirty = [base.to_le_bytes(), 33_u32.to_le_bytes()].concat();
        assert_eq!(
            kind(call(module, instance, "test_dirty_plenty_memory", &dirty)),
            TrapKind::MemoryOutOfBounds
        );
        // The host borrows the input from the memory while the guest runs.
        let input = base.next_multiple_of(8) + 8;
        let outcome = call(module, instance, "test_poke", &poke(input));
        assert_eq!(kind(outcome), TrapKind::Other);
    });
}

#[test]
fn the_memory_is_written_where_the_module_would_write_it() {
    let base = guest().info().heap_base.unwrap();
    let address = base.next_multiple_of(65_536) + 12_345;
    everywhere(|module, instance| {
        let poke = module.export("test_poke", Abi::Substrate).unwrap();
        let input = [&address.to_le_bytes()[..], &[0xa5]].concat();
        instance.prepare().unwrap();
        let clean = instance.memory().unwrap().to_vec();
        assert_eq!(
            instance.invoke(poke, &input, &mut Vec::new(), None).unwrap(),
            Outcome::Returned
        );
        assert_eq!(instance.memory().unwrap()[address as usize], 0xa5);
        instance.finish().unwrap();
        instance.prepare().unwrap();
        assert!(instance.memory().unwrap() == clean);
        instance.finish().unwrap();
    });
}

#[test]
fn what_makes_no_sense_here_is_refused_with_the_reason() {
    everywhere(|module, _| {
        for export in
            ["test_count", "test_endless_loop", "test_stack_overflow", "test_divide_by_zero"]
        {
            let error = module.export(export, Abi::Substrate).unwrap_err();
            assert!(matches!(&error, Error::ExportUnsupported { .. }), "{error}");
            assert!(error.to_string().starts_with(&format!("native does not have '{export}': ")));
        }
    });
}

#[test]
fn only_built_guests_are_known() {
    let empty = b"\0asm\x01\0\0\0";
    let other = GuestModule::new("test-runtime", empty, HeapPages::default()).unwrap();
    for strategy in Strategy::all() {
        assert!(matches!(engine().support_for(strategy, &other), Support::Unsupported { .. }));
        assert!(matches!(
            engine().compile(&other, strategy, &Config::default()),
            Err(Error::Unsupported { .. })
        ));
    }
}

#[test]
fn log_lines_reach_the_host_below_its_level() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    for max_log_level in [2, 3] {
        let seen = Arc::clone(&lines);
        let log = move |level, target: &str, message: &str| {
            seen.lock().unwrap().push((level, target.to_owned(), message.to_owned()));
        };
        let config = Config { max_log_level, log: Some(Arc::new(log)), ..config() };
        let module = load("instance_reuse".parse().unwrap(), &config);
        let mut instance = module.new_instance().unwrap();
        let outcome = call(&*module, &mut *instance, "test_log", b"a line");
        assert_eq!(outcome, Outcome::Returned);
    }
    assert_eq!(*lines.lock().unwrap(), [(2, "test".to_owned(), "a line".to_owned())]);
}

#[test]
fn a_call_beyond_its_deadline_is_said_to_be() {
    // Any call takes longer than no time at all.
    let config = Config { deadline: Some(Duration::ZERO), ..config() };
    let module = load("instance_reuse_cow".parse().unwrap(), &config);
    let mut instance = module.new_instance().unwrap();
    let outcome = call(&*module, &mut *instance, "test_empty_return", &[]);
    assert_eq!(kind(outcome), TrapKind::DeadlineExceeded);
    assert_eq!(module.effective().get("deadline"), Some("checked after the call"));
}

#[test]
fn calls_on_four_threads_do_not_mix() {
    let module = load("instance_reuse".parse().unwrap(), &config());
    let echo = module.export("test_echo", Abi::Substrate).unwrap();
    std::thread::scope(|scope| {
        for thread in 0_u8..4 {
            let module = &module;
            scope.spawn(move || {
                let mut instance = module.new_instance().unwrap();
                let (input, mut output) = ([thread; 1000], Vec::new());
                for _ in 0..100 {
                    let outcome = instance.call(echo, &input, &mut output).unwrap();
                    assert_eq!(outcome, Outcome::Returned);
                    assert_eq!(output, input);
                }
            });
        }
    });
}

/// Two buffers of a size, filled, checked and freed.
fn allocate(module: &dyn Module, instance: &mut dyn Instance, size: u32) -> Outcome {
    let input = [2_u32.to_le_bytes(), size.to_le_bytes()].concat();
    call(module, instance, "test_allocate", &input)
}

#[test]
fn what_a_guest_allocates_lies_in_its_memory() {
    everywhere(|module, instance| {
        let export = module.export("test_allocate", Abi::Substrate).unwrap();
        let input = [1_u32.to_le_bytes(), 70_000_u32.to_le_bytes()].concat();
        instance.prepare().unwrap();
        let clean = instance.memory().unwrap().to_vec();
        assert_eq!(
            instance.invoke(export, &input, &mut Vec::new(), None).unwrap(),
            Outcome::Returned
        );
        let memory = instance.memory().unwrap();
        let written = memory.iter().zip(&clean).filter(|(now, before)| now != before).count();
        // A byte of 256 is written as zero.
        assert!(written > 69_000, "{written}");
        instance.finish().unwrap();
        instance.prepare().unwrap();
        assert!(instance.memory().unwrap() == clean);
        instance.finish().unwrap();
    });
}

#[test]
fn a_full_memory_traps_and_the_next_call_is_clean() {
    everywhere(|module, instance| {
        for _ in 0..3 {
            // The memory has 32 pages for both.
            let trap = kind(allocate(module, instance, 33 << 16));
            assert!(matches!(trap, TrapKind::HostFunction { .. }), "{trap:?}");
            assert_eq!(allocate(module, instance, 1 << 16), Outcome::Returned);
        }
    });
}

#[test]
fn growth_ends_at_the_limit_of_the_call() {
    let guest = guest_with(Growth::UpTo(1 << 10));
    let pages = guest.info().memory.unwrap().minimum;
    // 40 pages do not fit in 32.
    let input = [1_u32.to_le_bytes(), (40_u32 << 16).to_le_bytes()].concat();
    for strategy in Strategy::all() {
        if !engine().support_for(strategy, &guest).is_supported() {
            continue;
        }
        let module = try_load(&guest, strategy, &config()).unwrap();
        let export = module.export("test_allocate", Abi::Substrate).unwrap();
        let mut instance = module.new_instance().unwrap();
        for (limit, grows) in [(Some(pages), false), (None, true), (Some(pages), false)] {
            let limits = Limits { pages: limit, ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            instance.prepare().unwrap();
            let outcome = instance.invoke(export, &input, &mut Vec::new(), Some(options)).unwrap();
            assert_eq!(outcome == Outcome::Returned, grows, "{strategy} {limit:?} {outcome:?}");
            instance.finish().unwrap();
        }
    }
}

#[test]
fn limits_that_native_code_cannot_keep_are_refused() {
    let module =
        load("instance_reuse".parse().unwrap(), &Config { interruptible: true, ..config() });
    let export = module.export("test_empty_return", Abi::Substrate).unwrap();
    let mut instance = module.new_instance().unwrap();
    let limited = |limits| CallOptions { limits, ..CallOptions::default() };
    let none = Limits::default();
    for options in [
        limited(Limits { deadline: Some(Duration::MAX), ..none }),
        limited(Limits { fuel: Some(1), ..none }),
        limited(Limits { table_entries: Some(1), ..none }),
        CallOptions { interrupt: Some(InterruptHandle::new()), ..CallOptions::default() },
    ] {
        instance.prepare().unwrap();
        let refused = instance.invoke(export, b"", &mut Vec::new(), Some(options));
        assert!(matches!(refused, Err(Error::LimitUnsupported { .. })), "{refused:?}");
        instance.finish().unwrap();
    }
}

#[test]
fn imports_that_are_answered_elsewhere_are_refused_by_name() {
    const MISSING: &str = "ext_touchstone_missing_version_1";
    let strategy = "instance_reuse".parse().unwrap();
    let refused = |config: Config| try_load(&guest(), strategy, &config).map(drop).unwrap_err();

    let error = refused(Config::default());
    assert!(matches!(&error, Error::MissingImports { imports } if imports.len() == 1), "{error}");
    assert!(error.to_string().contains(MISSING), "{error}");

    let mut own = Functions::standard();
    let signature = Signature::new(&[ValueType::I32], &[ValueType::I64]);
    own.add("env", MISSING, signature, |_| Ok(()));
    let mut other = Functions::standard();
    let level = "ext_logging_max_level_version_1";
    other.wrap("env", level, |_: &mut HostCall<'_>| Ok(5));
    for (config, name) in [
        (Config { functions: own, ..Config::default() }, MISSING),
        (Config { imports: Imports::Zero, ..Config::default() }, MISSING),
        (Config { functions: other, ..config() }, level),
        (Config { functions: Functions::none(), ..config() }, "ext_"),
    ] {
        let error = refused(config);
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
