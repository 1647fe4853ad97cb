//! Rewriting of modules, section by section. Only the sections that change are
//! encoded anew; the rest, code above all, is carried over byte for byte.

use super::info::{ALL_PAGES, MemoryLimits, ModuleInfo};
use super::{ADDED, Growth, HeapPages, MEMORY, data, supplied, tables};
use crate::error::{Error, Result};
use crate::text;
use std::borrow::Cow;
use wasm_encoder::{
    Encode, EntityType, ExportKind, ExportSection, ImportSection, MemorySection, MemoryType,
    RawSection, SectionId,
};
use wasmparser::{BinaryReader, ExternalKind, MemorySectionReader, Parser, Payload, TypeRef};

/// The form that every backend gets: memory defined, raised and exported, tables that
/// grow limited, mutable globals and written tables exported. The name section is kept, other
/// custom sections are dropped.
pub(super) fn canonical(wasm: &[u8], info: &ModuleInfo, heap: HeapPages) -> Result<Vec<u8>> {
    let defined = supplied::define(wasm, info)?;
    let (wasm, defined) = match &defined {
        Cow::Borrowed(wasm) => (*wasm, None),
        Cow::Owned(wasm) => (&wasm[..], Some(ModuleInfo::inspect(wasm, info.features)?)),
    };
    let info = defined.as_ref().unwrap_or(info);
    tables::check(info)?;
    let mut sections = Sections::of(wasm)?;
    if let Some(tables) = tables::limited(wasm, info)? {
        sections.replace(SectionId::Table, &tables);
    }
    let limits = match info.memory {
        Some(limits) => Some(raised(limits, heap)?),
        None => None,
    };
    if let Some(limits) = limits {
        let others = match heap.growth {
            Growth::AsDeclared => ALL_PAGES,
            Growth::Fixed => 0,
            Growth::UpTo(pages) => pages.min(ALL_PAGES),
        };
        sections.limit_memories(limits, others)?;
    }
    sections.replace_exports(wasm, info)?;
    Ok(sections.finish())
}

/// The canonical form with its memory imported again, and without the content of active segments
/// where an image of the memory contains it.
pub(super) fn with_imported_memory(wasm: &[u8], info: &ModuleInfo) -> Result<Vec<u8>> {
    let mut sections = Sections::of(wasm)?;
    if let Some(limits) = info.memory {
        sections.remove(SectionId::Memory);
        sections.replace_imports(wasm, Some(limits))?;
        if info.image_refusal().is_none() {
            data::leave_out(wasm, &mut sections)?;
        }
    }
    Ok(sections.finish())
}

/// The canonical form without the content of its active segments, see [`data`].
pub(super) fn without_data(wasm: &[u8]) -> Result<Vec<u8>> {
    without_data_and_with(wasm, None)
}

/// The same, and with other limits of its memory if some are given.
pub(super) fn without_data_and_with(wasm: &[u8], limits: Option<MemoryLimits>) -> Result<Vec<u8>> {
    let mut sections = Sections::of(wasm)?;
    if let Some(limits) = limits {
        sections.limit_memories(limits, ALL_PAGES)?;
    }
    data::leave_out(wasm, &mut sections)?;
    Ok(sections.finish())
}

/// The module with other limits of its memory.
pub(super) fn with_limits(wasm: &[u8], limits: MemoryLimits) -> Result<Vec<u8>> {
    let mut sections = Sections::of(wasm)?;
    sections.limit_memories(limits, ALL_PAGES)?;
    Ok(sections.finish())
}

/// The module without its start section, and the index of the function that the section names.
pub(super) fn without_start(wasm: &[u8]) -> Result<Option<(Vec<u8>, u32)>> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::StartSection { func, .. } = payload.map_err(unreadable)? {
            let mut sections = Sections::of(wasm)?;
            sections.remove(SectionId::Start);
            return Ok(Some((sections.finish(), func)));
        }
    }
    Ok(None)
}

/// Limits with the extra heap pages in them.
fn raised(limits: MemoryLimits, heap: HeapPages) -> Result<MemoryLimits> {
    let minimum = limits.minimum.saturating_add(heap.extra);
    let declared = limits.maximum.map(|maximum| maximum.max(minimum));
    let maximum = match heap.growth {
        Growth::AsDeclared => declared,
        Growth::Fixed => Some(minimum),
        Growth::UpTo(pages) => {
            let pages = pages.min(ALL_PAGES);
            Some(declared.map_or(pages, |maximum| maximum.min(pages)))
        }
    };
    let limit = maximum.unwrap_or(ALL_PAGES).min(ALL_PAGES);
    if minimum > limit {
        return Err(Error::Unhostable {
            reason: format!(
                "it needs {minimum} pages of memory at the start ({} of its own and {} extra), \
                 more than the limit of {limit} pages",
                limits.minimum, heap.extra
            ),
        });
    }
    Ok(MemoryLimits { minimum, maximum })
}

