//! Calls of the host in the code of a module: in the place of `memory.size` and `memory.grow`, and
//! to check the time.

use super::patch::{Body, Patch, Rewrite};
use super::{ADDED, GuestModule};
use crate::error::{Result, refused, unhostable};
use wasm_encoder::{BlockType, ConstExpr, ValType};
use wasmparser::Operator;

/// Module part of the names of both imports.
pub const HOST_SIZED: &str = "__touchstone_memory";
/// Field part of the import that answers `memory.size`: `() -> (i32)`.
pub const HOST_SIZE: &str = "size";
/// Field part of the import that answers `memory.grow`: `(i32) -> (i32)`.
pub const HOST_GROW: &str = "grow";

/// Functions that the code of a module is made to call, by their indices in the new module.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostCalls {
    /// Called in the place of `memory.size`: `() -> (i32)`.
    pub size: Option<u32>,
    /// Called in the place of `memory.grow`: `(i32) -> (i32)`.
    pub grow: Option<u32>,
    /// Called from everything that can take long, but for what `work` is called from.
    pub check: Option<Check>,
    /// Called before instructions for which the runtime works: from time to time before those on
    /// ranges, after 4,096 bytes or entries, and before each that grows a memory or a table.
    /// `() -> ()`. Not for modules with 64-bit memories or tables.
    pub work: Option<u32>,
}

/// Bytes of memories, or entries of tables, between two calls. They take about 100 ns, ten times
/// as long as the call.
const WORK: i64 = 4096;
/// Those that an instruction counts as beside its range.
const EACH: i64 = 64;
/// Operators without a function's or a loop's start between two places of a [`Check`].
const STRAIGHT: u32 = 4096;
/// A constant length up to which compilers make loads and stores of an instruction on a range
/// (Cranelift's `translate_memory_copy`).
const SHORT: i32 = 128;

/// A call at the start of each function and loop, after 4,096 operators without one and, unless
/// there is a function for [`work`](HostCalls::work), before each instruction on a range of a
/// memory or a table.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The function: `() -> ()`. It may end the guest, whose instance can be used further.
    pub function: u32,
    /// Number of these places between two calls, but for instructions on ranges, which call at
    /// once.
    pub period: i32,
}

impl Patch<'_> {
    /// Puts these calls into all functions of the module.
    pub fn call_host(&mut self, calls: HostCalls) -> Result<()> {
        let is_counted = |check: &Check| check.period > 1;
        let left = calls
            .check
            .filter(is_counted)
            .map(|check| self.global(ValType::I32, &ConstExpr::i32_const(check.period)));
        let work = calls.work.map(|function| Work {
            function,
            length: self.global(ValType::I32, &ConstExpr::i32_const(0)),
            left: self.global(ValType::I64, &ConstExpr::i64_const(WORK)),
        });
        self.rewrite(&mut Calls { calls, left, work, constant: None, straight: 0 })
    }
}

struct Calls {
    calls: HostCalls,
    /// The global that counts down to the next check.
    left: Option<u32>,
    work: Option<Work>,
    /// The number that the last operator put on the stack.
    constant: Option<i32>,
    /// Operators since the last place of a check.
    straight: u32,
}

/// The function that is called before work, and two globals.
#[derive(Clone, Copy)]
struct Work {
    function: u32,
    /// The length of a range.
    length: u32,
    /// Bytes or entries before the next call.
    left: u32,
}

impl Calls {
    /// Code of a place that counts.
    fn count(&mut self, body: &mut Body<'_>) {
        self.straight = 0;
        let Some(left) = self.left else { return self.check(body) };
        let mut code = body.code();
        code.global_get(left).i32_const(1).i32_sub().global_set(left);
        code.global_get(left).i32_eqz().if_(BlockType::Empty);
        self.check(body);
        body.code().end();
    }

    fn check(&self, body: &mut Body<'_>) {
        let Some(Check { function, period }) = self.calls.check else { return };
        if let Some(left) = self.left {
            body.code().i32_const(period).global_set(left);
        }
        body.code().call(function);
    }

    /// Code before an instruction on a range, whose length is on the stack, and known where it is
    /// constant.
    fn range(&self, body: &mut Body<'_>, constant: Option<i32>) {
        let Some(Work { function, length, left }) = self.work else { return self.check(body) };
        // Compilers have code of their own for it, as long as they see the constant.
        if constant.is_some_and(|constant| (0..=SHORT).contains(&constant)) {
            return;
        }
        let mut code = body.code();
        code.global_set(length).global_get(length);
        code.global_get(left).global_get(length).i64_extend_i32_u().i64_sub();
        code.i64_const(EACH).i64_sub().global_set(left);
        code.global_get(left).i64_const(0).i64_lt_s().if_(BlockType::Empty);
        code.i64_const(WORK).global_set(left).call(function).end();
    }

