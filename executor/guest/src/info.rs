//! Static inspection of a module: its imports and exports, and the state that it can
//! change.

use super::change::Changeable;
use super::component::{self, ComponentInfo};
use super::features;
use super::segments::Passive;
use super::supplied::{self, Supplied};
use super::vectors::{have_vector, is_vector};
use crate::WASM_PAGE;
use crate::error::{Error, Result, SegmentTrap, unhostable};
use crate::feature::{Feature, Features};
use crate::imports;
use crate::signature::{Signature, ValueType};
use std::collections::BTreeSet;
use std::ops::Range;
use wasmparser::{
    CompositeInnerType, ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind, FunctionBody,
    Operator, Parser, Payload, TypeRef, ValType,
};

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
    /// Whether a start function runs at each instantiation.
    pub has_start: bool,
    /// Blocks inside each other in a function, where they are most.
    pub nesting: u32,
    /// Whether any instruction can write a table's entries or grow it.
    pub writes_tables: bool,
    /// Whether any instruction drops a passive segment. Active and declared segments are
    /// dropped at instantiation already.
    pub drops_segments: bool,
    /// Whether any instruction grows the memory.
    pub grows_memory: bool,
    /// Whether any instruction writes many bytes of the memory: `memory.copy`, `memory.fill` or
    /// `memory.init`. Compilers make them calls of the runtime.
    pub writes_in_bulk: bool,
    /// Features that it needs to be valid. Vectors: an instruction that works on them, a
    /// parameter, result, local or global that is one.
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
    /// Whether it is a re-exported import. Such a function cannot be called, because host
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
    #[must_use]
    pub fn initial_bytes(self) -> usize {
        self.minimum as usize * WASM_PAGE
    }

    /// Largest size in pages: the module's, or all that 32 bits can address.
    #[must_use]
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

/// A global that the guest can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutableGlobal {
    /// Its index in the module.
    pub index: u32,
    /// A name under which it is exported.
    pub export: Option<String>,
    /// Whether it holds a number (and not a reference or a vector).
    pub is_number: bool,
    /// Whether any instruction sets it.
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
    /// Whether any instruction writes its entries.
    pub written: bool,
    /// Whether any instruction grows it.
    pub grown: bool,
}

impl ModuleInfo {
    /// The export that runs it as a program of WASI: `_start` of a module, `run` of
    /// `wasi:cli/run` of a component.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        let is_program = |name: &&str| match self.component {
            Some(_) => imports::is_command(name),
            None => *name == imports::START,
        };
        self.exports.iter().map(|export| export.name.as_str()).find(is_program)
    }

    /// Validates and inspects a module or a component.
    ///
    /// # Errors
    ///
    /// When the bytes are neither, do not validate, or use an unsupported feature.
    pub fn read(wasm: &[u8]) -> Result<Self> {
        if !wasm.starts_with(b"\0asm") {
            return Err(Error::NotAModule { reason: describe(wasm) });
        }
        if wasm.starts_with(component::HEADER) {
            return component::read(wasm);
        }
        if let Some(Ok(Payload::Version { encoding: wasmparser::Encoding::Component, .. })) =
            Parser::new(0).parse_all(wasm).next()
        {
            return unhostable("it is a component of a version that is not known here");
        }
        Self::inspect(wasm, features::hostable(features::needed(wasm)?)?)
    }

    /// The features that a core module needs, also where it cannot be hosted; none of a component.
    ///
    /// # Errors
    ///
    /// When the bytes do not validate.
    pub fn read_features(wasm: &[u8]) -> Result<Features> {
        if !wasm.starts_with(CORE) {
            return Ok(Features::NONE);
        }
        let needed = features::needed(wasm)?;
        Ok(Self::inspect(wasm, needed).map_or(needed, |info| info.features))
    }

    /// Inspects a module that is valid with these features.
    pub(super) fn inspect(wasm: &[u8], features: Features) -> Result<Self> {
        let mut reader = Reader::default();
        reader.info.features = features;
        for payload in Parser::new(0).parse_all(wasm) {
            reader.take(payload?)?;
        }
        let more = reader.imports_more;
        let mut info = reader.finish();
        if more {
            info.supplied = supplied::supplied(wasm)?;
        }
        Ok(info)
    }

    /// The state that the module can change.
    #[must_use]
    pub fn changeable(&self) -> Changeable {
        Changeable::of(self)
    }
}

