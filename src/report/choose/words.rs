//! Strategies, works and needs in words.

use crate::record::{Execution, Role};
use crate::report::markdown::code;
use crate::report::matrix::{Executor, Matrix, Work};
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// What somebody may need, and which executors will do.
pub(super) struct Need {
    /// Heading of the row.
    pub name: &'static str,
    /// Whether an executor will do.
    pub met: fn(&Matrix<'_>, &Executor) -> bool,
}

/// No need but speed.
pub(super) static ANY: Need = Need { name: "Fastest clean instance of all", met: |_, _| true };

/// No call runs in an instance that another call used.
pub(super) static NEW: Need = Need {
    name: "A new instance each call",
    met: |_, executor| executor.strategy.is_new_instance(),
};

/// Nothing that Touchstone adds to the runtime.
pub(super) static NATIVE: Need =
    Need { name: "Only what the runtime itself offers", met: |matrix, e| matrix.is_native(e) };

/// No machine code made at run time.
pub(super) static INTERPRETED: Need = Need {
    name: "Interpreted code",
    met: |matrix, e| matrix.execution(&e.engine) == Some(Execution::Interpreted),
};

/// Machine code.
pub(super) static COMPILED: Need = Need {
    name: "Compiled code",
    met: |matrix, e| matrix.execution(&e.engine) == Some(Execution::Compiled),
};

/// What one gets without choosing.
pub(super) static PLAIN: Need = Need {
    name: "Plain new instance (for comparison)",
    met: |matrix, e| PLAIN_WAYS.contains(&e.strategy.base()) && matrix.is_native(e),
};

/// The guest's code in the host, without a runtime.
pub(super) static BASELINE: Need =
    Need { name: "Baseline (for comparison)", met: |matrix, e| matrix.is_baseline(&e.engine) };

/// The plain ways to a clean instance, of which an engine has one.
const PLAIN_WAYS: [Strategy; 2] =
    [Strategy::new(InstanceFrom::Recreate, MemoryFrom::Segments), Strategy::INTERPRETED];

/// A work as the heading of a column.
pub(super) fn heading(matrix: &Matrix<'_>, work: &Work) -> String {
    match matrix.role(work) {
        Some(Role::EmptyCall) => "Empty call".to_owned(),
        Some(Role::DirtyMemory) => "Memory written".to_owned(),
        Some(Role::Payload) => format!("Payload ({})", code(&work.case)),
        None => code(&work.case),
    }
}

/// A work within a sentence.
pub(super) fn call(matrix: &Matrix<'_>, work: &Work) -> String {
    match matrix.role(work) {
        Some(Role::EmptyCall) => "an empty call".to_owned(),
        Some(Role::DirtyMemory) => format!("a call that writes memory ({})", code(&work.case)),
        Some(Role::Payload) => format!("a call with a payload ({})", code(&work.case)),
        None => code(&work.case),
    }
}

/// Some strategies in a sentence; `most` of them by name, the rest by number.
pub(super) fn several(strategies: &[Strategy], most: usize) -> String {
    let named = strategies.iter().take(most).map(|strategy| code(&strategy.to_string()));
    let mut texts: Vec<String> = named.collect();
    if strategies.len() > most {
        texts.push(format!("{} more", strategies.len() - most));
    }
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_so_many_names() {
        let all = ["pooling", "pooling_cow", "interpreted", "recreate_instance"]
            .map(|name| name.parse().unwrap());
        assert_eq!(several(&all[..1], 2), "`pooling`");
        assert_eq!(several(&all[..2], 2), "`pooling` and `pooling_cow`");
        assert_eq!(several(&all, 2), "`pooling`, `pooling_cow` and 2 more");
    }
}
