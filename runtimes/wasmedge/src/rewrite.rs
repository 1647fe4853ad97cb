//! The module that WasmEdge is given.
//!
//! * Imports become `host.0`, `host.1`, …: WasmEdge finds them by name only, and a module may
//!   import one name with two types.
//! * Tables, references and exports hold, instead of an import, a function that calls it.
//!   WasmEdge's compiled code takes 16 bytes of the thread's stack for each call of an import
//!   through a table, and gives them back only when the caller returns.
//! * `memory.grow` is a call of the host (`sizes.rs`).
//! * The start function is exported and called by the host, which first checks that WasmEdge could
//!   make the memory.
//! * A memory that Touchstone resets is imported, and data segments with known content are left
//!   out.
//! * Under a deadline, every function and every loop counts down, and calls the host now and then.
//!
//! All other code is carried over byte for byte. Nothing limits recursion.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem::replace;
use touchstone_executor::Error;
use touchstone_executor::guest::{self, ADDED, GuestModule, MEMORY, is_bulk};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, Module, SectionId,
    TypeSection, ValType,
};
use wasmparser::{
    BinaryReaderError, ElementItems, ElementKind, ExternalKind, FunctionBody, Operator,
    OperatorsReader, Parser, Payload, TypeRef,
};

type Infallible = core::convert::Infallible;
type Step<T = ()> = Result<T, ReencodeError<Infallible>>;

/// Module part of every import's name.
pub(crate) const HOST: &str = "host";
/// Functions and turns of loops between two looks at the clock.
const SLICE: i32 = 10_000;
/// How many of these an instruction counts as that may write all of a memory or table: the host
/// looks at the clock before each.
const BULK: i32 = SLICE;

/// Changes that a strategy and a configuration need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The memory is imported, and data segments with known content are left out: WasmEdge keeps a
    /// copy of them in each instance.
    pub(crate) memory_of_ours: bool,
    /// The host looks at the clock.
    pub(crate) clock: bool,
}

/// A guest as WasmEdge is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// The host's own imports, which come after the guest's.
    pub(crate) added: Vec<Added>,
    /// The start function is exported under the name of [`start`], and not run by WasmEdge.
    pub(crate) has_start: bool,
}

/// An import that rewriting adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// Looks at the clock: `() -> ()`.
    Clock,
    /// `memory.grow`: `(i32) -> (i32)`.
    Grow,
}

/// Name of the exported start function.
pub(crate) fn start() -> String {
    format!("{ADDED}start")
}

/// Rewrites a guest.
pub(crate) fn rewrite(guest: &GuestModule, changes: Changes) -> Result<Rewritten, Error> {
    let info = guest.info();
    let has_code = info.functions > info.imports.len();
    let mut added = Vec::new();
    added.extend((changes.clock && has_code).then_some(Added::Clock));
    added.extend(info.grows_memory.then_some(Added::Grow));
    let (wasm, start) = match guest.without_start()? {
        // It may write to the memory: the segments stay.
        Some((wasm, start)) => (Cow::Owned(wasm), Some(start)),
        None if changes.memory_of_ours && info.image_refusal().is_none() => {
            (Cow::Owned(guest.without_data()?), None)
        }
        None => (Cow::Borrowed(guest.wasm()), None),
    };
    let (import_types, held_imports) = imports(guest).map_err(guest::Error::from)?;
    let mut rewriter = Rewriter {
        guest,
        changes,
        added,
        import_types,
        held_imports,
        types: 0,
        globals: 0,
        has_imports: false,
        has_globals: false,
        has_exports: false,
        start,
    };
    let mut module = Module::new();
    rewriter.parse_core_module(&mut module, Parser::new(0), &wasm).map_err(|error| {
        Error::unhostable(format!("it cannot be rewritten for WasmEdge: {error}"))
    })?;
    let added = rewriter.added;
    Ok(Rewritten { wasm: module.finish(), added, has_start: start.is_some() })
}

/// The types of the imported functions, and the imports that a table, a global or a reference may
/// come to hold, in ascending order.
fn imports(guest: &GuestModule) -> Result<(Vec<u32>, Vec<u32>), BinaryReaderError> {
    let (mut types, mut held) = (Vec::new(), BTreeSet::new());
    for payload in Parser::new(0).parse_all(guest.wasm()) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if let TypeRef::Func(ty) = import?.ty {
                        types.push(ty);
                    }
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    references(global?.init_expr.get_operators_reader(), &mut held)?;
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    let element = element?;
                    match element.items {
                        // Only `ref.func` uses them, which is looked for in the code.
                        _ if matches!(element.kind, ElementKind::Declared) => {}
                        ElementItems::Functions(functions) => {
                            for function in functions {
                                held.insert(function?);
                            }
                        }
                        ElementItems::Expressions(_, expressions) => {
                            for expression in expressions {
                                references(expression?.get_operators_reader(), &mut held)?;
                            }
                        }
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                references(body.get_operators_reader()?, &mut held)?;
            }
            _ => {}
        }
    }
    let has_code = guest.info().functions > types.len();
    held.retain(|function| has_code && (*function as usize) < types.len());
    Ok((types, held.into_iter().collect()))
}

