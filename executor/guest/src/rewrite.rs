//! The forms of a module that every backend gets.

use super::info::{ALL_PAGES, MemoryLimits, ModuleInfo};
use super::layout::Layout;
use super::patch::Patch;
use super::sections::memory_type;
use super::{ADDED, Growth, HeapPages, MEMORY, data, read, supplied, tables};
use crate::error::{Result, unhostable};
use crate::text;
use std::borrow::Cow;
use wasm_encoder::{EntityType, ExportKind, ExportSection, ImportSection, SectionId};
use wasmparser::TypeRef;

/// The form that every backend gets: memory defined, raised and exported, tables that
/// grow limited, mutable globals and written tables exported. The name section is kept, other
/// custom sections are dropped.
pub(super) fn canonical(wasm: &[u8], info: &ModuleInfo, heap: HeapPages) -> Result<Vec<u8>> {
    let defined = supplied::define(wasm, info)?;
    let (wasm, defined) = match &defined {
        Cow::Borrowed(wasm) => (*wasm, None),
        Cow::Owned(wasm) => (&wasm[..], Some(read::inspect(wasm, info.features)?)),
    };
    let info = defined.as_ref().unwrap_or(info);
    tables::check(info)?;
    let mut patch = Patch::of(wasm)?;
    tables::limit(&mut patch, info)?;
    if let Some(limits) = info.memory {
        let others = match heap.growth {
            Growth::AsDeclared => ALL_PAGES,
            Growth::Fixed => 0,
            Growth::UpTo(pages) => pages.min(ALL_PAGES),
        };
        patch.sections.limit_memories(raised(limits, heap)?, others)?;
    }
    let exports = exports(patch.layout(), info)?;
    patch.replace(SectionId::Export, &exports);
    patch.finish()
}

/// The canonical form with its memory imported again, and without the content of active segments
/// where an image of the memory contains it.
pub(super) fn with_imported_memory(wasm: &[u8], info: &ModuleInfo) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    if let Some(limits) = info.memory {
        patch.remove(SectionId::Memory);
        let imports = imports(patch.layout(), Some(limits));
        patch.replace(SectionId::Import, &imports);
        if info.image_refusal().is_none() {
            data::leave_out(&mut patch)?;
        }
    }
    patch.finish()
}

/// The module without the content of its active segments, see [`data`].
pub(super) fn without_data(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    data::leave_out(&mut patch)?;
    patch.finish()
}

/// Limits with the extra heap pages in them.
fn raised(limits: MemoryLimits, heap: HeapPages) -> Result<MemoryLimits> {
    let minimum = limits.minimum.saturating_add(heap.extra);
    let declared = limits.maximum.map(|maximum| maximum.max(minimum));
    let maximum = match heap.growth {
        Growth::AsDeclared => declared,
        Growth::Fixed => Some(minimum),
        Growth::UpTo(pages) => Some(declared.unwrap_or(ALL_PAGES).min(pages)),
    };
    let limit = maximum.unwrap_or(ALL_PAGES).min(ALL_PAGES);
    if minimum > limit {
        return unhostable(format!(
            "it needs {minimum} pages of memory at the start ({} of its own and {} extra), more \
             than the limit of {limit} pages",
            limits.minimum, heap.extra
        ));
    }
    Ok(MemoryLimits { minimum, maximum })
}

/// The function imports, and the memory if it is to be imported.
pub(super) fn imports(layout: &Layout, memory: Option<MemoryLimits>) -> ImportSection {
    let mut imports = ImportSection::new();
    if let Some(limits) = memory {
        imports.import("env", MEMORY, memory_type(limits));
    }
    for (module, name, ty) in &layout.imports {
        if let TypeRef::Func(ty) = ty {
            imports.import(module, name, EntityType::Function(*ty));
        }
    }
    imports
}

/// The old exports, the memory, and what a reset in place has to reach.
fn exports(layout: &Layout, info: &ModuleInfo) -> Result<ExportSection> {
    let mut exports = ExportSection::new();
    let mut memory_exported = false;
    for (name, kind, index) in &layout.exports {
        let kind = ExportKind::from(*kind);
        let is_again =
            matches!(kind, ExportKind::Global | ExportKind::Table) && *name == added(kind, *index);
        if name.starts_with(ADDED) && !is_again {
            return unhostable(format!(
                "it exports '{}': names that begin with {ADDED} are the host's",
                text::name(name)
            ));
        }
        if name == MEMORY && kind != ExportKind::Memory {
            return unhostable("it exports something under the name 'memory' that is none");
        }
        if name == MEMORY && *index != 0 {
            return unhostable(
                "it exports another memory as 'memory' than its first one, which is the host's",
            );
        }
        memory_exported |= name == MEMORY;
        exports.export(name, kind, *index);
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
    Ok(exports)
}

/// Name of an export that is added.
fn added(kind: ExportKind, index: u32) -> String {
    let kind = if kind == ExportKind::Global { "global" } else { "table" };
    format!("{ADDED}{kind}_{index}")
}
