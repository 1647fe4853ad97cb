//! Imported memories, tables, globals and tags, which the module gets as definitions of its
//! own. Imports come first in each index space, and so do these definitions: no index changes.
//!
//! | import | definition |
//! |---|---|
//! | memory | of the import's limits, zeroed |
//! | table | of the import's limits, null entries |
//! | tag | of the import's type |
//! | global of a number or vector type | 0, except those below |
//! | global of a nullable reference type | null |
//! | `__memory_base` | 1024, rounded up to the library's alignment |
//! | `__table_base` | 1, so that 0 stays the null pointer |
//! | `__stack_pointer` | end of the memory; in a library end of 1 MiB of stack behind its data |
//! | `__heap_base`, `GOT.mem.__heap_base` | the same |
//! | `GOT.mem.NAME` | `__memory_base` plus the exported global `NAME`, 0 if there is none |
//! | `GOT.func.NAME` | a table entry with the exported function `NAME`, 0 if there is none |
//! | `global.NaN`, `global.Infinity` | these numbers |
//!
//! A library is a module with a section `dylink.0`. Its memory and table are raised to what the
//! section asks for. Constant expressions that compute, or read such a global, become constants.

use crate::constants::{Constant, Folder, Values};
use crate::error::unhostable;
use crate::info::ALL_PAGES;
use crate::{Feature, ModuleInfo, Patch, Result, Value, ValueType, WASM_PAGE, layout, rewrite};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use wasm_encoder::{
    ConstExpr, ElementSection, Elements, EntityType, GlobalSection, MemorySection, SectionId,
    TableSection, TagSection,
};
use wasmparser::{
    Dylink0Subsection, ExternalKind, KnownCustom, MemInfo, Parser, Payload, TableType, TypeRef,
    ValType,
};

/// An import that becomes a definition of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the import")]
pub struct Supplied {
    pub module: String,
    pub name: String,
    pub item: Item,
}

/// The definition in the place of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A zeroed memory.
    Memory,
    /// A table of null entries.
    Table,
    /// A global: of this value, or null or a vector of zeros.
    Global(Option<Value>),
    /// A tag.
    Tag,
}

/// The definition in words: `a zeroed memory`, `a global, 1024`.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Value::{F32, F64, I32, I64};
        match *self {
            Self::Memory => f.write_str("a zeroed memory"),
            Self::Table => f.write_str("a table of null entries"),
            Self::Global(Some(I32(value))) => write!(f, "a global, {value}"),
            Self::Global(Some(I64(value))) => write!(f, "a global, {value}"),
            Self::Global(Some(F32(bits))) => write!(f, "a global, {}", f32::from_bits(bits)),
            Self::Global(Some(F64(bits))) => write!(f, "a global, {}", f64::from_bits(bits)),
            Self::Global(_) => f.write_str("a global, null or zero"),
            Self::Tag => f.write_str("a tag"),
        }
    }
}

/// First address of a library's data, as Emscripten lays it out.
const MEMORY_BASE: u64 = 1024;
/// First entry of a library's functions.
const TABLE_BASE: u64 = 1;
/// Stack of a library, bytes.
const STACK: u64 = 1 << 20;

/// The imports, and the addresses of their definitions.
#[derive(Default)]
struct Layout {
    declared: layout::Layout,
    library: Option<MemInfo>,
    /// Exported functions, and exported globals' values.
    functions: HashMap<String, u32>,
    addresses: HashMap<String, u32>,
    /// Functions that `GOT.func` asks for, in the order of their table entries.
    linked: Vec<u32>,
    /// The place of each in that order.
    places: HashMap<u32, u64>,
}

/// Everything that the module imports beside functions, as it is supplied.
pub(super) fn supplied(wasm: &[u8]) -> Result<Vec<Supplied>> {
    let mut layout = Layout::of(wasm)?;
    let values = layout.values()?;
    let mut values = values.into_iter();
    let supplied = layout.declared.imports.into_iter().filter_map(|(module, name, ty)| {
        let item = match ty {
            TypeRef::Func(_) | TypeRef::FuncExact(_) => return None,
            TypeRef::Memory(_) => Item::Memory,
            TypeRef::Table(_) => Item::Table,
            TypeRef::Tag(_) => Item::Tag,
            TypeRef::Global(_) => Item::Global(match values.next() {
                Some(Constant::Number(value)) => Some(value),
                _ => None,
            }),
        };
        Some(Supplied { module, name, item })
    });
    Ok(supplied.collect())
}

