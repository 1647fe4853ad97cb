//! Puts a function of more than 64 KiB of machine code behind each function of a module, so
//! that no two functions of the module share lines or pages of the code:
//! `pad OUTPUT MODULE`. Nothing calls the added functions.

use std::convert::Infallible;
use std::env::args_os;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection, ValType};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, TypeSectionReader};

/// Divisions in each added function. Each is at least 16 bytes of machine code, with its
/// checks of the divisor, and no compiler can leave one out: each divides what the one
/// before left.
const DIVISIONS: usize = 4096;

struct Pad {
    /// Functions that the module imports: they come first and stay where they are.
    imported: u32,
    /// Index of the added functions' type.
    ty: u32,
}

impl Reencode for Pad {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(index + index.saturating_sub(self.imported))
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        wasm_encoder::reencode::utils::parse_type_section(self, types, section)?;
        self.ty = types.len();
        types.ty().function([ValType::I32, ValType::I32], [ValType::I32]);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for ty in section {
            functions.function(self.type_index(ty?)?);
            functions.function(self.ty);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for body in section {
            self.parse_function_body(code, body?)?;
            code.function(&padding());
        }
        Ok(())
    }
}

fn padding() -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    code.local_get(0);
    for _ in 0..DIVISIONS {
        code.local_get(1).i32_div_s().local_get(1).i32_xor();
    }
    code.end();
    function
}

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let [output, module] = &paths[..] else { bail!("usage: pad OUTPUT MODULE") };
    let padded = || {
        let bytes = std::fs::read(module)?;
        let mut imported = 0;
        for payload in Parser::new(0).parse_all(&bytes) {
            if let wasmparser::Payload::ImportSection(section) = payload? {
                for import in section.into_imports() {
                    imported += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
        }
        let mut padded = Module::new();
        Pad { imported, ty: 0 }.parse_core_module(&mut padded, Parser::new(0), &bytes)?;
        anyhow::Ok(padded.finish())
    };
    let padded = padded().with_context(|| module.display().to_string())?;
    std::fs::write(output, padded).with_context(|| output.display().to_string())
}
