//! Rewriting of guests for Wasmer.
//!
//! * A start function is removed from the module and exported, because Wasmer runs it before it
//!   exposes the memory, which host functions need. The adapter calls it right after instantiation.
//! * For calls that can be stopped, functions and loops count down a global, and call the host to
//!   check the clock when it reaches zero. Wasmer can stop a guest only by a count of operators,
//!   after which the guest cannot continue.

use std::borrow::Cow;
use touchstone_executor::Error;
use touchstone_executor::guest::{Check, HostCalls, Patch};
use wasm_encoder::ExportKind;

/// Name under which a start function is exported.
pub(crate) const START: &str = "__touchstone_start";
/// Name of the import that looks at the clock: `() -> ()`, the last one.
pub(crate) const CLOCK: (&str, &str) = ("touchstone", "clock");
/// Functions and loops that are entered between two looks at the clock.
const TICKS: i32 = 1000;

/// Changes that a configuration needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The start function becomes an export.
    pub(crate) start: bool,
    /// Functions and loops look at the clock.
    pub(crate) clock: bool,
}

/// The module with the changes; as it was where there are none.
pub(crate) fn rewrite(wasm: &[u8], changes: Changes) -> Result<Cow<'_, [u8]>, Error> {
    if !changes.start && !changes.clock {
        return Ok(Cow::Borrowed(wasm));
    }
    let mut patch = Patch::of(wasm)?;
    if changes.clock {
        let function = patch.import(CLOCK.0, CLOCK.1, &[], &[]);
        let check = Some(Check { function, period: TICKS });
        patch.call_host(HostCalls { check, ..HostCalls::default() })?;
    }
    if changes.start
        && let Some(start) = patch.remove_start()
    {
        patch.export(START, ExportKind::Func, start);
    }
    Ok(Cow::Owned(patch.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::ModuleInfo;

    fn info(text: &str, changes: Changes) -> ModuleInfo {
        // Validates, too.
        ModuleInfo::read(&rewrite(&wat::parse_str(text).unwrap(), changes).unwrap()).unwrap()
    }

    const BOTH: Changes = Changes { start: true, clock: true };

    const FULL: &str = r#"(module
      (import "env" "f" (func $f (param i32)))
      (memory (export "memory") 1) (data "\01")
      (global $g (export "g") (mut i32) (i32.const 1))
      (table 2 funcref) (elem (i32.const 0) $h $start)
      (func $start (call $f (i32.const 1)))
      (func $h (export "h") (result i32)
        (loop $again (br_if $again (i32.eqz (global.get $g))))
        (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1))
        (call $start) (i32.const 7))
      (start $start))"#;

    #[test]
    fn without_changes_the_bytes_stay() {
        let bytes = wat::parse_str(FULL).unwrap();
        let none = Changes { start: false, clock: false };
        assert!(matches!(rewrite(&bytes, none), Ok(Cow::Borrowed(same)) if same == bytes));
    }

    #[test]
    fn a_start_function_becomes_an_export() {
        let found = info(FULL, Changes { start: true, clock: false });
        assert!(!found.has_start);
        assert_eq!(found.imports.len(), 1);
        let names: Vec<_> = found.exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(names, ["h", START]);
    }

    #[test]
    fn the_clock_comes_behind_what_the_guest_imports_and_has() {
        let found = info(FULL, BOTH);
        let last = found.imports.last().unwrap();
        assert_eq!((last.module.as_str(), last.name.as_str()), CLOCK);
        assert_eq!(found.imports.len(), 2);
        let globals: Vec<_> = found.mutable_globals.iter().map(|global| global.index).collect();
        assert_eq!(globals, [0, 1]);
        let h = &found.exports[0];
        assert_eq!(h.signature.as_ref().unwrap().results.len(), 1);
    }

    #[test]
    fn modules_without_the_sections_get_them() {
        for text in [
            "(module)",
            "(module (memory 1))",
            "(module (func))",
            "(module (memory 1) (func))",
            "(module (global i32 (i32.const 1)) (func))",
            "(module (table 1 funcref) (elem (i32.const 0) 0) (func))",
        ] {
            let found = info(text, BOTH);
            assert_eq!(found.imports.len(), 1, "{text}");
            assert_eq!(found.mutable_globals.len(), 1, "{text}");
        }
    }
}
