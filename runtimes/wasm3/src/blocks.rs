//! The nesting of blocks that Wasm3 accepts.
//!
//! Wasm3 validates a function when it compiles it, with a table of 1000 blocks unless it is built
//! with another `d_m3ValCtrlDepth`. Compilers nest one block per arm of a large switch. This
//! project's `.cargo/config.toml` asks for more, but a build can override it, and the library does
//! not tell. A compilation finds out, once.

use crate::machine::{Environment, stack};
use std::sync::LazyLock;
use wasm_encoder::{
    BlockType, CodeSection, Function, FunctionSection, Instruction, Module, TypeSection,
};

/// The `d_m3ValCtrlDepth` of this project, less one for the function itself and one for a block
/// that a deadline adds.
pub(crate) const WANTED: u32 = 4096 - 2;
/// The same for Wasm3's default.
const DEFAULT: u32 = 1000 - 2;

/// The nesting that this build accepts.
pub(crate) fn accepted() -> u32 {
    static ACCEPTED: LazyLock<u32> = LazyLock::new(|| {
        let module = nested(&[Instruction::Block(BlockType::Empty)], WANTED);
        let compiles =
            move || Environment::new("wasm3").is_ok_and(|it| it.compiles(&module).is_ok());
        // On its own stack: the caller's may be too small.
        let thread =
            std::thread::Builder::new().stack_size(2 * stack::margin(WANTED)).spawn(compiles);
        let all = thread.is_ok_and(|thread| thread.join().unwrap_or(false));
        if all { WANTED } else { DEFAULT }
    });
    *ACCEPTED
}

/// The reason why a module with this nesting is refused, if it is.
pub(crate) fn refusal(nesting: u32) -> Option<String> {
    if nesting <= DEFAULT || nesting <= accepted() {
        return None;
    }
    Some(match nesting <= WANTED {
        false => format!(
            "a function of the module nests {nesting} blocks, Wasm3 is built for at most {WANTED}"
        ),
        true => format!(
            "a function of the module nests {nesting} blocks, and this build of Wasm3 takes \
             {DEFAULT}: it was built without the HOST_CFLAGS (TARGET_CFLAGS) of this project's \
             .cargo/config.toml, -Dd_m3ValCtrlDepth=4096; unset yours or add that, then build again"
        ),
    })
}

/// A module with one function of `depth` nested blocks, each opened by the instructions.
pub(crate) fn nested(opening: &[Instruction<'_>], depth: u32) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut body = Function::new([]);
    for _ in 0..depth {
        for instruction in opening {
            body.instruction(instruction);
        }
    }
    for _ in 0..=depth {
        body.instructions().end();
    }
    let mut code = CodeSection::new();
    code.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&code);
    module.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails where the settings of `.cargo/config.toml` did not reach the C
    /// compiler.
    #[test]
    fn this_build_takes_what_it_was_built_for_and_not_more() {
        assert_eq!(accepted(), WANTED);
        assert_eq!(refusal(1405), None);
        let environment = Environment::new("wasm3").unwrap();
        let blocks = |depth| nested(&[Instruction::Block(BlockType::Empty)], depth);
        assert!(environment.compiles(&blocks(DEFAULT)).is_ok());
        assert!(environment.compiles(&blocks(WANTED + 1)).is_ok());
        assert!(environment.compiles(&blocks(WANTED + 2)).is_err());
        assert!(refusal(WANTED + 1).unwrap().contains("at most 4094"));
    }
}
