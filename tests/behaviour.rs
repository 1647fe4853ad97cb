//! Every engine of the registry under every strategy keeps the contract:
//! `pooling_cow::a_trap_leaves_the_next_call_clean` runs that behaviour on all engines that support
//! that strategy for the guest.

#[macro_use]
mod common;

use touchstone_executor::{Strategy, Support};
use touchstone_runtimes::engines;

every_strategy! {}

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
