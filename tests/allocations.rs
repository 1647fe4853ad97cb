//! A clean call with values, as README shows it, asks Rust's allocator for nothing: on a hot
//! instance such a request takes as long as the reset.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, InstanceFrom, MemoryFrom, Strategy, TypedExport};

const GUEST: &str = r#"(module
    (memory (export "memory") 2)
    (func (export "add") (param i32 i32) (result i64)
        (i32.store (i32.const 1024) (i32.const 7))
        (i64.extend_i32_s (i32.add (local.get 0) (local.get 1))))
    (func (export "half") (param f64) (result f64)
        (f64.mul (local.get 0) (f64.const 0.5)))
    (func (export "nothing")))"#;
/// Calls after which an instance knows which pages its calls write, and has released others.
const FIRST: usize = 1000;
const CALLS: usize = 100;
/// Engines whose own interface allocates in each call.
const ALLOCATE: [&str; 4] = ["tinywasm", "wasmer", "wasmer_singlepass", "substrate"];

thread_local! {
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with a count of each thread's requests.
struct Counting;

// SAFETY: all is left to the system's allocator. The count is a number without a destructor, so
// it needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MADE.set(MADE.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's, and `alloc` is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Requests of calls after the first ones.
fn requests(mut call: impl FnMut()) -> usize {
    (0..FIRST).for_each(|_| call());
    let before = MADE.get();
    (0..CALLS).for_each(|_| call());
    MADE.get() - before
}

#[test]
fn a_clean_call_with_values_allocates_nothing() {
    let mut tried = 0;
    for engine in touchstone_runtimes::engines() {
        for memory in [MemoryFrom::Tracked, MemoryFrom::Gated] {
            let strategy = Strategy::new(InstanceFrom::Reuse, memory);
            let wasm = wat::parse_str(GUEST).unwrap();
            let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let config = Config::default();
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let Ok(add) = TypedExport::<(i32, i32), i64>::of(&guest, &*module, "add") else {
                continue;
            };
            let half = TypedExport::<f64, f64>::of(&guest, &*module, "half").unwrap();
            let nothing = TypedExport::<(), ()>::of(&guest, &*module, "nothing").unwrap();
            let mut instance = module.new_instance().unwrap();
            let made = [
                requests(|| assert_eq!(add.call(&mut *instance, (40, 2)).unwrap().unwrap(), 42)),
                requests(|| assert_eq!(half.call(&mut *instance, 3.0).unwrap().unwrap(), 1.5)),
                requests(|| nothing.call(&mut *instance, ()).unwrap().unwrap()),
            ];
            println!("{} {strategy}: {made:?} requests in {CALLS} calls", engine.id());
            assert!(made == [0; 3] || ALLOCATE.contains(&engine.id()), "{}", engine.id());
            tried += 1;
        }
    }
    assert!(tried > 0 || touchstone_runtimes::engines().is_empty());
}
