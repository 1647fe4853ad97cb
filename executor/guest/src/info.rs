//! Static inspection of a module: its imports and exports, and the state that it can change.

use crate::error::unhostable;
use crate::text::plural;
use crate::{
    ComponentInfo, Error, Features, Result, SegmentTrap, Signature, Supplied, ValueType, WASM_PAGE,
    component, feature, imports, read,
};
use std::ops::Range;
use touchstone_memory::InitialContent;
use wasmparser::{Parser, Payload};

/// Properties of a module, known without running it. Of a component, only the
/// exported functions and [`component`](Self::component) are filled in.
#[derive(Debug, Clone, Default)]
pub struct ModuleInfo {
    /// Exported functions, in the module's order; of a component, first its own, then those of
    /// exported interfaces, as `interface#function`.
    pub exports: Vec<FunctionExport>,
    /// Imported functions, in the module's order.
    pub imports: Vec<FunctionImport>,
    /// The memory, wherever it is defined; of several the first, which is the host's.
    pub memory: Option<MemoryLimits>,
    /// Imported memories, tables, globals and tags, which become definitions, in the
    /// module's order.
    pub supplied: Vec<Supplied>,
    /// The value of the exported global `__heap_base`.
    pub heap_base: Option<u32>,
    /// Active data segments of the memory.
    pub segments: Vec<Segment>,
    /// Bytes of these segments.
    pub data_bytes: usize,
    /// Mutable globals, except those that hold no number and that no instruction sets: these
    /// keep their value.
    pub mutable_globals: Vec<MutableGlobal>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Number of functions, imported ones included.
    pub functions: usize,
    /// The trap of each instantiation, where the bytes tell that a segment does not fit.
    pub segment_trap: Option<SegmentTrap>,
    /// `true` if a start function runs at each instantiation.
    pub has_start: bool,
    /// Blocks inside each other in a function, where they are most.
    pub nesting: u32,
    /// `true` if any instruction can write a table's entries or grow it.
    pub writes_tables: bool,
    /// `true` if any instruction drops a passive segment. Active and declared segments are
    /// dropped at instantiation already.
    pub drops_segments: bool,
    /// `true` if an element segment has a null reference.
    pub null_elements: bool,
    /// `true` if any instruction grows the memory.
    pub grows_memory: bool,
    /// `true` if any instruction writes many bytes of the memory: `memory.copy`, `memory.fill` or
    /// `memory.init`. Compilers make them calls of the runtime.
    pub writes_in_bulk: bool,
    /// Features that it needs to be valid.
    pub features: Features,
    /// Properties of a component; `None` for a core module.
    pub component: Option<ComponentInfo>,
    /// The import that has two types, as a reason for [`import_refusal`](Self::import_refusal).
    pub(super) twofold_import: Option<String>,
}

/// An exported function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionExport {
    /// Its name.
    pub name: String,
    /// Its type; `None` if no host can call it, because it has references of other types than
    /// `funcref` and `externref`, and in a component.
    pub signature: Option<Signature>,
    /// `true` if it is a re-exported import. Such a function cannot be called, because host
    /// functions work on the memory of the calling code.
    pub imported: bool,
}

/// An imported function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionImport {
    /// Module part of the name.
    pub module: String,
    /// Field part of the name.
    pub name: String,
    /// Its type; `None` if it has references of other types than `funcref` and `externref`.
    pub signature: Option<Signature>,
}

/// First bytes of a core module: the magic number and the version.
const CORE: &[u8] = b"\0asm\x01\0\0\0";

/// Pages of a memory that 32 bits can address.
pub(super) const ALL_PAGES: u32 = 65_536;

/// Size limits of a memory, pages of 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Initial size.
    pub minimum: u32,
    /// Maximum size, if the module gives one.
    pub maximum: Option<u32>,
}

impl MemoryLimits {
    /// Of a memory that has at most 65,536 pages at the start, as one with 32-bit addresses
    /// always has. A larger maximum is lowered to that number.
    pub(super) fn of(ty: &wasmparser::MemoryType) -> Self {
        let maximum = ty.maximum.map(|pages| pages.min(ALL_PAGES.into()) as u32);
        Self { minimum: ty.initial as u32, maximum }
    }

    /// Initial size in bytes.
    pub fn initial_bytes(self) -> usize {
        self.minimum as usize * WASM_PAGE
    }

    /// Largest size in pages: the module's, or all that 32 bits can address.
    pub fn largest(self) -> u32 {
        self.maximum.unwrap_or(ALL_PAGES)
    }
}

/// An active data segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Address; `None` if it is known only at instantiation.
    pub offset: Option<u32>,
    /// Where its bytes lie in the module.
    pub bytes: Range<usize>,
}

impl Segment {
    /// The addresses that it sets, if they are known before instantiation.
    pub(super) fn place(&self) -> Option<Range<usize>> {
        let start = self.offset? as usize;
        Some(start..start + self.bytes.len())
    }
}

/// The content of a memory of `size` bytes. The segments' bytes lie in `wasm`.
pub(super) fn content(size: usize, segments: &[Segment], wasm: &[u8]) -> Result<InitialContent> {
    let place = |segment: &Segment| segment.offset.unwrap_or_default() as usize;
    let placed = segments.iter().map(|segment| (place(segment), &wasm[segment.bytes.clone()]));
    InitialContent::from_segments(size, placed).map_err(|_| Error::Segment(SegmentTrap::Memory))
}

