//! Modules whose memory the host sizes: `memory.size` and `memory.grow` become calls of two
//! imported functions. For runtimes that can keep a size but not lower it.

use super::patch::{Body, Patch};
use super::{ADDED, GuestModule};
use crate::error::{Result, unhostable};
use wasm_encoder::ValType;
use wasmparser::Operator;

/// Module part of the names of both imports.
pub const HOST_SIZED: &str = "__touchstone_memory";
/// Field part of the import that answers `memory.size`: `() -> (i32)`.
pub const HOST_SIZE: &str = "size";
/// Field part of the import that answers `memory.grow`: `(i32) -> (i32)`.
pub const HOST_GROW: &str = "grow";

impl GuestModule {
    /// The module [`resettable`](Self::resettable) with two more imports, [`HOST_SIZE`] and
    /// [`HOST_GROW`] of [`HOST_SIZED`], which come after all others and are called for
    /// `memory.size` and `memory.grow`. Exports keep their order.
    ///
    /// # Errors
    ///
    /// When the guest is a component, or imports something under those names itself.
    pub fn with_host_sized_memory(&self) -> Result<Vec<u8>> {
        debug_assert!(HOST_SIZED.starts_with(ADDED));
        if self.info().component.is_some() {
            return unhostable("it is a component: its memories are inside it");
        }
        if let Some(reason) = self.info().memories_refusal() {
            return unhostable(reason);
        }
        if self.info().imports.iter().any(|import| import.module == HOST_SIZED) {
            return unhostable("it imports what the host adds to modules");
        }
        let wasm = self.resettable()?;
        let mut patch = Patch::of(&wasm)?;
        let size = patch.import(HOST_SIZED, HOST_SIZE, &[], &[ValType::I32]);
        let grow = patch.import(HOST_SIZED, HOST_GROW, &[ValType::I32], &[ValType::I32]);
        patch.rewrite(&mut |body: &mut Body<'_>, operator: &Operator<'_>| {
            match operator {
                Operator::MemorySize { .. } => body.code().call(size),
                Operator::MemoryGrow { .. } => body.code().call(grow),
                _ => return false,
            };
            true
        })?;
        patch.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::{HeapPages, ModuleInfo};

    fn rewritten(text: &str) -> (ModuleInfo, ModuleInfo) {
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        // Validates, too.
        let info = ModuleInfo::read(&guest.with_host_sized_memory().unwrap()).unwrap();
        (guest.info().clone(), info)
    }

    fn names(info: &ModuleInfo) -> Vec<(&str, &str)> {
        info.imports.iter().map(|import| (&*import.module, &*import.name)).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn size_and_growth_become_calls() {
        let (before, after) = rewritten(
            r#"(module (import "env" "f" (func $import (param i64)))
              (memory 1 9) (table 2 funcref) (elem (i32.const 0) $import $f)
              (global $start (mut funcref) (ref.func $f)) (data "passive") (start $g)
              (func $f (export "f") (result i32) (memory.grow (memory.size)))
              (func $g (export "g") (drop (call $f)) (call $import (i64.const 1))
                (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1))))"#,
        );
        assert!(before.grows_memory && !after.grows_memory);
        assert_eq!(names(&after), [("env", "f"), (HOST_SIZED, HOST_SIZE), (HOST_SIZED, HOST_GROW)]);
        assert_eq!(after.exports, before.exports);
        assert_eq!(after.functions, before.functions + 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn modules_without_types_or_imports_get_theirs() {
        for text in ["(module (memory 1))", "(module)", "(module (memory 1) (func))"] {
            let (before, after) = rewritten(text);
            assert_eq!(names(&after), [(HOST_SIZED, HOST_SIZE), (HOST_SIZED, HOST_GROW)]);
            assert_eq!(after.memory, before.memory);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_guest_does_not_have_the_imports_itself() {
        let text = format!("(module (import \"{HOST_SIZED}\" \"f\" (func)))");
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        assert!(matches!(guest.with_host_sized_memory(), Err(Error::Unhostable { .. })));
    }
}
