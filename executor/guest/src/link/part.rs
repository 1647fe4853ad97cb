//! One of the modules that are linked.

use super::MAIN;
use crate::error::Result;
use crate::layout::Layout;
use crate::{MEMORY, text};
use std::collections::HashMap;
use wasmparser::{
    ExternalKind, FuncType, Import, Parser, Payload, TagKind, TagType, TypeRef, ValType,
};

/// Number of index spaces.
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

/// A library or the main module.
pub(super) struct Part<'a> {
    pub(super) name: &'a str,
    pub(super) wasm: &'a [u8],
    types: Vec<Option<FuncType>>,
    /// The types of all items, by index space; imported ones come first.
    pub(super) items: [Vec<TypeRef>; SPACES],
    /// How many of them are imported.
    pub(super) imported: [u32; SPACES],
    pub(super) imports: Vec<(Import<'a>, Item)>,
    pub(super) exports: HashMap<&'a str, Item>,
    pub(super) start: Option<u32>,
    /// What the modules before it have of these.
    pub(super) before: Counts,
    own: Counts,
}

/// Numbers of types and segments.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) types: u32,
    pub(super) elements: u32,
    pub(super) data: u32,
}

impl<'a> Part<'a> {
    pub(super) fn of(name: &'a str, wasm: &'a [u8], last: Option<&Self>) -> Result<Self> {
        let (mut imports, mut imported) = (Vec::new(), [0; SPACES]);
        let (mut exports, mut own) = (HashMap::new(), Counts::default());
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        let space = space(kind(import.ty));
                        imports.push((import, Item { space, index: imported[space] }));
                        imported[space] += 1;
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        let (space, index) = (space(export.kind), export.index);
                        exports.insert(export.name, Item { space, index });
                    }
                }
                Payload::ElementSection(section) => own.elements = section.count(),
                Payload::DataSection(section) => own.data = section.count(),
                _ => {}
            }
        }
        let Layout { types, functions, globals, tables, memories, tags, start, .. } =
            Layout::of(wasm)?;
        own.types = types.len() as u32;
        if name == MAIN && !memories.is_empty() {
            exports.entry(MEMORY).or_insert(Item { space: MEMORIES, index: 0 });
        }
        let tag = |func_type_idx| TypeRef::Tag(TagType { kind: TagKind::Exception, func_type_idx });
        let items = [
            functions.into_iter().map(TypeRef::Func).collect(),
            tables.into_iter().map(TypeRef::Table).collect(),
            memories.into_iter().map(TypeRef::Memory).collect(),
            globals.into_iter().map(TypeRef::Global).collect(),
            tags.into_iter().map(tag).collect(),
        ];
        let before = last.map_or_else(Counts::default, Self::counts);
        Ok(Self { name, wasm, types, items, imported, imports, exports, start, before, own })
    }

    /// What this module and those before it have.
    pub(super) fn counts(&self) -> Counts {
        let (before, own) = (self.before, self.own);
        Counts {
            types: before.types + own.types,
            elements: before.elements + own.elements,
            data: before.data + own.data,
        }
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
        let function = |ty: u32| match &self.types[ty as usize] {
            Some(ty) => ty.to_string(),
            None => "(func)".to_owned(),
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