/// What the bytes look like, for people who gave the wrong file.
fn describe(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(64)];
    if bytes.is_empty() {
        "the file is empty".to_owned()
    } else if bytes.len() < 4 && b"\0asm".starts_with(bytes) {
        "it is cut off within its first four bytes".to_owned()
    } else if head.trim_ascii_start().starts_with(b"(module") {
        "it is WebAssembly text; translate it first, for instance with wat2wasm".to_owned()
    } else if head.starts_with(b"\x7fELF") {
        "it is an ELF file".to_owned()
    } else if std::str::from_utf8(head).is_ok() {
        "it is a text file".to_owned()
    } else {
        format!("it starts with {:02x?} and not with \\0asm", &head[..head.len().min(4)])
    }
}

/// Collects what the sections say; names are resolved at the end.
#[derive(Default)]
struct Reader {
    info: ModuleInfo,
    types: Vec<Option<Signature>>,
    functions: Vec<u32>,
    global_values: Vec<Option<u32>>,
    named_functions: Vec<(String, u32)>,
    named_globals: Vec<(String, u32)>,
    named_tables: Vec<(String, u32)>,
    passive: Passive,
    set_globals: BTreeSet<u32>,
    /// Initial bytes of all memories.
    memories: Vec<u64>,
    /// Whether it imports anything but functions.
    imports_more: bool,
}

