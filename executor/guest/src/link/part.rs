//! One of the modules that are linked.

use super::MAIN;
use crate::sections::Sections;
use crate::{Layout, MEMORY, Result, text};
use std::collections::HashMap;
use std::fmt;
use wasmparser::{ExternalKind, FuncType, TagKind, TagType, TypeRef, ValType};

pub(super) const SPACES: usize = 5;
pub(super) const FUNCTIONS: usize = 0;
pub(super) const TABLES: usize = 1;
pub(super) const MEMORIES: usize = 2;
pub(super) const GLOBALS: usize = 3;
pub(super) const TAGS: usize = 4;

/// An item of a module: its index space, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Item {
    pub(super) space: usize,
    pub(super) index: u32,
}

pub(super) struct Import {
    pub(super) module: String,
    pub(super) name: String,
    pub(super) ty: TypeRef,
    pub(super) item: Item,
}

/// In a message: `module.name`.
impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", text::name(&self.module), text::name(&self.name))
    }
}

/// A library or the main module.
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    pub(super) sections: Sections<'a>,
    types: Vec<Option<FuncType>>,
    /// The types of all items, by index space; imported ones come first.
    pub(super) items: [Vec<TypeRef>; SPACES],
    /// How many of them are imported.
    pub(super) imported: [u32; SPACES],
    pub(super) imports: Vec<Import>,
    pub(super) exports: HashMap<String, Item>,
    pub(super) start: Option<u32>,
    /// Of the modules before it.
    pub(super) before: Counts,
    /// The same, with its own.
    pub(super) counts: Counts,
}

/// Numbers of types and segments.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) types: u32,
    pub(super) elements: u32,
    pub(super) data: u32,
}

impl<'a> Part<'a> {
    pub(super) fn of(name: &'a str, wasm: &'a [u8], before: Counts) -> Result<Self> {
        let layout = Layout::of(wasm)?;
        let Layout { types, functions, globals, tables, memories, tags, start, .. } = layout;
        let counts = Counts {
            types: before.types + types.len() as u32,
            elements: before.elements + layout.elements,
            data: before.data + layout.data,
        };
        let mut imported = [0; SPACES];
        let import = |(module, name, ty)| {
            let space = space(kind(ty));
            imported[space] += 1;
            Import { module, name, ty, item: Item { space, index: imported[space] - 1 } }
        };
        let imports = layout.imports.into_iter().map(import).collect();
        let export = |(name, kind, index)| (name, Item { space: space(kind), index });
        let mut exports: HashMap<_, _> = layout.exports.into_iter().map(export).collect();
        if name == MAIN && !memories.is_empty() {
            let memory = Item { space: MEMORIES, index: 0 };
            exports.entry(MEMORY.to_owned()).or_insert(memory);
        }
        let tag = |func_type_idx| TagType { kind: TagKind::Exception, func_type_idx };
        let items = [
            functions.into_iter().map(TypeRef::Func).collect(),
            tables.into_iter().map(TypeRef::Table).collect(),
            memories.into_iter().map(TypeRef::Memory).collect(),
            globals.into_iter().map(TypeRef::Global).collect(),
            tags.into_iter().map(tag).map(TypeRef::Tag).collect(),
        ];
        let sections = Sections::of(wasm)?;
        Ok(Self { name, sections, types, items, imported, imports, exports, start, before, counts })
    }

    /// The module in a message.
    pub(super) fn title(&self) -> String {
        match self.name {
            MAIN => "the main module".to_owned(),
            name => format!("the library '{}'", text::name(name)),
        }
    }

    /// The type of an item.
    pub(super) fn ty(&self, item: Item) -> TypeRef {
        self.items[item.space][item.index as usize]
    }

    /// `true` for a function with a parameter that may be an address.
    pub(super) fn takes_address(&self, ty: TypeRef) -> bool {
        let TypeRef::Func(ty) = ty else { return false };
        let ty = self.types[ty as usize].as_ref();
        ty.is_some_and(|ty| ty.params().iter().any(|ty| matches!(ty, ValType::I32 | ValType::I64)))
    }

    /// A type in a message, in the text format: `(func (param i32))`, `(memory 1)`.
    pub(super) fn shown(&self, ty: TypeRef) -> String {
        let function = |ty: u32| {
            self.types[ty as usize]
                .as_ref()
                .map_or_else(|| "(func)".to_owned(), FuncType::to_string)
        };
        let limits = |is_64: bool, minimum: u64, maximum: Option<u64>| {
            let index = if is_64 { "i64 " } else { "" };
            let maximum = maximum.map_or_else(String::new, |maximum| format!(" {maximum}"));
            format!("{index}{minimum}{maximum}")
        };
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => function(ty),
            TypeRef::Tag(ty) => function(ty.func_type_idx).replacen("func", "tag", 1),
            TypeRef::Memory(ty) => {
                format!("(memory {})", limits(ty.memory64, ty.initial, ty.maximum))
            }
            TypeRef::Table(ty) => {
                let limits = limits(ty.table64, ty.initial, ty.maximum);
                format!("(table {limits} {})", ty.element_type)
            }
            TypeRef::Global(ty) if ty.mutable => format!("(global (mut {}))", ty.content_type),
            TypeRef::Global(ty) => format!("(global {})", ty.content_type),
        }
    }
}

/// The index space of a kind of items.
fn space(kind: ExternalKind) -> usize {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => FUNCTIONS,
        ExternalKind::Table => TABLES,
        ExternalKind::Memory => MEMORIES,
        ExternalKind::Global => GLOBALS,
        ExternalKind::Tag => TAGS,
    }
}

fn kind(ty: TypeRef) -> ExternalKind {
    match ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => ExternalKind::Func,
        TypeRef::Table(_) => ExternalKind::Table,
        TypeRef::Memory(_) => ExternalKind::Memory,
        TypeRef::Global(_) => ExternalKind::Global,
        TypeRef::Tag(_) => ExternalKind::Tag,
    }
}
