//! The features of modules and the engines that have them.

use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Strategy, Support};

/// [`Engine::support_for`](touchstone_executor::Engine::support_for); a refusal for lack of a
/// feature ends with the engines that have all needed features.
pub fn support_for(
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    engines: &[Arc<dyn MeasuredEngine>],
) -> Support {
    let support = engine.support_for(strategy, guest);
    match (support, guest.info().feature_refusal(engine.capabilities().features)) {
        (Support::Unsupported { reason }, Some(missing)) if reason == missing => {
            Support::Unsupported { reason: format!("{reason} ({})", having(guest, engines)) }
        }
        (support, _) => support,
    }
}

/// The engines that have all features of the module, in words.
pub fn having(guest: &GuestModule, engines: &[Arc<dyn MeasuredEngine>]) -> String {
    let has = |engine: &&Arc<dyn MeasuredEngine>| {
        guest.info().feature_refusal(engine.capabilities().features).is_none()
            && Strategy::all().iter().any(|way| engine.support_for(*way, guest).is_supported())
    };
    let names: Vec<_> = engines.iter().filter(has).map(|engine| engine.id()).collect();
    match names.is_empty() {
        true => "no engine of this build does".to_owned(),
        false => format!("engines that do: {}", names.join(", ")),
    }
}
