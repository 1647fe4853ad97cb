//! A guest, inspected and prepared once for all backends.
//!
//! [`GuestModule::new`] unpacks, validates, inspects and rewrites a module. The memory is
//! defined by the module, exported as `memory` and raised by the extra heap pages. Every mutable
//! global is exported for the reset in place. All backends get the same bytes.
//!
//! A component stays unchanged. Rewritten forms exist for memories with an image and for a reset
//! in place.

mod blob;
mod component;
mod component_entries;
mod component_memory;
mod component_reset;
mod component_types;
mod composed;
mod constants;
mod constructors;
mod core_reset;
mod counting;
mod deterministic;
mod error;
mod feature;
mod host_calls;
pub mod imports;
mod info;
mod layout;
mod link;
mod patch;
mod read;
mod refusal;
mod rewrite;
mod sections;
mod short_names;
mod signature;
mod spaces;
mod supplied;
pub mod text;

pub use blob::{MAX_UNPACKED, PREFIX, unpack};
pub use component::{ComponentInfo, CoreModule, INNER, Needs};
pub use component_entries::entered;
pub use component_memory::ComponentMemory;
pub use component_types::{DataType, FunctionType};
pub use composed::composed;
pub use constructors::{constructors, started_with};
pub use core_reset::{EXPORT as RESET, StateCall, entry};
pub use counting::OPERATORS;
pub use deterministic::{Open, deterministic};
pub use error::{Error, LinkError, Result, SegmentTrap};
pub use feature::{Feature, Features};
pub use host_calls::{Check, HOST_GROW, HOST_SIZE, HOST_SIZED, HostCalls};
pub use info::{
    FunctionExport, FunctionImport, MemoryLimits, ModuleInfo, MutableGlobal, Segment, Table,
};
pub use layout::{Imported, Layout};
pub use link::link;
pub use patch::Patch;
pub use rewrite::{STATE_EXPORTED, with_exported_state};
pub use short_names::ShortName;
pub use signature::{Reference, Signature, Value, ValueType};
pub use supplied::{Item, Supplied};

use error::{refused, unhostable};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::sync::Arc;
use touchstone_memory::InitialContent;

/// Bytes of a page of linear memory.
pub const WASM_PAGE: usize = 65_536;
/// Name under which every rewritten module exports its memory.
pub const MEMORY: &str = "memory";
/// Prefix of the exports that rewriting adds.
pub const ADDED: &str = "__touchstone_";

/// Settings of a guest's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct HeapPages {
    /// Pages of 64 KiB on top of the module's own minimum.
    #[cfg_attr(feature = "serde", serde(rename = "extra_pages"))]
    pub extra: u32,
    /// How far it grows. Substrate's default is a fixed memory with 2048 extra pages.
    pub growth: Growth,
}

/// The growth of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Growth {
    /// As far as the module itself allows.
    #[default]
    AsDeclared,
    /// Not at all.
    Fixed,
    /// At most to this number of pages, or to the module's own maximum if it is lower.
    UpTo(u32),
}

/// The module with definitions in the place of imported memories, tables, globals and tags, as
/// [`GuestModule::new`] gives it to every backend; as it is where it imports none. Fails when the
/// bytes are no module that can be hosted, or an import cannot be supplied.
pub fn with_definitions(wasm: &[u8]) -> Result<Cow<'_, [u8]>> {
    let info = ModuleInfo::read(wasm)?;
    if info.component.is_some() {
        return Ok(Cow::Borrowed(wasm));
    }
    supplied::define(wasm, &info)
}

/// A guest ready for every backend: a core module or a component.
#[derive(Debug, Clone)]
pub struct GuestModule {
    name: String,
    sha256: [u8; 32],
    wasm: Arc<[u8]>,
    info: Arc<ModuleInfo>,
}

impl GuestModule {
    /// Prepares a module, raw or as a zstd-compressed Substrate blob, or a component. Fails when
    /// the bytes are neither, do not validate, or need an unsupported feature; when heap pages are
    /// requested for a component.
    pub fn new(name: &str, bytes: &[u8], heap: HeapPages) -> Result<Self> {
        let mut wasm = unpack(bytes)?;
        let mut info = ModuleInfo::read(&wasm)?;
        let sha256 = Sha256::digest(&wasm).into();
        if info.component.is_none() {
            wasm = rewrite::canonical(&wasm, &info, heap)?.into();
            info = ModuleInfo::read(&wasm)?;
        } else if heap != HeapPages::default() {
            return unhostable(
                "it is a component, whose memories are inside it and of its own size: leave the \
                 heap pages as they are",
            );
        }
        let (name, wasm) = (name.to_owned(), wasm.into_owned().into());
        Ok(Self { name, sha256, wasm, info: info.into() })
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the module after unpacking and before rewriting. The digest identifies the
    /// guest, whatever its memory settings are.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// The rewritten module, or the unchanged component.
    pub fn wasm(&self) -> &[u8] {
        &self.wasm
    }

    /// Properties of the module.
    pub fn info(&self) -> &ModuleInfo {
        &self.info
    }

    /// `true` if this is the same module, with the same settings.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.wasm, &other.wasm) || self.wasm == other.wasm
    }

    /// Address of the first byte that a data segment sets to a value other than zero. This
    /// byte is part of any image of the memory, even if a runtime leaves out zeros. `None` if
    /// there is none at a known address.
    pub fn first_data_byte(&self) -> Option<u32> {
        self.info.segments.iter().find_map(|segment| {
            let bytes = &self.wasm[segment.bytes.clone()];
            let at = bytes.iter().position(|byte| *byte != 0)?;
            segment.offset?.checked_add(u32::try_from(at).ok()?)
        })
    }