/// The module with definitions in the place of such imports, and constants in the place of
/// constant expressions that compute; as it is where there are none of both.
pub(super) fn define<'a>(wasm: &'a [u8], info: &ModuleInfo) -> Result<Cow<'a, [u8]>> {
    let computes = info.features.has(Feature::ExtendedConst);
    if info.supplied.is_empty() && !computes {
        return Ok(Cow::Borrowed(wasm));
    }
    let mut layout = Layout::of(wasm)?;
    let values = layout.values()?;
    let mut patch = Patch::of(wasm)?;
    if !info.supplied.is_empty() {
        patch.replace(SectionId::Import, &rewrite::imports(&layout.declared, None));
    }
    if !values.is_empty() || computes {
        fold(&mut patch, values.clone())?;
    }
    layout.define(&mut patch, values)?;
    layout.link_functions(&mut patch);
    patch.finish().map(Cow::Owned)
}

/// The module with constants in the place of the constant expressions whose value is known, and its
/// imports as they are.
pub(super) fn folded(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    fold_known(&mut patch)?;
    patch.finish()
}

/// The same of a module that is being rewritten.
pub(super) fn fold_known(patch: &mut Patch<'_>) -> Result<()> {
    let values = Layout::of(patch.original())?.values()?;
    fold(patch, values)
}

/// `true` for a library that only a dynamic linker can place.
pub(super) fn is_dynamic(wasm: &[u8]) -> Result<bool> {
    Ok(Layout::of(wasm)?.library.is_some())
}

/// Encodes the sections that have constant expressions again.
pub(super) fn fold(patch: &mut Patch<'_>, supplied: Vec<Constant>) -> Result<()> {
    let mut folder = Folder(Values::of(patch.original(), supplied)?);
    use SectionId::{Data, Element, Global, Table};
    patch.sections.reencode(&mut folder, &[Table, Global, Element, Data])
}

