//! The module that WAMR is given.
//!
//! * Imports and exports get names of one letter and a number. WAMR finds host functions in a list
//!   of the process, and gives a meaning to exports such as `malloc` and `__post_instantiate`.
//! * `__heap_base` and `__data_end` are not exported, and a function that is never called reads the
//!   memory's size. Otherwise WAMR cuts the memory of a module without `memory.grow` off at the
//!   heap base, or makes one page of it.
//! * An import with several results returns none and is followed by calls that fetch each of them:
//!   a function of the host has at most one result in WAMR.
//! * The start function is exported and called by the host, which sets up the memory first.
//! * `memory.grow` becomes a call of the host for a memory of Touchstone's, which WAMR would pass
//!   to `mremap`. Such a memory contains the data already: the module declares an empty one,
//!   without data.
//! * Under a deadline, functions and loops count down, and look at the clock now and then.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::CString;
use touchstone_executor::adapter::Changes;
use touchstone_executor::guest::{Check, GuestModule, HostCalls, MemoryLimits, Patch, ShortName};
use touchstone_executor::{Error, ValueType};
use wasm_encoder::{EntityType, ExportKind, Function, ImportSection, SectionId, ValType};

/// Module part of every import's name.
pub(crate) const HOST: &std::ffi::CStr = c"h";
/// Name of the exported start function.
pub(crate) const START: &std::ffi::CStr = c"s";
/// Functions and turns of loops between two looks at the clock.
const TURNS: i32 = 1000;

/// A guest as WAMR is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// Name of the function behind each export handle.
    pub(crate) functions: Vec<CString>,
    /// The host's own imports, which come after the guest's.
    pub(crate) added: Vec<Added>,
    /// `true` if there is a start function, which the host calls.
    pub(crate) has_start: bool,
}

/// An import that rewriting adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// `memory.grow`: `(i32) -> (i32)`.
    Grow,
    /// Looks at the clock: `() -> ()`.
    Clock,
    /// Returns a result of the last call of a function with several: its place and type.
    Result(usize, ValueType),
}

pub(crate) fn rewrite(guest: &GuestModule, changes: Changes) -> Result<Rewritten, Error> {
    let info = guest.info();
    let mut wasm = Cow::Borrowed(guest.wasm());
    if changes.empty_memory {
        wasm = Cow::Owned(guest.without_data()?);
    }
    let mut patch = Patch::of(&wasm)?;
    let several = several_results(guest);
    import_all(guest, &several, &mut patch);
    let mut added = Vec::new();
    let has_code = info.functions > info.imports.len();
    added.extend((changes.growth && has_code).then_some(Added::Grow));
    added.extend((changes.clock && has_code).then_some(Added::Clock));
    let mut results = BTreeMap::new();
    for (place, ty) in several.values().flat_map(|types| types.iter().enumerate()) {
        results.entry((place, ty.to_string())).or_insert_with(|| {
            added.push(Added::Result(place, *ty));
            info.imports.len() + added.len() - 1
        });
    }
    let mut calls = HostCalls::default();
    for (index, kind) in (info.imports.len()..).zip(&added) {
        let name = ShortName::Import(index).to_string();
        let mut import = |params: &[ValType], results: &[ValType]| {
            patch.import(&HOST.to_string_lossy(), &name, params, results)
        };
        match kind {
            Added::Grow => calls.grow = Some(import(&[ValType::I32], &[ValType::I32])),
            Added::Clock => {
                let function = import(&[], &[]);
                calls.check = Some(Check { function, period: TURNS });
            }
            Added::Result(_, ty) => {
                import(&[], &[encoded(*ty)]);
            }
        }
    }
    for (import, types) in &several {
        let ty = patch.layout().functions[*import as usize];
        let params = patch.layout().function(*import).map_or(0, |ty| ty.params().len());
        let mut body = Function::new([]);
        for param in 0..params as u32 {
            body.instructions().local_get(param);
        }
        body.instructions().call(*import);
        for (place, ty) in types.iter().enumerate() {
            body.instructions().call(results[&(place, ty.to_string())] as u32);
        }
        body.instructions().end();
        let wrapper = patch.function(ty, &body);
        patch.substitute(*import, wrapper);
    }
    if info.memory.is_some() {
        let mut body = Function::new([]);
        body.instructions().memory_size(0).drop().end();
        let ty = patch.ty(&[], &[]);
        patch.function(ty, &body);
    }
    let functions = patch.shorten_exports(info);
    for table in info.tables.iter().filter(|_| info.writes_tables) {
        patch.export(&ShortName::Table(table.index).to_string(), ExportKind::Table, table.index);
    }
    let start = patch.remove_start();
    if let Some(start) = start {
        patch.export(&START.to_string_lossy(), ExportKind::Func, start);
    }
    if let (Some(limits), true) = (info.memory, changes.empty_memory) {
        patch.set_memory(MemoryLimits { minimum: 0, ..limits })?;
    }
    // WAMR would only carry custom sections along.
    patch.remove(SectionId::Custom);
    patch.call_host(calls)?;
    Ok(Rewritten { wasm: patch.finish()?, functions, added, has_start: start.is_some() })
}

