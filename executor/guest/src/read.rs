//! Reads the sections of a core module.

use crate::error::unhostable;
use crate::info::ALL_PAGES;
use crate::{
    CoreModule, Features, FunctionExport, FunctionImport, Layout, MemoryLimits, ModuleInfo,
    MutableGlobal, Result, Segment, SegmentTrap, Signature, Table, ValueType, WASM_PAGE, supplied,
};
use std::collections::BTreeSet;
use std::ops::Range;
use wasmparser::{
    ConstExpr, DataKind, ElementItems, ElementKind, ExternalKind, FunctionBody, Operator, Parser,
    Payload, TypeRef,
};

/// The properties of a module that is valid with these features.
pub(super) fn inspect(wasm: &[u8], features: Features) -> Result<ModuleInfo> {
    let mut reader = Reader::default();
    reader.info.features = features;
    for payload in Parser::new(0).parse_all(wasm) {
        reader.take(payload?)?;
    }
    let imported = reader.layout.imports.len();
    let mut info = reader.finish();
    if imported > info.imports.len() {
        info.supplied = supplied::supplied(wasm)?;
    }
    Ok(info)
}

/// Collects what the sections say; names are resolved at the end.
#[derive(Default)]
pub(super) struct Reader {
    info: ModuleInfo,
    layout: Layout,
    /// Values of the globals that the module defines.
    own_globals: Vec<Option<u32>>,
    /// Passive segments, and all that an instruction drops: of data or not, and their index. To
    /// drop others changes nothing, because instantiation has dropped them.
    passive: BTreeSet<(bool, u32)>,
    dropped: BTreeSet<(bool, u32)>,
    set_globals: BTreeSet<u32>,
    written_tables: BTreeSet<u32>,
    grown_tables: BTreeSet<u32>,
}

