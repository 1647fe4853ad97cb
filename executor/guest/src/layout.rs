//! The index spaces of a module.

use crate::error::Result;
use wasmparser::{
    CompositeInnerType, ExternalKind, FromReader, FuncType, GlobalType, MemoryType, Parser,
    Payload, SectionLimited, TableType, TypeRef,
};

/// The declarations of a core module, each list by index: imported ones first.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "most names are those of the declarations")]
pub struct Layout {
    /// Types; `None` for those of no function.
    pub types: Vec<Option<FuncType>>,
    /// The type of each function.
    pub functions: Vec<u32>,
    pub globals: Vec<GlobalType>,
    pub tables: Vec<TableType>,
    pub memories: Vec<MemoryType>,
    /// The type of each tag.
    pub tags: Vec<u32>,
    /// Imports: module, name and type.
    pub imports: Vec<(String, String, TypeRef)>,
    /// Numbers of imported items.
    pub imported: Imported,
    /// Exports: name, kind and index.
    pub exports: Vec<(String, ExternalKind, u32)>,
    pub start: Option<u32>,
    /// Number of element segments.
    pub elements: u32,
    /// Number of data segments.
    pub data: u32,
}

/// How many of the first items of each index space are imports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the index spaces")]
pub struct Imported {
    pub functions: u32,
    pub globals: u32,
    pub tables: u32,
    pub memories: u32,
    pub tags: u32,
}

impl Layout {
    /// Reads the declarations of a module. Fails when the module cannot be read.
    pub fn of(wasm: &[u8]) -> Result<Self> {
        let mut layout = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            layout.take(&payload?)?;
        }
        Ok(layout)
    }

    /// The type of a function, if the host knows its kind.
    pub fn function(&self, index: u32) -> Option<&FuncType> {
        self.types.get(*self.functions.get(index as usize)? as usize)?.as_ref()
    }

    /// The names and indices of the exported functions.
    pub fn exported_functions(&self) -> impl Iterator<Item = (&str, u32)> {
        self.exports.iter().filter_map(|(name, kind, index)| match kind {
            ExternalKind::Func | ExternalKind::FuncExact => Some((name.as_str(), *index)),
            _ => None,
        })
    }

    /// Notes what a section declares.
    pub(crate) fn take(&mut self, payload: &Payload<'_>) -> Result<()> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section.clone() {
                    self.types.extend(group?.into_types().map(
                        |ty| match ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => Some(ty),
                            _ => None,
                        },
                    ));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.clone().into_imports() {
                    let import = import?;
                    let (module, name) = (import.module.to_owned(), import.name.to_owned());
                    self.imports.push((module, name, import.ty));
                    match import.ty {
                        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => self.functions.push(ty),
                        TypeRef::Global(ty) => self.globals.push(ty),
                        TypeRef::Table(ty) => self.tables.push(ty),
                        TypeRef::Memory(ty) => self.memories.push(ty),
                        TypeRef::Tag(ty) => self.tags.push(ty.func_type_idx),
                    }
                }
                self.imported = Imported {
                    functions: self.functions.len() as u32,
                    globals: self.globals.len() as u32,
                    tables: self.tables.len() as u32,
                    memories: self.memories.len() as u32,
                    tags: self.tags.len() as u32,
                };
            }
            Payload::FunctionSection(section) => extend(&mut self.functions, section, |ty| ty)?,
            Payload::TableSection(section) => extend(&mut self.tables, section, |table| table.ty)?,
            Payload::MemorySection(section) => extend(&mut self.memories, section, |ty| ty)?,
            Payload::TagSection(section) => {
                extend(&mut self.tags, section, |tag| tag.func_type_idx)?;
            }
            Payload::GlobalSection(section) => {
                extend(&mut self.globals, section, |global| global.ty)?;
            }
            Payload::ExportSection(section) => {
                extend(&mut self.exports, section, |export| {
                    (export.name.to_owned(), export.kind, export.index)
                })?;
            }
            Payload::StartSection { func, .. } => self.start = Some(*func),
            Payload::ElementSection(section) => self.elements = section.count(),
            Payload::DataSection(section) => self.data = section.count(),
            _ => {}
        }
        Ok(())
    }
}

/// Adds to a list something of each item of a section.
fn extend<'a, T: FromReader<'a>, U>(
    all: &mut Vec<U>,
    section: &SectionLimited<'a, T>,
    of: impl Fn(T) -> U,
) -> Result<()> {
    for item in section.clone() {
        all.push(of(item?));
    }
    Ok(())
}
