//! Comparisons of the kernel's speed, and the decision from all of them.

use crate::contract::Execution;
use std::fmt;

/// Ratio to the host's own time from which a kernel counts as interpreted.
/// Wasmtime's code was seen at 1.2 (Cranelift) and 1.7 times (Winch), WasmEdge's at
/// 3.1, the fastest interpreter at 9.4 (`cargo test --release --features=all --test
/// modes -- --nocapture` prints all of them). The limit is between the last two.
pub const INTERPRETED_FROM: f64 = 5.4;

/// Without executable memory for so many reloaded modules, slow looks are believed.
const RELOADS_WITHOUT_CODE: usize = 2;

/// One comparison of the kernel as a guest with the host's own code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Number of times that the module was compiled and loaded again; 0 at the first comparison.
    pub reloads: usize,
    /// Offset of the stack pointer, bytes.
    pub stack: usize,
    /// `true` if the calls were made on a separate thread.
    pub other_thread: bool,
    /// Bytes that became executable while the module was compiled and loaded; `None` at
    /// the first look, which does not ask, and where `/proc` is not there.
    pub executable: Option<usize>,
    /// Time of the guest over that of the host's own code, both at their fastest.
    pub times_native: f64,
}

impl Look {
    /// The execution that this speed indicates.
    pub fn execution(&self) -> Execution {
        if self.times_native >= INTERPRETED_FROM {
            Execution::Interpreted
        } else {
            Execution::Compiled
        }
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} times native", self.times_native)?;
        if self.reloads == 0 {
            return Ok(());
        }
        let thread = if self.other_thread { "another thread" } else { "the same thread" };
        write!(f, " (reload {}, stack moved by {} bytes, {thread}", self.reloads, self.stack)?;
        if let Some(bytes) = self.executable {
            write!(f, ", {bytes} bytes became executable")?;
        }
        f.write_str(")")
    }
}

/// All comparisons of the kernel; the last one decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// The look that agrees with the engine's claim.
    pub last: Look,
    /// The looks before it, in order; none of them agrees with the claim.
    pub earlier: Vec<Look>,
}

impl Kernel {
    /// How the guest is executed.
    pub fn execution(&self) -> Execution {
        self.last.execution()
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a compute kernel runs as {} code does", self.execution())?;
        if let Some(first) = self.earlier.first() {
            write!(f, "; looks before that contradicted it: {}", self.earlier.len())?;
            write!(f, ", the first {first}")?;
        }
        Ok(())
    }
}

/// Looks that do not agree with the claim, so far.
pub(super) struct Search {
    claimed: Execution,
    looks: Vec<Look>,
}

impl Search {
    pub(super) fn new(claimed: Execution) -> Self {
        Self { claimed, looks: Vec::new() }
    }

    /// Ends the search with a look that confirms the claim, keeps any other.
    ///
    /// Slow code confirms an interpreter, unless the module brought executable memory:
    /// compiled code can be slow, and an interpreter needs no such memory for a guest.
    pub(super) fn add(&mut self, look: Look) -> Option<Kernel> {
        let interpreted = self.claimed == Execution::Interpreted;
        let contradicted = interpreted && look.executable.is_some_and(|bytes| bytes > 0);
        if look.execution() == self.claimed && !contradicted {
            return Some(Kernel { last: look, earlier: std::mem::take(&mut self.looks) });
        }
        self.looks.push(look);
        None
    }

    /// `true` if enough modules of an engine that claims to compile were loaded again
    /// without anything becoming executable. One is not enough: another thread may
    /// unmap code in the same place meanwhile.
    pub(super) fn has_no_code(&self) -> bool {
        let reloads = self.looks.last().map_or(0, |look| look.reloads);
        self.claimed == Execution::Compiled
            && reloads >= RELOADS_WITHOUT_CODE
            && self.executable() == Some(0)
    }

    /// The most bytes that became executable with a module.
    fn executable(&self) -> Option<usize> {
        self.looks.iter().filter_map(|look| look.executable).max()
    }

