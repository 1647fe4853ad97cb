//! The order in which strategies are tried for the fastest clean call.

use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// Place of a strategy in the order of expected speed, fastest first. No two strategies have the
/// same place. In-process code comes directly before the precompiled variant, whose calls are as
/// fast. Strategies without a known place come last, in the order of tables.
pub fn preference(strategy: Strategy) -> u16 {
    let way = (strategy.instance, strategy.memory, strategy.pooled);
    match BY_PREFERENCE.iter().position(|known| *known == way) {
        Some(place) => place as u16 * 2 + strategy.code as u16,
        None => BY_PREFERENCE.len() as u16 * 2 + strategy.rank(),
    }
}

/// Ways to a clean instance, with `true` for Touchstone's pool, from the one whose calls are
/// expected to be the fastest.
///
/// First what restores only written pages in place, then the runtime's pools, each after
/// the reuse with the same kind of memory, then plain new instances.
const BY_PREFERENCE: [(InstanceFrom, MemoryFrom, bool); 15] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [
        (Reuse, Tracked, false),
        (Reuse, Tracked, true),
        (Reuse, Gated, false),
        (Recreate, Tracked, false),
        (Recreate, Gated, false),
        (Reuse, Resident, false),
        (Recreate, Resident, false),
        (Pooling, Resident, false),
        (Reuse, CopyOnWrite, false),
        (Pooling, CopyOnWrite, false),
        (Reuse, Segments, false),
        (Pooling, Segments, false),
        (Recreate, CopyOnWrite, false),
        (Recreate, Segments, false),
        (Interpreted, Segments, false),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_restores_written_pages_in_place_is_preferred() {
        let mut all = Strategy::all();
        all.sort_by_key(|strategy| preference(*strategy));
        assert!(all.is_sorted_by(|a, b| preference(*a) < preference(*b)));
        let bases: Vec<_> = all.iter().filter(|one| !one.is_precompiled()).collect();
        let names: Vec<_> = bases.iter().map(ToString::to_string).collect();
        let wanted = [
            "instance_reuse_tracked",
            "pooling_tracked",
            "instance_reuse_gated",
            "recreate_instance_tracked",
            "recreate_instance_gated",
            "instance_reuse_resident",
            "recreate_instance_resident",
            "pooling_cow_resident",
            "instance_reuse_cow",
            "pooling_cow",
            "instance_reuse",
            "pooling",
            "recreate_instance_cow",
            "recreate_instance",
            "interpreted",
        ];
        assert_eq!(names[..wanted.len()], wanted);
    }
}