/// The reason why data segments lie too scattered for an image; `None` where they do not.
pub(super) fn scattered(segments: &[Segment]) -> Option<String> {
    InitialContent::scattered(segments.iter().filter_map(Segment::place))
}

/// A global that the guest can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutableGlobal {
    /// Its index in the module.
    pub index: u32,
    /// A name under which it is exported.
    pub export: Option<String>,
    /// `true` if it holds a number (and not a reference or a vector).
    pub is_number: bool,
    /// `true` if any instruction sets it.
    pub written: bool,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its index in the module.
    pub index: u32,
    /// Initial number of entries.
    pub minimum: u64,
    /// Maximum number of entries, if the module gives one.
    pub maximum: Option<u64>,
    /// A name under which it is exported.
    pub export: Option<String>,
    /// `true` if any instruction writes its entries.
    pub written: bool,
    /// `true` if any instruction grows it.
    pub grown: bool,
}

impl ModuleInfo {
    /// The export that runs it as a program of WASI: `_start` of a module, `run` of
    /// `wasi:cli/run` of a component.
    pub fn program(&self) -> Option<&str> {
        let is_program = |name: &&str| match self.component {
            Some(_) => imports::is_command(name),
            None => *name == imports::START,
        };
        self.exports.iter().map(|export| export.name.as_str()).find(is_program)
    }

    /// Validates and inspects a module or a component. Fails when the bytes are neither, do not
    /// validate, or use an unsupported feature.
    pub fn read(wasm: &[u8]) -> Result<Self> {
        if is_component(wasm)? {
            return component::read(wasm);
        }
        read::inspect(wasm, feature::hostable(feature::needed(wasm)?)?)
    }

    /// The features that a core module needs, also where it cannot be hosted; none of a component.
    /// Fails when the bytes do not validate.
    pub fn read_features(wasm: &[u8]) -> Result<Features> {
        if !wasm.starts_with(CORE) {
            return Ok(Features::NONE);
        }
        feature::needed(wasm)
    }

    /// The state that the module's instructions can change, in a line: `memory (17 pages, grows),
    /// 1 global, host's allocator`. All other state is the same after every call as before.
    pub fn changeable(&self) -> String {
        let counted = |count: usize, noun: &str| format!("{count} {}", plural(noun, count));
        let mut parts = Vec::new();
        let allocator = self.imports.iter().any(FunctionImport::is_allocator);
        if let Some(limits) = self.memory {
            let has_room = limits.minimum < limits.largest();
            let grows = self.grows_memory || allocator || self.heap_base.is_some();
            let grows = if has_room && grows { ", grows" } else { "" };
            parts.push(format!("memory ({}{grows})", counted(limits.minimum as usize, "page")));
        }
        let tables =
            |which: fn(&Table) -> bool| self.tables.iter().filter(|table| which(table)).count();
        for (count, noun) in [
            (self.mutable_globals.iter().filter(|global| global.written).count(), "global"),
            (tables(|table| table.written), "written table"),
            (tables(|table| table.grown), "growing table"),
        ] {
            if count > 0 {
                parts.push(counted(count, noun));
            }
        }
        if self.drops_segments {
            parts.push("passive segments (dropped)".to_owned());
        }
        if allocator {
            parts.push("host's allocator".to_owned());
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    }
}

impl FunctionImport {
    /// `true` for a function of the host's allocator, which has this name and type.
    fn is_allocator(&self) -> bool {
        let results = match &*self.name {
            imports::MALLOC => &[ValueType::I32][..],
            imports::FREE => &[],
            _ => return false,
        };
        self.module == "env" && self.signature == Some(Signature::new(&[ValueType::I32], results))
    }
}

/// `true` for a component, `false` for a core module.
pub(super) fn is_component(wasm: &[u8]) -> Result<bool> {
    if !wasm.starts_with(b"\0asm") {
        return Err(Error::NotAModule { reason: describe(wasm) });
    }
    if wasm.starts_with(component::HEADER) {
        return Ok(true);
    }
    match Parser::new(0).parse_all(wasm).next() {
        Some(Ok(Payload::Version { encoding: wasmparser::Encoding::Component, .. })) => {
            unhostable("it is a component of a version that is not known here")
        }
        _ => Ok(false),
    }
}

/// The format that the bytes seem to have, for people who gave the wrong file.
fn describe(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(64)];
    if bytes.is_empty() {
        "the file is empty".to_owned()
    } else if bytes.len() < 4 && b"\0asm".starts_with(bytes) {
        "it is cut off within its first four bytes".to_owned()
    } else if head.trim_ascii_start().starts_with(b"(module") {
        "it is WebAssembly text; translate it first, with `wasm-tools parse` or `wat2wasm`"
            .to_owned()
    } else if head.starts_with(b"\x7fELF") {
        "it is an ELF file".to_owned()
    } else if std::str::from_utf8(head).is_ok() {
        "it is a text file".to_owned()
    } else {
        format!("it starts with {:02x?} and not with \\0asm", &head[..head.len().min(4)])
    }
}
