//! The behaviours of the contract, on this engine alone.

#[macro_use]
#[path = "../../../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;

fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
    touchstone_wamr::engines().into_iter().map(Arc::from).collect()
}

strategies! {
    interpreted
    instance_reuse
    instance_reuse_cow
    instance_reuse_resident
    instance_reuse_tracked
    instance_reuse_gated
    recreate_instance_cow
    recreate_instance_resident
    recreate_instance_tracked
    recreate_instance_gated
    pooling_tracked
}

#[test]
fn the_supported_strategy_is_tested() {
    let [engine] = engines().try_into().unwrap_or_else(|_| panic!("one engine"));
    let supported = Strategy::all().into_iter();
    let supported: Vec<_> =
        supported.filter(|strategy| engine.support(*strategy).is_supported()).collect();
    assert_eq!(supported.iter().map(ToString::to_string).collect::<Vec<_>>(), TESTED);
}
