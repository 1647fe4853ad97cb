//! What WasmEdge is given: the guest with names of ours for its imports, and with
//! counters where WasmEdge has no limits of its own.
//!
//! * Imports become `host.0`, `host.1`, … WasmEdge finds them by name only, and a
//!   module may import one name with two types.
//! * Calls that can be part of a recursion (`calls.rs`) count the stack that they
//!   take and ask the host to stop the guest at the limit.
//! * Under a deadline, every function and every loop counts down, and asks the
//!   host to look at the clock now and then.
//! * A table, an export or a reference holds no import, but a function that calls it. WasmEdge's
//!   compiled code takes 16 bytes of the machine's stack for each call of an import through a table,
//!   and gives them back only when the caller returns.
//! * `memory.grow` is a call of the host (`sizes.rs`).
//! * A start function of a module with a memory is exported and called by the host, which first
//!   looks whether WasmEdge could make the memory.
//! * A memory that Touchstone resets is imported, and brings its content along where the
//!   bytes of the module tell it.
//!
//! Under no deadline, code without recursion that grows no memory and holds no import in a table is
//! carried over as it is.

use crate::calls::Calls;
use crate::frames::Frames;
use std::borrow::Cow;
use touchstone_executor::Error;
use touchstone_executor::guest::{self, ADDED, GuestModule, MEMORY, is_bulk};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, Module, SectionId,
    TypeSection, ValType,
};
use wasmparser::{ExternalKind, FunctionBody, Operator, TypeRef};

type Infallible = core::convert::Infallible;
type Step<T = ()> = Result<T, ReencodeError<Infallible>>;

/// Module part of every import's name.
pub(crate) const HOST: &str = "host";
/// Bytes of stack that counted calls may take, as `calls.rs` reckons them.
pub(crate) const COUNTED: u64 = 512 << 10;
/// Functions and turns of loops between two looks at the clock.
const SLICE: i32 = 10_000;
/// How many of these an instruction counts as that may write all of a memory or table: the host
/// looks at the clock before each.
const BULK: i32 = SLICE;

/// What is changed beside names and recursive calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The memory is imported, and the content of data segments is left out where it is known:
    /// WasmEdge keeps a copy of it in each instance.
    pub(crate) memory_of_ours: bool,
    /// The host looks at the clock.
    pub(crate) clock: bool,
}

/// A guest as WasmEdge is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// The host's own imports, which come after the guest's.
    pub(crate) added: Vec<Added>,
    /// Name of the exported global with the stack that is taken.
    pub(crate) taken: Option<String>,
    /// Whether the start function is exported under the name of [`start`], and not run by WasmEdge.
    pub(crate) has_start: bool,
    /// Bytes of machine stack that have to be there for a call.
    pub(crate) stack: u64,
    /// The most that the arguments of one call may take on the machine's stack, bytes.
    pub(crate) arguments: u64,
}

/// An import that rewriting adds, of type `() -> ()` if nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// The stack is used up.
    StackUsedUp,
    /// Some work was done: is there time left?
    Clock,
    /// `memory.grow`: `(i32) -> (i32)`.
    Grow,
}

/// Name of the global that counts the stack.
fn taken() -> String {
    format!("{ADDED}taken")
}

/// Name of the exported start function.
pub(crate) fn start() -> String {
    format!("{ADDED}start")
}

/// Rewrites a guest. `frames` are those of an earlier compilation; without any, all functions weigh
/// what `calls.rs` reckons.
pub(crate) fn rewrite(
    guest: &GuestModule,
    changes: Changes,
    frames: &Frames,
) -> Result<Rewritten, Error> {
    let unreadable = guest::Error::from;
    let mut calls = Calls::of(guest.wasm(), frames).map_err(unreadable)?;
    let mut added = Vec::new();
    let has_code = guest.info().functions > guest.info().imports.len();
    if !has_code {
        // Nothing calls them.
        calls.held_imports.clear();
    }
    added.extend(calls.recursive.then_some(Added::StackUsedUp));
    added.extend((changes.clock && has_code).then_some(Added::Clock));
    added.extend(guest.info().grows_memory.then_some(Added::Grow));
    let stack = calls.uncounted + if calls.recursive { COUNTED } else { 0 };
    let stack = stack * calls.factor;
    let counts = calls.recursive.then(taken);
    let arguments = calls.arguments;
    let mut rewriter = Rewriter {
        guest,
        changes,
        calls,
        added,
        imported: guest.info().imports.len() as u32,
        types: 0,
        globals: 0,
        imports_done: false,
        globals_done: false,
        body: 0,
        start: None,
    };
    let mut wasm = Cow::Borrowed(guest.wasm());
    if guest.info().memory.is_some()
        && let Some((without, start)) = guest.without_start()?
    {
        // It may write to the memory: the segments stay.
        (wasm, rewriter.start) = (Cow::Owned(without), Some(start));
    } else if changes.memory_of_ours && guest.info().image_refusal().is_none() {
        wasm = Cow::Owned(guest.without_data()?);
    }
    let mut module = Module::new();
    rewriter.parse_core_module(&mut module, wasmparser::Parser::new(0), &wasm).map_err(
        |error| Error::unhostable(format!("it cannot be rewritten for WasmEdge: {error}")),
    )?;
    let has_start = rewriter.start.is_some();
    let (wasm, added) = (module.finish(), rewriter.added);
    Ok(Rewritten { wasm, added, taken: counts, has_start, stack, arguments })
}

