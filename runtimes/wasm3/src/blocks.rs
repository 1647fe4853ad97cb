//! How many blocks inside each other Wasm3 takes.
//!
//! It validates a function when it compiles it, and its validator has room for
//! 1000 blocks unless it is built with another `d_m3ValCtrlDepth`; compilers
//! nest one block per arm of a large switch. This project's `.cargo/config.toml`
//! asks for more, but whoever builds can override that, and nothing of it is to
//! be seen in the library. So it is tried, once.

use crate::machine::{Environment, stack};
use std::sync::LazyLock;
use wasm_encoder::{
    BlockType, CodeSection, Function, FunctionSection, Instruction, Module, TypeSection,
};

/// Blocks of `d_m3ValCtrlDepth` as this project has it built, but one: the
/// function itself takes one too.
pub(crate) const WANTED: u32 = 4096 - 1;
/// The same for the default of Wasm3.
const DEFAULT: u32 = 1000 - 1;

/// Blocks inside each other that this build takes.
pub(crate) fn accepted() -> u32 {
    static ACCEPTED: LazyLock<u32> = LazyLock::new(|| {
        let module = nested(&[Instruction::Block(BlockType::Empty)], WANTED);
        let compiles =
            move || Environment::new("wasm3").is_ok_and(|it| it.compiles(&module).is_ok());
        // On a stack of its own: nobody knows how much is left of the caller's.
        let thread =
            std::thread::Builder::new().stack_size(2 * stack::margin(WANTED)).spawn(compiles);
        let all = thread.is_ok_and(|thread| thread.join().unwrap_or(false));
        if all { WANTED } else { DEFAULT }
    });
    *ACCEPTED
}

/// Why a module is refused that nests its blocks so deep; `None` when it is not.
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

/// A module with one function of so many blocks, each opened by the instructions.
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
        assert!(environment.compiles(&blocks(WANTED + 1)).is_err());
        assert!(refusal(WANTED + 1).unwrap().contains("at most 4095"));
    }
}
