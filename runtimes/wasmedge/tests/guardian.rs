//! WasmEdge's handlers of signals: what goes wrong without a guardian, and that
//! everybody's traps work with it.
//!
//! Each scenario runs in a process of its own: this test's program, started again
//! with a variable that names the scenario.

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use time::LIMIT;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Functions, HostCall, InstanceFrom, MemoryFrom, Outcome, Strategy, TrapKind,
};

const SCENARIO: &str = "TOUCHSTONE_SCENARIO";
const TRAPS: &str = r#"(module (memory (export "memory") 1)
    (func (export "trap") (drop (i32.load (i32.const 65536)))))"#;
const GUEST: &str = r#"(module (memory (export "memory") 1 1)
    (func (export "load") (drop (i32.load (i32.const 65536))))
    (func (export "divide") (drop (i32.div_s (i32.const 1) (i32.load (i32.const 0)))))
    (func (export "unreachable") unreachable)
    (func (export "fine")))"#;
const THREADS: usize = 4;
const ROUNDS: usize = 100;
/// Without a guardian, threads that have waited so long for each other do so for ever: they take
/// tenths of a second. Nothing fails that is ended too early.
const UNGUARDED: Duration = Duration::from_millis(120_000);

/// Starts a scenario in a process of its own, and ends it where it hangs.
fn run(scenario: &str) -> (ExitStatus, String) {
    run_within(scenario, LIMIT)
}

/// The same with a limit of time.
fn run_within(scenario: &str, limit: Duration) -> (ExitStatus, String) {
    let mut child = start(scenario).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() && started.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("running 1 test"), "no such test");
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn start(scenario: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["scenarios", "--exact", "--nocapture", "--test-threads=1"])
        .env(SCENARIO, scenario)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Does nothing unless `start` started it.
#[test]
fn scenarios() {
    let Ok(scenario) = std::env::var(SCENARIO) else { return };
    let wasm = wat::parse_str(TRAPS).unwrap();
    let trap = |guard| {
        touchstone_wasmedge::testing::trap_on_threads(&wasm, THREADS, 20_000, guard).unwrap();
    };
    match scenario.as_str() {
        "without a guardian" => trap(false),
        "with a guardian" => trap(true),
        "one trap" => {
            touchstone_wasmedge::testing::trap_on_threads(&wasm, 1, 1, true).unwrap();
        }
        "other first" => {
            other::install();
            trap_on_threads();
        }
        "other last" => {
            touchstone_wasmedge::testing::trap_on_threads(&wasm, 1, 1, true).unwrap();
            other::install();
            trap_on_threads();
        }
        "a fault of the host's" => {
            trap_on_threads();
            fault();
        }
        "a fault in a host function" => {
            call_logging(&|| {
                fault();
            });
        }
        "a fault behind the memory of a waiting guest" => read_beyond(),
        "an exhausted stack of the host's" => {
            trap_on_threads();
            println!("{}", exhaust(1));
        }
        other => panic!("there is no scenario '{other}'"),
    }
}

#[test]
fn without_a_guardian_trapping_threads_end_the_process() {
    // A race: two of eight attempts lost it.
    let lost = (0..50).any(|_| {
        let (status, _) = run_within("without a guardian", UNGUARDED);
        matches!(
            status.signal(),
            Some(libc::SIGSEGV | libc::SIGBUS | libc::SIGABRT | libc::SIGKILL)
        )
    });
    assert!(lost, "WasmEdge does not need a guardian any more");
}

#[test]
fn with_a_guardian_all_threads_trap_in_peace() {
    let (status, errors) = run("with a guardian");
    assert!(status.success(), "{status}: {errors}");
}

/// WasmEdge compiles into files.
#[test]
fn the_folder_of_a_process_that_was_killed_while_it_compiled_goes_with_the_next() {
    let parent = tempfile::tempdir().unwrap();
    let count = || std::fs::read_dir(parent.path()).unwrap().count();
    let start = || start("one trap").env("TMPDIR", parent.path()).spawn().unwrap();
    let was_killed = (0..50).any(|_| {
        let mut child = start();
        while count() == 0 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        count() > 0
    });
    assert!(was_killed, "WasmEdge makes no files any more");
    assert!(start().wait().unwrap().success());
    assert_eq!(count(), 0);
}

#[test]
fn others_that_live_by_faults_go_on_whoever_came_first() {
    for scenario in ["other first", "other last"] {
        let (status, errors) = run(scenario);
        assert!(status.success(), "{scenario}: {status}: {errors}");
    }
}

#[test]
fn a_fault_that_is_no_guests_still_ends_the_process() {
    for scenario in [
        "a fault of the host's",
        "a fault in a host function",
        "a fault behind the memory of a waiting guest",
    ] {
        let (status, errors) = run(scenario);
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{scenario}: {status}: {errors}");
    }
    // Rust's own handler is still asked.
    let (status, errors) = run("an exhausted stack of the host's");
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status}: {errors}");
    assert!(errors.contains("overflowed its stack"), "{errors}");
}

fn compiled() -> Box<dyn MeasuredEngine> {
    touchstone_wasmedge::engines().pop().unwrap()
}

