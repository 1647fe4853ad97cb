//! Puts a function of more than 64 KiB of machine code behind each exported function of a
//! module, so that no two of them share lines or pages of the code: `pad OUTPUT MODULE`.
//! Nothing calls the added functions.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::env::args_os;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection};
use wasmparser::{
    CodeSectionReader, ExternalKind, FunctionSectionReader, Parser, Payload, TypeRef,
    TypeSectionReader,
};

/// Calls in each added function. Each is at least 16 bytes of machine code; no compiler can
/// leave one out, and a function without branches is compiled quickly.
const CALLS: usize = 6000;

struct Pad {
    /// Indices of the exported functions, which are the module's own, in order.
    exported: BTreeSet<u32>,
    /// Index of the import that the added functions call: `input_len: () -> i64`.
    import: u32,
    /// Functions that the module imports.
    imported: u32,
    /// Index of the added functions' type.
    ty: u32,
}

impl Reencode for Pad {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, Error<Infallible>> {
        Ok(index + self.exported.range(..index).count() as u32)
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: TypeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        wasm_encoder::reencode::utils::parse_type_section(self, types, section)?;
        self.ty = types.len();
        types.ty().function([], []);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for (index, ty) in (self.imported..).zip(section) {
            functions.function(self.type_index(ty?)?);
            if self.exported.contains(&index) {
                functions.function(self.ty);
            }
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        for (index, body) in (self.imported..).zip(section) {
            self.parse_function_body(code, body?)?;
            if self.exported.contains(&index) {
                code.function(&padding(self.import));
            }
        }
        Ok(())
    }
}

fn padding(import: u32) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    for _ in 0..CALLS {
        code.call(import).drop();
    }
    code.end();
    function
}

/// The module with the added functions.
fn padded(bytes: &[u8]) -> Result<Vec<u8>> {
    let (mut exported, mut import, mut imported) = (BTreeSet::new(), None, 0);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ImportSection(section) => {
                for found in section.into_imports() {
                    let found = found?;
                    if matches!(found.ty, TypeRef::Func(_)) {
                        import = import.or((found.name == "input_len").then_some(imported));
                        imported += 1;
                    }
                }
            }
            Payload::ExportSection(section) => {
                for found in section {
                    let found = found?;
                    exported.extend((found.kind == ExternalKind::Func).then_some(found.index));
                }
            }
            _ => {}
        }
    }
    let import = import.context("the module does not import input_len")?;
    let mut padded = Module::new();
    Pad { exported, import, imported, ty: 0 }.parse_core_module(
        &mut padded,
        Parser::new(0),
        bytes,
    )?;
    Ok(padded.finish())
}

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let [output, module] = &paths[..] else { bail!("usage: pad OUTPUT MODULE") };
    let padded = std::fs::read(module).map_err(Into::into).and_then(|bytes| padded(&bytes));
    let padded = padded.with_context(|| module.display().to_string())?;
    std::fs::write(output, padded).with_context(|| output.display().to_string())
}
