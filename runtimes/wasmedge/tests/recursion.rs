//! Recursion without an end, which WasmEdge does not limit: it ends the process.
//!
//! Each engine runs in a process of its own: this test's program, started again with a variable
//! that names the engine.

mod common;

use std::os::unix::process::ExitStatusExt;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Outcome, Result};

const ENGINE: &str = "TOUCHSTONE_RECURSING_ENGINE";
const GUEST: &str = r#"(module
    (global $depth (mut i32) (i32.const 0))
    (func $f (param i32)
      (if (local.get 0) (then
        (call $f (i32.sub (local.get 0) (i32.const 1)))
        (global.set $depth (i32.add (global.get $depth) (i32.const 1))))))
    (func (export "f") (param i32) (result i32) (call $f (local.get 0)) (global.get $depth)))"#;
/// Memory of the child process at most, bytes: the interpreter's stack lies there.
const MEMORY: libc::rlim_t = 2 << 30;

fn call(engine: &dyn MeasuredEngine, depth: u32) -> Result<(Outcome, Vec<u8>)> {
    let guest =
        GuestModule::new("recursing", &wat::parse_str(GUEST).unwrap(), HeapPages::default());
    let (guest, strategy) = (guest.unwrap(), "recreate_instance".parse().unwrap());
    let artifact = engine.compile(&guest, strategy, &Config::default())?;
    let module = engine.load(&guest, &artifact, strategy, &Config::default())?;
    let export = module.export("f", Abi::Plain)?;
    let mut output = Vec::new();
    let outcome = module.new_instance()?.call(export, &depth.to_le_bytes(), &mut output)?;
    Ok((outcome, output))
}

#[test]
fn a_recursion_with_an_end_returns() {
    for engine in touchstone_wasmedge::engines() {
        assert!(!engine.capabilities().recursion);
        let (outcome, output) = call(&*engine, 5000).unwrap();
        assert_eq!((outcome, output), (Outcome::Returned, 5000_u32.to_le_bytes().to_vec()));
    }
}

/// Does nothing unless the test below started it.
#[test]
fn one_engine() {
    let Ok(wanted) = std::env::var(ENGINE) else { return };
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: reads a structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) }, 0);
    let engines = touchstone_wasmedge::engines();
    let engine = engines.iter().find(|engine| engine.id() == wanted).unwrap();
    let ended = call(&**engine, u32::MAX);
    panic!("the process outlived the recursion: {ended:?}");
}

#[test]
fn a_recursion_without_an_end_ends_the_process() {
    for engine in touchstone_wasmedge::engines() {
        let output = common::in_a_process(ENGINE, engine.id());
        let said = String::from_utf8_lossy(&output.stderr);
        let signal = output.status.signal();
        let by_signal = matches!(signal, Some(libc::SIGSEGV | libc::SIGBUS | libc::SIGABRT));
        assert!(by_signal, "{}: {}: {said}", engine.id(), output.status);
    }
}
