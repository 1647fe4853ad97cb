//! The module that Wasm3 is given.
//!
//! * Imports and exported functions get names of one letter and a number: Wasm3 finds both by name
//!   only, and keeps one name per function or global.
//! * `memory.grow` becomes a call to the host for a memory of Touchstone's, which Wasm3 would pass
//!   to `realloc`.
//! * A memory of Touchstone's contains the data already: the module declares an empty one, without
//!   data.
//! * Under a deadline, every function and every loop begins with a call to the host, which looks at
//!   the clock, and one comes before each bulk instruction. Wasm3 does not call its own hook,
//!   `m3_Yield`, in loops.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CString;
use touchstone_executor::Error;
use touchstone_executor::guest::{GuestModule, MEMORY, is_bulk};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, ImportSection, Instruction, Module,
    SectionId, TypeSection, ValType,
};
use wasmparser::{BinaryReaderError, ExternalKind, FunctionBody, Operator, TypeRef};

type Infallible = core::convert::Infallible;
type Step<T = ()> = Result<T, ReencodeError<Infallible>>;

/// Module part of every import's name.
pub(crate) const HOST: &std::ffi::CStr = c"h";

/// Changes that a strategy and a configuration need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The host grows the memory.
    pub(crate) growth: bool,
    /// The host looks at the clock.
    pub(crate) clock: bool,
    /// The memory is declared empty, and the content of data segments is left out.
    pub(crate) empty_memory: bool,
}

/// A guest as Wasm3 is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// Name of the function behind each export handle.
    pub(crate) functions: Vec<CString>,
}

/// Name of an import, by its position among the imported functions. Growth and then the clock
/// follow the guest's imports.
pub(crate) fn import_name(index: usize) -> CString {
    CString::new(format!("i{index}")).unwrap_or_default()
}

/// Name of a mutable global.
pub(crate) fn global_name(index: u32) -> CString {
    CString::new(format!("g{index}")).unwrap_or_default()
}

pub(crate) fn rewrite(guest: &GuestModule, changes: Changes) -> Result<Rewritten, Error> {
    let imported = guest.info().imports.len() as u32;
    let grow = imported;
    let clock = imported + u32::from(changes.growth);
    let mut rewriter = Rewriter {
        guest,
        changes,
        imported,
        added: u32::from(changes.growth) + u32::from(changes.clock),
        grow,
        clock,
        types: 0,
        imports_done: false,
        functions: Vec::new(),
    };
    let mut wasm = Cow::Borrowed(guest.wasm());
    if changes.empty_memory {
        wasm = Cow::Owned(guest.without_data()?);
    }
    let mut module = Module::new();
    rewriter
        .parse_core_module(&mut module, wasmparser::Parser::new(0), &wasm)
        .map_err(|error| Error::unhostable(format!("it cannot be rewritten for Wasm3: {error}")))?;
    Ok(Rewritten { wasm: module.finish(), functions: rewriter.functions })
}

struct Rewriter<'a> {
    guest: &'a GuestModule,
    changes: Changes,
    /// Functions that the guest imports, and those that are added behind them.
    imported: u32,
    added: u32,
    /// Indices of the added ones.
    grow: u32,
    clock: u32,
    /// Number of the guest's types, which those of the added functions follow.
    types: u32,
    imports_done: bool,
    functions: Vec<CString>,
}

impl Rewriter<'_> {
    fn import_section(&mut self) -> ImportSection {
        self.imports_done = true;
        let host = HOST.to_str().unwrap_or_default();
        let mut section = ImportSection::new();
        for (index, ty) in self.import_types().into_iter().enumerate() {
            section.import(host, &format!("i{index}"), EntityType::Function(ty));
        }
        section
    }

    /// Types of all imported functions, the added ones last.
    fn import_types(&self) -> Vec<u32> {
        let mut types = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(self.guest.wasm()) {
            if let Ok(wasmparser::Payload::ImportSection(section)) = payload {
                types.extend(section.into_imports().filter_map(|import| match import.ok()?.ty {
                    TypeRef::Func(ty) => Some(ty),
                    _ => None,
                }));
            }
        }
        let mut next = self.types;
        for added in [self.changes.growth, self.changes.clock] {
            types.extend(added.then_some(next));
            next += u32::from(added);
        }
        types
    }
}

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Step<u32> {
        Ok(if index < self.imported { index } else { index + self.added })
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Step {
        utils::parse_type_section(self, types, section)?;
        self.types = types.len();
        if self.changes.growth {
            types.ty().function([ValType::I32], [ValType::I32]);
        }
        if self.changes.clock {
            types.ty().function([], []);
        }
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        _: wasmparser::ImportSectionReader<'_>,
    ) -> Step {
        *imports = self.import_section();
        Ok(())
    }

    /// Adds an import section to a module without one.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        after: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Step {
        let here = after == Some(SectionId::Type) && before != Some(SectionId::Import);
        if here && !self.imports_done && self.added > 0 {
            module.section(&self.import_section());
        }
        Ok(())
    }

    fn memory_type(&mut self, ty: wasmparser::MemoryType) -> Step<wasm_encoder::MemoryType> {
        let mut ty = utils::memory_type(self, ty);
        if self.changes.empty_memory {
            ty.minimum = 0;
        }
        Ok(ty)
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Step {
        let mut known: HashMap<u32, String> = HashMap::new();
        for export in section {
            let export = export?;
            if !matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                continue;
            }
            let handle = self.functions.len();
            let index = self.function_index(export.index)?;
            let name = known.entry(index).or_insert_with(|| {
                let name = format!("f{handle}");
                exports.export(&name, ExportKind::Func, index);
                name
            });
            self.functions.push(CString::new(name.as_str()).unwrap_or_default());
        }
        for global in &self.guest.info().mutable_globals {
            let name = global_name(global.index);
            exports.export(&name.to_string_lossy(), ExportKind::Global, global.index);
        }
        if self.guest.info().memory.is_some() {
            exports.export(MEMORY, ExportKind::Memory, 0);
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Step {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        if self.changes.clock {
            function.instruction(&Instruction::Call(self.clock));
        }
        while !operators.eof() {
            let operator: Result<Operator<'_>, BinaryReaderError> = operators.read();
            let operator = operator?;
            let is_loop = matches!(operator, Operator::Loop { .. });
            if self.changes.clock && is_bulk(&operator) {
                function.instruction(&Instruction::Call(self.clock));
            }
            match operator {
                Operator::MemoryGrow { .. } if self.changes.growth => {
                    function.instruction(&Instruction::Call(self.grow));
                }
                operator => {
                    function.instruction(&self.instruction(operator)?);
                }
            }
            if is_loop && self.changes.clock {
                function.instruction(&Instruction::Call(self.clock));
            }
        }
        code.function(&function);
        Ok(())
    }

    /// Drops custom sections, which Wasm3 would only look through.
    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Step {
        Ok(())
    }
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
        let (_, info) = rewritten(text, ALL);
        assert_eq!(info.imports.len(), 2);
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
        assert_eq!(info.nesting, 0);
    }

    #[test]
    fn nesting_is_counted_where_it_is_deepest() {
        let text = "(module (func (block) (loop (if (i32.const 1) (then (block)) (else)))) (func))";
        let changes = Changes { growth: false, clock: false, empty_memory: false };
        assert_eq!(rewritten(text, changes).1.nesting, 3);
    }
}
