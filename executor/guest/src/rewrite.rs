//! The forms of a module that every backend gets.

use super::info::{ALL_PAGES, MemoryLimits, ModuleInfo, Table};
use super::layout::Layout;
use super::patch::{Body, Patch};
use super::sections::memory_type;
use crate::error::{refused, unhostable};
use crate::{
    ADDED, Error, Growth, HeapPages, MEMORY, Result, component_reset, read, supplied, text,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    ConstExpr, DataCountSection, DataSection, EntityType, ExportKind, ExportSection, ImportSection,
    Instruction, SectionId, TableType, ValType,
};
use wasmparser::{DataKind, ExternalKind, Operator, Parser, Payload, TypeRef};

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
    check_tables(info)?;
    let mut patch = Patch::of(wasm)?;
    limit_tables(&mut patch, info)?;
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
            leave_out_data(&mut patch)?;
        }
    }
    patch.finish()
}

/// The module without the content of its active segments, see [`leave_out_data`].
pub(super) fn without_data(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    leave_out_data(&mut patch)?;
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
            return Err(kept(name));
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

/// The error of a module that has an export of a name that is kept for added ones.
fn kept(name: &str) -> Error {
    Error::unhostable(format!(
        "it exports '{}': names that begin with {ADDED} are the host's",
        text::name(name)
    ))
}

/// Name of an export that is added.
fn added(kind: ExportKind, index: u32) -> String {
    let kind = if kind == ExportKind::Global { "global" } else { "table" };
    format!("{ADDED}{kind}_{index}")
}

/// Leaves out the content of active segments, for a module whose memory comes with its content.
///
/// A segment costs something in every new instance even when it is empty. So what no instruction
/// names goes altogether. Active segments that instructions name count as dropped after
/// instantiation; one empty segment stands for all of them. Passive ones that are named stay as
/// they are. The guest sees no difference.
pub(super) fn leave_out_data(patch: &mut Patch<'_>) -> Result<()> {
    let wasm = patch.original();
    let named = named_segments(wasm)?;
    let mut left = DataSection::new();
    // New indices of the named segments, and that of the one that stands for active ones.
    let (mut places, mut dropped) = (BTreeMap::new(), None);
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::DataSection(section) = payload? else { continue };
        for (index, segment) in (0..).zip(section) {
            let segment = segment?;
            if !named.contains(&index) {
                continue;
            }
            let next = left.len();
            let place = match segment.kind {
                DataKind::Active { .. } => *dropped.get_or_insert_with(|| {
                    left.active(0, &ConstExpr::i32_const(0), []);
                    next
                }),
                DataKind::Passive => {
                    left.passive(segment.data.iter().copied());
                    next
                }
            };
            places.insert(index, place);
        }
    }
    if left.is_empty() {
        patch.remove(SectionId::Data);
        patch.remove(SectionId::DataCount);
        return Ok(());
    }
    if places.iter().any(|(old, new)| old != new) {
        patch.rewrite(&mut |body: &mut Body<'_>, operator: &Operator<'_>| {
            let place = named_segment(operator).and_then(|old| places.get(&old).copied());
            let Some(data_index) = place else { return false };
            body.emit(&match *operator {
                Operator::MemoryInit { mem, .. } => Instruction::MemoryInit { mem, data_index },
                _ => Instruction::DataDrop(data_index),
            });
            true
        })?;
    }
    // Without a count no instruction names a segment, and nothing is left.
    patch.replace(SectionId::DataCount, &DataCountSection { count: left.len() });
    patch.replace(SectionId::Data, &left);
    Ok(())
}

/// The segment that an instruction names.
fn named_segment(operator: &Operator<'_>) -> Option<u32> {
    match operator {
        Operator::MemoryInit { data_index, .. } | Operator::DataDrop { data_index } => {
            Some(*data_index)
        }
        _ => None,
    }
}

fn named_segments(wasm: &[u8]) -> Result<BTreeSet<u32>> {
    let (mut may_name, mut named) = (false, BTreeSet::new());
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            // Without it no instruction may name a segment.
            Payload::DataCountSection { .. } => may_name = true,
            Payload::CodeSectionEntry(body) if may_name => {
                let mut operators = body.get_operators_reader()?;
                while !operators.eof() {
                    named.extend(named_segment(&operators.read()?));
                }
            }
            _ => {}
        }
    }
    Ok(named)
}

/// Entries that all tables of a module may have together at the start: the limit that
/// the JavaScript interface has for one.
const MOST_AT_START: u64 = 10_000_000;

/// Entries that all tables together may be grown to, where the module names no smaller limit.
const MOST_GROWN: u64 = 1_000_000;