fn memory_type(limits: MemoryLimits) -> MemoryType {
    MemoryType {
        minimum: limits.minimum.into(),
        maximum: limits.maximum.map(Into::into),
        memory64: false,
        shared: false,
        page_size_log2: None,
    }
}

/// The sections of a module, in the order in which a module must have them.
pub(super) struct Sections<'a>(Vec<(SectionId, Cow<'a, [u8]>)>);

impl<'a> Sections<'a> {
    pub(super) fn of(wasm: &'a [u8]) -> Result<Self> {
        let (mut sections, mut custom_sections) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.map_err(unreadable)?;
            if let Payload::CustomSection(custom) = &payload {
                if custom.name() == "name" {
                    custom_sections.push((SectionId::Custom, Cow::Borrowed(&wasm[custom.range()])));
                }
            } else if let Some((id, range)) = payload.as_section()
                && let Some(id) = section_id(id)
            {
                sections.push((id, Cow::Borrowed(&wasm[range])));
            }
        }
        // They may stand anywhere; at the end they are in nobody's way.
        sections.append(&mut custom_sections);
        Ok(Self(sections))
    }

    /// Gives the module's first memory these limits. The others can grow to `others` pages, or to
    /// their own maximum if that is lower.
    pub(super) fn limit_memories(&mut self, limits: MemoryLimits, others: u32) -> Result<()> {
        let old = self.0.iter().find(|(id, _)| *id == SectionId::Memory);
        let mut memories = MemorySection::new();
        if let Some((_, content)) = old {
            let reader = BinaryReader::new(content, 0);
            for memory in MemorySectionReader::new(reader).map_err(unreadable)? {
                let memory = memory.map_err(unreadable)?;
                let mut ty = MemoryType { memory64: memory.memory64, ..memory_type(limits) };
                if memories.is_empty() {
                    // The limit of 32-bit addresses holds for all.
                    ty.maximum = ty.maximum.or(memory.memory64.then_some(ALL_PAGES.into()));
                } else {
                    let most = u64::from(others).max(memory.initial);
                    ty.minimum = memory.initial;
                    ty.maximum = Some(memory.maximum.map_or(most, |maximum| maximum.min(most)));
                }
                memories.memory(ty);
            }
        } else {
            memories.memory(memory_type(limits));
        }
        self.replace(SectionId::Memory, &memories);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: SectionId) {
        self.0.retain(|(other, _)| *other != id);
    }

    /// Puts a section in the place where it belongs, over an old one if there is one.
    pub(super) fn replace(&mut self, id: SectionId, section: &impl Encode) {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        self.put(id, without_size(&encoded).to_vec());
    }

    fn put(&mut self, id: SectionId, content: Vec<u8>) {
        self.remove(id);
        let place =
            self.0.iter().position(|(other, _)| order(*other) > order(id)).unwrap_or(self.0.len());
        self.0.insert(place, (id, Cow::Owned(content)));
    }

    /// Adds an entry at the end of a section that is a list, as most of them are.
    pub(super) fn append(&mut self, id: SectionId, entry: &[u8]) {
        let old = self.0.iter().find(|(other, _)| *other == id).map(|(_, content)| &content[..]);
        let (count, entries) = old.map_or((0, &[][..]), leading_number);
        let mut content = Vec::new();
        (count + 1).encode(&mut content);
        content.extend(entries);
        content.extend(entry);
        self.put(id, content);
    }

    /// Adds the entries of a section in front of those that the module has.
    pub(super) fn prepend(&mut self, id: SectionId, section: &impl Encode) {
        self.merge(id, section, |old, new| [new, old].concat());
    }

    /// Adds the entries of a section behind those that the module has.
    pub(super) fn append_all(&mut self, id: SectionId, section: &impl Encode) {
        self.merge(id, section, |old, new| [old, new].concat());
    }

    fn merge(&mut self, id: SectionId, section: &impl Encode, join: fn(&[u8], &[u8]) -> Vec<u8>) {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        let (more, new) = leading_number(without_size(&encoded));
        if more == 0 {
            return;
        }
        let found = self.0.iter().find(|(other, _)| *other == id).map(|(_, content)| &content[..]);
        let (count, old) = found.map_or((0, &[][..]), leading_number);
        let mut content = Vec::new();
        (count + more).encode(&mut content);
        content.extend(join(old, new));
        self.put(id, content);
    }

    /// Puts other bodies, each with its size before it, in the place of the code.
    pub(super) fn replace_code(&mut self, bodies: &[Vec<u8>]) {
        let mut content = Vec::new();
        bodies.len().encode(&mut content);
        content.extend(bodies.iter().flatten());
        self.put(SectionId::Code, content);
    }

    /// The function imports, and the memory if it is to be imported.
    pub(super) fn replace_imports(
        &mut self,
        wasm: &[u8],
        memory: Option<MemoryLimits>,
    ) -> Result<()> {
        let mut imports = ImportSection::new();
        if let Some(limits) = memory {
            imports.import("env", MEMORY, memory_type(limits));
        }
        for payload in Parser::new(0).parse_all(wasm) {
            if let Payload::ImportSection(section) = payload.map_err(unreadable)? {
                for import in section.into_imports() {
                    let import = import.map_err(unreadable)?;
                    if let TypeRef::Func(ty) = import.ty {
                        imports.import(import.module, import.name, EntityType::Function(ty));
                    }
                }
            }
        }
        if imports.is_empty() {
            self.remove(SectionId::Import);
        } else {
            self.replace(SectionId::Import, &imports);
        }
        Ok(())
    }

    /// The old exports, the memory, and what a reset in place has to reach.
    fn replace_exports(&mut self, wasm: &[u8], info: &ModuleInfo) -> Result<()> {
        let mut exports = ExportSection::new();
        let mut memory_exported = false;
        for payload in Parser::new(0).parse_all(wasm) {
            if let Payload::ExportSection(section) = payload.map_err(unreadable)? {
                for export in section {
                    let export = export.map_err(unreadable)?;
                    let kind = match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
                        ExternalKind::Table => ExportKind::Table,
                        ExternalKind::Memory => ExportKind::Memory,
                        ExternalKind::Global => ExportKind::Global,
                        ExternalKind::Tag => ExportKind::Tag,
                    };
                    let is_again = matches!(kind, ExportKind::Global | ExportKind::Table)
                        && export.name == added(kind, export.index);
                    if export.name.starts_with(ADDED) && !is_again {
                        return Err(Error::Unhostable {
                            reason: format!(
                                "it exports '{}': names that begin with {ADDED} are the host's",
                                text::name(export.name)
                            ),
                        });
                    }
                    let is_memory = kind == ExportKind::Memory;
                    if export.name == MEMORY && !is_memory {
                        return Err(Error::Unhostable {
                            reason: "it exports something under the name 'memory' that is none"
                                .to_owned(),
                        });
                    }
                    if export.name == MEMORY && export.index != 0 {
                        return Err(Error::Unhostable {
                            reason: "it exports another memory as 'memory' than its first one, \
                                     which is the host's"
                                .to_owned(),
                        });
                    }
                    memory_exported |= export.name == MEMORY;
                    exports.export(export.name, kind, export.index);
                }
            }
        }
        if info.memory.is_some() && !memory_exported {
            exports.export(MEMORY, ExportKind::Memory, 0);
        }
        for global in info.mutable_globals.iter().filter(|global| global.export.is_none()) {
            let kind = ExportKind::Global;
            exports.export(&added(kind, global.index), kind, global.index);
        }
        if info.writes_tables {
            for table in info.tables.iter().filter(|table| table.export.is_none()) {
                let kind = ExportKind::Table;
                exports.export(&added(kind, table.index), kind, table.index);
            }
        }
        self.replace(SectionId::Export, &exports);
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut module = wasm_encoder::Module::new();
        for (id, data) in &self.0 {
            module.section(&RawSection { id: *id as u8, data });
        }
        module.finish()
    }
}

