//! Core modules inside a component that save and restore their own state: their mutable
//! globals and their tables, in shadows of both.
//!
//! All additions are at the end of an index space, so that no index changes.

use super::data;
use super::info::{ALL_PAGES, MemoryLimits};
use super::rewrite::{Sections, unreadable};
use crate::error::{Error, Result};
use wasm_encoder::{
    BlockType, ConstExpr, Encode, EntityType, ExportKind, Function, FunctionSection, GlobalSection,
    GlobalType, ImportSection, Module, RefType, SectionId, TableType, TypeSection, ValType,
};
use wasmparser::{CompositeInnerType, ExternalKind, Parser, Payload, TypeRef};

/// Export that a module has more: `(i32) -> (i32)`, see [`StateCall`].
pub const EXPORT: &str = "__touchstone_reset";

/// What a function that was added for a reset in place is to do: its first parameter. It
/// returns 0, or 1 where a table has grown and the instance has to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StateCall {
    /// Save the state that instantiation has left; called once, before anything else.
    Save = 0,
    /// Bring the saved state back. A memory whose size the host has changed grows by nothing, so
    /// that the runtime asks its host for size and address.
    Restore = 1,
}

/// What a module has, as far as additions have to know.
#[derive(Default)]
pub(super) struct Shape {
    /// Parameters of each type; `None` where it is none of a function.
    pub(super) types: Vec<Option<u32>>,
    /// The type of each function.
    pub(super) functions: Vec<u32>,
    /// Exported functions.
    pub(super) exports: Vec<(String, u32)>,
    globals: u32,
    tables: u32,
    /// Mutable globals that it defines and that are to be restored, by index.
    mutable: Vec<(u32, ValType)>,
    /// Tables that it defines, by index.
    own_tables: Vec<(u32, TableType)>,
    /// Whether it defines a memory whose size has to be noticed; 32-bit addresses only.
    pub(super) has_memory: bool,
}

impl Shape {
    pub(super) fn of(wasm: &[u8]) -> Result<Self> {
        let mut shape = Self::default();
        let unknown =
            |what: &str| Error::Unhostable { reason: format!("{what} of an unknown type") };
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.map_err(unreadable)? {
                Payload::TypeSection(section) => {
                    for group in section {
                        let group = group.map_err(unreadable)?;
                        shape.types.extend(group.types().map(
                            |ty| match &ty.composite_type.inner {
                                CompositeInnerType::Func(ty) => Some(ty.params().len() as u32),
                                _ => None,
                            },
                        ));
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import.map_err(unreadable)?.ty {
                            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => shape.functions.push(ty),
                            TypeRef::Global(_) => shape.globals += 1,
                            TypeRef::Table(_) => shape.tables += 1,
                            TypeRef::Memory(_) | TypeRef::Tag(_) => {}
                        }
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        shape.functions.push(ty.map_err(unreadable)?);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export.map_err(unreadable)?;
                        if matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                            shape.exports.push((export.name.to_owned(), export.index));
                        }
                    }
                }
                Payload::TableSection(section) => {
                    for table in section {
                        let ty = table.map_err(unreadable)?.ty;
                        let ty = TableType::try_from(ty).map_err(|_| unknown("it has a table"))?;
                        shape.own_tables.push((shape.tables, ty));
                        shape.tables += 1;
                    }
                }
                Payload::MemorySection(section) => shape.has_memory |= section.count() > 0,
                Payload::GlobalSection(section) => {
                    for global in section {
                        let ty = global.map_err(unreadable)?.ty;
                        if ty.mutable {
                            let ty = ValType::try_from(ty.content_type)
                                .map_err(|_| unknown("it has a global"))?;
                            shape.mutable.push((shape.globals, ty));
                        }
                        shape.globals += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(shape)
    }

    /// Leaves out all mutable globals but these, in ascending order.
    pub(super) fn restore_only(&mut self, globals: &[u32]) {
        self.mutable.retain(|(global, _)| globals.binary_search(global).is_ok());
    }

    /// Mutable globals, each with the index of its shadow in the module [`resettable`].
    pub(super) fn shadows(&self) -> impl Iterator<Item = (u32, u32)> {
        self.mutable.iter().map(|(global, _)| *global).zip(self.globals..)
    }
}

/// The module with the function [`EXPORT`]. `tables`: whether it restores its tables, too;
/// `limits`: other ones of its memory, which then comes with its content.
///
/// # Errors
///
/// When it has globals or tables of types that hosts here do not know.
pub(super) fn resettable(
    wasm: &[u8],
    tables: bool,
    limits: Option<MemoryLimits>,
) -> Result<Vec<u8>> {
    Ok(with_reset(wasm, &Shape::of(wasm)?, tables, limits)?.finish())
}

/// The sections of the same module, whose shape is known.
pub(super) fn with_reset<'a>(
    wasm: &'a [u8],
    shape: &Shape,
    tables: bool,
    limits: Option<MemoryLimits>,
) -> Result<Sections<'a>> {
    let mut sections = Sections::of(wasm)?;
    if let Some(limits) = limits {
        sections.limit_memories(limits, ALL_PAGES)?;
        data::leave_out(wasm, &mut sections)?;
    }
    let mut state = State { globals: shape.shadows().collect(), ..State::default() };
    let mut shadows = GlobalSection::new();
    let mut shadow = |ty: &ValType| {
        let first = match ty {
            ValType::I32 => ConstExpr::i32_const(0),
            ValType::I64 => ConstExpr::i64_const(0),
            ValType::F32 => ConstExpr::f32_const(0.0.into()),
            ValType::F64 => ConstExpr::f64_const(0.0.into()),
            ValType::V128 => ConstExpr::v128_const(0),
            ValType::Ref(ty) => ConstExpr::ref_null(ty.heap_type),
        };
        shadows.global(GlobalType { val_type: *ty, mutable: true, shared: false }, &first);
    };
    shape.mutable.iter().for_each(|(_, ty)| shadow(ty));
    if shape.has_memory {
        shadow(&ValType::I32);
        state.size = Some(shape.globals + shape.mutable.len() as u32);
    }
    sections.append_all(SectionId::Global, &shadows);
    for (shadow, (table, ty)) in (shape.tables..).zip(shape.own_tables.iter().filter(|_| tables)) {
        // It grows to what the table is after instantiation.
        sections.append(SectionId::Table, &encoded(&TableType { maximum: None, ..*ty }));
        state.tables.push((*table, shadow, ty.element_type));
    }
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], [ValType::I32]);
    sections.append(SectionId::Type, entries(&encoded(&types)));
    sections.append(SectionId::Function, &encoded(&shape.types.len()));
    sections.append(SectionId::Code, &encoded(&state.function()));
    let mut export = encoded(EXPORT);
    ExportKind::Func.encode(&mut export);
    shape.functions.len().encode(&mut export);
    sections.append(SectionId::Export, &export);
    Ok(sections)
}

