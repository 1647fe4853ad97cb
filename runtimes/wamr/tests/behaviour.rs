//! The behaviours of the contract, on this engine alone.

#[macro_use]
#[path = "../../../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
    touchstone_wamr::engines().into_iter().map(Arc::from).collect()
}

every_strategy! {}