    /// The content of the initial memory, from the bytes alone. Fails when a start function or a
    /// computed offset makes that impossible, with [`Error::Segment`] where a segment does not fit.
    pub fn initial_content(&self) -> Result<InitialContent> {
        refused(self.info.image_refusal())?;
        if let Some(trap) = self.info.segment_trap {
            return Err(Error::Segment(trap));
        }
        let size = self.info.memory.map_or(0, |limits| limits.initial_bytes());
        info::content(size, &self.info.segments, &self.wasm)
    }

    /// The module without the content of its active data segments, for memories with an image.
    /// Segments that no instruction names are removed, and one empty segment replaces the other
    /// active ones. In a component this holds for modules that define a memory in which their data
    /// lies: see [`component_memories`](Self::component_memories). Fails when a segment's address
    /// is not known before instantiation, or a start function would see the difference.
    pub fn without_data(&self) -> Result<Vec<u8>> {
        if let Some(component) = &self.info.component {
            return component_memory::without_data(&self.wasm, component);
        }
        refused(self.info.image_refusal())?;
        rewrite::without_data(&self.wasm)
    }

    /// The module without its start section, and the index of its start function, for runtimes that
    /// would run it before anybody could look at the instance. `None` without one, and for
    /// components. Fails when the module cannot be read.
    pub fn without_start(&self) -> Result<Option<(Vec<u8>, u32)>> {
        if !self.info.has_start {
            return Ok(None);
        }
        let mut patch = Patch::of(&self.wasm)?;
        let start = patch.remove_start();
        start.map(|start| Ok((patch.finish()?, start))).transpose()
    }

    /// The memories of the core modules in a component, for hosts that provide them; none in a core
    /// module. The errors are those of [`without_data`](Self::without_data).
    pub fn component_memories(&self) -> Result<Vec<ComponentMemory>> {
        let list = |component| component_memory::list(&self.wasm, component);
        self.info.component.as_ref().map_or(Ok(Vec::new()), list)
    }

    /// The guest for instances that are reset in place, on memories that come with their content
    /// where it is known before instantiation. Active data segments of these memories are [left
    /// out](Self::without_data).
    ///
    /// A component gets functions that save and restore the state of the core instances in it: see
    /// [`ComponentInfo::reset_functions`]. Where it can be, its own functions also have
    /// [entries](ComponentInfo::entries). The state of a core module is exported already. Fails
    /// when the instances of a component cannot be reset in place
    /// ([`ComponentInfo::reset_refusal`]), or the guest cannot be read.
    pub fn resettable(&self) -> Result<Cow<'_, [u8]>> {
        let Some(component) = &self.info.component else {
            let stays = self.info.segments.is_empty() || self.info.image_refusal().is_some();
            return match stays {
                true => Ok(Cow::Borrowed(&self.wasm)),
                false => rewrite::without_data(&self.wasm).map(Cow::Owned),
            };
        };
        refused(component.reset_refusal())?;
        let limits = component_memory::known_limits(component);
        component_reset::resettable(&self.wasm, component, limits).map(Cow::Owned)
    }

    /// The module [`resettable`](Self::resettable) with an [`entry`] beside each exported function,
    /// which brings the globals back that the module writes before it calls the function. They come
    /// back to what they are when [`RESET`] is called with [`StateCall::Save`]: once, after
    /// instantiation. `None` for a component, and where no global is written, many are, or others
    /// than numbers, or the module would become too large to be valid.
    ///
    /// With `counts`, the module exports a global of type `i32` under the name [`entered`]: how
    /// many entries have brought the globals back so far, modulo 2³². A call that a deadline ends
    /// may not have come so far. Fails when the module cannot be rewritten.
    pub fn with_entries(&self, counts: bool) -> Result<Option<Vec<u8>>> {
        let written = || self.info.mutable_globals.iter().filter(|global| global.written);
        let globals: Vec<u32> = written().map(|global| global.index).collect();
        let is_worth_it = (1..=core_reset::GLOBALS).contains(&globals.len())
            && written().all(|global| global.is_number);
        let fits = self.info.functions + self.info.exports.len() < core_reset::FUNCTIONS
            && 2 * self.info.exports.len() < core_reset::FUNCTIONS;
        if self.info.component.is_some() || !is_worth_it || !fits {
            return Ok(None);
        }
        let with_entries = core_reset::with_entries(&self.resettable()?, &globals, counts)?;
        // Validators have limits of their own, for names and for all types of exports together.
        let is_valid = feature::is_valid(&with_entries, self.info.features);
        Ok(is_valid.then_some(with_entries))
    }

    /// The memories of the component [`resettable`](Self::resettable) whose content after
    /// instantiation is known from the bytes, for hosts that provide them: all of the component's
    /// or none. Fails when the content turns out not to be known: an error of this crate.
    pub fn resettable_memories(&self) -> Result<Vec<ComponentMemory>> {
        let known = |component| component_memory::known(&self.wasm, component);
        self.info.component.as_ref().map_or(Ok(Vec::new()), known)
    }

    /// The module with its memory imported as `env.memory`, for runtimes that accept a memory only
    /// as an import. Where the clean memory is known before instantiation (see
    /// [`ModuleInfo::image_refusal`]), the host gives it its content: active data segments are
    /// [left out](Self::without_data). Fails when the module cannot be rewritten, or has another
    /// memory than one with 32-bit addresses.
    pub fn with_imported_memory(&self) -> Result<Vec<u8>> {
        refused(self.info.memories_refusal())?;
        rewrite::with_imported_memory(&self.wasm, &self.info)
    }
}
