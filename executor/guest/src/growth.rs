//! Modules whose memory the host sizes: `memory.size` and `memory.grow` become calls of two
//! imported functions. For runtimes that can keep a size but not lower it.

use super::rewrite::unreadable;
use super::{ADDED, GuestModule};
use crate::error::{Error, Result};
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    CodeSection, EntityType, Function, ImportSection, Instruction, Module, SectionId, TypeSection,
    ValType,
};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

/// Module part of the names of both imports.
pub const HOST_SIZED: &str = "__touchstone_memory";
/// Field part of the import that answers `memory.size`: `() -> (i32)`.
pub const HOST_SIZE: &str = "size";
/// Field part of the import that answers `memory.grow`: `(i32) -> (i32)`.
pub const HOST_GROW: &str = "grow";

type Step<T = ()> = std::result::Result<T, ReencodeError>;

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
        let refuse = |reason: &str| Err(Error::Unhostable { reason: reason.to_owned() });
        if self.info().component.is_some() {
            return refuse("it is a component: its memories are inside it");
        }
        if let Some(reason) = self.info().memories_refusal() {
            return refuse(&reason);
        }
        if self.info().imports.iter().any(|import| import.module == HOST_SIZED) {
            return refuse("it imports what the host adds to modules");
        }
        let (wasm, mut types) = (self.resettable()?, 0);
        for payload in Parser::new(0).parse_all(&wasm) {
            if let Payload::TypeSection(section) = payload.map_err(unreadable)? {
                for group in section {
                    types += group.map_err(unreadable)?.types().count() as u32;
                }
            }
        }
        let imported = self.info().imports.len() as u32;
        let mut rewriter = Rewriter { imported, types, typed: false, linked: false };
        let mut module = Module::new();
        rewriter.parse_core_module(&mut module, Parser::new(0), &wasm).map_err(|error| {
            Error::Unhostable { reason: format!("its memory cannot be sized by the host: {error}") }
        })?;
        Ok(module.finish())
    }
}

struct Rewriter {
    /// Functions that the guest imports: the two come behind them.
    imported: u32,
    /// Types of the guest: those of the two come behind them.
    types: u32,
    typed: bool,
    linked: bool,
}

impl Rewriter {
    fn add_types(&mut self, types: &mut TypeSection) {
        self.typed = true;
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32], [ValType::I32]);
    }

    fn add_imports(&mut self, imports: &mut ImportSection) {
        self.linked = true;
        imports.import(HOST_SIZED, HOST_SIZE, EntityType::Function(self.types));
        imports.import(HOST_SIZED, HOST_GROW, EntityType::Function(self.types + 1));
    }
}

impl Reencode for Rewriter {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, index: u32) -> Step<u32> {
        Ok(if index < self.imported { index } else { index + 2 })
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Step {
        utils::parse_type_section(self, types, section)?;
        self.add_types(types);
        Ok(())
    }

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: wasmparser::ImportSectionReader<'_>,
    ) -> Step {
        utils::parse_import_section(self, imports, section)?;
        self.add_imports(imports);
        Ok(())
    }

    /// Sections that the guest does not have.
    fn intersperse_section_hook(
        &mut self,
        module: &mut Module,
        _: Option<SectionId>,
        before: Option<SectionId>,
    ) -> Step {
        if !self.typed && before != Some(SectionId::Type) {
            let mut types = TypeSection::new();
            self.add_types(&mut types);
            module.section(&types);
        }
        if !self.linked && !matches!(before, Some(SectionId::Type | SectionId::Import)) {
            let mut imports = ImportSection::new();
            self.add_imports(&mut imports);
            module.section(&imports);
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Step {
        let mut function: Function = self.new_function_with_parsed_locals(&body)?;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let instruction = match operators.read()? {
                Operator::MemorySize { .. } => Instruction::Call(self.imported),
                Operator::MemoryGrow { .. } => Instruction::Call(self.imported + 1),
                operator => self.instruction(operator)?,
            };
            function.instruction(&instruction);
        }
        code.function(&function);
        Ok(())
    }

    /// Nothing but names, whose indices would all change.
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
    use crate::guest::{HeapPages, ModuleInfo};

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
