//! The pass that all rewriting shares: additions to the index spaces of a module, and other
//! instructions in its functions.
//!
//! Only sections that change are encoded; everything else, including instructions that stay,
//! is copied byte for byte. The name section and `dylink.0` are kept unless functions get other
//! indices; other custom sections are dropped.

use crate::constants::Constant;
use crate::error::unhostable;
use crate::info::ALL_PAGES;
use crate::sections::{Sections, leading_number};
use crate::{Layout, MemoryLimits, Result, Value, supplied};
use std::collections::BTreeMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, Encode, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, InstructionSink,
    SectionId, StartSection, TableSection, TableType, TypeSection, ValType,
};
use wasmparser::{BinaryReader, CodeSectionReader, FunctionBody, Operator};

/// A module that is being rewritten.
///
/// Additions come behind the module's own items of their kind, so that only functions get other
/// indices, and only where functions are [imported](Self::import). Imports are therefore added
/// before all that names a function.
///
/// Functions with a result fail where the module cannot be read, and [`finish`](Self::finish) where
/// it has types that the encoder does not know.
pub struct Patch<'a> {
    wasm: &'a [u8],
    layout: Layout,
    pub(crate) sections: Sections<'a>,
    /// The functions whose indices change, and by how much.
    shift: Shift,
    /// `true` if the code has the new indices.
    is_shifted: bool,
    imports: ImportSection,
    types: TypeSection,
    functions: FunctionSection,
    tables: TableSection,
    globals: GlobalSection,
    exports: ExportSection,
    code: CodeSection,
}

/// Rewrites the instructions of functions, one after the other.
pub(crate) trait Rewrite {
    /// Adds instructions at the start of a function.
    fn enter(&mut self, _: &mut Body<'_>) {}

    /// Adds instructions before an operator, or instead of it; returns `true` if the operator is
    /// not to follow.
    fn operator(&mut self, body: &mut Body<'_>, operator: &Operator<'_>) -> bool;
}

impl<F: FnMut(&mut Body<'_>, &Operator<'_>) -> bool> Rewrite for F {
    fn operator(&mut self, body: &mut Body<'_>, operator: &Operator<'_>) -> bool {
        self(body, operator)
    }
}

/// The function that is being rewritten.
pub(crate) struct Body<'a> {
    /// Number of its locals, parameters included, without those that are added.
    pub(crate) locals: u32,
    code: Vec<u8>,
    /// Locals that are added: number and type.
    added: Vec<(u32, ValType)>,
    shift: &'a Shift,
    /// The operator's bytes.
    operator: &'a [u8],
}

impl Body<'_> {
    /// The place for further instructions. Indices of functions are those of the new module.
    pub(crate) fn code(&mut self) -> InstructionSink<'_> {
        InstructionSink::new(&mut self.code)
    }

    pub(crate) fn emit(&mut self, instruction: &Instruction<'_>) {
        instruction.encode(&mut self.code);
    }

    /// Adds the operator itself, for additions behind it.
    pub(crate) fn keep(&mut self, operator: &Operator<'_>) {
        let shift = self.shift;
        self.emit(&match *operator {
            _ if shift.is_none() => return self.code.extend(self.operator),
            Operator::Call { function_index: old } => Instruction::Call(shift.called(old)),
            Operator::ReturnCall { function_index: old } => {
                Instruction::ReturnCall(shift.called(old))
            }
            Operator::RefFunc { function_index: old } => Instruction::RefFunc(shift.index(old)),
            _ => return self.code.extend(self.operator),
        });
    }

    /// Adds locals behind those of the function, once for all.
    pub(crate) fn add_locals(&mut self, locals: &[(u32, ValType)]) {
        self.added = locals.to_vec();
    }

    /// Bytes of the instructions so far.
    pub(crate) fn size(&self) -> usize {
        self.code.len()
    }
}

impl<'a> Patch<'a> {
    /// Begins with a module as it is.
    pub fn of(wasm: &'a [u8]) -> Result<Self> {
        let (layout, sections) = (Layout::of(wasm)?, Sections::of(wasm)?);
        let shift = Shift { first: layout.imported.functions, ..Shift::default() };
        Ok(Self {
            wasm,
            layout,
            sections,
            shift,
            is_shifted: false,
            imports: ImportSection::new(),
            types: TypeSection::new(),
            functions: FunctionSection::new(),
            tables: TableSection::new(),
            globals: GlobalSection::new(),
            exports: ExportSection::new(),
            code: CodeSection::new(),
        })
    }

