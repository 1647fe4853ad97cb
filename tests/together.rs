//! All engines in one process, on several threads, trapping and not: runtimes
//! install signal handlers for the whole process, and each one's must leave the
//! others' traps to them, and the first writes to tracked memories to ours.

#[path = "fixtures/either.rs"]
mod either;

use either::either;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::memory::{InitialContent, Memory, MemoryTemplate, ResetMethod};
use touchstone_executor::{
    Config, Execution, ExportId, Instance, MemoryFrom, Module, Outcome, Strategy, Support, TrapKind,
};

/// More than the machines of CI have cores, so that threads are also interrupted
/// inside handlers.
const THREADS: usize = 4;
/// How long, unless `TOUCHSTONE_TOGETHER_SECONDS` says otherwise. Everybody does
/// at least one round, however long that takes.
const SECONDS: u64 = 10;

/// The host's allocator has a page for itself at 32768: the first write to it is
/// always the host's, that of a header.
///
/// All of it in two conventions, for `either`.
const GUEST: &str = r#"(module
    (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
    (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
    (memory (export "memory") 1 1)
    (global (export "__heap_base") i32 (i32.const 32768))
    (global $calls (mut i32) (i32.const 0))
    (func $fine (export "fine") (result i32)
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (i32.const 1)))
      (i32.add (global.get $calls) (i32.load (i32.const 64))))
    (func $allocate (export "allocate") (result i32) (local $pointer i32)
      (local.set $pointer (call $malloc (i32.const 100)))
      (call $free (local.get $pointer))
      (i32.eq (local.get $pointer) (call $malloc (i32.const 100))))
    (func $allocate_and_trap (export "allocate_and_trap")
      (drop (call $malloc (i32.const 8))) unreachable)
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
    (func (export "allocate_packed") (param i32 i32) (result i64)
      (i32.store (i32.const 256) (call $allocate)) (i64.const 0x400000100))
    (func (export "allocate_and_trap_packed") (param i32 i32) (result i64)
      (call $allocate_and_trap) (i64.const 0))
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
        ("allocate_and_trap", vec![], Err(TrapKind::Unreachable)),
        ("allocate", vec![], Ok(vec![1, 0, 0, 0])),
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
    module: Arc<Loaded>,
}

/// A module under one strategy, and its exports in the order of what is expected.
struct Loaded {
    module: Box<dyn Module>,
    exports: Vec<ExportId>,
    limits_recursion: bool,
}

impl Executor {
    fn new(engine: &dyn MeasuredEngine, strategy: Strategy, guest: &GuestModule) -> Option<Self> {
        if let Support::Unsupported { .. } = engine.support_for(strategy, guest) {
            return None;
        }
        let name = format!("{} {strategy}", engine.id());
        let config = Config::default();
        let open = || {
            let artifact = engine.compile(guest, strategy, &config)?;
            artifact.stage(strategy)?;
            let mut module = engine.load(guest, &artifact, strategy, &config)?;
            module.probe()?;
            let names = expected().into_iter().map(|(name, ..)| name);
            let exports = names.map(|name| either(&*module, name));
            let exports = exports.collect::<Result<_, _>>()?;
            let limits_recursion = engine.capabilities().recursion;
            Ok((module.new_instance()?, Arc::new(Loaded { module, exports, limits_recursion })))
        };
        let (instance, module) =
            open().unwrap_or_else(|error: touchstone_executor::Error| panic!("{name}: {error}"));
        Some(Self { name, instance, module })
    }

    /// One more of the same module, for another thread.
    fn another(&self) -> Self {
        let instance = self.module.module.new_instance();
        let instance = instance.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        Self { name: self.name.clone(), instance, module: Arc::clone(&self.module) }
    }

