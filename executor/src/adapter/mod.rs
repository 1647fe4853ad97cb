//! Parts for those who write a backend. Embedders need none of them.
//!
//! A backend implements [`Engine`](crate::Engine) for its runtime, and [`Live`](crate::abi::Live)
//! for an instance of it. These parts do the rest:
//!
//! | part | use |
//! |---|---|
//! | [`LoadedGuest`] | all that a loaded module keeps of guest, strategy and configuration |
//! | [`LoadedModule`] | the [`Module`](crate::Module) of a backend, with the probe of its memory |
//! | [`Disposable`], [`Fresh`] | a new instance for each call |
//! | [`Resident`], [`Reused`] | one instance, reset in place |
//! | [`MemoryClass`], [`CleanContent`] | content of clean memories, also after a start function |
//! | [`Stateful`], [`Snapshot`] | saved and restored globals, tables and host's allocator |
//! | [`HostCaller`], [`answer`] | calls of host functions |
//! | [`RawFrame`] | the call of a raw reference, around the runtime's own calls |
//! | [`admit`], [`admit_if`], [`loaded`] | the beginning of compiling and loading, and the end of loading |
//! | [`admit_imports`] | the imports of a module, for an engine that cannot call host functions |
//! | [`stack_end`] | the end of the calling thread's stack |
//!
//! `runtimes/template` is the smallest adapter that is made of them.

mod calls;
mod content;
mod driver;
mod guest;
mod module;
mod raw;
mod snapshot;
mod stack;

pub use crate::pool::{admit, admit_if, loaded};
pub use calls::{HostCaller, answer};
pub use content::{CleanContent, MemoryClass};
pub use driver::{Disposable, Fresh, Resident, Reused, UNPREPARED, residents_made};
pub use guest::{LoadedGuest, admit_imports};
pub use module::{LoadedModule, NO_ANSWER, mapping_in_words};
pub use raw::{RawFrame, copy_output, unpack};
pub use snapshot::{NOT_EXPORTED, Snapshot, Stateful};
pub use stack::stack_end;