/// Refuses a module whose tables are too large from the start.
fn check_tables(info: &ModuleInfo) -> Result<()> {
    let entries = info.tables.iter().fold(0_u64, |sum, table| sum.saturating_add(table.minimum));
    if entries > MOST_AT_START {
        let reason = format!(
            "its tables have {entries} entries at the start, at most {MOST_AT_START} are hosted"
        );
        return unhostable(reason);
    }
    Ok(())
}

/// Limits the tables that can be grown. A memory has a limit in each guest's set-up; a table that
/// names none could be grown until the host's memory is used up.
fn limit_tables(patch: &mut Patch<'_>, info: &ModuleInfo) -> Result<()> {
    let grown = info.tables.iter().filter(|table| table.grown).count() as u64;
    match MOST_GROWN.checked_div(grown) {
        Some(most) => patch.sections.reencode(&mut Limits(&info.tables, most), &[SectionId::Table]),
        None => Ok(()),
    }
}

/// Limits of the tables that are not encoded yet.
struct Limits<'a>(&'a [Table], u64);

impl Reencode for Limits<'_> {
    type Error = Infallible;

    fn table_type(&mut self, mut ty: wasmparser::TableType) -> Result<TableType, ReencodeError> {
        if let Some((table, rest)) = self.0.split_first() {
            self.0 = rest;
            let most = table.minimum.max(self.1);
            let most = table.maximum.map_or(most, |maximum| maximum.min(most));
            ty.maximum = if table.grown { Some(most) } else { ty.maximum };
        }
        utils::table_type(self, ty)
    }
}

/// Export of a module [with its state exported](with_exported_state) that holds nothing: a host
/// sees by it that there is no state but that under names which begin with [`ADDED`].
pub const STATE_EXPORTED: &str = "__touchstone_state_exported";

/// The guest with exports, under names that begin with [`ADDED`], of all state that a call can
/// change, for hosts that link and call it with a runtime's own interface, and reset its instances
/// in place. Imports and data stay as they are.
///
/// Of a module these are its memories, the mutable globals that it sets, imports or
/// exports, and, if it writes tables, all tables. A component gets the functions of
/// [`ComponentInfo::reset_functions`](super::ComponentInfo::reset_functions), which put handles in
/// order also where it has only those of the host's resources. Fails when the guest cannot be read,
/// has exports with such names, or is a component whose instances cannot be reset in place.
pub fn with_exported_state(wasm: &[u8]) -> Result<Vec<u8>> {
    let info = ModuleInfo::read(wasm)?;
    let Some(mut component) = info.component.clone() else { return with_core_state(wasm, &info) };
    component.count_host_handles();
    refused(component.reset_refusal())?;
    if component.reset_functions().is_empty() {
        return unhostable("the component has no state: no call can leave anything behind");
    }
    component_reset::resettable(wasm, &component, None)
}

fn with_core_state(wasm: &[u8], info: &ModuleInfo) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    let layout = patch.layout();
    if let Some((name, ..)) = layout.exports.iter().find(|(name, ..)| name.starts_with(ADDED)) {
        return Err(kept(name));
    }
    let is_set = |index: u32| {
        let mut globals = info.mutable_globals.iter();
        globals.any(|global| global.index == index && global.written)
    };
    let is_exported = |index: u32| {
        let mut exports = layout.exports.iter();
        exports.any(|(_, kind, of)| *kind == ExternalKind::Global && *of == index)
    };
    let globals = (0..).zip(&layout.globals).filter(|(index, ty)| {
        let is_foreign = *index < layout.imported.globals || is_exported(*index);
        ty.mutable && (is_foreign || is_set(*index))
    });
    let globals: Vec<u32> = globals.map(|(index, _)| index).collect();
    let (memories, tables) = (layout.memories.len() as u32, layout.tables.len() as u32);
    // Those of others may be written by others.
    let tables = if info.writes_tables { tables } else { layout.imported.tables };
    let marker = patch.global(ValType::I32, &ConstExpr::i32_const(0));
    patch.export(STATE_EXPORTED, ExportKind::Global, marker);
    for memory in 0..memories {
        patch.export(&format!("{ADDED}memory_{memory}"), ExportKind::Memory, memory);
    }
    for global in globals {
        patch.export(&format!("{ADDED}global_{global}"), ExportKind::Global, global);
    }
    for table in 0..tables {
        patch.export(&format!("{ADDED}table_{table}"), ExportKind::Table, table);
    }
    patch.finish()
}

#[cfg(test)]
mod data_tests {
    use crate::{GuestModule, HeapPages, ModuleInfo};
    use wasmparser::{Parser, Payload};

    /// Length of the data section that is left, and the number in the data count section.
    fn left(text: &str) -> (Option<u32>, Option<u32>) {
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let wasm = guest.without_data().unwrap();
        // Validates, too.
        assert_eq!(ModuleInfo::read(&wasm).unwrap().data_bytes, 0);
        data_in(&wasm)
    }