    /// Every call, in its order.
    fn round(&mut self) {
        let mut output = Vec::new();
        for ((export, input, expected), id) in expected().into_iter().zip(&self.module.exports) {
            if expected == Err(TrapKind::StackOverflow) && !self.module.limits_recursion {
                continue;
            }
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

/// Memories of nobody's: one from before this thread used any runtime, and one that
/// is new each round.
struct Memories {
    template: MemoryTemplate,
    clean: Vec<u8>,
    first: Memory,
    rounds: usize,
}

impl Memories {
    const SIZE: usize = 4 * 65_536;

    fn new(kind: ResetMethod) -> Self {
        let mut clean = vec![0; Self::SIZE];
        clean[3000..9000].fill(7);
        let template = MemoryTemplate::new(InitialContent::capture(&clean), kind).unwrap();
        let first = Memory::new(Some(&template), Self::SIZE, Self::SIZE).unwrap();
        Self { template, clean, first, rounds: 0 }
    }

    fn round(&mut self) {
        let mut new = Memory::new(Some(&self.template), Self::SIZE, Self::SIZE).unwrap();
        self.rounds += 1;
        let at = self.rounds * 40_961 % (Self::SIZE - 5000);
        for memory in [&mut self.first, &mut new] {
            memory.bytes_mut()[at..at + 5000].fill(9);
            assert!(memory.reset().unwrap());
            assert!(memory.bytes_mut() == self.clean, "round {}", self.rounds);
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
    let start = std::sync::Barrier::new(THREADS);
    let lived: Vec<Lived> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (guest, failed, start) = (&guest, &failed, &start);
                scope.spawn(move || {
                    let stop = StopOthers(failed);
                    let memories = Memories::new(MemoryFrom::Tracked.reset_method());
                    // All have a tracked memory before the first runtime is used.
                    start.wait();
                    let lived = live(thread, guest, memories, until, failed);
                    std::mem::forget(stop);
                    lived
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let rounds: Vec<usize> = lived.iter().map(|lived| lived.rounds).collect();
    println!("rounds of all executors by thread: {rounds:?}");
    share_pools(&lived[0].executors);
}

/// Instances of one pool on all threads: their memories go from one to the other.
fn share_pools(executors: &[Executor]) {
    let pools: Vec<&Executor> =
        executors.iter().filter(|executor| executor.name.contains(" pooling")).collect();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let mut own: Vec<Executor> = pools.iter().map(|executor| executor.another()).collect();
            scope.spawn(move || {
                for _ in 0..20 {
                    own.iter_mut().for_each(Executor::round);
                }
            });
        }
    });
}

/// The result of a thread.
struct Lived {
    executors: Vec<Executor>,
    rounds: usize,
}

/// Tells the other threads when this one panics.
struct StopOthers<'a>(&'a AtomicBool);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Loads everything, each thread from another engine on, so that runtimes start beside each other;
/// then calls all in turns.
fn live(
    thread: usize,
    guest: &GuestModule,
    mut memories: Memories,
    until: Instant,
    failed: &AtomicBool,
) -> Lived {
    let mut engines = touchstone_runtimes::engines();
    let first = thread * engines.len() / THREADS;
    engines.rotate_left(first);
    let mut executors: Vec<Executor> = Vec::new();
    for engine in &engines {
        for strategy in Strategy::all() {
            memories.round();
            if let Some(mut executor) = Executor::new(&**engine, strategy, guest) {
                executor.round();
                executors.push(executor);
            }
        }
    }
    for strategy in ["instance_reuse_tracked", "recreate_instance_tracked", "pooling_tracked"] {
        let of_it = |executor: &&Executor| executor.name.ends_with(&format!(" {strategy}"));
        let runs_modules = engines.iter().any(|engine| engine.execution() != Execution::Native);
        assert_eq!(executors.iter().any(|executor| of_it(&executor)), runs_modules, "{strategy}");
    }
    let mut rounds = 1;
    while Instant::now() < until && !failed.load(Ordering::Relaxed) {
        for executor in &mut executors {
            executor.round();
            memories.round();
        }
        rounds += 1;
    }
    Lived { executors, rounds }
}
