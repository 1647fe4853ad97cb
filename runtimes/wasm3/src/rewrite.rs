//! The module that Wasm3 is given.
//!
//! * Imports and exported functions get names of one letter and a number: Wasm3 finds both by name
//!   only, and keeps one name per function or global.
//! * `memory.grow` becomes a call to the host for a memory of Touchstone's, which Wasm3 would pass
//!   to `realloc`.
//! * A memory of Touchstone's contains the data already: the module declares an empty one, without
//!   data.
//! * Under a deadline, every function and every loop begins with a call to the host, which looks at
//!   the clock in every 256th. Another call comes before instructions on ranges, after 4,096 bytes,
//!   and before growth. Wasm3 does not call its own hook, `m3_Yield`, in loops.

use std::borrow::Cow;
use std::ffi::CString;
use touchstone_executor::Error;
use touchstone_executor::adapter::Changes;
use touchstone_executor::guest::{
    Check, GuestModule, HostCalls, MEMORY, MemoryLimits, Patch, ShortName,
};
use wasm_encoder::{EntityType, ExportKind, ImportSection, SectionId, ValType};

/// Module part of every import's name.
pub(crate) const HOST: &std::ffi::CStr = c"h";

/// A guest as Wasm3 is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// Name of the function behind each export handle.
    pub(crate) functions: Vec<CString>,
    /// The host's own imports, which come after the guest's.
    pub(crate) added: Vec<Added>,
}

/// An import that rewriting adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// `memory.grow`: `(i32) -> (i32)`.
    Grow,
    /// Looks at the clock from time to time: `() -> ()`.
    Turn,
    /// Looks at the clock: `() -> ()`.
    Work,
}

pub(crate) fn rewrite(guest: &GuestModule, changes: Changes) -> Result<Rewritten, Error> {
    let mut wasm = Cow::Borrowed(guest.wasm());
    if changes.empty_memory {
        wasm = Cow::Owned(guest.without_data()?);
    }
    let mut patch = Patch::of(&wasm)?;
    let host = HOST.to_str().unwrap_or_default();
    let mut imports = ImportSection::new();
    let imported = patch.layout().imported.functions as usize;
    for (index, ty) in patch.layout().functions[..imported].iter().enumerate() {
        let name = ShortName::Import(index).to_string();
        imports.import(host, &name, EntityType::Function(*ty));
    }
    patch.replace(SectionId::Import, &imports);
    let mut calls = HostCalls::default();
    let mut added = Vec::new();
    // Without types there are no functions that could call them.
    if !patch.layout().types.is_empty() {
        added.extend(changes.growth.then_some(Added::Grow));
        added.extend([Added::Turn, Added::Work].into_iter().filter(|_| changes.clock));
    }
    for (index, kind) in (imported..).zip(&added) {
        let (name, i32) = (ShortName::Import(index).to_string(), [ValType::I32]);
        match kind {
            Added::Grow => calls.grow = Some(patch.import(host, &name, &i32, &i32)),
            // Counted by the host: a global of the guest takes Wasm3 six operations.
            Added::Turn => {
                let function = patch.import(host, &name, &[], &[]);
                calls.check = Some(Check { function, period: 1 });
            }
            Added::Work => calls.work = Some(patch.import(host, &name, &[], &[])),
        }
    }
    let functions = patch.shorten_exports(guest.info());
    if guest.info().memory.is_some() {
        patch.export(MEMORY, ExportKind::Memory, 0);
    }
    if let (Some(limits), true) = (guest.info().memory, changes.empty_memory) {
        patch.set_memory(MemoryLimits { minimum: 0, ..limits })?;
    }
    // Wasm3 would only look through names.
    patch.remove(SectionId::Custom);
    patch.call_host(calls)?;
    Ok(Rewritten { wasm: patch.finish()?, functions, added })
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::{HeapPages, ModuleInfo};

    const ALL: Changes = Changes { growth: true, clock: true, empty_memory: true };

    fn rewritten(text: &str, changes: Changes) -> (Rewritten, ModuleInfo) {
        let bytes = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
        let rewritten = rewrite(&guest, changes).unwrap();
        // Validates, too.
        let info = ModuleInfo::read(&rewritten.wasm).unwrap();
        (rewritten, info)
    }

    #[test]
    fn nothing_but_names_changes_where_nothing_else_has_to() {
        let changes = Changes { growth: false, clock: false, empty_memory: false };
        let text = r#"(module
          (import "env" "twice" (func (param i32)))
          (import "env" "twice" (func (param i64)))
          (memory 3 5) (data (i32.const 9) "content")
          (func $f (export "a") (export "b") (drop (memory.grow (i32.const 1))))
          (func (export "c") (call $f)))"#;
        let (rewritten, info) = rewritten(text, changes);
        let names: Vec<_> = info.imports.iter().map(|import| import.name.as_str()).collect();
        assert_eq!(names, ["i0", "i1"]);
        // One name per function, however many it had.
        assert_eq!(rewritten.functions, [c"f0".to_owned(), c"f0".into(), c"f2".into()]);
        assert!(info.grows_memory);
        assert_eq!(info.data_bytes, 7);
        assert_eq!(info.memory.map(|limits| limits.minimum), Some(3));
    }

    #[test]
    fn growth_and_clock_become_calls_and_the_memory_is_empty() {
        let text = r#"(module (memory 3 5) (data (i32.const 9) "content") (data "passive")
          (global $hidden (mut i32) (i32.const 1))
          (table 1 funcref) (elem (i32.const 0) $f)
          (func $f (export "a") (result i32)
            (loop (br_if 0 (memory.grow (i32.const 1)))) (global.get $hidden)))"#;
        let (rewritten, info) = rewritten(text, ALL);
        assert_eq!(rewritten.added, [Added::Grow, Added::Turn, Added::Work]);
        assert_eq!(info.imports.len(), 3);
        assert!(!info.grows_memory);
        assert_eq!((info.data_bytes, info.segments.len()), (0, 0));
        assert_eq!(info.memory.map(|limits| limits.minimum), Some(0));
        assert_eq!(info.mutable_globals[0].export.as_deref(), Some("g0"));
        assert_eq!(info.nesting, 1);
    }

    #[test]
    fn a_module_without_code_stays_without_imports() {
        let (rewritten, info) = rewritten("(module (memory 1))", ALL);
        assert!(rewritten.functions.is_empty() && info.imports.is_empty());
        assert!(rewritten.added.is_empty());
        assert_eq!(info.nesting, 0);
    }

    #[test]
    fn nesting_is_counted_where_it_is_deepest() {
        let text = "(module (func (block) (loop (if (i32.const 1) (then (block)) (else)))) (func))";
        let changes = Changes { growth: false, clock: false, empty_memory: false };
        assert_eq!(rewritten(text, changes).1.nesting, 3);
    }
}
