//! The registry: which backends this build has.
//!
//! A backend is one crate, one feature and one line in [`engines`]; nothing else
//! in the project names it.

use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

/// The engines of every backend in this build, backend by backend in the order
/// of the lines below.
#[must_use]
pub fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
    let backends: Vec<Vec<Box<dyn MeasuredEngine>>> = vec![
        #[cfg(feature = "native")]
        touchstone_native::engines(),
        #[cfg(feature = "substrate")]
        touchstone_substrate::engines(),
        #[cfg(feature = "wasm3")]
        touchstone_wasm3::engines(),
        #[cfg(feature = "tinywasm")]
        touchstone_tinywasm::engines(),
        #[cfg(feature = "wamr")]
        touchstone_wamr::engines(),
        #[cfg(feature = "wasmer")]
        touchstone_wasmer::engines(),
        #[cfg(feature = "wasmi")]
        touchstone_wasmi::engines(),
        #[cfg(feature = "wasmtime")]
        touchstone_wasmtime::engines(),
        #[cfg(feature = "wasmedge")]
        touchstone_wasmedge::engines(),
    ];
    backends.into_iter().flatten().map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_engine_has_a_name_of_its_own_and_a_version() {
        let engines = super::engines();
        let mut ids: Vec<_> = engines.iter().map(|engine| engine.id()).collect();
        assert!(engines.iter().all(|engine| !engine.version().is_empty()));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), engines.len());
    }
}