/// Name of an export that is added.
fn added(kind: ExportKind, index: u32) -> String {
    let kind = if kind == ExportKind::Global { "global" } else { "table" };
    format!("{ADDED}{kind}_{index}")
}

pub(super) fn unreadable(error: wasmparser::BinaryReaderError) -> Error {
    Error::Invalid { reason: error.message().to_owned(), offset: error.offset() }
}

/// A section encodes itself as its size and its content; the size is written
/// again with the content.
fn without_size(encoded: &[u8]) -> &[u8] {
    leading_number(encoded).1
}

/// The LEB128 number that bytes begin with, and what comes after it. The bytes are of
/// a module that was validated, so that it fits.
pub(super) fn leading_number(bytes: &[u8]) -> (u32, &[u8]) {
    let size = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
    let (number, rest) = bytes.split_at(size);
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | u32::from(byte & 0x7f));
    (value, rest)
}

fn section_id(id: u8) -> Option<SectionId> {
    use SectionId::*;
    [
        Type, Import, Function, Table, Memory, Global, Export, Start, Element, Code, Data,
        DataCount, Tag,
    ]
    .into_iter()
    .find(|known| *known as u8 == id)
}

/// Place of a section in a module; the name section comes last.
fn order(id: SectionId) -> u8 {
    use SectionId::*;
    match id {
        Type => 1,
        Import => 2,
        Function => 3,
        Table => 4,
        Memory => 5,
        Tag => 6,
        Global => 7,
        Export => 8,
        Start => 9,
        Element => 10,
        DataCount => 11,
        Code => 12,
        Data => 13,
        Custom => 14,
    }
}
