//! Parts for those who write a backend. Embedders need none of them.
//!
//! A backend implements [`Engine`](crate::Engine) and [`MeasuredEngine`] for its runtime, and
//! [`Live`] for an instance of it. These parts do the rest:
//!
//! | part | use |
//! |---|---|
//! | [`LoadedGuest`], [`Exports`] | all that a loaded module keeps of guest, strategy and configuration |
//! | [`LoadedModule`] | the [`Module`](crate::Module) of a backend, with the probe of its memory |
//! | [`Fresh`] of [`Disposable`], [`Reused`] of [`Resident`] | a new instance for each call, or one that is reset in place |
//! | [`Mapped`] of [`InPlace`] | a resident over whose memory the clean content is mapped |
//! | [`MemoryClass`], [`CleanContent`], [`Changes`] | content of clean memories, also after a start function, and what it changes in a guest |
//! | [`HostState`], [`Heap`], [`Clock`] | the host's side of an instance: allocator, input, log, running call |
//! | [`Stateful`], [`Snapshot`], [`CleanHost`] | saved and restored globals, tables and host's side |
//! | [`HostCaller`], [`answer`], [`wrap_host_function`] | calls of host functions |
//! | [`invoke`], [`EnforcedLimits`] | calls by every convention, with limits |
//! | [`RawFrame`], [`RawCall`] | the call of a raw reference, around the runtime's own calls |
//! | [`admit`], [`admit_if`], [`admit_imports`], [`loaded`] | the beginning of compiling and loading, and the end of loading |
//! | [`CompiledCode`], [`ArtifactKey`], [`Scratch`] | compiled code, its file, and folders for such files |
//! | [`mapping_kind`], [`ExecutableMap`], [`peek`], [`stack_end`] | facts about this process, for probes |
//!
//! `runtimes/template` is the smallest adapter that is made of them.

mod calls;
mod content;
mod driver;
mod guest;
mod live;
mod mapped;
mod module;
mod raw;
mod wrap;

pub use crate::abi::ALLOCATOR;
pub use crate::artifact::CompiledCode;
pub use crate::call::EnforcedLimits;
pub use crate::contract::{CallState, Exports};
pub use crate::folder::ArtifactKey;
pub use crate::heap::{HEADER, Heap, HeapError, LARGEST, OCCUPIED};
pub use crate::host::{CleanHost, Clock, HostState};
pub use crate::measured::{MeasuredEngine, RawCall, RawCaller};
pub use crate::pool::{admit, admit_if, loaded};
pub use crate::probe::{ExecutableMap, MappingKind, mapping_kind, peek, stack_end};
pub use crate::scratch::{Scratch, remedy};
pub use calls::{HostCaller, answer};
pub use content::{Changes, CleanContent, MemoryClass};
pub use driver::{Disposable, Fresh, Resident, Reused, UNPREPARED, residents_made};
pub use guest::{LoadedGuest, admit_imports};
pub use live::{Live, invoke, outcome};
pub use mapped::{InPlace, Mapped, NOT_EXPORTED, Snapshot, Stateful};
pub use module::{LoadedModule, NO_ANSWER, mapping_in_words};
pub use raw::{RawFrame, copy_output, unpack};
pub use wrap::wrap_host_function;