    pub(crate) fn empty() -> Result<Self> {
        Self::of(b"\0asm\x01\0\0\0")
    }

    /// The bytes of the module as it was.
    pub fn original(&self) -> &'a [u8] {
        self.wasm
    }

    /// The declarations of the module as it was.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The index that a function of the module has in the new one.
    pub fn function_index(&self, old: u32) -> u32 {
        self.shift.index(old)
    }

    /// Adds a type of functions; returns its index.
    pub fn ty(&mut self, params: &[ValType], results: &[ValType]) -> u32 {
        let index = self.layout.types.len() as u32 + self.types.len();
        self.types.ty().function(params.iter().copied(), results.iter().copied());
        index
    }

    /// Imports a function, behind those that the module imports; returns its index.
    pub fn import(
        &mut self,
        module: &str,
        name: &str,
        params: &[ValType],
        results: &[ValType],
    ) -> u32 {
        debug_assert!(!self.is_shifted && self.functions.is_empty(), "imports come first");
        let ty = self.ty(params, results);
        self.imports.import(module, name, EntityType::Function(ty));
        self.shift.by += 1;
        self.shift.first + self.shift.by - 1
    }

    /// Lets references to a function, in tables, globals, exports and code, be to an added one.
    /// Calls stay as they are.
    pub fn redirect(&mut self, function: u32, to: u32) {
        debug_assert!(!self.is_shifted, "redirections come before code");
        self.shift.redirected.insert(function, to);
    }

    /// The same for calls, too.
    pub fn substitute(&mut self, function: u32, by: u32) {
        self.redirect(function, by);
        self.shift.substituted.insert(function, by);
    }

    /// Adds a mutable global; returns its index.
    pub fn global(&mut self, val_type: ValType, value: &ConstExpr) -> u32 {
        let index = self.layout.globals.len() as u32 + self.globals.len();
        self.globals.global(GlobalType { val_type, mutable: true, shared: false }, value);
        index
    }

    /// Adds a table; returns its index.
    pub fn table(&mut self, ty: TableType) -> u32 {
        let index = self.layout.tables.len() as u32 + self.tables.len();
        self.tables.table(ty);
        index
    }

    /// Adds a function; returns its index. The indices in its body are those of the new module.
    pub fn function(&mut self, ty: u32, body: &Function) -> u32 {
        let index = self.layout.functions.len() as u32 + self.shift.by + self.functions.len();
        self.functions.function(ty);
        self.code.function(body);
        index
    }

    /// Adds an export. A function's index is that of the new module.
    pub fn export(&mut self, name: &str, kind: ExportKind, index: u32) {
        self.exports.export(name, kind, index);
    }

    /// Sets the start function, by its index in the original module or as an added function.
    pub fn start(&mut self, function_index: u32) {
        self.replace(SectionId::Start, &StartSection { function_index });
    }

    /// Removes the start section; returns its function's index in the new module.
    pub fn remove_start(&mut self) -> Option<u32> {
        self.sections.remove(SectionId::Start);
        self.layout.start.map(|start| self.shift.index(start))
    }

    /// Removes a section.
    pub fn remove(&mut self, id: SectionId) {
        self.sections.remove(id);
    }

    /// Replaces a section, which has the indices of the original module. Imports have as many
    /// functions as before. An empty section goes.
    pub fn replace(&mut self, id: SectionId, section: &impl Encode) {
        self.sections.replace(id, section);
    }

    /// Adds the entries of a section before those that the module has, for definitions in the
    /// place of imports.
    pub fn prepend(&mut self, id: SectionId, section: &impl Encode) {
        self.sections.prepend(id, section);
    }

    /// Adds the entries of a section behind those that the module has. Entries with an index are
    /// added with the function for their kind.
    pub fn append(&mut self, id: SectionId, section: &impl Encode) {
        self.sections.append(id, section);
    }

    /// Gives the memory these limits.
    pub fn set_memory(&mut self, limits: MemoryLimits) -> Result<()> {
        self.sections.limit_memories(limits, ALL_PAGES)
    }

    /// Defines the imported globals as constants of these numbers, and writes constants in the
    /// place of constant expressions that read them or compute.
    pub fn define_globals(&mut self, values: Vec<Value>) -> Result<()> {
        let constants: Vec<_> = values.into_iter().map(Constant::Number).collect();
        let mut globals = GlobalSection::new();
        for (ty, value) in self.layout.globals.iter().zip(&constants) {
            let ty = GlobalType::try_from(*ty).ok().zip(value.encoded());
            let Some((ty, value)) = ty else { return unhostable("a global has an unknown type") };
            globals.global(ty, &value);
        }
        supplied::fold(self, constants)?;
        self.prepend(SectionId::Global, &globals);
        Ok(())
    }

    /// Rewrites the instructions of all functions.
    pub(crate) fn rewrite(&mut self, rewrite: &mut impl Rewrite) -> Result<()> {
        let none = Shift::default();
        let shift = if self.is_shifted { &none } else { &self.shift };
        let Some(code) = self.sections.get(SectionId::Code) else { return Ok(()) };
        let reader = CodeSectionReader::new(BinaryReader::new(code, 0))?;
        let mut content = Vec::with_capacity(code.len());
        reader.count().encode(&mut content);
        for (body, function) in reader.into_iter().zip(self.layout.imported.functions..) {
            let params = self.layout.function(function).map_or(0, |ty| ty.params().len());
            rewritten(code, &body?, params as u32, shift, rewrite)?.encode(&mut content);
        }
        self.is_shifted |= !shift.is_none();
        self.sections.put(SectionId::Code, content);
        Ok(())
    }

    /// The new module.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        use SectionId::{Code, Custom, Element, Export, Global, Import, Start, Table, Type};
        if !self.shift.is_none() {
            if !self.is_shifted {
                self.rewrite(&mut |_: &mut Body<'_>, _: &Operator<'_>| false)?;
            }
            // Sections beside the code name functions, too.
            self.remove(Custom);
            self.sections.reencode(&mut self.shift, &[Table, Global, Export, Start, Element])?;
        }
        let mut sections = self.sections;
        sections.append(Import, &self.imports);
        sections.append(Type, &self.types);
        sections.append(SectionId::Function, &self.functions);
        sections.append(Table, &self.tables);
        sections.append(Global, &self.globals);
        sections.append(Export, &self.exports);
        sections.append(Code, &self.code);
        Ok(sections.finish())
    }
}