/// Adds the functions that `ref.func` names.
fn references(
    mut operators: OperatorsReader<'_>,
    held: &mut BTreeSet<u32>,
) -> Result<(), BinaryReaderError> {
    while !operators.eof() {
        if let Operator::RefFunc { function_index } = operators.read()? {
            held.insert(function_index);
        }
    }
    Ok(())
}

struct Rewriter<'a> {
    guest: &'a GuestModule,
    changes: Changes,
    added: Vec<Added>,
    /// Types of the functions that the guest imports.
    import_types: Vec<u32>,
    /// Imports that are wrapped in a function, in ascending order.
    held_imports: Vec<u32>,
    /// Number of the guest's types, which those of the added functions follow.
    types: u32,
    /// Number of the guest's globals, which the added one follows.
    globals: u32,
    /// These sections were written.
    has_imports: bool,
    has_globals: bool,
    has_exports: bool,
    /// The guest's start function, which becomes an export.
    start: Option<u32>,
}

impl Rewriter<'_> {
    /// Number of functions that the guest imports.
    fn imported(&self) -> u32 {
        self.import_types.len() as u32
    }

    /// Index of an added import among the functions.
    fn added(&self, wanted: Added) -> Option<u32> {
        let position = self.added.iter().position(|added| *added == wanted)?;
        Some(self.imported() + position as u32)
    }

    /// Index of the function that wraps an import.
    fn held(&self, import: u32) -> Option<u32> {
        let position = self.held_imports.binary_search(&import).ok()?;
        let functions = self.guest.info().functions as u32 + self.added.len() as u32;
        Some(functions + position as u32)
    }

    fn imports(&self) -> ImportSection {
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
        let added = self.added.iter().map(|added| match added {
            Added::Clock => self.types,
            Added::Grow => self.types + 1,
        });
        for (index, ty) in self.import_types.iter().copied().chain(added).enumerate() {
            section.import(HOST, &index.to_string(), EntityType::Function(ty));
        }
        section
    }

    fn add_global(&self, globals: &mut GlobalSection) {
        if self.added(Added::Clock).is_some() {
            let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
            globals.global(ty, &ConstExpr::i32_const(SLICE));
        }
    }

    fn add_export(&mut self, exports: &mut ExportSection) -> Step {
        if let Some(function) = self.start {
            exports.export(&start(), ExportKind::Func, self.function_index(function)?);
        }
        Ok(())
    }

    /// Counts down, and calls the host at the end.
    fn count_down(&self, function: &mut Function, by: i32) {
        let (Some(clock), left) = (self.added(Added::Clock), self.globals) else { return };
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
}

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Step<u32> {
        if let Some(held) = self.held(index) {
            return Ok(held);
        }
        let behind = if index < self.imported() { 0 } else { self.added.len() as u32 };
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
        for import in &self.held_imports {
            functions.function(self.import_types[*import as usize]);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Step {
        utils::parse_code_section(self, code, section)?;
        for import in &self.held_imports {
            let signature = self.guest.info().imports[*import as usize].signature.as_ref();
            let mut function = Function::new([]);
            for param in 0..signature.map_or(0, |ty| ty.params.len()) as u32 {
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
        self.has_imports = true;
        *imports = self.imports();
        Ok(())
    }

    /// Adds the sections that the guest lacks.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Step {
        let next = before.map_or(u8::MAX, order);
        if next > order(SectionId::Import) && !replace(&mut self.has_imports, true) {
            let imports = self.imports();
            if !imports.is_empty() {
                module.section(&imports);
            }
        }
        if next > order(SectionId::Global) && !replace(&mut self.has_globals, true) {
            let mut globals = GlobalSection::new();
            self.add_global(&mut globals);
            if !globals.is_empty() {
                module.section(&globals);
            }
        }
        if next > order(SectionId::Export) && !replace(&mut self.has_exports, true) {
            let mut exports = ExportSection::new();
            self.add_export(&mut exports)?;
            if !exports.is_empty() {
                module.section(&exports);
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
        self.has_globals = true;
        utils::parse_global_section(self, globals, section)?;
        self.globals = globals.len();
        self.add_global(globals);
        Ok(())
    }

    /// Keeps what the host calls or resets; a name costs at every instantiation.
    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Step {
        self.has_exports = true;
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
        self.add_export(exports)
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Step {
        if self.added.is_empty() && self.held_imports.is_empty() {
            // Every index is what it was.
            code.raw(body.as_bytes());
            return Ok(());
        }
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        self.count_down(&mut function, 1);
        while !operators.eof() {
            let operator = operators.read()?;
            let is_loop = matches!(operator, Operator::Loop { .. });
            if is_bulk(&operator) {
                self.count_down(&mut function, BULK);
            }
            let instruction = match (&operator, self.added(Added::Grow)) {
                (Operator::MemoryGrow { .. }, Some(grow)) => Instruction::Call(grow),
                // A direct call needs no wrapper.
                (Operator::Call { function_index }, _) if *function_index < self.imported() => {
                    Instruction::Call(*function_index)
                }
                _ => self.instruction(operator)?,
            };
            function.instruction(&instruction);
            if is_loop {
                self.count_down(&mut function, 1);
            }
        }
        code.function(&function);
        Ok(())
    }

    /// Drops custom sections, which WasmEdge would only carry along.
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
