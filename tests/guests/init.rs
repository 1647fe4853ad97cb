//! Pre-initialised guests: the same bytes each time, the same answers on every engine and
//! strategy, and reasons in words for guests that cannot be pre-initialised.

use crate::mocked::engines;
use crate::run::each_of;
use touchstone::case::init::{InitError, initialized};
use touchstone::case::{self, Case, Guests, digest};
use touchstone::plan::Plan;
use touchstone::record::Status;
use touchstone_executor::Abi;
use touchstone_executor::harness::mock::MockEngine;

/// Memory, a global and a page of growth that `init` leaves behind. `next` counts on.
const GUEST: &str = r#"(module
    (import "env" "nobody_has_this" (func $import))
    (memory (export "memory") 1)
    (global $count (mut i64) (i64.const 1))
    (global $half (mut f64) (f64.const 0))
    (func (export "init")
        (drop (memory.grow (i32.const 1)))
        (global.set $count (i64.const 41))
        (global.set $half (f64.const 0.5))
        (i32.store (i32.const 65536) (i32.const 7)))
    (func (export "next") (result i64 f64 i32 i32)
        (global.set $count (i64.add (global.get $count) (i64.const 1)))
        (i32.store (i32.const 65536) (i32.add (i32.load (i32.const 65536)) (i32.const 1)))
        (global.get $count) (global.get $half) (i32.load (i32.const 65536)) (memory.size))
    (func (export "number") (result i32) (i32.const 0))
    (func (export "trap") unreachable)
    (func (export "calls") (call $import))
    (func (export "endless") (loop $again (br $again))))"#;

const CASE: &str = r#"
[case]
name     = "next"
guests   = ["counter"]
init     = "init"
export   = "next"
abi      = "plain"
threads  = [1]
expect   = { output = "0x00" }
analysis = "A guest with state."
"#;

/// A folder with the guest, and its case.
fn folder() -> (tempfile::TempDir, Case) {
    let folder = tempfile::tempdir().unwrap();
    let wasm = wat::parse_str(GUEST).unwrap();
    std::fs::write(folder.path().join("counter.wasm"), &wasm).unwrap();
    let sums = format!("{}  counter.wasm\n", digest(&wasm));
    std::fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    std::fs::write(folder.path().join("case.toml"), CASE).unwrap();
    let case = case::load(folder.path().join("case.toml")).unwrap().remove(0);
    (folder, case)
}

fn init(text: &str, export: &str) -> Result<Vec<u8>, InitError> {
    initialized(&wat::parse_str(text).unwrap(), export)
}

#[test]
fn every_engine_continues_from_what_init_left() {
    let (folder, case) = folder();
    let guest = match Guests::in_folder(folder.path()).of_case(&case, "counter") {
        Err(error) if !cfg!(feature = "wizer") => {
            assert_eq!(error.downcast_ref(), Some(&InitError::NotBuilt));
            return;
        }
        guest => guest.unwrap(),
    };
    let left = [
        &42_i64.to_le_bytes()[..],
        &0.5_f64.to_le_bytes(),
        &8_i32.to_le_bytes(),
        &2_i32.to_le_bytes(),
    ];
    each_of(&guest, |run| {
        for _ in 0..2 {
            run.returns("next", Abi::Plain, b"", &left.concat());
        }
    });
}

#[test]
fn a_plan_has_the_digests_before_and_after_or_says_what_the_build_lacks() {
    let (folder, case) = folder();
    let mut guests = Guests::in_folder(folder.path());
    let engines = engines([&MockEngine::new("mock")]);
    let plan = Plan::new(&[case], &engines, &mut guests).unwrap();
    if !cfg!(feature = "wizer") {
        let reason = InitError::NotBuilt.to_string();
        let refused = plan.refusals.iter().find(|refusal| refusal.reason == reason).unwrap();
        assert_eq!((refused.case.as_deref(), refused.status), (Some("next"), Status::Unsupported));
        assert!(plan.cells.is_empty() && plan.works.is_empty());
        return;
    }
    assert!(!plan.cells.is_empty());
    let work = &plan.works[0];
    let init = work.init.clone().unwrap();
    assert_eq!(work.guest_sha256, guests.file("counter").unwrap().sha256);
    assert_eq!(
        (&*init.export, &init.sha256),
        ("init", &guests.initialized("counter", "init").unwrap().sha256)
    );
    assert_ne!(work.guest_sha256, init.sha256);
}

