//! Counts the operators that a guest executes, by rewriting the module. The number is the same on
//! every backend.
//!
//! The rewritten module has a counter as one more global, and code that increases it at the end
//! of each straight piece of code. The count equals that of Wasmtime's fuel with default costs and
//! no cost for the length of bulk operators: one per operator, none for operators that only shape
//! the code ([`cost`]), and one per function entered.

use crate::error::unhostable;
use crate::patch::{Body, Rewrite};
use crate::{ADDED, Feature, GuestModule, ModuleInfo, Patch, Result};
use std::sync::Arc;
use wasm_encoder::{ConstExpr, ExportKind, Function, ValType};
use wasmparser::Operator;

/// Additional export of a counting module: `() -> (i64)`, the operators executed since
/// instantiation.
pub const OPERATORS: &str = "__touchstone_operators";

impl GuestModule {
    /// The module with a count of the executed operators, which the additional export
    /// [`OPERATORS`] returns.
    ///
    /// The count of one call is the difference between the counter after it and before it, less one
    /// for the entry of each function that the host called. Fails when the guest is a component, or
    /// exports something under that name.
    pub fn counting(&self) -> Result<Self> {
        if self.info.component.is_some() {
            return unhostable("it is a component: only core modules can be made to count");
        }
        // They jump in ways of their own, or name types in groups.
        for feature in
            [Feature::FunctionReferences, Feature::GarbageCollection, Feature::Exceptions]
        {
            if self.info.features.has(feature) {
                return unhostable(format!("it uses {feature}, whose operators are not counted"));
            }
        }
        if self.info.exports.iter().any(|export| export.name == OPERATORS) {
            return unhostable(format!("it has an export '{OPERATORS}' already"));
        }
        let wasm = counting(&self.wasm)?;
        let info = Arc::new(ModuleInfo::read(&wasm)?);
        Ok(Self { name: self.name.clone(), sha256: self.sha256, wasm: wasm.into(), info })
    }
}

/// The count of an operator. Those that generate no code of their own count nothing:
/// `nop` and `drop`, and the marks of the code's structure.
fn cost(operator: &Operator<'_>) -> i64 {
    match operator {
        Operator::Nop
        | Operator::Drop
        | Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::Unreachable
        | Operator::Return
        | Operator::Else
        | Operator::End => 0,
        _ => 1,
    }
}

/// `true` if code before the operator and code after it may be executed a different
/// number of times. Calls and traps are none: a call that returns goes on behind it,
/// and what a call that traps has counted is not asked for.
fn ends_straight_code(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
    )
}

fn counting(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut patch = Patch::of(wasm)?;
    let counter = patch.global(ValType::I64, &ConstExpr::i64_const(0));
    patch.rewrite(&mut Counting { counter, pending: 0 })?;
    let ty = patch.ty(&[], &[ValType::I64]);
    let mut read = Function::new([]);
    read.instructions().global_get(counter).end();
    let read = patch.function(ty, &read);
    patch.export(OPERATORS, ExportKind::Func, read);
    // What a reset in place has to reach, like every other mutable global.
    patch.export(&format!("{ADDED}global_{counter}"), ExportKind::Global, counter);
    patch.finish()
}

/// Adds to the counter between operators that stay as they are.
struct Counting {
    counter: u32,
    /// Operators that are not counted yet.
    pending: i64,
}

impl Rewrite for Counting {
    fn enter(&mut self, _: &mut Body<'_>) {
        self.pending = 1;
    }

    fn operator(&mut self, body: &mut Body<'_>, operator: &Operator<'_>) -> bool {
        self.pending += cost(operator);
        if ends_straight_code(operator) && self.pending > 0 {
            let mut code = body.code();
            code.global_get(self.counter).i64_const(self.pending);
            code.i64_add().global_set(self.counter);
            self.pending = 0;
        }
        false
    }
}
