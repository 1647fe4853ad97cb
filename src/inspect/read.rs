//! Reads the sections of a module or a component.

use super::{Answer, Export, Import, Inspection, Memory};
use touchstone_executor::Functions;
use touchstone_executor::guest::text::plural;
use wasmparser::{
    BinaryReaderError, CompositeInnerType, DataKind, ElementKind, Encoding, ExternalKind, FuncType,
    MemoryType, Parser, Payload, SubType, TypeRef, ValType,
};

/// Adds the sections, up to the first damaged one.
pub(super) fn read(wasm: &[u8], found: &mut Inspection) {
    let mut reader = Reader { found, types: Vec::new(), functions: Vec::new(), depth: 0 };
    for payload in Parser::new(0).parse_all(wasm) {
        if payload.and_then(|payload| reader.take(payload)).is_err() {
            return;
        }
    }
}

struct Reader<'a> {
    found: &'a mut Inspection,
    /// Types of the outermost module; `None` for those that are no functions.
    types: Vec<Option<FuncType>>,
    /// Index of each function's type.
    functions: Vec<u32>,
    /// Number of modules and components around the current section.
    depth: u32,
}

impl Reader<'_> {
    fn take(&mut self, payload: Payload<'_>) -> Result<(), BinaryReaderError> {
        let is_outermost = self.depth == 0;
        match payload {
            Payload::Version { encoding, .. } if is_outermost => {
                self.found.is_component = encoding == Encoding::Component;
            }
            Payload::ModuleSection { .. } => {
                self.found.core_modules = self.found.core_modules.saturating_add(1);
                self.depth += 1;
            }
            Payload::ComponentSection { .. } => self.depth += 1,
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::TypeSection(section) if is_outermost => {
                for group in section {
                    let function = |ty: SubType| match ty.composite_type.inner {
                        CompositeInnerType::Func(ty) => Some(ty),
                        _ => None,
                    };
                    self.types.extend(group?.into_types().map(function));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    if is_outermost {
                        self.import(import);
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    let ty = ty?;
                    self.found.functions = self.found.functions.saturating_add(1);
                    if is_outermost {
                        self.functions.push(ty);
                    }
                }
            }
            Payload::TableSection(section) => {
                self.found.tables = self.found.tables.saturating_add(section.count());
            }
            Payload::GlobalSection(section) => {
                self.found.globals = self.found.globals.saturating_add(section.count());
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.found.memories.push(memory_of(memory?, false));
                }
            }
            Payload::ExportSection(section) if is_outermost => {
                for export in section {
                    self.export(export?);
                }
            }
            Payload::StartSection { .. } => self.found.has_start = true,
            Payload::ElementSection(section) => {
                for element in section {
                    let elements = &mut self.found.elements;
                    match element?.kind {
                        ElementKind::Active { .. } => elements.active += 1,
                        _ => elements.passive += 1,
                    }
                }
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    let all = &mut self.found.data;
                    all.bytes += data.data.len() as u64;
                    match data.kind {
                        DataKind::Active { .. } => all.active += 1,
                        DataKind::Passive => all.passive += 1,
                    }
                }
            }
            Payload::ComponentImportSection(section) if is_outermost => {
                for import in section {
                    let import = import?;
                    self.found.imports.push(Import {
                        module: String::new(),
                        name: import.name.name.to_owned(),
                        kind: import.ty.kind().desc(),
                        ty: String::new(),
                        answer: Answer::Engine,
                    });
                }
            }
            Payload::ComponentExportSection(section) if is_outermost => {
                for export in section {
                    let export = export?;
                    let (name, kind) = (export.name.name.to_owned(), export.kind.desc());
                    self.found.exports.push(Export { name, kind, ty: String::new() });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: wasmparser::Import<'_>) {
        let is_refused = self.found.refused.is_some();
        let answer = if is_refused { Answer::Nothing } else { Answer::Definition };
        let (kind, ty, answer) = match import.ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => {
                self.functions.push(index);
                let ty = self.types.get(index as usize).and_then(Option::as_ref);
                let ty = ty.map_or_else(String::new, in_words);
                let standard = Functions::standard();
                let known = standard.find(import.module, import.name);
                let is_known = known.is_some_and(|known| known.signature().to_string() == ty);
                let answer = if is_known { Answer::HostFunction } else { Answer::Stub };
                ("func", ty, answer)
            }
            TypeRef::Memory(ty) => {
                let memory = memory_of(ty, true);
                let ty = format!("{} {}", memory.minimum, plural("page", memory.minimum));
                self.found.memories.push(memory);
                ("memory", ty, answer)
            }
            TypeRef::Global(ty) => ("global", ty.content_type.to_string(), answer),
            TypeRef::Table(ty) => ("table", format!("{} entries", ty.initial), answer),
            TypeRef::Tag(_) => ("tag", String::new(), answer),
        };
        let (module, name) = (import.module.to_owned(), import.name.to_owned());
        self.found.imports.push(Import { module, name, kind, ty, answer });
    }

    fn export(&mut self, export: wasmparser::Export<'_>) {
        let (kind, ty) = match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => {
                let ty = self.functions.get(export.index as usize);
                let ty = ty.and_then(|ty| self.types.get(*ty as usize)?.as_ref());
                ("func", ty.map_or_else(String::new, in_words))
            }
            ExternalKind::Memory => ("memory", String::new()),
            ExternalKind::Global => ("global", String::new()),
            ExternalKind::Table => ("table", String::new()),
            ExternalKind::Tag => ("tag", String::new()),
        };
        self.found.exports.push(Export { name: export.name.to_owned(), kind, ty });
    }
}

fn memory_of(ty: MemoryType, is_imported: bool) -> Memory {
    Memory {
        minimum: ty.initial,
        maximum: ty.maximum,
        page: 1_u64.checked_shl(ty.page_size_log2.unwrap_or(16)).unwrap_or(0),
        is_64: ty.memory64,
        is_shared: ty.shared,
        is_imported,
    }
}

fn in_words(ty: &FuncType) -> String {
    let list =
        |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(ty.params()), list(ty.results()))
}