    /// Why the claim is not believed.
    pub(super) fn reason(&self) -> String {
        let times = || self.looks.iter().map(|look| look.times_native);
        let (least, most) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        let seen = match self.claimed {
            Execution::Interpreted => Execution::Compiled,
            _ => Execution::Interpreted,
        };
        let against = self.looks.iter().filter(|look| look.execution() == seen).count();
        let reloads = self.looks.last().map_or(0, |look| look.reloads);
        let stack = self.looks.iter().map(|look| look.stack).max().unwrap_or(0);
        let executable = match self.executable() {
            Some(0) => "; no memory became executable when it was loaded".to_owned(),
            Some(bytes) => format!("; up to {bytes} bytes became executable when it was loaded"),
            None => String::new(),
        };
        format!(
            "it is said to be {}, but a compute kernel took {least:.1} to {most:.1} times the time \
             of native code, as {seen} code does, in {against} of {} looks: the module was compiled and \
             loaded again {reloads} times, and called with the stack pointer moved by up to {stack} \
             bytes and on another thread{executable}",
            self.claimed,
            self.looks.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(reloads: usize, executable: Option<usize>, times_native: f64) -> Look {
        Look { reloads, stack: 80 * reloads, other_thread: false, executable, times_native }
    }

    #[test]
    fn only_slow_looks_without_new_code_end_the_search_early() {
        let after = |claimed, looks: &[Look]| {
            let mut search = Search::new(claimed);
            assert!(looks.iter().all(|look| search.add(*look).is_none()));
            search.has_no_code()
        };
        let slow = |reloads, executable| look(reloads, executable, 9.0);
        let first = slow(0, None);
        assert!(!after(Execution::Compiled, &[first, slow(1, Some(0))]));
        assert!(after(Execution::Compiled, &[first, slow(1, Some(0)), slow(2, Some(0))]));
        assert!(!after(Execution::Compiled, &[first, slow(1, Some(4096)), slow(2, Some(0))]));
        assert!(!after(Execution::Compiled, &[first, slow(1, None), slow(2, None)]));
        let fast = [look(0, None, 1.0), look(1, Some(0), 1.0), look(2, Some(0), 1.0)];
        assert!(!after(Execution::Interpreted, &fast));
    }

    #[test]
    fn one_look_that_agrees_is_enough_and_the_others_are_kept() {
        let mut search = Search::new(Execution::Compiled);
        assert_eq!(search.add(look(0, None, 8.0)), None);
        assert_eq!(search.add(look(1, Some(8192), 7.9)), None);
        let kernel = search.add(look(2, Some(8192), 1.7)).unwrap();
        assert_eq!(kernel.execution(), Execution::Compiled);
        assert_eq!(kernel.earlier.len(), 2);
        let text = kernel.to_string();
        assert!(
            text.contains("as compiled code does; looks before that contradicted it: 2"),
            "{text}"
        );
    }

    #[test]
    fn slow_looks_at_code_that_became_executable_confirm_no_interpreter() {
        let mut search = Search::new(Execution::Interpreted);
        assert_eq!(search.add(look(0, None, 1.7)), None);
        assert_eq!(search.add(look(1, Some(4096), 8.0)), None);
        assert!(search.reason().contains("as compiled code does, in 1 of 2 looks"));
        assert!(search.add(look(2, Some(0), 9.4)).is_some());
        assert!(Search::new(Execution::Interpreted).add(look(0, None, 9.4)).is_some());
    }

    #[test]
    fn a_refusal_says_what_was_seen() {
        let mut search = Search::new(Execution::Compiled);
        for look in [look(0, None, 8.0), look(1, Some(8192), 7.9), look(2, Some(4096), 9.6)] {
            assert_eq!(search.add(look), None);
        }
        let reason = search.reason();
        for part in ["7.9 to 9.6 times", "3 of 3 looks", "2 times", "160 bytes", "8192 bytes"] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
    }
}
