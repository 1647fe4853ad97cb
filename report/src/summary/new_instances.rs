//! New instances on Touchstone's memories against those of the runtime itself.

use crate::Content;
use crate::markdown::Table;
use crate::matrix::{Executor, Work};
use crate::rank::{fastest, ties};
use crate::units::time_with_reach;
use std::collections::BTreeSet;
use touchstone_record::escape::code;

/// On how many calls of an engine a new instance on a memory of Touchstone's is slower than the
/// fastest new instance that the runtime offers itself, and which they are. Empty where no engine
/// has both.
pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let is_new = |executor: &Executor| {
        executor.strategy.is_new_instance() && !executor.strategy.is_precompiled()
    };
    let of = |work: &Work, engine: &str, is_own: bool| {
        let wanted = |other: &Executor| {
            other.engine == engine && is_new(other) && matrix.is_native(other) == is_own
        };
        fastest(matrix, work, wanted)
    };
    let engines = matrix.engines();
    let engines = engines.into_iter().filter(|engine| !matrix.is_baseline(engine));
    let mut slower = Table::of_words("Call", ["The runtime's own", "On Touchstone's memory"]);
    let (mut pairs, mut exceptions, mut both) = (0_usize, 0_usize, BTreeSet::new());
    for (engine, work) in engines.flat_map(|own| matrix.works.iter().map(move |work| (own, work))) {
        let (Some(own), Some(ours)) = (of(work, engine, true), of(work, engine, false)) else {
            continue;
        };
        pairs += 1;
        both.insert(engine);
        if ours.1.median > own.1.median && !ties(own.1, ours.1, None) {
            exceptions += 1;
            let cell = |(executor, time)| format!("{} {}", time_with_reach(&time), code(executor));
            slower.row(work.names(), [own, ours].map(cell));
        }
    }
    if pairs == 0 {
        return String::new();
    }
    let found = match exceptions {
        0 => "None is slower beyond both intervals.".to_owned(),
        _ => format!("{exceptions} are slower beyond both intervals:\n\n{}", slower.finish()),
    };
    format!(
        "A new instance on a memory of Touchstone's, against the fastest new instance that the \
         runtime itself offers, slots of its pool included: {pairs} calls on {} engines, one \
         thread. {found}\n\n",
        both.len()
    )
}
