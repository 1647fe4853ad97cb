//! Every engine of the registry under every strategy keeps the contract:
//! `pooling_cow::a_trap_leaves_the_next_call_clean` runs that behaviour on all engines that support
//! that strategy for the guest.

#[macro_use]
mod common;

use std::collections::BTreeSet;
use touchstone_executor::{Strategy, Support};
use touchstone_runtimes::engines;

strategies! {
    interpreted
    instance_reuse
    instance_reuse_precompiled
    instance_reuse_cow
    instance_reuse_cow_precompiled
    instance_reuse_resident
    instance_reuse_resident_precompiled
    instance_reuse_tracked
    instance_reuse_tracked_precompiled
    instance_reuse_gated
    instance_reuse_gated_precompiled
    recreate_instance
    recreate_instance_precompiled
    recreate_instance_cow
    recreate_instance_cow_precompiled
    recreate_instance_resident
    recreate_instance_resident_precompiled
    recreate_instance_tracked
    recreate_instance_tracked_precompiled
    recreate_instance_gated
    recreate_instance_gated_precompiled
    pooling
    pooling_precompiled
    pooling_cow
    pooling_cow_precompiled
    pooling_cow_resident
    pooling_cow_resident_precompiled
    pooling_tracked
}

#[test]
fn every_strategy_is_tested() {
    let all: BTreeSet<_> = Strategy::all().iter().map(ToString::to_string).collect();
    assert_eq!(all, TESTED.iter().map(ToString::to_string).collect());
}

#[test]
fn every_engine_does_something_and_says_why_not_the_rest() {
    for engine in engines() {
        let mut supported = 0;
        for strategy in Strategy::all() {
            match engine.support(strategy) {
                Support::Unsupported { reason } => {
                    assert!(!reason.trim().is_empty(), "{} {strategy}", engine.id());
                }
                Support::Emulated { how } => {
                    assert!(!how.trim().is_empty(), "{} {strategy}", engine.id());
                    supported += 1;
                }
                Support::Native => supported += 1,
            }
        }
        assert!(supported > 0, "{} supports no strategy", engine.id());
        println!("{} ({}): {supported} strategies", engine.id(), engine.version());
    }
}