/// State, each part with the index of its shadow.
#[derive(Default)]
struct State {
    globals: Vec<(u32, u32)>,
    tables: Vec<(u32, u32, RefType)>,
    /// The shadow of its memory's size.
    size: Option<u32>,
}

impl State {
    fn function(&self) -> Function {
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.local_get(0).i32_const(StateCall::Save as i32).i32_eq().if_(BlockType::Empty);
        for (global, shadow) in &self.globals {
            code.global_get(*global).global_set(*shadow);
        }
        for (table, shadow, ty) in &self.tables {
            // A shadow that cannot grow is too small for what is copied: that traps.
            code.ref_null(ty.heap_type);
            code.table_size(*table).table_size(*shadow).i32_sub().table_grow(*shadow).drop();
            code.i32_const(0).i32_const(0).table_size(*table).table_copy(*shadow, *table);
        }
        if let Some(size) = self.size {
            code.memory_size(0).global_set(size);
        }
        code.i32_const(0).return_().end();
        if let Some(size) = self.size {
            code.memory_size(0).global_get(size).i32_ne();
            code.if_(BlockType::Empty).i32_const(0).memory_grow(0).drop().end();
        }
        for (table, shadow, _) in &self.tables {
            code.table_size(*table).table_size(*shadow).i32_ne();
            code.if_(BlockType::Empty).i32_const(1).return_().end();
        }
        for (global, shadow) in &self.globals {
            code.global_get(*shadow).global_set(*global);
        }
        for (table, shadow, _) in &self.tables {
            code.i32_const(0).i32_const(0).table_size(*shadow).table_copy(*table, *shadow);
        }
        code.i32_const(0).end();
        function
    }
}

/// Name under which [`driver`] imports functions.
pub(super) const DRIVEN: &str = "touchstone";
/// Names of those that make and drop handles.
pub(super) const HANDLE: [&str; 2] = ["new", "drop"];
/// Its export.
pub(super) const RUN: &str = "run";

/// A module that calls so many functions [`EXPORT`], imported as `0`, `1` and so on.
///
/// Its own has a second parameter: how many handles to take and give back in descending
/// order, where there are `handles`. If all handles up to that number were free, they are
/// afterwards given out in ascending order again, as in a new table. It traps otherwise.
pub(super) fn driver(functions: u32, handles: bool) -> Module {
    const ONE: u32 = 0;
    const NO_RESULT: u32 = 1;
    const TWO: u32 = 2;
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function([ValType::I32], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I32]);
    let mut imports = ImportSection::new();
    for index in 0..functions {
        imports.import(DRIVEN, &index.to_string(), EntityType::Function(ONE));
    }
    let (take, give) = (functions, functions + 1);
    if handles {
        imports.import(DRIVEN, HANDLE[0], EntityType::Function(ONE));
        imports.import(DRIVEN, HANDLE[1], EntityType::Function(NO_RESULT));
    }
    let own = if handles { functions + 2 } else { functions };
    let mut defined = FunctionSection::new();
    defined.function(TWO);
    let mut exports = wasm_encoder::ExportSection::new();
    exports.export(RUN, ExportKind::Func, own);
    let mut body = Function::new([(1, ValType::I32)]);
    let mut code = body.instructions();
    if handles {
        const COUNT: u32 = 2;
        code.block(BlockType::Empty).local_get(1).i32_eqz().br_if(0);
        code.loop_(BlockType::Empty).i32_const(0).call(take).drop();
        code.local_get(COUNT).i32_const(1).i32_add().local_tee(COUNT);
        code.local_get(1).i32_ne().br_if(0).end();
        code.loop_(BlockType::Empty).local_get(COUNT).call(give);
        code.local_get(COUNT).i32_const(1).i32_sub().local_tee(COUNT).br_if(0).end();
        code.end();
    }
    code.i32_const(0);
    for function in 0..functions {
        code.local_get(0).call(function).i32_or();
    }
    code.end();
    let mut bodies = wasm_encoder::CodeSection::new();
    bodies.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined).section(&exports).section(&bodies);
    module
}

fn encoded(value: &(impl Encode + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

/// The only entry of an encoded section: behind its size and its number of entries, each
/// of which takes one byte here.
fn entries(section: &[u8]) -> &[u8] {
    &section[2..]
}
