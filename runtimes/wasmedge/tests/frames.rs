//! Guests whose compiled functions have larger stack frames than their text shows.
//!
//! Each runs in a process of its own, which a frame that is counted too small would end: this
//! test's program, started again with a variable that names the guest.

use std::process::{Command, Stdio};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{ArtifactFolder, Config, Engine, Outcome, Result, TrapKind};

const GUEST: &str = "TOUCHSTONE_GUEST";

/// A function whose calls each return a hundred values through memory of their own.
fn many_results() -> String {
    let results = " i64".repeat(100);
    let values: String =
        (1..100).map(|factor| format!("(i64.mul (local.get $x) (i64.const {factor}))")).collect();
    let calls = format!("(call $many (local.get $x)) {}", "drop ".repeat(100)).repeat(200);
    format!(
        r#"(module
          (func $many (param $x i64) (result{results}) (call $deep (local.get $x)) {values}
            (i64.const 3))
          (func $deep (param $x i64) {calls})
          (func (export "deep") (call $deep (i64.const 7))))"#
    )
}

/// A function that computes the same values before and after a call of itself: they are kept
/// over it.
fn kept_values(count: u32) -> String {
    let stores: String = (0..count)
        .map(|index| {
            let factor = 1_000_003 + 2 * index;
            format!("(i64.store (i32.const 0) (i64.mul (local.get $x) (i64.const {factor})))")
        })
        .collect();
    format!(
        r#"(module (memory 1)
          (func $deep (param $x i64) {stores} (call $deep (i64.add (local.get $x) (i64.const 1)))
            {stores})
          (func (export "deep") (call $deep (i64.const 7))))"#
    )
}

/// The same in a function that calls itself through a table as well, with arguments that lie on the
/// stack: the unwind tables do not tell its frame.
fn kept_values_and_a_table() -> String {
    let text = kept_values(1000);
    let text = text.replace(
        "(memory 1)",
        "(memory 1) (table 1 funcref) (elem (i32.const 0) $through)
         (type $through (func (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64)))
         (func $through (type $through) (call $deep (local.get 9)))",
    );
    let arguments = "(local.get $x)".repeat(10);
    let call = format!("(call_indirect (type $through) {arguments} (i32.const 0))");
    text.replace("(call $deep (i64.add (local.get $x) (i64.const 1)))", &call)
}

fn guest(name: &str) -> GuestModule {
    let text = match name {
        "many results" => many_results(),
        "kept values" => kept_values(1000),
        "kept values and a table" => kept_values_and_a_table(),
        other => panic!("there is no guest '{other}'"),
    };
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Calls the guest on a thread with a stack of 2 MiB.
fn call(engine: &dyn Engine, guest: &GuestModule, folder: &ArtifactFolder) -> Result<()> {
    let (strategy, config) = ("recreate_instance".parse().unwrap(), Config::default());
    let artifact = engine.compile(guest, strategy, &config)?;
    assert!(artifact.save(folder)?);
    let restored = engine.restore(guest, strategy, &config, folder)?.unwrap();
    for artifact in [&artifact, &restored] {
        let module = engine.load(guest, artifact, strategy, &config)?;
        let export = module.export("deep", Abi::Plain)?;
        let outcome = std::thread::scope(|scope| {
            let call = || module.new_instance()?.call(export, b"", &mut Vec::new());
            let thread = std::thread::Builder::new().stack_size(2 << 20);
            thread.spawn_scoped(scope, call).unwrap().join().unwrap()
        })?;
        let Outcome::Trapped(trap) = outcome else { panic!("the guest returned") };
        assert_eq!(trap.kind, TrapKind::StackOverflow);
    }
    Ok(())
}

/// Does nothing unless it was started by another test.
#[test]
fn one_guest() {
    let Ok(name) = std::env::var(GUEST) else { return };
    let engine = touchstone_wasmedge::engines().pop().unwrap();
    let parent = tempfile::tempdir().unwrap();
    let folder = ArtifactFolder::create(&parent.path().join("artifacts")).unwrap();
    call(&*engine, &guest(&name), &folder).unwrap();
}

#[test]
fn large_frames_end_in_a_trap_and_not_the_process() {
    for name in ["many results", "kept values", "kept values and a table"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["one_guest", "--exact", "--nocapture"])
            .env(GUEST, name)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}: {errors}", output.status);
    }
}