struct Rewriter<'a> {
    guest: &'a GuestModule,
    changes: Changes,
    calls: Calls,
    added: Vec<Added>,
    /// Functions that the guest imports.
    imported: u32,
    /// Types of the guest; those of the added functions come behind.
    types: u32,
    /// Globals of the guest; the added ones come behind.
    globals: u32,
    imports_done: bool,
    globals_done: bool,
    /// Functions whose bodies were carried over.
    body: u32,
    /// The guest's start function, where it becomes an export.
    start: Option<u32>,
}

impl Rewriter<'_> {
    /// Index of an added import among the functions.
    fn added(&self, wanted: Added) -> Option<u32> {
        let position = self.added.iter().position(|added| *added == wanted)?;
        Some(self.imported + position as u32)
    }

    /// Index of the function that a table holds for an import.
    fn held(&self, import: u32) -> Option<u32> {
        let all = &self.calls.held_imports;
        let position = all.binary_search_by_key(&import, |held| held.0).ok()?;
        let functions = self.guest.info().functions as u32 + self.added.len() as u32;
        Some(functions + position as u32)
    }

    /// Index of the global that counts the stack.
    fn taken(&self) -> u32 {
        self.globals
    }

    /// Index of the global that counts down to the next look at the clock.
    fn left(&self) -> u32 {
        self.globals + u32::from(self.calls.recursive)
    }

    fn imports(&mut self) -> Step<ImportSection> {
        self.imports_done = true;
        let mut section = ImportSection::new();
        if let (Some(limits), true) = (self.guest.info().memory, self.changes.memory_of_ours) {
            let ty = wasm_encoder::MemoryType {
                minimum: limits.minimum.into(),
                maximum: limits.maximum.map(Into::into),
                memory64: false,
                shared: false,
                page_size_log2: None,
            };
            section.import(HOST, MEMORY, ty);
        }
        let mut types = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(self.guest.wasm()) {
            if let wasmparser::Payload::ImportSection(imports) = payload? {
                for import in imports.into_imports() {
                    if let TypeRef::Func(ty) = import?.ty {
                        types.push(ty);
                    }
                }
            }
        }
        types.extend(self.added.iter().map(|added| match added {
            Added::StackUsedUp | Added::Clock => self.types,
            Added::Grow => self.types + 1,
        }));
        for (index, ty) in types.into_iter().enumerate() {
            section.import(HOST, &index.to_string(), EntityType::Function(ty));
        }
        Ok(section)
    }

    fn append_globals(&mut self, globals: &mut GlobalSection) {
        self.globals_done = true;
        self.globals = globals.len();
        let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        if self.calls.recursive {
            globals.global(ty, &ConstExpr::i32_const(0));
        }
        if self.added(Added::Clock).is_some() {
            globals.global(ty, &ConstExpr::i32_const(SLICE));
        }
    }

    /// Counts down, and asks the host at the end.
    fn count_down(&self, function: &mut Function, by: i32) {
        let (Some(clock), left) = (self.added(Added::Clock), self.left()) else { return };
        for instruction in [
            Instruction::GlobalGet(left),
            Instruction::I32Const(by),
            Instruction::I32Sub,
            Instruction::GlobalSet(left),
            Instruction::GlobalGet(left),
            Instruction::I32Const(0),
            Instruction::I32LeS,
            Instruction::If(BlockType::Empty),
            Instruction::I32Const(SLICE),
            Instruction::GlobalSet(left),
            Instruction::Call(clock),
            Instruction::End,
        ] {
            function.instruction(&instruction);
        }
    }

    /// Takes stack before a call, and asks the host when it is used up.
    fn take(&self, function: &mut Function, bytes: i32) {
        let (Some(used_up), taken) = (self.added(Added::StackUsedUp), self.taken()) else { return };
        for instruction in [
            Instruction::GlobalGet(taken),
            Instruction::I32Const(bytes),
            Instruction::I32Add,
            Instruction::GlobalSet(taken),
            Instruction::GlobalGet(taken),
            Instruction::I32Const(COUNTED as i32),
            Instruction::I32GtU,
            Instruction::If(BlockType::Empty),
            Instruction::Call(used_up),
            Instruction::End,
        ] {
            function.instruction(&instruction);
        }
    }

    /// Gives back after a call what it took.
    fn give_back(&self, function: &mut Function, bytes: i32) {
        let taken = self.taken();
        for instruction in [
            Instruction::GlobalGet(taken),
            Instruction::I32Const(bytes),
            Instruction::I32Sub,
            Instruction::GlobalSet(taken),
        ] {
            function.instruction(&instruction);
        }
    }

    /// Bytes that a call counts, no more than what stops the guest at once.
    fn counted(&self, caller: u32, operator: &Operator<'_>) -> Option<i32> {
        let bytes = match operator {
            Operator::Call { function_index } => self.calls.direct(caller, *function_index),
            Operator::CallIndirect { type_index, .. } => self.calls.indirect(caller, *type_index),
            _ => None,
        };
        bytes.map(|bytes| bytes.min(COUNTED + 1) as i32)
    }
}

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Step<u32> {
        if let Some(held) = self.held(index) {
            return Ok(held);
        }
        let behind = if index < self.imported { 0 } else { self.added.len() as u32 };
        Ok(index + behind)
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Step {
        utils::parse_type_section(self, types, section)?;
        self.types = types.len();
        if !self.added.is_empty() {
            types.ty().function([], []);
            types.ty().function([ValType::I32], [ValType::I32]);
        }
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Step {
        utils::parse_function_section(self, functions, section)?;
        for (_, ty, _) in &self.calls.held_imports {
            functions.function(*ty);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Step {
        utils::parse_code_section(self, code, section)?;
        for (import, _, params) in &self.calls.held_imports {
            let mut function = Function::new([]);
            for param in 0..*params {
                function.instruction(&Instruction::LocalGet(param));
            }
            function.instruction(&Instruction::Call(*import)).instruction(&Instruction::End);
            code.function(&function);
        }
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        _: wasmparser::ImportSectionReader<'_>,
    ) -> Step {
        *imports = self.imports()?;
        Ok(())
    }

    /// Sections that the guest does not have.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Step {
        let next = before.map_or(u8::MAX, order);
        if !self.imports_done && next > order(SectionId::Import) {
            let imports = self.imports()?;
            if !imports.is_empty() {
                module.section(&imports);
            }
        }
        if !self.globals_done && next > order(SectionId::Global) {
            let mut globals = GlobalSection::new();
            self.append_globals(&mut globals);
            if !globals.is_empty() {
                module.section(&globals);
            }
        }
        Ok(())
    }

    fn parse_memory_section(
        &mut self,
        memories: &mut wasm_encoder::MemorySection,
        section: wasmparser::MemorySectionReader<'_>,
    ) -> Step {
        if self.changes.memory_of_ours {
            return Ok(());
        }
        utils::parse_memory_section(self, memories, section)
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Step {
        utils::parse_global_section(self, globals, section)?;
        self.append_globals(globals);
        Ok(())
    }

    /// What the host calls or resets; a name costs at every instantiation.
    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Step {
        for export in section {
            let export = export?;
            let (kind, index) = match export.kind {
                ExternalKind::Func | ExternalKind::FuncExact => {
                    (ExportKind::Func, self.function_index(export.index)?)
                }
                ExternalKind::Memory if export.name == MEMORY => (ExportKind::Memory, 0),
                ExternalKind::Table => (ExportKind::Table, export.index),
                // In the order of their indices; there may be a million of each.
                ExternalKind::Global
                    if self
                        .guest
                        .info()
                        .mutable_globals
                        .binary_search_by_key(&export.index, |global| global.index)
                        .is_ok() =>
                {
                    (ExportKind::Global, export.index)
                }
                _ => continue,
            };
            exports.export(export.name, kind, index);
        }
        if let Some(function) = self.start {
            exports.export(&start(), ExportKind::Func, self.function_index(function)?);
        }
        if self.calls.recursive {
            exports.export(&taken(), ExportKind::Global, self.taken());
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Step {
        let caller = self.imported + self.body;
        self.body += 1;
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        self.count_down(&mut function, 1);
        while !operators.eof() {
            let operator = operators.read()?;
            let is_loop = matches!(operator, Operator::Loop { .. });
            let counted = self.counted(caller, &operator);
            if is_bulk(&operator) {
                self.count_down(&mut function, BULK);
            }
            if let Some(bytes) = counted {
                self.take(&mut function, bytes);
            }
            let instruction = match (&operator, self.added(Added::Grow)) {
                (Operator::MemoryGrow { .. }, Some(grow)) => Instruction::Call(grow),
                // Nothing stands in front of an import that is called by its name and returned from.
                (Operator::Call { function_index }, _) if *function_index < self.imported => {
                    Instruction::Call(*function_index)
                }
                _ => self.instruction(operator)?,
            };
            function.instruction(&instruction);
            if let Some(bytes) = counted {
                self.give_back(&mut function, bytes);
            }
            if is_loop {
                self.count_down(&mut function, 1);
            }
        }
        code.function(&function);
        Ok(())
    }

    /// Nothing but names, which WasmEdge would only carry along.
    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Step {
        Ok(())
    }
}

/// Place of a section in a module.
fn order(id: SectionId) -> u8 {
    match id {
        SectionId::Tag => 6,
        id if id as u8 > SectionId::Memory as u8 => id as u8 + 1,
        id => id as u8,
    }
}

#[cfg(test)]
mod tests;