    /// The same of a module, or of the last one in a component.
    fn data_in(wasm: &[u8]) -> (Option<u32>, Option<u32>) {
        let (mut data, mut count) = (None, None);
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.unwrap() {
                Payload::DataSection(section) => data = Some(section.count()),
                Payload::DataCountSection { count: found, .. } => count = Some(found),
                _ => {}
            }
        }
        (data, count)
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn segments_that_no_instruction_names_go() {
        let many: String = (0..1000).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        assert_eq!(left(&format!("(module (memory 1) {many} (data \"passive\"))")), (None, None));
        // A function that names none.
        assert_eq!(left(&format!("(module (memory 1) {many} (func))")), (None, None));
        assert_eq!(left("(module (memory 1))"), (None, None));
    }

    /// All forms for Touchstone's memories.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn no_form_for_memories_with_an_image_has_its_segments() {
        let guest = |text: String| {
            let wasm = wat::parse_str(text).unwrap();
            GuestModule::new("guest", &wasm, HeapPages::default()).unwrap()
        };
        let data: String = (0..57_000).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        let module = format!(
            "(memory 1) {data} (global $g (mut i32) (i32.const 0))
             (func (export \"f\") (global.set $g (i32.const 1)))"
        );
        let core = guest(format!("(module {module})"));
        for form in [
            core.without_data().unwrap(),
            core.with_imported_memory().unwrap(),
            core.resettable().unwrap().into_owned(),
            core.with_entries(false).unwrap().unwrap(),
            core.with_host_sized_memory().unwrap(),
        ] {
            assert_eq!(data_in(&form), (None, None));
        }
        let component = guest(format!(
            "(component (core module $m {module}) (core instance (instantiate $m)))"
        ));
        for form in [component.without_data().unwrap(), component.resettable().unwrap().into()] {
            assert_eq!(data_in(&form), (None, None));
        }
        // A start function needs them.
        let started = guest(format!("(module {module} (func $s) (start $s))"));
        assert_eq!(data_in(&started.resettable().unwrap()), (Some(57_000), None));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn an_imported_memory_has_its_content_from_the_host_where_that_is_known() {
        let bytes = |text: &str| {
            let wasm = wat::parse_str(text).unwrap();
            let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
            ModuleInfo::read(&guest.with_imported_memory().unwrap()).unwrap().data_bytes
        };
        assert_eq!(bytes("(module (memory 1) (data (i32.const 9) \"abc\"))"), 0);
        // A start function would see the difference.
        let start = "(module (memory 1) (data (i32.const 9) \"abc\") (func $f) (start $f))";
        assert_eq!(bytes(start), 3);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn what_is_named_stays_under_another_number() {
        let many: String = (0..300).map(|at| format!("(data (i32.const {at}) \"x\")")).collect();
        // 300 active ones, then the named ones, of which two are active.
        let text = format!(
            r#"(module (memory 1) {many} (data $a (i32.const 0) "a") (data $b "b") (data "c")
                 (data $d (i32.const 9) "d") (data $e "e")
                 (func (param i32) (local i64 i64)
                   (memory.init $e (i32.const 0) (i32.const 0) (i32.const 300))
                   (block (data.drop $d)) (i32.store (i32.const 300) (local.get 0))
                   (memory.init $a (i32.const 0) (i32.const 0) (i32.const 0)))
                 (func (data.drop $b)) (func))"#
        );
        let wasm = wat::parse_str(&text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let expected = r#"(module (memory 1) (export "memory" (memory 0))
             (data $a (i32.const 0) "") (data $b "b") (data $e "e")
             (func (param i32) (local i64 i64)
               (memory.init $e (i32.const 0) (i32.const 0) (i32.const 300))
               (block (data.drop $a)) (i32.store (i32.const 300) (local.get 0))
               (memory.init $a (i32.const 0) (i32.const 0) (i32.const 0)))
             (func (data.drop $b)) (func))"#;
        let wasm = |bytes: &[u8]| GuestModule::new("x", bytes, HeapPages::default()).unwrap();
        let expected = wasm(&wat::parse_str(expected).unwrap());
        let found = wasm(&guest.without_data().unwrap());
        let code = |guest: &GuestModule| -> Vec<Vec<u8>> {
            let payloads = Parser::new(0).parse_all(guest.wasm()).map(Result::unwrap);
            payloads
                .filter_map(|payload| match payload {
                    Payload::CodeSectionEntry(body) => Some(body.as_bytes().to_vec()),
                    Payload::DataSection(section) => Some(guest.wasm()[section.range()].to_vec()),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(code(&found), code(&expected));
        assert_eq!(left(&text), (Some(3), Some(3)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn nothing_is_renumbered_where_the_first_ones_are_named() {
        let text = r#"(module (memory 1) (data "a") (data (i32.const 0) "b") (data "c")
             (func (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 0)) (data.drop 1)))"#;
        assert_eq!(left(text), (Some(2), Some(2)));
    }
}

#[cfg(test)]
mod table_tests {
    use super::*;
    use crate::error::Error;
    use crate::{GuestModule, HeapPages};

    fn guest(tables: &str) -> Result<GuestModule> {
        let text = format!(
            "(module {tables}
               (func (export \"grow\") (drop (table.grow 0 (ref.null func) (i32.const 1)))))"
        );
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default())
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn only_tables_that_grow_are_given_a_limit() {
        let limits = |tables| -> Vec<(u64, Option<u64>)> {
            let guest = guest(tables).unwrap();
            guest.info().tables.iter().map(|table| (table.minimum, table.maximum)).collect()
        };
        assert_eq!(
            limits("(table 4 funcref) (table 7 externref)"),
            [(4, Some(MOST_GROWN)), (7, None)]
        );
        assert_eq!(limits("(table 4 10 funcref)"), [(4, Some(10))]);
        assert_eq!(limits("(table 2000000 funcref)"), [(2_000_000, Some(2_000_000))]);
    }

    /// The first entries of tables that grow, and of others.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn tables_keep_their_first_entries() {
        let text = "(module (type $t (func)) (func $f) (elem declare func $f)
            (table 1 4 (ref null $t) (ref.func $f)) (table 2 (ref $t) (ref.func $f)) (table 1 funcref)
            (func (drop (table.grow 1 (ref.func $f) (i32.const 1)))))";
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let limited = wasmprinter::print_bytes(guest.wasm()).unwrap();
        let tables: Vec<&str> =
            limited.lines().map(str::trim).filter(|line| line.starts_with("(table")).collect();
        assert_eq!(
            tables,
            [
                "(table (;0;) 1 4 (ref null $t) ref.func $f)",
                "(table (;1;) 2 1000000 (ref $t) ref.func $f)",
                "(table (;2;) 1 funcref)",
            ]
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn tables_that_are_too_large_are_refused() {
        let refused = guest("(table 6000000 funcref) (table 6000000 funcref)");
        match refused {
            Err(Error::Unhostable { reason }) => assert!(reason.contains("12000000"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod state_tests {
    use super::*;
    use crate::Layout;

    fn exported(text: &str) -> Vec<String> {
        let wasm = with_exported_state(&wat::parse_str(text).unwrap()).unwrap();
        ModuleInfo::read(&wasm).unwrap();
        let layout = Layout::of(&wasm).unwrap();
        let names = layout.exports.iter().map(|(name, ..)| name.clone());
        names.filter(|name| name.starts_with(ADDED) && name != STATE_EXPORTED).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn exactly_what_can_change_is_exported() {
        let names = exported(
            r#"(module
                (import "env" "shared" (global (mut i32))) (import "env" "constant" (global i32))
                (import "env" "memory" (memory 1)) (memory 2)
                (global $unset (mut i32) (i32.const 0)) (global $set (mut i64) (i64.const 0))
                (global (export "theirs") (mut f32) (f32.const 0)) (table 1 funcref)
                (func (export "f") (global.set $set (i64.const 1))))"#,
        );
        let expected = ["memory_0", "memory_1", "global_0", "global_3", "global_4"];
        assert_eq!(names, expected.map(|name| format!("{ADDED}{name}")));
        let written = "(module (import \"env\" \"t\" (table 1 funcref)) (table 1 funcref)
            (func (table.set 1 (i32.const 0) (ref.null func))))";
        assert_eq!(exported(written), [0, 1].map(|table| format!("{ADDED}table_{table}")));
        assert_eq!(exported("(module)"), [""; 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn once_is_enough() {
        let once = with_exported_state(&wat::parse_str("(module)").unwrap()).unwrap();
        assert!(with_exported_state(&once).unwrap_err().to_string().contains(ADDED));
    }

    /// Data and start functions stay, and a driver of handles is added for those of the host.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_component_keeps_its_data_and_may_have_handles() {
        let text = r#"(component
            (import "host:a/b" (instance $host (export "r" (type (sub resource)))))
            (alias export $host "r" (type $r))
            (core func $drop (canon resource.drop $r))
            (core module $m (import "" "drop" (func (param i32))) (memory 1)
                (data (i32.const 0) "data"))
            (core instance (instantiate $m (with "" (instance (export "drop" (func $drop)))))))"#;
        let wasm = with_exported_state(&wat::parse_str(text).unwrap()).unwrap();
        let info = ModuleInfo::read(&wasm).unwrap().component.unwrap();
        assert!(info.has_resources() && info.modules[0].segments.len() == 1);
        assert!(with_exported_state(&wat::parse_str("(component)").unwrap()).is_err());
    }
}