/// Something else that lives by faults, as other runtimes do: pages that become
/// accessible when they are first touched. Faults elsewhere it leaves to whoever
/// was there before.
mod other {
    use std::ffi::{c_int, c_void};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PAGE: usize = 4096;
    pub(super) const PAGES: usize = super::THREADS * super::ROUNDS;
    static START: AtomicUsize = AtomicUsize::new(0);
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    pub(super) fn install() {
        // SAFETY: a new mapping; `handle` is of the type that SA_SIGINFO asks for and
        // finds its statics set.
        unsafe {
            let (kind, nowhere) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, std::ptr::null_mut());
            let start = libc::mmap(nowhere, PAGES * PAGE, libc::PROT_NONE, kind, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            START.store(start as usize, Ordering::Relaxed);
            let mut before = std::mem::zeroed();
            assert_eq!(libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut before), 0);
            assert!(BEFORE.set(before).is_ok());
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()), 0);
        }
    }

    /// Touches a page for the first time, where `install` was called.
    pub(super) fn touch(page: usize) {
        let start = START.load(Ordering::Relaxed);
        if start != 0 {
            let at = std::ptr::with_exposed_provenance_mut::<u8>(start + page * PAGE);
            // SAFETY: inside the mapping, which the handler makes accessible.
            unsafe { at.write_volatile(1) };
        }
    }

    unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let start = START.load(Ordering::Relaxed);
        // SAFETY: the kernel gives a valid `info`.
        let address = unsafe { (*info).si_addr() as usize };
        if (start..start + PAGES * PAGE).contains(&address) {
            let page = (address & !(PAGE - 1)) as *mut c_void;
            // SAFETY: a page of the mapping made in `install`.
            unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) };
            return;
        }
        let before = BEFORE.get().unwrap();
        // SAFETY: Rust's own handler and that of the crate under test are of this type.
        let before: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
            unsafe { std::mem::transmute(before.sa_sigaction) };
        // SAFETY: it gets what the kernel gave.
        unsafe { before(signal, info, context) };
    }
}

/// The compiled guest traps in all its ways on all threads, in turns with the
/// other's faults.
fn trap_on_threads() {
    let guest =
        GuestModule::new("guest", &wat::parse_str(GUEST).unwrap(), HeapPages::default()).unwrap();
    let strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);
    let (engine, config) = (compiled(), Config::default());
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    let calls = [
        ("load", Some(TrapKind::MemoryOutOfBounds)),
        ("divide", Some(TrapKind::DivisionByZero)),
        ("unreachable", Some(TrapKind::Unreachable)),
        ("fine", None),
    ];
    let module = &module;
    let calls = &calls;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut instance = module.new_instance().unwrap();
                for round in 0..ROUNDS {
                    other::touch(thread * ROUNDS + round);
                    for (name, expected) in calls {
                        let export = module.export(name, Abi::Plain).unwrap();
                        let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
                        let found = outcome.trap().map(|trap| trap.kind.clone());
                        assert_eq!(found, *expected, "{name}, round {round}");
                    }
                }
            });
        }
    });
}

/// Calls a compiled guest that calls the host, where `work` is done.
fn call_logging(work: &'static (dyn Fn() + Sync)) {
    let config = Config {
        max_log_level: 5,
        log: Some(std::sync::Arc::new(move |_, _, _| work())),
        ..Config::default()
    };
    let outcome = log_once(&*compiled(), &config);
    println!("{outcome:?}");
}

/// Reads at an address where the guest's own access would be a trap.
fn read_beyond() {
    let text = r#"(module (import "env" "read" (func $read)) (memory (export "memory") 1)
        (func (export "f") (call $read)))"#;
    let guest =
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    let mut functions = Functions::none();
    functions.wrap("env", "read", |call: &mut HostCall<'_>| {
        let end = call.memory().as_mut_ptr_range().end;
        // SAFETY: there is none: this ends the process, which is what is tested.
        unsafe { end.read_volatile() };
        Ok(())
    });
    let config = Config { functions, ..Config::default() };
    let strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);
    let engine = compiled();
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    let export = module.export("f", Abi::Plain).unwrap();
    let outcome = module.new_instance().unwrap().call(export, b"", &mut Vec::new());
    println!("{outcome:?}");
}

fn log_once(engine: &dyn MeasuredEngine, config: &Config) -> touchstone_executor::Result<Outcome> {
    let text = r#"(module (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
        (memory (export "memory") 1)
        (func (export "log") (call $log (i32.const 0) (i64.const 0) (i64.const 0))))"#;
    let guest =
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    let strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments);
    let artifact = engine.compile(&guest, strategy, config)?;
    let module = engine.load(&guest, &artifact, strategy, config)?;
    let export = module.export("log", Abi::Plain)?;
    module.new_instance()?.call(export, b"", &mut Vec::new())
}

#[test]
fn a_panic_in_a_log_sink_ends_there() {
    for engine in touchstone_wasmedge::engines() {
        let config = Config {
            max_log_level: 5,
            log: Some(std::sync::Arc::new(|_, _, _| panic!("the sink is full"))),
            ..Config::default()
        };
        assert_eq!(log_once(&*engine, &config).unwrap(), Outcome::Returned, "{}", engine.id());
        assert_eq!(log_once(&*engine, &Config::default()).unwrap(), Outcome::Returned);
    }
}

/// Writes where nothing can be written.
fn fault() {
    let nowhere = std::hint::black_box(std::ptr::without_provenance_mut::<u8>(64));
    // SAFETY: there is none: this ends the process, which is what is tested.
    unsafe { nowhere.write_volatile(1) };
}

/// Recurs until the stack is gone.
#[allow(unconditional_recursion, reason = "that is what it is for")]
fn exhaust(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    exhaust(frame[0] + 1) + frame[63]
}
