//! Strategies, cases and needs in words.

use crate::report::markdown::code;
use crate::report::matrix::{Execution, Executor, Matrix};
use crate::report::order;

/// What somebody may need, and which executors will do.
pub(super) struct Need {
    /// Heading of the row.
    pub name: &'static str,
    /// Whether an executor will do.
    pub met: fn(&Matrix, &Executor) -> bool,
}

/// No need but speed.
pub(super) static ANY: Need = Need { name: "Fastest clean instance of all", met: |_, _| true };

/// No call sees an instance that another call used.
pub(super) static NEW: Need =
    Need { name: "A new instance each call", met: |_, executor| makes_new(&executor.strategy) };

/// No reset of this project's own.
pub(super) static NATIVE: Need =
    Need { name: "Only what the runtime itself offers", met: Matrix::is_native };

/// No machine code made at run time.
pub(super) static INTERPRETED: Need = Need {
    name: "Interpreted code",
    met: |matrix, executor| matrix.execution(executor) == Execution::Interpreted,
};

/// Machine code.
pub(super) static COMPILED: Need = Need {
    name: "Compiled code",
    met: |matrix, executor| matrix.execution(executor) == Execution::Compiled,
};

/// What one gets without choosing.
pub(super) static PLAIN: Need = Need {
    name: "Plain new instance (for comparison)",
    met: |matrix, executor| {
        PLAIN_WAYS.contains(&executor.base().strategy.as_str()) && matrix.is_native(executor)
    },
};

/// The plain ways to a clean instance, of which a backend has one.
pub(super) const PLAIN_WAYS: [&str; 2] = ["recreate_instance", "interpreted"];

/// A pool of ours holds instances that are reset in place.
fn makes_new(strategy: &str) -> bool {
    strategy == "interpreted"
        || strategy.starts_with("recreate_instance")
        || (strategy.starts_with("pooling") && !order::is_our_pool(strategy))
}

/// What a strategy does, as advice. `None` for one that is not known here.
pub(super) fn advice(strategy: &str) -> Option<String> {
    let (family, memory) = order::parts(strategy)?;
    let instance = match family {
        "interpreted" => "Make a new instance for each call and interpret its code",
        "instance_reuse" => "Reset one instance in place",
        "recreate_instance" => "Make a new instance for each call",
        "pooling" | "pooling_late" if order::is_our_pool(strategy) => {
            "Take an instance from a pool for each call"
        }
        "pooling" => "Take an instance from the runtime's pool for each call",
        _ => return None,
    };
    let memory = match memory {
        "" => "",
        "_cow" => ", on memory that is mapped copy-on-write",
        _ => ", restoring only the memory pages that were written",
    };
    Some(format!("{instance}{memory}"))
}

/// A case as the heading of a column.
pub(super) fn heading(case: &str) -> String {
    match case {
        order::EMPTY => "Empty call".to_owned(),
        order::DIRTY => "1 MiB dirtied".to_owned(),
        other => code(other),
    }
}

/// A case within a sentence.
pub(super) fn call(case: &str) -> String {
    match case {
        order::EMPTY => "an empty call".to_owned(),
        order::DIRTY => "a call that dirties 1 MiB".to_owned(),
        other => code(other),
    }
}

/// Some things in a sentence; `most` of them by name, the rest by number.
pub(super) fn several(names: &[&str], most: usize) -> String {
    let mut texts: Vec<String> = names.iter().take(most).map(|name| code(name)).collect();
    if names.len() > most {
        texts.push(format!("{} more", names.len() - most));
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
    fn strategies_are_said_in_words() {
        assert_eq!(
            advice("instance_reuse_resident").unwrap(),
            "Reset one instance in place, restoring only the memory pages that were written"
        );
        assert_eq!(
            advice("recreate_instance_cow_precompiled").unwrap(),
            "Make a new instance for each call, on memory that is mapped copy-on-write"
        );
        assert_eq!(
            advice("pooling_late_tracked").unwrap(),
            "Take an instance from a pool for each call, restoring only the memory pages that \
             were written"
        );
        assert!(makes_new("pooling_cow") && !makes_new("pooling_tracked"));
        assert_eq!(advice("zebra"), None);
    }

    #[test]
    fn at_most_so_many_names() {
        assert_eq!(several(&["a"], 2), "`a`");
        assert_eq!(several(&["a", "b"], 2), "`a` and `b`");
        assert_eq!(several(&["a", "b", "c", "d"], 2), "`a`, `b` and 2 more");
    }
}
