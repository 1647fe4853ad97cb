//! The registry: which backends this build has.
//!
//! A backend is one crate, one feature and one line in `backends!`; nothing else
//! in the project names it.

use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

macro_rules! backends {
    ($(#[cfg(feature = $feature:tt)] $backend:ident::engines(),)*) => {
        /// The feature of each backend, and `true` if it is in this build.
        const FEATURES: &[(&str, bool)] = &[$(($feature, cfg!(feature = $feature)),)*];

        /// The engines of every backend in this build, backend by backend in the order
        /// of the lines below.
        #[must_use]
        pub fn engines() -> Vec<Arc<dyn MeasuredEngine>> {
            let backends: Vec<Vec<Box<dyn MeasuredEngine>>> = vec![
                $(#[cfg(feature = $feature)] $backend::engines(),)*
            ];
            backends.into_iter().flatten().map(Arc::from).collect()
        }

        /// The engine of this name. Only its own backend is made ready, which is quicker for a
        /// process that needs no other. `None` where this build has none of the name.
        #[must_use]
        pub fn engine(id: &str) -> Option<Arc<dyn MeasuredEngine>> {
            let own: Vec<Box<dyn MeasuredEngine>> = match id {
                $(#[cfg(feature = $feature)] _ if id.starts_with($feature) => $backend::engines(),)*
                _ => Vec::new(),
            };
            own.into_iter().find(|engine| engine.id() == id).map(Arc::from)
        }
    };
}

backends! {
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
}

/// The feature of a backend that a text names, such as an engine or a filter, and that this build
/// does not have. Engines are named by their backend's feature.
#[must_use]
pub fn absent(text: &str) -> Option<&'static str> {
    let named = |feature: &str| {
        text.match_indices(feature).any(|(at, _)| {
            !text[..at].ends_with(char::is_alphanumeric)
                && !text[at + feature.len()..].starts_with(char::is_alphanumeric)
        })
    };
    FEATURES.iter().find(|(feature, is_here)| !is_here && named(feature)).map(|(name, _)| *name)
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
        // A missing engine is found by the feature that its name begins with.
        let has =
            |id: &&str| super::FEATURES.iter().any(|(name, own)| *own && id.starts_with(name));
        assert!(ids.iter().all(has), "{ids:?}");
        let of = |id: &&str| super::engine(id).is_some_and(|engine| engine.id() == *id);
        assert!(ids.iter().all(of) && super::engine("nothing like it").is_none());
    }

    #[test]
    fn a_backend_that_the_build_lacks_is_found_in_names_and_filters() {
        for (feature, is_here) in super::FEATURES {
            let expected = (!is_here).then_some(*feature);
            for text in [*feature, &format!("^{feature}_mode_pooling"), &format!("x.*{feature}$")] {
                assert_eq!(super::absent(text), expected, "{text}");
            }
            assert_eq!(super::absent(&format!("{feature}x")), None);
        }
    }
}