impl Layout {
    fn of(wasm: &[u8]) -> Result<Self> {
        let mut layout = Self { declared: layout::Layout::of(wasm)?, ..Self::default() };
        let mut own_globals = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::CustomSection(custom) => {
                    let KnownCustom::Dylink0(library) = custom.as_known() else { continue };
                    for part in library {
                        if let Dylink0Subsection::MemInfo(info) = part? {
                            layout.library = Some(info);
                        }
                    }
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        own_globals.push(super::read::constant(&global?.init_expr));
                    }
                }
                _ => {}
            }
        }
        let imported = layout.declared.imported.globals;
        for (name, kind, index) in &layout.declared.exports {
            let own = index.checked_sub(imported).and_then(|own| own_globals.get(own as usize));
            if *kind == ExternalKind::Func {
                layout.functions.insert(name.clone(), *index);
            } else if let (ExternalKind::Global, Some(Some(address))) = (kind, own) {
                layout.addresses.insert(name.clone(), *address);
            }
        }
        Ok(layout)
    }

    /// The first table, if it is imported.
    fn table(&self) -> Option<&TableType> {
        self.declared.tables.first().filter(|_| self.declared.imported.tables > 0)
    }

    fn memory_base(&self) -> u64 {
        let alignment = self.library.map_or(0, |library| library.memory_alignment.min(31));
        MEMORY_BASE.next_multiple_of(1 << alignment)
    }

    fn table_base(&self) -> u64 {
        let alignment = self.library.map_or(0, |library| library.table_alignment.min(31));
        TABLE_BASE.next_multiple_of(1 << alignment)
    }

    /// The first address behind data and stack.
    fn top(&self) -> u64 {
        match self.library {
            Some(library) => {
                (self.memory_base() + u64::from(library.memory_size) + STACK).next_multiple_of(16)
            }
            None => {
                let pages = self.declared.memories.first().map_or(0, |memory| memory.initial);
                // The last addresses of a memory of 4 GiB stay unused.
                pages.saturating_mul(WASM_PAGE as u64).min(u64::from(u32::MAX) & !15)
            }
        }
    }

    /// Initial values of the imported globals.
    fn values(&mut self) -> Result<Vec<Constant>> {
        let imports = std::mem::take(&mut self.declared.imports);
        let values = imports.iter().filter_map(|(module, name, ty)| match ty {
            TypeRef::Global(ty) => Some(self.value(module, name, *ty)),
            _ => None,
        });
        let values = values.collect();
        self.declared.imports = imports;
        values
    }

    fn value(&mut self, module: &str, name: &str, ty: wasmparser::GlobalType) -> Result<Constant> {
        if let ValType::Ref(reference) = ty.content_type {
            return match reference.is_nullable() {
                true => Ok(Constant::Null(reference.heap_type())),
                false => unhostable(format!(
                    "it imports the global {module}.{name} of a type without a null value, which \
                     nothing here can supply"
                )),
            };
        }
        let Some(number) = ValueType::of(ty.content_type) else {
            return unhostable(format!("it imports the global {module}.{name} of an unknown type"));
        };
        let address = match (module, name) {
            ("GOT.mem", "__heap_base") => self.top(),
            ("GOT.mem", name) => {
                self.addresses.get(name).map_or(0, |at| self.memory_base() + u64::from(*at))
            }
            ("GOT.func", name) => self.entry(name),
            (_, "__memory_base") => self.memory_base(),
            (_, "__table_base") => self.table_base(),
            (_, "__stack_pointer" | "__heap_base") => self.top(),
            _ => 0,
        };
        Ok(Constant::Number(match (number, module, name) {
            (ValueType::I32, ..) => Value::I32(address as i32),
            (ValueType::I64, ..) => Value::I64(address as i64),
            (ValueType::F64, "global", "NaN") => Value::F64(f64::NAN.to_bits()),
            (ValueType::F64, "global", "Infinity") => Value::F64(f64::INFINITY.to_bits()),
            (other, ..) => Value::zero(other),
        }))
    }

    /// The entry of a function that `GOT.func` asks for: behind those of the table.
    fn entry(&mut self, name: &str) -> u64 {
        let Some(table) = self.table() else { return 0 };
        let own =
            self.functions.get(name).filter(|index| **index >= self.declared.imported.functions);
        let (Some(function), false) = (own.copied(), table.table64) else { return 0 };
        let next = self.linked.len() as u64;
        let place = *self.places.entry(function).or_insert(next);
        if place == next {
            self.linked.push(function);
        }
        self.first_linked() + place
    }

    /// The first entry behind those that the table's type and the library ask for.
    fn first_linked(&self) -> u64 {
        let declared = self.table().map_or(0, |table| table.initial);
        let library = self
            .library
            .map_or(0, |library| self.table_base().saturating_add(u64::from(library.table_size)));
        declared.max(library).max(TABLE_BASE)
    }

    /// Puts the definitions before those of the module.
    fn define(&self, patch: &mut Patch<'_>, values: Vec<Constant>) -> Result<()> {
        let (mut memories, mut tables) = (MemorySection::new(), TableSection::new());
        let (mut tags, mut globals) = (TagSection::new(), GlobalSection::new());
        let mut values = values.into_iter().map(Constant::encoded);
        for (module, name, ty) in &self.declared.imports {
            match EntityType::try_from(*ty) {
                Ok(EntityType::Function(_) | EntityType::FunctionExact(_)) => {}
                Ok(EntityType::Memory(mut ty)) => {
                    if memories.is_empty() && self.library.is_some() {
                        let pages = self.top().div_ceil(WASM_PAGE as u64);
                        if pages > ALL_PAGES.into() {
                            return unhostable("it is a library whose data and stack exceed 4 GiB");
                        }
                        ty.minimum = ty.minimum.max(pages);
                        ty.maximum = ty.maximum.map(|maximum| maximum.max(ty.minimum));
                    }
                    memories.memory(ty);
                }
                Ok(EntityType::Table(mut ty)) if ty.element_type.nullable => {
                    if tables.is_empty() && (self.library.is_some() || !self.linked.is_empty()) {
                        ty.minimum = self.first_linked().saturating_add(self.linked.len() as u64);
                        ty.maximum = ty.maximum.map(|maximum| maximum.max(ty.minimum));
                    }
                    tables.table(ty);
                }
                Ok(EntityType::Tag(ty)) => {
                    tags.tag(ty);
                }
                Ok(EntityType::Global(ty)) if let Some(Some(value)) = values.next() => {
                    globals.global(ty, &value);
                }
                _ => {
                    return unhostable(format!(
                        "it imports {module}.{name}, whose type has no null value"
                    ));
                }
            }
        }
        patch.prepend(SectionId::Memory, &memories);
        patch.prepend(SectionId::Table, &tables);
        patch.prepend(SectionId::Tag, &tags);
        patch.prepend(SectionId::Global, &globals);
        Ok(())
    }

    /// Puts the functions that `GOT.func` asks for into the table.
    fn link_functions(&self, patch: &mut Patch<'_>) {
        if self.linked.is_empty() {
            return;
        }
        let mut elements = ElementSection::new();
        let offset = ConstExpr::i32_const(self.first_linked() as i32);
        elements.active(None, &offset, Elements::Functions(self.linked.as_slice().into()));
        patch.append(SectionId::Element, &elements);
    }
}