/// The result types of the imports that have several, by import.
fn several_results(guest: &GuestModule) -> BTreeMap<u32, Vec<ValueType>> {
    let signatures = (0..).zip(&guest.info().imports);
    let several = signatures.filter_map(|(index, import)| {
        let results = &import.signature.as_ref()?.results;
        (results.len() > 1).then(|| (index, results.to_vec()))
    });
    several.collect()
}

/// The guest's imports under new names.
fn import_all(guest: &GuestModule, several: &BTreeMap<u32, Vec<ValueType>>, patch: &mut Patch<'_>) {
    let mut imports = ImportSection::new();
    for (index, import) in (0..).zip(&guest.info().imports) {
        let ty = match (several.get(&index), &import.signature) {
            (Some(_), Some(signature)) => {
                let params: Vec<_> = signature.params.iter().map(|ty| encoded(*ty)).collect();
                patch.ty(&params, &[])
            }
            _ => patch.layout().functions[index as usize],
        };
        let name = ShortName::Import(index as usize).to_string();
        imports.import(&HOST.to_string_lossy(), &name, EntityType::Function(ty));
    }
    patch.replace(SectionId::Import, &imports);
}

fn encoded(ty: ValueType) -> ValType {
    match ty {
        ValueType::I32 => ValType::I32,
        ValueType::I64 => ValType::I64,
        ValueType::F32 => ValType::F32,
        ValueType::F64 => ValType::F64,
        ValueType::V128 => ValType::V128,
        ValueType::FuncRef => ValType::FUNCREF,
        ValueType::ExternRef => ValType::EXTERNREF,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::{HeapPages, ModuleInfo};

    fn rewritten(text: &str, changes: Changes) -> (Rewritten, ModuleInfo) {
        let bytes = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
        let rewritten = rewrite(&guest, changes).unwrap();
        // Validates, too.
        let info = ModuleInfo::read(&rewritten.wasm).unwrap();
        (rewritten, info)
    }

    fn names(info: &ModuleInfo) -> Vec<&str> {
        info.exports.iter().map(|export| export.name.as_str()).collect()
    }

    #[test]
    fn names_with_a_meaning_for_wamr_go_and_the_memory_is_not_cut() {
        let text = r#"(module (memory (export "memory") 2)
          (global (export "__heap_base") i32 (i32.const 9))
          (func $f (export "malloc") (export "__post_instantiate")) (start $f))"#;
        let (rewritten, info) = rewritten(text, Changes::default());
        assert_eq!(names(&info), ["f0", "s"]);
        assert_eq!(rewritten.functions, [c"f0".to_owned(), c"f0".into()]);
        assert!(rewritten.has_start && !info.has_start && info.heap_base.is_none());
        // The function that reads the size.
        assert_eq!(info.functions, 2);
    }

    #[test]
    fn several_results_are_fetched_one_by_one() {
        let text = r#"(module (import "a" "b" (func $f (param i64) (result i32 f64 i32)))
          (import "a" "c" (func $g (result f64)))
          (table 2 funcref) (elem (i32.const 0) $f $g)
          (func (export "f") (result i32 f64 i32) (call $f (i64.const 1)))
          (func (export "g") (result i32 f64 i32) (return_call $f (i64.const 1))))"#;
        let (rewritten, info) = rewritten(text, Changes { clock: true, ..Changes::default() });
        let fetched = [
            Added::Result(0, ValueType::I32),
            Added::Result(1, ValueType::F64),
            Added::Result(2, ValueType::I32),
        ];
        assert_eq!(rewritten.added[0], Added::Clock);
        assert_eq!(rewritten.added[1..], fetched);
        let signatures = info.imports.iter().map(|import| import.signature.clone().unwrap());
        let results: Vec<_> = signatures.map(|signature| signature.results.len()).collect();
        assert_eq!(results, [0, 1, 0, 1, 1, 1]);
    }

    #[test]
    fn growth_is_a_call_and_the_memory_is_empty() {
        let text = r#"(module (memory 3 5) (data (i32.const 9) "content")
          (global $hidden (mut i32) (i32.const 1)) (table 1 funcref)
          (func (export "a") (result i32) (table.set (i32.const 0) (ref.null func))
            (loop (br_if 0 (memory.grow (i32.const 1)))) (global.get $hidden)))"#;
        let changes = Changes { growth: true, clock: true, empty_memory: true };
        let (rewritten, info) = rewritten(text, changes);
        assert_eq!(rewritten.added, [Added::Grow, Added::Clock]);
        assert!(!info.grows_memory && info.data_bytes == 0);
        assert_eq!(info.memory.map(|limits| limits.minimum), Some(0));
        assert_eq!(info.mutable_globals[0].export.as_deref(), Some("g0"));
        assert_eq!(info.tables[0].export.as_deref(), Some("t0"));
    }
}
