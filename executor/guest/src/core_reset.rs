//! Core modules inside a component that save and restore their own state: their mutable
//! globals and their tables, in shadows of both.
//!
//! All additions are at the end of an index space, so that no index changes.
//!
//! Entries: beside each exported function of a module one that first brings the mutable globals
//! back and then calls it. A host that calls the first function of each use by its entry need not
//! set the globals itself, which takes some runtimes longer than the call.

use crate::error::unhostable;
use crate::{ADDED, Error, MemoryLimits, Patch, Result, entered, rewrite};
use wasm_encoder::{BlockType, ConstExpr, ExportKind, Function, RefType, TableType, ValType};

/// Export that a module has more: `(i32) -> (i32)`, see [`StateCall`].
pub const EXPORT: &str = "__touchstone_reset";

/// The task of a function that was added for a reset in place: its first parameter. The function
/// returns 0, or 1 where a table has grown and the instance has to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StateCall {
    /// Save the state that instantiation has left; called once, before anything else. The memory
    /// grows by nothing.
    Save = 0,
    /// Bring the saved state back. A memory whose size the host has changed grows by nothing, so
    /// that the runtime asks its host for size and address.
    Restore = 1,
}

/// The state of a module that [`EXPORT`] saves and restores.
pub(super) struct Restored<'a> {
    /// The mutable globals that the module defines: all, or only these, in ascending order.
    pub(super) globals: Option<&'a [u32]>,
    /// `true` if the tables that it defines belong to it.
    pub(super) tables: bool,
    /// `true` if a changed size of its memory has to be noticed; 32-bit addresses only.
    pub(super) memory: bool,
}

/// The module with the function [`EXPORT`]. `tables`: whether it restores its tables, too;
/// `limits`: other ones of its memory, which then comes with its content.
pub(super) fn resettable(
    wasm: &[u8],
    tables: bool,
    limits: Option<MemoryLimits>,
) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    if let Some(limits) = limits {
        patch.set_memory(limits)?;
        rewrite::leave_out_data(&mut patch)?;
    }
    let layout = patch.layout();
    let memory = layout.memories.len() > layout.imported.memories as usize;
    add_reset(&mut patch, &Restored { globals: None, tables, memory })?;
    patch.finish()
}

/// Adds the function [`EXPORT`]; returns each restored global with the index of its shadow.
pub(super) fn add_reset(patch: &mut Patch<'_>, restored: &Restored<'_>) -> Result<Vec<(u32, u32)>> {
    let unknown = |what: &str| Error::unhostable(format!("it has a {what} of an unknown type"));
    let layout = patch.layout();
    let own = (layout.imported.globals..).zip(&layout.globals[layout.imported.globals as usize..]);
    let wanted = |index: &u32| restored.globals.is_none_or(|all| all.binary_search(index).is_ok());
    let globals: Vec<_> = own
        .filter(|(index, ty)| ty.mutable && wanted(index))
        .map(|(index, ty)| (index, ValType::try_from(ty.content_type)))
        .collect();
    let own = (layout.imported.tables..).zip(&layout.tables[layout.imported.tables as usize..]);
    let tables: Vec<_> = own
        .filter(|_| restored.tables)
        .map(|(index, ty)| (index, TableType::try_from(*ty)))
        .collect();
    let mut state = State::default();
    for (global, ty) in globals {
        let ty = ty.map_err(|_| unknown("global"))?;
        state.globals.push((global, patch.global(ty, &zero(ty))));
    }
    if restored.memory {
        state.size = Some(patch.global(ValType::I32, &zero(ValType::I32)));
    }
    for (table, ty) in tables {
        let ty = ty.map_err(|_| unknown("table"))?;
        // It grows to what the table is after instantiation.
        let shadow = patch.table(TableType { maximum: None, ..ty });
        state.tables.push((table, shadow, ty.element_type));
    }
    let ty = patch.ty(&[ValType::I32], &[ValType::I32]);
    let function = patch.function(ty, &state.function());
    patch.export(EXPORT, ExportKind::Func, function);
    Ok(state.globals)
}

