//! Rewriting of guests for Wasmer.
//!
//! * A start function is removed from the module and exported, because Wasmer runs it before it
//!   exposes the memory, which host functions need. The adapter calls it right after
//!   instantiation.
//! * Under a deadline, functions and loops count down a global, and call the host to check the
//!   clock when it reaches zero. Wasmer can stop a guest only by a count of operators, after
//!   which the guest cannot continue.

use std::borrow::Cow;
use touchstone_executor::Error;
use touchstone_executor::guest::is_bulk;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, GlobalSection,
    GlobalType, ImportSection, Instruction, Module, RawSection, SectionId, TypeSection, ValType,
};
use wasmparser::{FunctionBody, Operator, Parser, Payload, TypeRef};

/// Name under which a start function is exported.
pub(crate) const START: &str = "__touchstone_start";
/// Name of the import that looks at the clock: `() -> ()`, the last one.
pub(crate) const CLOCK: (&str, &str) = ("touchstone", "clock");
/// Functions and loops that are entered between two looks at the clock.
const TICKS: i32 = 1000;

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The start function becomes an export.
    pub(crate) start: bool,
    /// Functions and loops look at the clock.
    pub(crate) clock: bool,
}

type Infallible = core::convert::Infallible;
type Step<T = ()> = Result<T, ReencodeError<Infallible>>;

/// The module with the changes; as it was where there are none.
pub(crate) fn rewrite(wasm: &[u8], changes: Changes) -> Result<Cow<'_, [u8]>, Error> {
    if !changes.start && !changes.clock {
        return Ok(Cow::Borrowed(wasm));
    }
    let unfit = |error: String| Error::Unhostable {
        reason: format!("it cannot be rewritten for Wasmer: {error}"),
    };
    let layout = Layout::of(wasm).map_err(|error| unfit(error.to_string()))?;
    let mut rewriter = Rewriter {
        start: layout.start.filter(|_| changes.start),
        clock: changes.clock.then_some(Clock {
            function: layout.imported_functions,
            ty: layout.types,
            global: layout.globals,
        }),
        seen: [false; 3],
    };
    let mut module = Module::new();
    rewriter
        .parse_core_module(&mut module, Parser::new(0), &layout.without_start)
        .map_err(|error| unfit(error.to_string()))?;
    Ok(Cow::Owned(module.finish()))
}

/// What has to be known before anything is written.
struct Layout {
    /// The module without its start section.
    without_start: Vec<u8>,
    start: Option<u32>,
    types: u32,
    imported_functions: u32,
    globals: u32,
}

impl Layout {
    fn of(wasm: &[u8]) -> Result<Self, wasmparser::BinaryReaderError> {
        let mut module = Module::new();
        let (mut start, mut types, mut imported_functions, mut globals) = (None, 0, 0, 0);
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            match &payload {
                Payload::StartSection { func, .. } => {
                    start = Some(*func);
                    continue;
                }
                Payload::TypeSection(section) => {
                    for group in section.clone() {
                        types += group?.types().len() as u32;
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.clone().into_imports() {
                        match import?.ty {
                            TypeRef::Func(_) => imported_functions += 1,
                            TypeRef::Global(_) => globals += 1,
                            _ => {}
                        }
                    }
                }
                Payload::GlobalSection(section) => globals += section.count(),
                _ => {}
            }
            if let Some((id, range)) = payload.as_section() {
                module.section(&RawSection { id, data: &wasm[range] });
            }
        }
        Ok(Self { without_start: module.finish(), start, types, imported_functions, globals })
    }
}

/// Where the additions for the clock are.
#[derive(Clone, Copy)]
struct Clock {
    /// Index of the imported function, behind all other imported ones.
    function: u32,
    /// Index of its type, behind all others.
    ty: u32,
    /// Index of the count, behind all other globals.
    global: u32,
}

struct Rewriter {
    start: Option<u32>,
    clock: Option<Clock>,
    /// Whether a section of types, imports, globals was written.
    seen: [bool; 3],
}

