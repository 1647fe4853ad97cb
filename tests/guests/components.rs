//! Components on every engine of the registry: run, or refused with the reason.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, Error, Strategy, Support};

/// With a memory, data and an export, so that a module lies in it that an engine could
/// take for the guest.
const COMPONENT: &str = r#"(component
    (core module $m
        (memory (export "memory") 1)
        (global (export "__heap_base") i32 (i32.const 1024))
        (data (i32.const 0) "data")
        (func (export "noop") (param i32 i32) (result i64) (i64.const 0))
        (func (export "none")))
    (core instance $i (instantiate $m))
    (func (export "noop") (canon lift (core func $i "none"))))"#;

fn component() -> GuestModule {
    let bytes = wat::parse_str(COMPONENT).unwrap();
    GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
}

#[test]
fn an_engine_runs_components_or_says_that_it_does_not() {
    let guest = component();
    for engine in touchstone_runtimes::engines() {
        let refusals: Vec<String> = Strategy::all()
            .into_iter()
            .filter(|strategy| engine.support(*strategy).is_supported())
            .filter_map(|strategy| match engine.support_for(strategy, &guest) {
                Support::Unsupported { reason } => Some(reason),
                _ => None,
            })
            .collect();
        assert!(refusals.iter().all(|reason| reason.contains("component")), "{refusals:?}");
    }
}

#[test]
fn no_engine_takes_a_component_for_a_module() {
    let guest = component();
    for engine in touchstone_runtimes::engines() {
        for strategy in Strategy::all() {
            let name = format!("{} {strategy}", engine.id());
            let loaded = engine
                .compile(&guest, strategy, &Config::default())
                .and_then(|artifact| engine.load(&guest, &artifact, strategy, &Config::default()));
            match (engine.support_for(strategy, &guest), loaded) {
                (Support::Unsupported { .. }, Ok(_)) => panic!("{name} loaded it all the same"),
                (Support::Unsupported { .. }, Err(error)) => {
                    assert!(!matches!(error, Error::Misuse(_)), "{name}: {error}");
                }
                (_, Ok(_)) => {}
                (_, Err(error)) => panic!("{name}: {error}"),
            }
        }
    }
}
