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

/// Or a call would fail of what the strategy needs.
#[test]
fn data_in_too_many_places_is_refused_in_a_component_as_in_a_module() {
    let data: String =
        (0..1000).map(|place| format!(r#"(data (i32.const {}) "x")"#, place * 294_912)).collect();
    let module = format!(r#"(memory 4500) {data} (func (export "f"))"#);
    let guest = |text: String| {
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
    };
    let core = guest(format!("(module {module})"));
    let component = guest(format!(
        r#"(component (core module $m {module}) (core instance $i (instantiate $m))
          (func (export "f") (canon lift (core func $i "f"))))"#
    ));
    let mut refused = 0;
    for engine in touchstone_runtimes::engines() {
        let refusal = |strategy, guest| match engine.support_for(strategy, guest) {
            Support::Unsupported { reason } => Some(reason),
            _ => None,
        };
        let is_for_data = |reason: &String| reason.contains("its data lies in");
        for strategy in Strategy::all() {
            let Some(of_core) = refusal(strategy, &core).filter(is_for_data) else { continue };
            let of_component = refusal(strategy, &component);
            assert!(of_component.is_some(), "{} {strategy}: {of_core}", engine.id());
            refused += usize::from(of_component.as_ref().is_some_and(is_for_data));
        }
    }
    assert!(refused > 0);
}
