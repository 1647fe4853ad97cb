//! All engines in one process, on several threads, trapping and not: runtimes
//! install signal handlers for the whole process, and each one's must leave the
//! others' traps to them.

#[path = "fixtures/either.rs"]
mod either;

use either::either;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Config, Engine, ExportId, Instance, Module, Outcome, Strategy, Support, TrapKind,
};

/// More than the machines of CI have cores, so that threads are also interrupted
/// inside handlers.
const THREADS: usize = 4;
/// How long, unless `TOUCHSTONE_TOGETHER_SECONDS` says otherwise. Everybody does
/// at least one round, however long that takes.
const SECONDS: u64 = 60;

/// All of it in two conventions, for `either`.
const GUEST: &str = r#"(module
    (memory (export "memory") 1 1)
    (global (export "__heap_base") i32 (i32.const 1024))
    (global $calls (mut i32) (i32.const 0))
    (func $fine (export "fine") (result i32)
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (i32.const 1)))
      (i32.add (global.get $calls) (i32.load (i32.const 64))))
    (func $unreachable (export "unreachable")
      (i32.store (i32.const 64) (i32.const 7)) unreachable)
    (func $divide (export "divide") (result i32)
      (i32.div_s (i32.const 1) (i32.load (i32.const 128))))
    (func $far (export "far") (result i32) (i32.load (i32.const -4)))
    (func $nowhere (export "nowhere") (i32.store (i32.const 65536) (i32.const 1)))
    (func $deep (export "deep") (param i32) (result i32)
      (i32.add (call $deep (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
    (func (export "fine_packed") (param i32 i32) (result i64)
      (i32.store (i32.const 256) (call $fine)) (i64.const 0x400000100))
    (func (export "unreachable_packed") (param i32 i32) (result i64)
      (call $unreachable) (i64.const 0))
    (func (export "divide_packed") (param i32 i32) (result i64)
      (i64.extend_i32_u (call $divide)))
    (func (export "far_packed") (param i32 i32) (result i64)
      (i64.extend_i32_u (call $far)))
    (func (export "nowhere_packed") (param i32 i32) (result i64)
      (call $nowhere) (i64.const 0))
    (func (export "deep_packed") (param i32 i32) (result i64)
      (i64.extend_i32_u (call $deep (i32.const 0)))))"#;

/// An export, its input, and how the call has to end.
type Expected = (&'static str, Vec<u8>, Result<Vec<u8>, TrapKind>);

fn expected() -> Vec<Expected> {
    vec![
        ("fine", vec![], Ok(vec![2, 0, 0, 0])),
        ("unreachable", vec![], Err(TrapKind::Unreachable)),
        ("divide", vec![], Err(TrapKind::DivisionByZero)),
        ("fine", vec![], Ok(vec![2, 0, 0, 0])),
        ("far", vec![], Err(TrapKind::MemoryOutOfBounds)),
        ("nowhere", vec![], Err(TrapKind::MemoryOutOfBounds)),
        ("deep", vec![0; 4], Err(TrapKind::StackOverflow)),
        ("fine", vec![], Ok(vec![2, 0, 0, 0])),
    ]
}

/// One engine under one strategy, on one thread.
struct Executor {
    name: String,
    // Before its module, which it may come from.
    instance: Box<dyn Instance>,
    exports: Vec<ExportId>,
    _module: Box<dyn Module>,
}

impl Executor {
    fn new(engine: &dyn Engine, strategy: Strategy, guest: &GuestModule) -> Option<Self> {
        if let Support::Unsupported { .. } = engine.support_for(strategy, guest) {
            return None;
        }
        let name = format!("{} {strategy}", engine.id());
        let config = Config::default();
        let open = || {
            let artifact = engine.compile(guest, strategy, &config)?;
            engine.stage(&artifact, strategy)?;
            let mut module = engine.load(guest, &artifact, strategy, &config)?;
            module.probe()?;
            let names = expected().into_iter().map(|(name, ..)| name);
            let exports = names.map(|name| either(&*module, name));
            Ok((exports.collect::<Result<_, _>>()?, module.new_instance()?, module))
        };
        let (exports, instance, module) =
            open().unwrap_or_else(|error: touchstone_executor::Error| panic!("{name}: {error}"));
        Some(Self { name, instance, exports, _module: module })
    }

    /// Every call, in its order.
    fn round(&mut self) {
        let mut output = Vec::new();
        for ((export, input, expected), id) in expected().into_iter().zip(&self.exports) {
            let outcome = self
                .instance
                .call(*id, &input, &mut output)
                .unwrap_or_else(|error| panic!("{} {export}: {error}", self.name));
            match (&outcome, expected) {
                (Outcome::Returned, Ok(right)) => {
                    assert_eq!(output, right, "{} {export}", self.name);
                }
                (Outcome::Trapped(trap), Err(right)) => {
                    assert_eq!(trap.kind, right, "{} {export}", self.name);
                }
                (_, expected) => panic!("{} {export}: {outcome:?}, not {expected:?}", self.name),
            }
        }
    }
}

#[test]
fn engines_live_together() {
    let seconds = std::env::var("TOUCHSTONE_TOGETHER_SECONDS");
    let seconds = seconds.ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let until = Instant::now() + Duration::from_secs(seconds);
    let guest = wat::parse_str(GUEST).unwrap();
    let guest = GuestModule::new("guest", &guest, HeapPages::default()).unwrap();
    let failed = AtomicBool::new(false);
    let rounds: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (guest, failed) = (&guest, &failed);
                scope.spawn(move || {
                    let stop = StopOthers(failed);
                    let rounds = live(thread, guest, until, failed);
                    std::mem::forget(stop);
                    rounds
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("rounds of all executors by thread: {rounds:?}");
}

/// Tells the other threads when this one panics.
struct StopOthers<'a>(&'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Loads everything, each thread from another engine on, so that runtimes start
/// in each other's company; then calls all in turns.
fn live(thread: usize, guest: &GuestModule, until: Instant, failed: &AtomicBool) -> usize {
    let mut engines = touchstone_runtimes::engines();
    let first = thread * engines.len() / THREADS;
    engines.rotate_left(first);
    let mut executors: Vec<Executor> = Vec::new();
    for engine in &engines {
        for strategy in Strategy::all() {
            if let Some(mut executor) = Executor::new(&**engine, strategy, guest) {
                executor.round();
                executors.push(executor);
            }
        }
    }
    let mut rounds = 1;
    while Instant::now() < until && !failed.load(Ordering::Relaxed) {
        for executor in &mut executors {
            executor.round();
        }
        rounds += 1;
    }
    rounds
}