const TYPES: usize = 0;
const IMPORTS: usize = 1;
const GLOBALS: usize = 2;

impl Rewriter {
    fn add_import(clock: Clock, imports: &mut ImportSection) {
        imports.import(CLOCK.0, CLOCK.1, EntityType::Function(clock.ty));
    }

    fn add_global(globals: &mut GlobalSection) {
        let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(ty, &ConstExpr::i32_const(TICKS));
    }
}

impl Clock {
    fn count(self, function: &mut wasm_encoder::Function) {
        for instruction in [
            Instruction::GlobalGet(self.global),
            Instruction::I32Const(1),
            Instruction::I32Sub,
            Instruction::GlobalSet(self.global),
            Instruction::GlobalGet(self.global),
            Instruction::I32Eqz,
            Instruction::If(BlockType::Empty),
        ] {
            function.instruction(&instruction);
        }
        self.look(function);
        function.instruction(&Instruction::End);
    }

    fn look(self, function: &mut wasm_encoder::Function) {
        for instruction in [
            // First: the host may stop the guest, whose instance is used further.
            Instruction::I32Const(TICKS),
            Instruction::GlobalSet(self.global),
            Instruction::Call(self.function),
        ] {
            function.instruction(&instruction);
        }
    }
}

impl Reencode for Rewriter {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Step<u32> {
        Ok(match self.clock {
            Some(clock) if index >= clock.function => index + 1,
            _ => index,
        })
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Step {
        utils::parse_type_section(self, types, section)?;
        self.seen[TYPES] = true;
        if self.clock.is_some() {
            types.ty().function([], []);
        }
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Step {
        utils::parse_import_section(self, imports, section)?;
        self.seen[IMPORTS] = true;
        if let Some(clock) = self.clock {
            Self::add_import(clock, imports);
        }
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Step {
        utils::parse_global_section(self, globals, section)?;
        self.seen[GLOBALS] = true;
        if self.clock.is_some() {
            Self::add_global(globals);
        }
        Ok(())
    }

    /// A module without types, imports or globals gets sections of its own.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Step {
        let Some(clock) = self.clock else { return Ok(()) };
        let place = before.map_or(u8::MAX, place_of);
        if !self.seen[TYPES] && place > place_of(SectionId::Type) {
            self.seen[TYPES] = true;
            let mut types = TypeSection::new();
            types.ty().function([], []);
            module.section(&types);
        }
        if !self.seen[IMPORTS] && place > place_of(SectionId::Import) {
            self.seen[IMPORTS] = true;
            let mut imports = ImportSection::new();
            Self::add_import(clock, &mut imports);
            module.section(&imports);
        }
        if !self.seen[GLOBALS] && place > place_of(SectionId::Global) {
            self.seen[GLOBALS] = true;
            let mut globals = GlobalSection::new();
            Self::add_global(&mut globals);
            module.section(&globals);
        }
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Step {
        utils::parse_export_section(self, exports, section)?;
        if let Some(start) = self.start {
            exports.export(START, ExportKind::Func, self.function_index(start)?);
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Step {
        let Some(clock) = self.clock else {
            return utils::parse_function_body(self, code, body);
        };
        let mut function = self.new_function_with_parsed_locals(&body)?;
        clock.count(&mut function);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            if is_bulk(&operator) {
                clock.look(&mut function);
            }
            let is_loop = matches!(operator, Operator::Loop { .. });
            function.instruction(&self.instruction(operator)?);
            if is_loop {
                clock.count(&mut function);
            }
        }
        code.function(&function);
        Ok(())
    }
}

/// Place of a section in a module, for those before which something is added.
fn place_of(id: SectionId) -> u8 {
    match id {
        // They may stand anywhere.
        SectionId::Custom => 0,
        SectionId::Type => 1,
        SectionId::Import => 2,
        SectionId::Function => 3,
        SectionId::Table => 4,
        SectionId::Memory => 5,
        SectionId::Tag => 6,
        SectionId::Global => 7,
        _ => 8,
    }
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