/// One function with other instructions. `code` is the content of its section.
fn rewritten(
    code: &[u8],
    body: &FunctionBody<'_>,
    params: u32,
    shift: &Shift,
    rewrite: &mut impl Rewrite,
) -> Result<Vec<u8>> {
    let mut locals = params;
    for local in body.get_locals_reader()? {
        locals = locals.saturating_add(local?.0);
    }
    let mut operators = body.get_operators_reader()?;
    let declared = &code[body.range().start..operators.original_position()];
    let mut new = Body { locals, code: Vec::new(), added: Vec::new(), shift, operator: &[] };
    rewrite.enter(&mut new);
    while !operators.eof() {
        let (operator, start) = operators.read_with_offset()?;
        new.operator = &code[start..operators.original_position()];
        if !rewrite.operator(&mut new, &operator) {
            new.keep(&operator);
        }
    }
    let mut rewritten = Vec::with_capacity(declared.len() + new.code.len());
    if new.added.is_empty() {
        rewritten.extend(declared);
    } else {
        let (groups, declared) = leading_number(declared);
        (groups + new.added.len() as u32).encode(&mut rewritten);
        rewritten.extend(declared);
        for (count, ty) in &new.added {
            count.encode(&mut rewritten);
            ty.encode(&mut rewritten);
        }
    }
    rewritten.extend(new.code);
    Ok(rewritten)
}

/// New indices of functions: higher ones from `first` on, and other functions for some.
#[derive(Default)]
struct Shift {
    first: u32,
    by: u32,
    /// References to functions.
    redirected: BTreeMap<u32, u32>,
    /// Calls of functions.
    substituted: BTreeMap<u32, u32>,
}

impl Shift {
    fn is_none(&self) -> bool {
        self.by == 0 && self.redirected.is_empty()
    }

    /// The function that takes the place of one.
    fn index(&self, function: u32) -> u32 {
        self.redirected.get(&function).copied().unwrap_or_else(|| self.called(function))
    }

    /// The function itself.
    fn called(&self, function: u32) -> u32 {
        match self.substituted.get(&function) {
            Some(by) => *by,
            None if function < self.first => function,
            None => function + self.by,
        }
    }
}

impl Reencode for Shift {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, ReencodeError> {
        Ok(self.index(function))
    }
}
