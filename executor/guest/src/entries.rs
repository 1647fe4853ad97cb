//! Entries: beside each exported function one that first brings the mutable globals back and
//! then calls it. A host that calls the first function of each use by its entry need not set
//! the globals itself, which takes some runtimes longer than the call.

use super::ADDED;
use super::component_entries::entered;
use super::core_reset::{self, Restored};
use super::patch::Patch;
use crate::error::{Result, unhostable};
use wasm_encoder::{ConstExpr, ExportKind, Function, ValType};

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
    let shadows = core_reset::add_reset(&mut patch, &restored)?;
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
mod tests {
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
