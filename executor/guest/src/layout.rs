//! The index spaces of a module.

use crate::error::Result;
use wasmparser::{
    CompositeInnerType, ExternalKind, FuncType, GlobalType, MemoryType, Parser, Payload, TableType,
    TypeRef,
};

/// The declarations of a core module, each list by index: imported ones first.
#[derive(Debug, Default)]
pub struct Layout {
    /// Types; `None` for those of no function.
    pub types: Vec<Option<FuncType>>,
    /// The type of each function.
    pub functions: Vec<u32>,
    /// The type of each global.
    pub globals: Vec<GlobalType>,
    /// The type of each table.
    pub tables: Vec<TableType>,
    /// The type of each memory.
    pub memories: Vec<MemoryType>,
    /// The type of each tag.
    pub tags: Vec<u32>,
    /// Imports: module, name and type.
    pub imports: Vec<(String, String, TypeRef)>,
    /// Numbers of imported items.
    pub imported: Imported,
    /// Exports: name, kind and index.
    pub exports: Vec<(String, ExternalKind, u32)>,
    /// The start function.
    pub start: Option<u32>,
    /// Number of element segments.
    pub elements: u32,
    /// Number of data segments.
    pub data: u32,
}

/// How many of the first items of each index space are imports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Functions.
    pub functions: u32,
    /// Globals.
    pub globals: u32,
    /// Tables.
    pub tables: u32,
    /// Memories.
    pub memories: u32,
    /// Tags.
    pub tags: u32,
}

impl Layout {
    /// Reads the declarations of a module.
    ///
    /// # Errors
    ///
    /// When the module cannot be read.
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
            Payload::FunctionSection(section) => {
                for ty in section.clone() {
                    self.functions.push(ty?);
                }
            }
            Payload::TableSection(section) => {
                for table in section.clone() {
                    self.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section.clone() {
                    self.memories.push(memory?);
                }
            }
            Payload::TagSection(section) => {
                for tag in section.clone() {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section.clone() {
                    self.globals.push(global?.ty);
                }
            }
            Payload::ExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    self.exports.push((export.name.to_owned(), export.kind, export.index));
                }
            }
            Payload::StartSection { func, .. } => self.start = Some(*func),
            Payload::ElementSection(section) => self.elements = section.count(),
            Payload::DataSection(section) => self.data = section.count(),
            _ => {}
        }
        Ok(())
    }
}
