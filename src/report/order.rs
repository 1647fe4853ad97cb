//! The order of rows and columns: fixed by name, so that two reports can be
//! laid side by side whatever order the records came in.
//!
//! No backend is named here: backends stand in alphabetical order.

use std::cmp::Ordering;

/// Families of strategies, in the order of the tables.
const FAMILIES: [&str; 5] =
    ["interpreted", "instance_reuse", "recreate_instance", "pooling", "pooling_late"];

/// How the memory comes about, within a family.
const MEMORIES: [&str; 6] = ["", "_cow", "_resident", "_cow_resident", "_tracked", "_cow_tracked"];

/// Cases that lead the tables; all others follow by name.
const CASES: [&str; 2] = ["call_empty_function", "dirty_1mb_of_memory"];

/// Suffix of the strategies whose code is loaded from an artifact.
pub(super) const PRECOMPILED: &str = "_precompiled";

/// The case that costs nothing but the clean instance.
pub(super) const EMPTY: &str = CASES[0];

/// The case that leaves pages behind for the reset.
pub(super) const DIRTY: &str = CASES[1];

/// The small guest of the two that most rows are about.
pub(super) const TEST_GUEST: &str = "test_runtime";

/// The guest with the size of a real chain's runtime.
pub(super) const LARGE_GUEST: &str = "large_runtime";

/// Where a strategy stands: (family, memory, precompiled). Unknown names come last.
fn strategy_rank(strategy: &str) -> (usize, usize, bool) {
    let Some((family, memory)) = parts(strategy) else { return (FAMILIES.len(), 0, false) };
    let place = |list: &[&str], name| list.iter().position(|known| *known == name);
    let family = place(&FAMILIES, family).unwrap_or(FAMILIES.len());
    (family, place(&MEMORIES, memory).unwrap_or_default(), strategy.ends_with(PRECOMPILED))
}

/// Family and memory of a strategy, wherever its code comes from. `None` for
/// one that is not known here.
pub(super) fn parts(strategy: &str) -> Option<(&'static str, &'static str)> {
    let base = strategy.strip_suffix(PRECOMPILED).unwrap_or(strategy);
    FAMILIES.into_iter().find_map(|family| {
        let rest = base.strip_prefix(family)?;
        MEMORIES.into_iter().find(|memory| *memory == rest).map(|memory| (family, memory))
    })
}

/// Whether a strategy is that of a pool of this project's: of instances that are
/// reset in place.
pub(super) fn is_our_pool(strategy: &str) -> bool {
    matches!(parts(strategy), Some(("pooling", "_tracked") | ("pooling_late", _)))
}

/// Compares two strategies by their place in the tables.
pub(super) fn strategies(a: &str, b: &str) -> Ordering {
    strategy_rank(a).cmp(&strategy_rank(b)).then_with(|| a.cmp(b))
}

/// Compares two cases: the known ones first.
pub(super) fn cases(a: &str, b: &str) -> Ordering {
    by_list(&CASES, a, b)
}

/// Compares two guests: the large one first, as in the tables this follows.
pub(super) fn guests(a: &str, b: &str) -> Ordering {
    by_list(&[LARGE_GUEST, TEST_GUEST], a, b)
}

fn by_list(list: &[&str], a: &str, b: &str) -> Ordering {
    let place = |name| list.iter().position(|known| *known == name).unwrap_or(list.len());
    place(a).cmp(&place(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_stand_in_the_order_of_the_tables() {
        let wanted = [
            "interpreted",
            "instance_reuse",
            "instance_reuse_precompiled",
            "instance_reuse_cow",
            "instance_reuse_resident",
            "recreate_instance",
            "recreate_instance_cow",
            "recreate_instance_cow_precompiled",
            "recreate_instance_resident",
            "pooling",
            "pooling_cow",
            "pooling_cow_resident",
            "another",
            "zebra",
        ];
        let mut sorted = wanted;
        sorted.sort_unstable();
        sorted.sort_by(|a, b| strategies(a, b));
        assert_eq!(sorted, wanted);
    }
}