    /// Code before an instruction that grows something.
    fn growth(&self, body: &mut Body<'_>) {
        if let Some(Work { function, .. }) = self.work {
            body.code().call(function);
        }
    }
}

impl Rewrite for Calls {
    fn enter(&mut self, body: &mut Body<'_>) {
        self.count(body);
    }

    fn operator(&mut self, body: &mut Body<'_>, operator: &Operator<'_>) -> bool {
        let constant = self.constant.take();
        self.straight += 1;
        if self.straight > STRAIGHT {
            self.count(body);
        }
        let mut instead = None;
        match operator {
            Operator::I32Const { value } => self.constant = Some(*value),
            Operator::MemorySize { .. } => instead = self.calls.size,
            Operator::MemoryGrow { .. } => {
                self.growth(body);
                instead = self.calls.grow;
            }
            Operator::TableGrow { .. } => self.growth(body),
            Operator::Loop { .. } => {
                body.keep(operator);
                self.count(body);
                return true;
            }
            Operator::MemoryFill { .. }
            | Operator::MemoryCopy { .. }
            | Operator::MemoryInit { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. } => self.range(body, constant),
            _ => {}
        }
        if let Some(function) = instead {
            body.code().call(function);
        }
        instead.is_some()
    }
}

impl GuestModule {
    /// The module [`resettable`](Self::resettable) with two more imports, [`HOST_SIZE`] and
    /// [`HOST_GROW`] of [`HOST_SIZED`], which come after all others and are called for
    /// `memory.size` and `memory.grow`. Exports keep their order.
    /// Fails when the guest is a component, or imports something under those names itself.
    pub fn with_host_sized_memory(&self) -> Result<Vec<u8>> {
        debug_assert!(HOST_SIZED.starts_with(ADDED));
        if self.info().component.is_some() {
            return unhostable("it is a component: its memories are inside it");
        }
        refused(self.info().memories_refusal())?;
        if self.info().imports.iter().any(|import| import.module == HOST_SIZED) {
            return unhostable("it imports what the host adds to modules");
        }
        let wasm = self.resettable()?;
        let mut patch = Patch::of(&wasm)?;
        let size = patch.import(HOST_SIZED, HOST_SIZE, &[], &[ValType::I32]);
        let grow = patch.import(HOST_SIZED, HOST_GROW, &[ValType::I32], &[ValType::I32]);
        let calls = HostCalls { size: Some(size), grow: Some(grow), ..HostCalls::default() };
        patch.call_host(calls)?;
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
    fn work_of_the_runtime_is_preceded_by_calls() {
        let wasm = wat::parse_str(
            r#"(module (memory 1) (table 1 funcref) (func $f (param i32)
                (memory.fill (local.get 0) (i32.const 0) (local.get 0))
                (memory.copy (local.get 0) (i32.const 0) (i32.const 16))
                (drop (memory.grow (i32.const 1)))
                (drop (table.grow (ref.null func) (i32.const 1)))
                (i32.store (i32.const 0) (i32.const 0))))"#,
        );
        let wasm = wasm.unwrap();
        let mut patch = Patch::of(&wasm).unwrap();
        let work = Some(patch.import(HOST_SIZED, "check", &[], &[]));
        patch.call_host(HostCalls { work, ..HostCalls::default() }).unwrap();
        let changed = patch.finish().unwrap();
        wasmparser::Validator::new().validate_all(&changed).unwrap();
        let text = wasmprinter::print_bytes(&changed).unwrap();
        assert_eq!(text.matches("call 0").count(), 3);
        assert_eq!(text.matches("i64.lt_s").count(), 1, "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn code_without_loops_has_calls_as_well() {
        let steps = "(i32.eqz) ".repeat(3 * (STRAIGHT as usize + 1));
        let text = format!("(module (func (param i32) (result i32) (local.get 0) {steps}))");
        let wasm = wat::parse_str(text).unwrap();
        for (period, turns) in [(1, 0), (10, 4)] {
            let mut patch = Patch::of(&wasm).unwrap();
            let function = patch.import(HOST_SIZED, "check", &[], &[]);
            let check = Some(Check { function, period });
            patch.call_host(HostCalls { check, ..HostCalls::default() }).unwrap();
            let changed = patch.finish().unwrap();
            wasmparser::Validator::new().validate_all(&changed).unwrap();
            let text = wasmprinter::print_bytes(&changed).unwrap();
            // At the start, and three times on the way.
            assert_eq!(text.matches("call 0").count(), 4);
            assert_eq!(text.matches("if").count(), turns);
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