fn zero(ty: ValType) -> ConstExpr {
    match ty {
        ValType::I32 => ConstExpr::i32_const(0),
        ValType::I64 => ConstExpr::i64_const(0),
        ValType::F32 => ConstExpr::f32_const(0.0.into()),
        ValType::F64 => ConstExpr::f64_const(0.0.into()),
        ValType::V128 => ConstExpr::v128_const(0),
        ValType::Ref(ty) => ConstExpr::ref_null(ty.heap_type),
    }
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
            // The host that listens to the runtime learns which memory it is.
            code.i32_const(0).memory_grow(0).drop();
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
pub(super) fn driver(functions: u32, handles: bool) -> Result<Vec<u8>> {
    const NUMBER: &[ValType] = &[ValType::I32];
    let mut patch = Patch::empty()?;
    for index in 0..functions {
        patch.import(DRIVEN, &index.to_string(), NUMBER, NUMBER);
    }
    let mut body = Function::new([(1, ValType::I32)]);
    let mut code = body.instructions();
    if handles {
        const COUNT: u32 = 2;
        let take = patch.import(DRIVEN, HANDLE[0], NUMBER, NUMBER);
        let give = patch.import(DRIVEN, HANDLE[1], NUMBER, &[]);
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
    let ty = patch.ty(&[ValType::I32; 2], NUMBER);
    let run = patch.function(ty, &body);
    patch.export(RUN, ExportKind::Func, run);
    patch.finish()
}

/// Globals that an entry sets at most: it takes room for each in front of each export.
pub(super) const GLOBALS: usize = 8;

/// Functions, and exports, that a module with entries has fewer than: validators allow a million of
/// each, and modules may have other exports.
pub(super) const FUNCTIONS: usize = 900_000;

/// Name of the entry of an exported function.
pub fn entry(export: &str) -> String {
    format!("{ADDED}entry_{export}")
}

/// The module with entries that bring back these globals, and with the function that saves them
/// ([`StateCall::Save`](super::StateCall::Save)). With `counts`, a global tells how many entries
/// have done that.
pub(super) fn with_entries(wasm: &[u8], globals: &[u32], counts: bool) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    // The host sees to the memory.
    let restored = Restored { globals: Some(globals), tables: false, memory: false };
    let shadows = add_reset(&mut patch, &restored)?;
    let count = counts.then(|| patch.global(ValType::I32, &ConstExpr::i32_const(0)));
    count.into_iter().for_each(|count| patch.export(&entered(), ExportKind::Global, count));
    let exported: Vec<(String, u32)> =
        patch.layout().exported_functions().map(|(name, index)| (name.to_owned(), index)).collect();
    for (name, function) in exported {
        let layout = patch.layout();
        let ty = layout.functions.get(function as usize).copied();
        let params = layout.function(function).map(|ty| ty.params().len() as u32);
        let (Some(ty), Some(params)) = (ty, params) else {
            return unhostable("it exports a function without a type");
        };
        let mut body = Function::new([]);
        let mut code = body.instructions();
        for (global, shadow) in &shadows {
            code.global_get(*shadow).global_set(*global);
        }
        if let Some(count) = count {
            code.global_get(count).i32_const(1).i32_add().global_set(count);
        }
        for param in 0..params {
            code.local_get(param);
        }
        code.call(function).end();
        let own = patch.function(ty, &body);
        patch.export(&entry(&name), ExportKind::Func, own);
    }
    patch.finish()
}

#[cfg(test)]
mod entry_tests {
    use super::*;
    use crate::{GuestModule, HeapPages, ModuleInfo};

    fn guest(wat: &str) -> GuestModule {
        GuestModule::new("guest", &wat::parse_str(wat).unwrap(), HeapPages::default()).unwrap()
    }

    #[test]
    fn each_function_has_an_entry_of_its_type() {
        let guest = guest(
            r#"(module
                (type (sub (struct (field i32))))
                (import "env" "twice" (func $twice (param i64) (result i64 i64)))
                (global i32 (i32.const 1))
                (global $mutable (mut i64) (i64.const 2))
                (func (export "set") (param f32 i64) (global.set $mutable (local.get 1)))
                (export "again" (func $twice)))"#,
        );
        let changed = guest.with_entries(false).unwrap().unwrap();
        wasmparser::Validator::new().validate_all(&changed).unwrap();
        let changed = ModuleInfo::read(&changed).unwrap();
        let signature = |name: &str| {
            let export = changed.exports.iter().find(|export| export.name == name);
            format!("{:?}", export.unwrap().signature)
        };
        for name in ["set", "again"] {
            assert_eq!(signature(&entry(name)), signature(name));
        }
        // Two globals of its own, and a shadow.
        assert_eq!(changed.mutable_globals.len(), 2);
    }

    #[test]
    fn entries_are_counted_where_that_is_asked_for() {
        let guest = guest(
            r#"(module (global $g (mut i32) (i32.const 1))
                (func (export "f") (global.set $g (i32.const 2))))"#,
        );
        for counts in [false, true] {
            let changed = guest.with_entries(counts).unwrap().unwrap();
            wasmparser::Validator::new().validate_all(&changed).unwrap();
            let text = wasmprinter::print_bytes(&changed).unwrap();
            assert_eq!(text.contains(&entered()), counts);
            assert_eq!(text.matches("i32.add").count(), usize::from(counts));
        }
    }

    #[test]
    fn entries_are_only_for_a_few_numbers_that_are_written() {
        let with = |globals: usize, ty: &str, written: usize| {
            let global = format!("(global (mut {ty}) ({ty}.const 0))").repeat(globals);
            let write: String = (0..written)
                .map(|index| format!("(global.set {index} (global.get {index}))"))
                .collect();
            let wat = format!("(module {global} (func (export \"f\") {write}))");
            guest(&wat).with_entries(false).unwrap().is_some()
        };
        assert!(with(1, "i32", 1) && with(GLOBALS, "f64", GLOBALS) && with(3 * GLOBALS, "i64", 1));
        assert!(!with(GLOBALS + 1, "i32", GLOBALS + 1) && !with(1, "i32", 0) && !with(0, "i32", 0));
        // What is not written needs none, whatever it holds.
        let unwritten = "(global (mut (ref func)) (ref.func $f))".repeat(2 * GLOBALS);
        let mixed = format!(
            "(module (global $n (mut i32) (i32.const 0)) {unwritten} (elem declare func $f)
                (func $f (export \"f\") (global.set $n (i32.const 1))))"
        );
        let entered = guest(&mixed).with_entries(false).unwrap().unwrap();
        let features = wasmparser::WasmFeatures::WASM3;
        wasmparser::Validator::new_with_features(features).validate_all(&entered).unwrap();
        let entered = wasmprinter::print_bytes(&entered).unwrap();
        let globals = entered.lines().filter(|line| line.trim_start().starts_with("(global "));
        assert_eq!(globals.count(), 2 + 2 * GLOBALS);
        let reference = "(module (global (mut funcref) (ref.null func))
            (func (export \"f\") (global.set 0 (global.get 0))))";
        assert!(guest(reference).with_entries(false).unwrap().is_none());
    }

    /// A validator allows names of 100,000 bytes.
    #[test]
    fn a_module_that_entries_would_make_invalid_has_none() {
        let named = |length: usize| {
            let name = "n".repeat(length);
            format!(
                r#"(module (global $g (mut i32) (i32.const 1))
                     (func (export "{name}") (global.set $g (i32.const 2))))"#
            )
        };
        assert!(guest(&named(90_000)).with_entries(false).unwrap().is_some());
        assert!(guest(&named(99_990)).with_entries(false).unwrap().is_none());
    }
}
