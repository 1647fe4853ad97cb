//! The end of a thread's stack for a guest.
//!
//! Wasm3's functions call each other on the thread's stack. Wasm3 assumes that 8 MiB minus 128 KiB
//! are left on it, more than most threads have.

use std::ffi::c_void;
use touchstone_executor::adapter::stack_end;

/// Bytes that a guest may use at most.
pub(crate) const BUDGET: usize = 1 << 20;
/// Bytes for compiling a function without blocks, most of them for the validator's table of blocks,
/// and for host functions.
const FUNCTION: usize = 256 << 10;
/// Bytes for compiling each nested block. Compiled by gcc 12, Wasm3 takes less than 300 for an `if`
/// and 200 for the others; a test below checks the linked one.
const BLOCK: usize = 400;

/// Bytes that must stay free below a guest: a function is compiled at its first call.
pub(crate) fn margin(nesting: u32) -> usize {
    FUNCTION + nesting as usize * BLOCK
}

/// The address below which Wasm3 has to stop a guest that is called from here.
/// Fails if less than the margin is left: Wasm3 checks the stack only at calls between functions.
pub(super) fn check(margin: usize) -> Result<*mut c_void, String> {
    let here = 0_u8;
    let here = (&raw const here) as usize;
    // If the system does not tell, the budget alone decides.
    let lowest = match stack_end() {
        0 => 0,
        end => end + margin,
    };
    if here < lowest {
        return Err(format!(
            "the calling thread has less than {} KiB of stack left; use a thread with a larger stack",
            margin >> 10
        ));
    }
    Ok(here.saturating_sub(BUDGET).max(lowest) as *mut c_void)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{WANTED, nested};
    use crate::machine::Environment;
    use wasm_encoder::{BlockType, Instruction};

    #[test]
    fn the_limit_lies_on_this_threads_stack_and_leaves_the_margin() {
        let holds = || {
            let here = 0_u8;
            let margin = margin(1405);
            let (here, limit) = ((&raw const here) as usize, check(margin).unwrap() as usize);
            assert!(limit < here && here - limit <= BUDGET + 4096, "{}", here - limit);
            assert!(limit >= stack_end() + margin);
        };
        // At least so large: the system may give a larger one that it has left.
        let small = std::thread::Builder::new().stack_size(1 << 20);
        small.spawn(holds).unwrap().join().unwrap();
        holds();
    }

    /// KiB of this thread's stack that are in memory: all that it ever used.
    fn used() -> usize {
        let end = format!("{:x}-", stack_end());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let stack = maps.lines().skip_while(|line| !line.starts_with(&end));
        let size = stack.filter_map(|line| line.strip_prefix("Rss:")).next().unwrap();
        size.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    #[test]
    fn compiling_takes_less_than_the_margin() {
        let kinds = [
            [Some(Instruction::Block(BlockType::Empty)), None],
            [Some(Instruction::Loop(BlockType::Empty)), None],
            [Some(Instruction::I32Const(1)), Some(Instruction::If(BlockType::Empty))],
        ];
        for kind in kinds {
            let opening: Vec<_> = kind.into_iter().flatten().collect();
            for depth in [0, 1405, WANTED] {
                let module = nested(&opening, depth);
                let compile = move || {
                    let before = used();
                    Environment::new("wasm3").unwrap().compiles(&module).unwrap();
                    (used() - before) << 10
                };
                let thread = std::thread::Builder::new().stack_size(64 << 20);
                let taken = thread.spawn(compile).unwrap().join().unwrap();
                println!("{depth} blocks: {} KiB of {}", taken >> 10, margin(depth) >> 10);
                assert!(taken < margin(depth), "{taken} for {depth} blocks");
            }
        }
    }
}
