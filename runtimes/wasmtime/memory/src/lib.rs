//! Clean Wasmtime instances without a new instance for each call, in a host with an `Engine`, a
//! `Store` and a `Linker` of its own.
//!
//! [`prepare`] exports the state of a module, [`configure`] gives the engine memories of this
//! crate, and a [`Clean`] brings an instance back to the state that it had when the snapshot was
//! taken.
//!
//! ```
//! use touchstone_wasmtime_memory::{Clean, configure, prepare};
//! use wasmtime::{Config, Engine, Linker, Module, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let wasm = wat::parse_str(r#"(module
//! #     (import "host" "log" (func $log (param i32)))
//! #     (memory 1) (global $calls (mut i32) (i32.const 0))
//! #     (func (export "call") (result i32)
//! #         (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
//! #         (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (global.get $calls)))
//! #         (call $log (i32.load (i32.const 0))) (i32.load (i32.const 0))))"#)?;
//! let mut config = Config::new();
//! configure(&mut config);
//! let engine = Engine::new(&config)?;
//! let module = Module::new(&engine, prepare(&wasm)?)?;
//! let mut linker: Linker<Vec<i32>> = Linker::new(&engine);
//! linker.func_wrap("host", "log", |mut caller: wasmtime::Caller<'_, Vec<i32>>, value: i32| {
//!     caller.data_mut().push(value);
//! })?;
//!
//! let mut store = Store::new(&engine, Vec::new());
//! let instance = linker.instantiate(&mut store, &module)?;
//! let call = instance.get_typed_func::<(), i32>(&mut store, "call")?;
//! let mut clean = Clean::snapshot(&mut store, &instance)?;
//! for _ in 0..3 {
//!     assert_eq!(call.call(&mut store, ())?, 1);
//!     assert_eq!(*store.data(), [1]);
//!     clean.reset_with(&mut store, |log| log.clear())?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! For a component, [`Clean::snapshot_component`] takes the place of [`Clean::snapshot`].
//!
//! | not brought back | instead |
//! |---|---|
//! | passive segments that the module drops, objects of a garbage-collected heap | [`prepare`] refuses the module |
//! | a reference in a mutable global that is none to a function; a memory that the host made with [`Memory::new`](wasmtime::Memory::new) | [`Clean::snapshot`] refuses the instance. Let another module make the memory: `(module (memory (export "memory") 17))` |
//! | a table that has grown, handles that a component keeps, a component after a trap | [`Clean::reset`] fails: make a new instance |
//! | the store's data, and what the host keeps elsewhere | [`Clean::reset_with`] |
//! | fuel, epoch deadlines, an exception that the store holds | set or taken by the host before each call, as without this crate |
//!
//! The first write to a page of a memory is a signal (`SIGSEGV`), after which the page stays
//! writable for later calls. The crate's handler lies over that of Wasmtime and passes on all other
//! faults. The kernel tells with `PAGEMAP_SCAN` (Linux 6.7 or newer) which pages were written where
//! more than 1,024 memories exist, or calls keep writing new pages.

mod clean;
mod creator;
mod error;
#[doc(hidden)]
pub mod parts;

pub use clean::Clean;
pub use creator::configure;
pub use error::Error;
/// Makes bytes of a guest's memory writable for the kernel: give the result to `read(2)` and the
/// like, which fail with `EFAULT` at pages that nobody has written since the last reset.
pub use touchstone_memory::writable;

use touchstone_guest::{Feature, ModuleInfo};

/// Rewrites a module or a component, so that a snapshot reaches its state. Function indices,
/// imports and data stay as they are; exports are added under names that begin with
/// `__touchstone_`, in a component with `touchstone-reset`. Fails when the bytes cannot be read, or
/// contain what no reset brings back.
pub fn prepare(wasm: &[u8]) -> Result<Vec<u8>, Error> {
    let info = ModuleInfo::read(wasm)?;
    let modules = info.component.iter().flat_map(|component| &component.modules);
    if info.drops_segments || { modules }.any(|module| module.drops_segments) {
        return Err(Error::DropsSegments);
    }
    if info.features.has(Feature::GarbageCollection) {
        return Err(Error::CollectedObjects);
    }
    Ok(touchstone_guest::with_exported_state(wasm)?)
}
