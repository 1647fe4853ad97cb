//! A process without addresses for another memory: WasmEdge then returns memories that lie
//! nowhere, which nobody may use.
//!
//! Each engine is tried in a process of its own: this test's program, started again with a variable
//! that names the engine.

mod common;

use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::memory::HeldMappings;
use touchstone_executor::{Abi, Config, Error, Outcome, Strategy};

const ENGINE: &str = "TOUCHSTONE_EXHAUSTED_ENGINE";
/// Less than the 12 GiB that WasmEdge reserves for a memory.
const ADDRESSES: libc::rlim_t = 8 << 30;

const GUESTS: [(&str, &str); 5] = [
    ("no pages", "(module (memory 0) (func (export \"f\")))"),
    ("pages", "(module (memory 1) (func (export \"f\") (i32.store (i32.const 0) (i32.const 1))))"),
    ("data", "(module (memory 1) (data (i32.const 8) \"data\") (func (export \"f\")))"),
    (
        "start",
        "(module (memory 1) (func $start (i32.store (i32.const 65532) (i32.const 1)))
           (start $start) (func (export \"f\")))",
    ),
    (
        "start, no pages",
        "(module (memory 0) (func $start (drop (memory.grow (i32.const 1)))
           (i32.store (i32.const 65532) (i32.const 1))) (start $start) (func (export \"f\")))",
    ),
];

/// The addresses that this process may have.
fn limit(addresses: libc::rlim_t) {
    let limit = libc::rlimit { rlim_cur: addresses, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads a structure.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// No addresses are left for the next instance, and then some are.
fn try_guest(engine: &dyn MeasuredEngine, strategy: Strategy, (name, text): (&str, &str)) -> bool {
    let guest =
        GuestModule::new(name, &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    if !engine.support_for(strategy, &guest).is_supported() {
        return false;
    }
    let config = Config::default();
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    let mut instance = module.new_instance().unwrap();
    limit(ADDRESSES);
    let (first, second) = (instance.prepare(), instance.prepare());
    limit(libc::RLIM_INFINITY);
    for found in [first, second] {
        let error = found.err().unwrap_or_else(|| panic!("{strategy} '{name}': it is prepared"));
        let is_told = matches!(&error, Error::Runtime { reason, .. } if reason.contains("memory"));
        assert!(is_told, "{strategy} '{name}': {error}");
    }
    let export = module.export("f", Abi::Plain).unwrap();
    let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
    assert_eq!(outcome, Outcome::Returned, "{strategy} '{name}'");
    true
}

/// Does nothing unless it was started by the test below.
#[test]
fn one_engine() {
    let Ok(wanted) = std::env::var(ENGINE) else { return };
    let engines = touchstone_wasmedge::engines();
    let engine = engines.iter().find(|engine| engine.id() == wanted).unwrap();
    for guest in GUESTS {
        let strategies = Strategy::all();
        let here = strategies.into_iter().filter(|strategy| try_guest(&**engine, *strategy, guest));
        assert!(here.count() > 0, "{}", guest.0);
    }
}

/// Whoever makes too many memories gets an error. Without a mapping left, the process would end at
/// its next allocation.
#[test]
fn the_last_mappings_are_left_to_others() {
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let allowed: usize = allowed.trim().parse().unwrap();
    let text = r#"(module (memory 1 9) (data (i32.const 8) "data")
        (func (export "grow") (result i32) (memory.grow (i32.const 1))))"#;
    let guest =
        GuestModule::new("growing", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    let config = Config::default();
    for engine in touchstone_wasmedge::engines() {
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let mut instance = module.new_instance().unwrap();
            let others = HeldMappings::new(allowed - allowed / 16 - 1).unwrap();
            let error = instance.prepare().unwrap_err();
            assert!(error.to_string().contains("vm.max_map_count"), "{strategy}: {error}");
            drop(others);
            let export = module.export("grow", Abi::Plain).unwrap();
            let mut output = Vec::new();
            instance.prepare().unwrap();
            let mut others: Vec<_> =
                (0..allowed / 16).map(|_| HeldMappings::new(0).unwrap()).collect();
            others.extend((0..allowed).rev().find_map(|count| HeldMappings::new(count).ok()));
            // Until no more are left for growth.
            assert!(!others.iter_mut().all(HeldMappings::grow));
            let outcome = instance.invoke(export, b"", &mut output, None).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{strategy}");
            assert_eq!(output, (-1_i32).to_le_bytes(), "{strategy}");
            drop(others);
            let outcome = instance.invoke(export, b"", &mut output, None).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{strategy}");
            assert_eq!(output, 1_i32.to_le_bytes(), "{strategy}");
        }
    }
}

#[test]
fn a_memory_that_lies_nowhere_is_an_error_of_the_host() {
    for engine in touchstone_wasmedge::engines() {
        let output = common::in_a_process(ENGINE, engine.id());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {}: {said}", engine.id(), output.status);
    }
}
