//! The behaviours of the contract, on this engine alone.

#[macro_use]
#[path = "../../../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use touchstone_executor::Strategy;
use touchstone_executor::adapter::MeasuredEngine;

fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
    touchstone_template::engines().into_iter().map(Arc::from).collect()
}

strategies! {
    interpreted
}

#[test]
fn the_supported_strategy_is_tested() {
    let [engine] = engines().try_into().unwrap_or_else(|_| panic!("one engine"));
    let supported = Strategy::all().into_iter();
    let supported: Vec<_> =
        supported.filter(|strategy| engine.support(*strategy).is_supported()).collect();
    assert_eq!(supported.iter().map(ToString::to_string).collect::<Vec<_>>(), TESTED);
}