impl Reader {
    fn take(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section {
                    for ty in group?.into_types() {
                        let CompositeInnerType::Func(ty) = &ty.composite_type.inner else {
                            self.types.push(None);
                            continue;
                        };
                        self.types_need(ty.params());
                        self.types_need(ty.results());
                        self.types.push(Signature::of(ty));
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.import(import?)?;
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.functions.push(ty?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.new_table(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memory(memory?)?;
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global?;
                    self.global(global.ty, constant(&global.init_expr));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    let named = (export.name.to_owned(), export.index);
                    match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => {
                            self.named_functions.push(named);
                        }
                        ExternalKind::Global => self.named_globals.push(named),
                        ExternalKind::Table => self.named_tables.push(named),
                        _ => {}
                    }
                }
            }
            Payload::StartSection { .. } => self.info.has_start = true,
            Payload::ElementSection(section) => {
                for (index, element) in (0..).zip(section) {
                    let element = element?;
                    self.passive.element(index, &element.kind);
                    if let ElementKind::Active { table_index, offset_expr } = &element.kind {
                        let count = match &element.items {
                            ElementItems::Functions(functions) => functions.count(),
                            ElementItems::Expressions(_, expressions) => expressions.count(),
                        };
                        let table = self.table(table_index.unwrap_or(0)).minimum;
                        let kind = SegmentTrap::Table;
                        self.place_segment(offset_expr, u64::from(count), table, kind);
                    }
                }
            }
            Payload::DataSection(section) => {
                for (index, data) in (0..).zip(section) {
                    let data = data?;
                    self.passive.data(index, &data.kind);
                    if let DataKind::Active { memory_index, offset_expr } = &data.kind {
                        let memory = self.memories[*memory_index as usize];
                        let (length, kind) = (data.data.len(), SegmentTrap::Memory);
                        self.place_segment(offset_expr, length as u64, memory, kind);
                    }
                    if let DataKind::Active { memory_index: 0, offset_expr } = data.kind {
                        self.info.data_bytes += data.data.len();
                        let end = data.range.end;
                        self.info.segments.push(Segment {
                            offset: constant(&offset_expr),
                            bytes: end - data.data.len()..end,
                        });
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.body(&body)?,
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: wasmparser::Import<'_>) -> Result<()> {
        self.imports_more |= !matches!(import.ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
        match import.ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                self.functions.push(ty);
                self.info.imports.push(FunctionImport {
                    module: import.module.to_owned(),
                    name: import.name.to_owned(),
                    signature: self.types.get(ty as usize).cloned().flatten(),
                });
            }
            TypeRef::Memory(ty) => self.memory(ty)?,
            TypeRef::Table(ty) => self.new_table(ty),
            TypeRef::Global(ty) => self.global(ty, None),
            TypeRef::Tag(_) => {}
        }
        Ok(())
    }

    fn global(&mut self, ty: wasmparser::GlobalType, value: Option<u32>) {
        let index = self.global_values.len() as u32;
        self.types_need(&[ty.content_type]);
        if ty.mutable {
            self.info.mutable_globals.push(MutableGlobal {
                index,
                export: None,
                is_number: ValueType::of(ty.content_type).is_some_and(ValueType::is_number),
                written: false,
            });
        }
        self.global_values.push(value);
    }

    fn new_table(&mut self, ty: wasmparser::TableType) {
        self.types_need(&[ValType::Ref(ty.element_type)]);
        let index = self.info.tables.len() as u32;
        self.info.tables.push(Table {
            index,
            minimum: ty.initial,
            maximum: ty.maximum,
            export: None,
            written: false,
            grown: false,
        });
    }

    /// The first memory is the one that the host reads and writes.
    fn memory(&mut self, ty: wasmparser::MemoryType) -> Result<()> {
        if ty.initial > ALL_PAGES.into() {
            return unhostable(format!(
                "its memory has {} pages at the start, at most 65536 (4 GiB) are hosted",
                ty.initial
            ));
        }
        self.memories.push(ty.initial * WASM_PAGE as u64);
        self.info.memory.get_or_insert(MemoryLimits::of(&ty));
        Ok(())
    }

    /// Notes the first segment that does not fit. All elements come before all data, in a module as
    /// at its instantiation.
    fn place_segment(&mut self, offset: &ConstExpr<'_>, length: u64, room: u64, trap: SegmentTrap) {
        let end = wide_constant(offset).map(|offset| offset.checked_add(length));
        if end.is_some_and(|end| end.is_none_or(|end| end > room)) {
            self.info.segment_trap.get_or_insert(trap);
        }
    }

    fn types_need(&mut self, types: &[ValType]) {
        if have_vector(types) {
            self.info.features = self.info.features.with(Feature::Vectors);
        }
    }

    fn body(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        for local in body.get_locals_reader()? {
            let (_, ty) = local?;
            self.types_need(&[ty]);
        }
        let mut operators = body.get_operators_reader()?;
        // The function's own block ends with an `end` too.
        let mut open = 1_u32;
        while !operators.eof() {
            let operator = operators.read()?;
            if is_vector(&operator) {
                self.info.features = self.info.features.with(Feature::Vectors);
            }
            self.passive.operator(&operator);
            match operator {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::TryTable { .. } => {
                    self.info.nesting = self.info.nesting.max(open);
                    open += 1;
                }
                Operator::End => open = open.saturating_sub(1),
                Operator::MemoryGrow { .. } => self.info.grows_memory = true,
                Operator::MemoryCopy { .. }
                | Operator::MemoryFill { .. }
                | Operator::MemoryInit { .. } => self.info.writes_in_bulk = true,
                Operator::TableSet { table }
                | Operator::TableFill { table }
                | Operator::TableCopy { dst_table: table, .. }
                | Operator::TableInit { table, .. } => self.table(table).written = true,
                Operator::TableGrow { table } => self.table(table).grown = true,
                Operator::GlobalSet { global_index } => {
                    self.set_globals.insert(global_index);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A table that validation has seen to exist.
    fn table(&mut self, index: u32) -> &mut Table {
        &mut self.info.tables[index as usize]
    }

    fn finish(mut self) -> ModuleInfo {
        self.info.functions = self.functions.len();
        self.info.twofold_import = self.info.find_twofold_import();
        self.info.writes_tables = self.info.tables.iter().any(|table| table.written || table.grown);
        self.info.drops_segments = self.passive.any_dropped();
        for global in &mut self.info.mutable_globals {
            global.written = self.set_globals.contains(&global.index);
        }
        self.info.mutable_globals.retain(|global| global.is_number || global.written);
        for (name, index) in self.named_functions {
            let ty = self.functions.get(index as usize).copied();
            let imported = (index as usize) < self.info.imports.len();
            let signature = ty.and_then(|ty| self.types.get(ty as usize).cloned().flatten());
            self.info.exports.push(FunctionExport { name, signature, imported });
        }
        for (name, index) in self.named_globals {
            if name == "__heap_base" {
                self.info.heap_base = self.global_values.get(index as usize).copied().flatten();
            }
            // In the order of their indices. There may be a million of each.
            let globals = &mut self.info.mutable_globals;
            if let Ok(at) = globals.binary_search_by_key(&index, |global| global.index) {
                globals[at].export = Some(name);
            }
        }
        for (name, index) in self.named_tables {
            if let Some(table) = self.info.tables.get_mut(index as usize) {
                table.export = Some(name);
            }
        }
        self.info
    }
}

/// The value of an expression that is a single `i32.const` or `i64.const`, without a sign.
fn wide_constant(expression: &ConstExpr<'_>) -> Option<u64> {
    let mut operators = expression.get_operators_reader();
    match (operators.read().ok()?, operators.read().ok()?) {
        (Operator::I64Const { value }, Operator::End) => Some(value.cast_unsigned()),
        _ => constant(expression).map(u64::from),
    }
}

/// The value of an expression that is a single `i32.const`.
pub(super) fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    let mut operators = expression.get_operators_reader();
    match (operators.read().ok()?, operators.read().ok()?) {
        (Operator::I32Const { value }, Operator::End) => Some(value as u32),
        _ => None,
    }
}
