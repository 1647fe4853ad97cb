//! Counts the operators that a guest executes, by rewriting the module. The number is the same on
//! every backend.
//!
//! The rewritten module has a counter as one more global, and code that increases it at the end
//! of each straight piece of code. The count equals that of Wasmtime's fuel with default costs and
//! no cost for the length of bulk operators: one per operator, none for operators that only shape
//! the code ([`cost`]), and one per function entered.

use super::info::ModuleInfo;
use super::rewrite::{Sections, unreadable};
use super::{ADDED, GuestModule};
use crate::error::{Error, Result};
use crate::feature::Feature;
use std::sync::Arc;
use wasm_encoder::{Encode, SectionId};
use wasmparser::{FunctionBody, Operator, Parser, Payload, TypeRef};

/// Additional export of a counting module: `() -> (i64)`, the operators executed since
/// instantiation.
pub const OPERATORS: &str = "__touchstone_operators";

impl GuestModule {
    /// The module with a count of the executed operators, which the additional export
    /// [`OPERATORS`] returns.
    ///
    /// The count of one call is the difference between the counter after it and before
    /// it, less one for the entry of each function that the host called.
    ///
    /// # Errors
    ///
    /// When the guest is a component, or exports something under that name.
    pub fn counting(&self) -> Result<Self> {
        if self.info.component.is_some() {
            return Err(Error::Unhostable {
                reason: "it is a component: only core modules can be made to count".to_owned(),
            });
        }
        // They jump in ways of their own, or name types in groups.
        let unknown =
            [Feature::FunctionReferences, Feature::GarbageCollection, Feature::Exceptions];
        if let Some(feature) = unknown.into_iter().find(|feature| self.info.features.has(*feature))
        {
            return Err(Error::Unhostable {
                reason: format!("it uses {feature}, whose operators are not counted"),
            });
        }
        if self.info.exports.iter().any(|export| export.name == OPERATORS) {
            return Err(Error::Unhostable {
                reason: format!("it has an export '{OPERATORS}' already"),
            });
        }
        let wasm = counting(&self.wasm, &self.info)?;
        let info = Arc::new(ModuleInfo::read(&wasm)?);
        Ok(Self { name: self.name.clone(), sha256: self.sha256, wasm: wasm.into(), info })
    }
}

/// What an operator counts. Those that generate no code of their own count nothing:
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

/// Whether code before the operator and code after it may be executed a different
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

fn counting(wasm: &[u8], info: &ModuleInfo) -> Result<Vec<u8>> {
    let (mut types, mut globals) = (0, 0);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(unreadable)? {
            Payload::TypeSection(section) => types = section.count(),
            Payload::GlobalSection(section) => globals += section.count(),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(unreadable)?;
                    globals += u32::from(matches!(import.ty, TypeRef::Global(_)));
                }
            }
            _ => {}
        }
    }
    let counter = globals;
    let mut sections = Sections::of(wasm)?;
    sections.replace_code(&code(wasm, counter)?);
    // A type `() -> (i64)`, and the function of it that reads the counter.
    sections.append(SectionId::Type, &[0x60, 0, 1, I64]);
    sections.append(SectionId::Function, &encoded(types));
    let mut read = vec![0, GLOBAL_GET];
    counter.encode(&mut read);
    read.push(END);
    sections.append(SectionId::Code, &with_size(&read));
    // A mutable i64, zero at first.
    sections.append(SectionId::Global, &[I64, 1, I64_CONST, 0, END]);
    let functions = u32::try_from(info.functions)
        .map_err(|_| Error::Unhostable { reason: "it has too many functions".to_owned() })?;
    sections.append(SectionId::Export, &export(OPERATORS, 0, functions));
    // What a reset in place has to reach, like every other mutable global.
    sections.append(SectionId::Export, &export(&format!("{ADDED}global_{counter}"), 3, counter));
    Ok(sections.finish())
}

/// All bodies, counting.
fn code(wasm: &[u8], counter: u32) -> Result<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload.map_err(unreadable)? {
            bodies.push(with_size(&counted(wasm, &body, counter)?));
        }
    }
    Ok(bodies)
}

/// A body whose operators stay as they are, byte for byte, with additions to the
/// counter between them.
fn counted(wasm: &[u8], body: &FunctionBody<'_>, counter: u32) -> Result<Vec<u8>> {
    let operators = body.get_operators_reader().map_err(unreadable)?;
    let mut at = operators.original_position();
    let mut counted = wasm[body.range().start..at].to_vec();
    // The entry counts one.
    let mut pending = 1;
    for operator in operators.into_iter_with_offsets() {
        let (operator, start) = operator.map_err(unreadable)?;
        counted.extend(&wasm[at..start]);
        at = start;
        pending += cost(&operator);
        if ends_straight_code(&operator) && pending > 0 {
            counted.push(GLOBAL_GET);
            counter.encode(&mut counted);
            counted.push(I64_CONST);
            pending.encode(&mut counted);
            counted.extend([I64_ADD, GLOBAL_SET]);
            counter.encode(&mut counted);
            pending = 0;
        }
    }
    counted.extend(&wasm[at..body.range().end]);
    Ok(counted)
}

const I64: u8 = 0x7e;
const GLOBAL_GET: u8 = 0x23;
const GLOBAL_SET: u8 = 0x24;
const I64_CONST: u8 = 0x42;
const I64_ADD: u8 = 0x7c;
const END: u8 = 0x0b;

fn export(name: &str, kind: u8, index: u32) -> Vec<u8> {
    let mut entry = Vec::new();
    name.encode(&mut entry);
    entry.push(kind);
    index.encode(&mut entry);
    entry
}

fn encoded(number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode(&mut bytes);
    bytes
}

fn with_size(bytes: &[u8]) -> Vec<u8> {
    let mut sized = Vec::new();
    bytes.encode(&mut sized);
    sized
}
