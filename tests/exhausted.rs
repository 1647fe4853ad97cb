//! Processes that run out of addresses: an instance too many is an error that names the cause, on
//! every engine and strategy, and the instances before it go on.
//!
//! Each engine has its own process: this test's program, started again with a variable that names
//! the engine.

#[path = "fixtures/either.rs"]
mod either;

use either::either;
use rayon::prelude::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, ExportId, Instance, Module, Result, Strategy};

const ENGINE: &str = "TOUCHSTONE_EXHAUSTED_ENGINE";
const MIB: u64 = 1 << 20;
/// Instances that are made at most.
const MOST: usize = 40;
/// Words of an error that names its cause.
const CAUSES: [&str; 6] = ["memory", "mmap", "address", "mappings", "allocat", "concurrent"];

/// 40 MiB of memory.
const GUEST: &str = r#"(module
    (memory (export "memory") 640 641)
    (global (export "__heap_base") i32 (i32.const 1024))
    (data (i32.const 8) "\01")
    (func $call (export "call") (result i32)
      (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1)))
      (i32.load (i32.const 8)))
    (func (export "call_packed") (param i32 i32) (result i64)
      (i32.store (i32.const 256) (call $call)) (i64.const 0x400000100)))"#;

/// Addresses that this process has reserved, bytes.
fn reserved() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

/// The addresses that this process may reserve.
fn limit(addresses: Option<u64>) {
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: addresses, maximum }).unwrap();
}

/// A new instance in the middle of a call.
fn busy(module: &dyn Module, export: ExportId) -> Result<Box<dyn Instance>> {
    let mut instance = module.new_instance()?;
    instance.prepare()?;
    let mut output = Vec::new();
    let outcome = instance.invoke(export, &[], &mut output, None)?;
    assert_eq!((outcome.trap(), &*output), (None, &[2, 0, 0, 0][..]));
    Ok(instance)
}

/// Makes instances until one is refused, if the strategy is supported.
fn try_strategy(engine: &dyn MeasuredEngine, strategy: Strategy) {
    let guest = GuestModule::new("guest", &wat::parse_str(GUEST).unwrap(), HeapPages::default());
    let (guest, config) = (guest.unwrap(), Config { instances: 4, ..Config::default() });
    if !engine.support_for(strategy, &guest).is_supported() {
        return;
    }
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    let export = either(&*module, "call").unwrap();
    let mut instances = vec![busy(&*module, export).unwrap()];
    let before = reserved();
    instances.push(busy(&*module, export).unwrap());
    let each = reserved().saturating_sub(before);
    // For three more and a half.
    limit(Some(reserved() + (7 * each / 2).max(16 * MIB)));
    let error = loop {
        match busy(&*module, export) {
            Ok(instance) => instances.push(instance),
            Err(error) => break Some(error.to_string()),
        }
        if instances.len() == MOST {
            break None;
        }
    };
    // The rest of the process goes on, and so do the instances.
    assert_eq!(std::thread::spawn(|| vec![1_u8; 1 << 20].len()).join().unwrap(), 1 << 20);
    for instance in &mut instances {
        let mut output = Vec::new();
        instance.finish().unwrap();
        let outcome = instance.call(export, &[], &mut output).unwrap();
        assert_eq!((outcome.trap(), &*output), (None, &[2, 0, 0, 0][..]), "{strategy}");
    }
    limit(None);
    // A runtime's own pool has reserved all addresses when the module was loaded.
    assert!(error.is_some() || each < MIB, "{strategy}: no instance was refused");
    if let Some(error) = &error {
        let names = |word: &&str| error.to_lowercase().contains(*word);
        assert!(CAUSES.iter().any(names), "{strategy}: {error}");
    }
    println!("{strategy}: {} instances, {} MiB each, {error:?}", instances.len(), each / MIB);
}

/// Does nothing unless it was started by the test below.
#[test]
fn one_engine() {
    let Ok(wanted) = std::env::var(ENGINE) else { return };
    let engines = touchstone_runtimes::engines();
    let engine = engines.iter().find(|engine| engine.id() == wanted).unwrap();
    let all = Strategy::all();
    all.into_iter().for_each(|strategy| try_strategy(&**engine, strategy));
}

#[test]
fn an_instance_without_addresses_is_an_error() {
    touchstone_runtimes::engines().par_iter().for_each(|engine| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", "--nocapture", "one_engine"]).env(ENGINE, engine.id());
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        println!("{}:\n{printed}", engine.id());
        assert!(printed.contains("running 1 test"), "no test is named one_engine");
        assert!(output.status.success(), "{}: {}: {said}", engine.id(), output.status);
    });
}