#[test]
fn wrong_exports_are_refused_in_words() {
    let words = |text: &str, export: &str| init(text, export).unwrap_err().to_string();
    assert!(words(GUEST, "initt").contains("no exported function 'initt'"));
    assert!(words(GUEST, "initt").contains("init"));
    assert!(words(GUEST, "memory").contains("no exported function"));
    assert!(words(GUEST, "number").contains("is () -> (i32)"));
    assert_eq!(words("(component)", "init"), "a component cannot be pre-initialised");
    let invalid = initialized(b"\0asm", "init").unwrap_err().to_string();
    assert!(invalid.starts_with("the guest cannot be read: "), "{invalid}");
}

#[cfg(feature = "wizer")]
#[test]
fn two_runs_make_the_same_bytes_without_the_export() {
    let bytes = init(GUEST, "init").unwrap();
    assert_eq!(init(GUEST, "init").unwrap(), bytes);
    let text = wasmprinter::print_bytes(&bytes).unwrap();
    assert!(!text.contains(r#"(export "init""#) && text.contains(r#"(export "next""#), "{text}");
    // A guest without an image has one of what its data segments say.
    assert!(!text.contains("__wizer"), "{text}");
}

#[cfg(feature = "wizer")]
#[test]
fn guests_that_fail_say_how() {
    let words = |text: &str, export: &str| init(text, export).unwrap_err().to_string();
    assert!(words(GUEST, "trap").starts_with("'trap' traps: "));
    assert!(words(GUEST, "calls").starts_with("'calls' calls the import env.nobody_has_this; "));
    assert!(words(GUEST, "endless").starts_with("'endless' does not end within "));
    let start = r#"(module (func $start unreachable) (start $start) (func (export "init")))"#;
    assert!(words(start, "init").starts_with("'init' traps: "));
    // State that no module can say.
    let text = r#"(module (table 1 funcref)
        (func (export "init") (table.set (i32.const 0) (ref.null func))))"#;
    assert!(words(text, "init").starts_with("the module cannot be pre-initialised: "), "{text}");
}

/// The case's output and its further ones, on every interpreter of modules and under each
/// strategy. Compilers, of which Pulley needs one too, take their time with this guest, and
/// `touchstone bench` checks them.
#[cfg(feature = "wizer")]
#[test]
fn the_javascript_guest_answers_on_every_interpreter() {
    use touchstone::lab::Lab;
    use touchstone_executor::{Config, Execution};

    let cases = case::built_in().unwrap();
    let case = case::find(&cases, "javascript_json").unwrap().clone();
    // Nothing here depends on time.
    let cases = [Case { budget_s: None, ..case }];
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| {
        engine.execution() == Execution::Interpreted && engine.id() != "wasmtime_pulley"
    });
    let mut guests = Guests::built();
    let plan = Plan::new(&cases, &engines, &mut guests).unwrap();
    let mut lab = Lab::new(guests, Config::default()).without_times();
    for cell in &plan.cells {
        lab.open(cell).unwrap_or_else(|refused| panic!("{}: {}", cell.name(), refused.reason));
    }
    assert_eq!(plan.cells.is_empty(), engines.is_empty());
}

/// Two processes that pre-initialise the guest themselves compare the same bytes.
#[cfg(feature = "wizer")]
#[test]
fn the_javascript_guest_has_the_same_image_each_time() {
    let image = || Guests::built().initialized("javascript", "init").unwrap().sha256.clone();
    assert_eq!(image(), image());
}