impl Reader {
    pub(super) fn take(&mut self, payload: Payload<'_>) -> Result<()> {
        self.layout.take(&payload)?;
        match payload {
            Payload::ImportSection(_) | Payload::MemorySection(_) => {
                let largest = self.layout.memories.iter().map(|memory| memory.initial).max();
                if let Some(pages) = largest.filter(|pages| *pages > ALL_PAGES.into()) {
                    return unhostable(format!(
                        "its memory has {pages} pages at the start, at most 65536 (4 GiB) are hosted"
                    ));
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.own_globals.push(constant(&global?.init_expr));
                }
            }
            Payload::StartSection { .. } => self.info.has_start = true,
            Payload::ElementSection(section) => {
                for (index, element) in (0..).zip(section) {
                    let element = element?;
                    if let ElementKind::Passive = element.kind {
                        self.passive.insert((false, index));
                    }
                    let count = match &element.items {
                        ElementItems::Functions(functions) => functions.count(),
                        ElementItems::Expressions(_, expressions) => {
                            for item in expressions.clone() {
                                self.info.null_elements |= is_null(&item?);
                            }
                            expressions.count()
                        }
                    };
                    if let ElementKind::Active { table_index, offset_expr } = &element.kind {
                        let room = self.layout.tables[table_index.unwrap_or(0) as usize].initial;
                        self.place_segment(offset_expr, count.into(), room, SegmentTrap::Table);
                    }
                }
            }
            Payload::DataSection(section) => {
                for (index, data) in (0..).zip(section) {
                    let data = data?;
                    let DataKind::Active { memory_index, offset_expr } = &data.kind else {
                        self.passive.insert((true, index));
                        continue;
                    };
                    let memory = &self.layout.memories[*memory_index as usize];
                    let (room, length) = (memory.initial * WASM_PAGE as u64, data.data.len());
                    self.place_segment(offset_expr, length as u64, room, SegmentTrap::Memory);
                    if *memory_index == 0 {
                        let end = data.range.end;
                        self.info.data_bytes += length;
                        let (offset, bytes) = (constant(offset_expr), end - length..end);
                        self.info.segments.push(Segment { offset, bytes });
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.body(&body)?,
            _ => {}
        }
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

    fn body(&mut self, body: &FunctionBody<'_>) -> Result<()> {
        let mut operators = body.get_operators_reader()?;
        // The function's own block ends with an `end` too.
        let mut open = 1_u32;
        while !operators.eof() {
            let operator = operators.read()?;
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
                | Operator::TableInit { table, .. } => {
                    self.written_tables.insert(table);
                }
                Operator::TableGrow { table } => {
                    self.grown_tables.insert(table);
                }
                Operator::GlobalSet { global_index } => {
                    self.set_globals.insert(global_index);
                }
                Operator::DataDrop { data_index } => {
                    self.dropped.insert((true, data_index));
                }
                Operator::ElemDrop { elem_index } => {
                    self.dropped.insert((false, elem_index));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `true` if any instruction can write a table's entries or grow it.
    fn writes_tables(&self) -> bool {
        !self.written_tables.is_empty() || !self.grown_tables.is_empty()
    }

    /// The module inside a component whose sections were read, from these bytes of it.
    pub(super) fn core_module(self, bytes: Range<usize>) -> CoreModule {
        let imported = self.layout.imported;
        let tables = &self.layout.tables[imported.tables as usize..];
        let elements = tables.iter().map(|ty| ty.maximum.unwrap_or(ty.initial).max(ty.initial));
        let globals = &self.layout.globals[imported.globals as usize..];
        let memory = self.layout.memories.get(imported.memories as usize);
        CoreModule {
            bytes,
            memory: memory.map(MemoryLimits::of),
            table_elements: elements.max().unwrap_or(0),
            tables: tables.len() as u32,
            grows_tables: !self.grown_tables.is_empty(),
            writes_tables: self.writes_tables(),
            mutable_globals: globals.iter().filter(|ty| ty.mutable).count() as u32,
            drops_segments: !self.passive.is_disjoint(&self.dropped),
            segments: self.info.segments,
            has_start: self.info.has_start,
        }
    }

    fn finish(mut self) -> ModuleInfo {
        let imports = std::mem::take(&mut self.layout.imports).into_iter();
        let Layout { types, functions, imported, exports, globals, tables, memories, .. } =
            &self.layout;
        let signatures: Vec<Option<Signature>> =
            types.iter().map(|ty| ty.as_ref().and_then(Signature::of)).collect();
        let signature = |ty: u32| signatures.get(ty as usize).cloned().flatten();
        let function = |(module, name, ty)| match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                Some(FunctionImport { module, name, signature: signature(ty) })
            }
            _ => None,
        };
        self.info.imports = imports.filter_map(function).collect();
        self.info.functions = functions.len();
        self.info.twofold_import = self.info.find_twofold_import();
        // The first memory is the one that the host reads and writes.
        self.info.memory = memories.first().map(MemoryLimits::of);
        self.info.writes_tables = self.writes_tables();
        self.info.drops_segments = !self.passive.is_disjoint(&self.dropped);
        let globals = (0..).zip(globals).filter(|(_, ty)| ty.mutable).map(|(index, ty)| {
            let is_number = ValueType::of(ty.content_type).is_some_and(ValueType::is_number);
            let written = self.set_globals.contains(&index);
            MutableGlobal { index, export: None, is_number, written }
        });
        self.info.mutable_globals =
            globals.filter(|global| global.is_number || global.written).collect();
        let tables = (0..).zip(tables).map(|(index, ty)| Table {
            index,
            minimum: ty.initial,
            maximum: ty.maximum,
            export: None,
            written: self.written_tables.contains(&index),
            grown: self.grown_tables.contains(&index),
        });
        self.info.tables = tables.collect();
        for (name, kind, index) in exports {
            let (name, place) = (name.clone(), *index as usize);
            match kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    let signature = functions.get(place).and_then(|ty| signature(*ty));
                    let imported = *index < imported.functions;
                    self.info.exports.push(FunctionExport { name, signature, imported });
                }
                ExternalKind::Global => {
                    if name == "__heap_base" {
                        let own = index.checked_sub(imported.globals);
                        let value = own.and_then(|own| self.own_globals.get(own as usize));
                        self.info.heap_base = value.copied().flatten();
                    }
                    // In the order of their indices. There may be a million of each.
                    let globals = &mut self.info.mutable_globals;
                    if let Ok(at) = globals.binary_search_by_key(index, |global| global.index) {
                        globals[at].export = Some(name);
                    }
                }
                ExternalKind::Table => {
                    if let Some(table) = self.info.tables.get_mut(place) {
                        table.export = Some(name);
                    }
                }
                _ => {}
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

fn is_null(expression: &ConstExpr<'_>) -> bool {
    matches!(expression.get_operators_reader().read(), Ok(Operator::RefNull { .. }))
}

/// The value of an expression that is a single `i32.const`.
pub(super) fn constant(expression: &ConstExpr<'_>) -> Option<u32> {
    let mut operators = expression.get_operators_reader();
    match (operators.read().ok()?, operators.read().ok()?) {
        (Operator::I32Const { value }, Operator::End) => Some(value as u32),
        _ => None,
    }
}
