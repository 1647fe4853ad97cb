//! The JSON components of test-runtime: every scenario under every strategy.

use std::path::Path;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, ExportId, Instance, Module, Outcome, Strategy, TrapKind,
};

fn file(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-runtime").join(path))
        .unwrap()
}

fn guest(name: &str) -> GuestModule {
    GuestModule::new(name, &file(&format!("built/{name}.wasm")), HeapPages::default()).unwrap()
}

fn config() -> Config {
    Config { codec: Some(guest("json-codec")), ..Config::default() }
}

/// Export, convention, input.
fn scenarios() -> Vec<(&'static str, Abi, Vec<u8>)> {
    let (small, big) = (file("inputs/small.json"), file("inputs/big.json"));
    vec![
        ("noop", Abi::Input, Vec::new()),
        ("run-small", Abi::Input, small.clone()),
        ("run-small-bytes", Abi::Bytes, small.clone()),
        ("run-small-typed", Abi::Codec, small.clone()),
        ("run-small-typed", Abi::Typed, small),
        ("run-big", Abi::Input, big.clone()),
        ("run-big-bytes", Abi::Bytes, big.clone()),
        ("run-big-typed", Abi::Codec, big.clone()),
        ("run-big-typed", Abi::Typed, big),
    ]
}

/// One call; a failure of the host fails the test.
fn call(instance: &mut dyn Instance, export: ExportId, input: &[u8]) -> Outcome {
    instance.call(export, input, &mut Vec::new()).unwrap()
}

fn load(engine: &dyn MeasuredEngine, guest: &GuestModule, strategy: Strategy) -> Box<dyn Module> {
    let artifact = engine.compile(guest, strategy, &config()).unwrap();
    engine.load(guest, &artifact, strategy, &config()).unwrap()
}

/// Every engine and strategy on both components. Compiling takes most of the time, so
/// strategies that share an artifact share it here.
fn each(test: impl Fn(&str, &dyn Module)) {
    for guest in [guest("json-component"), guest("json-composed")] {
        for engine in touchstone_wasmtime::engines() {
            let mut artifacts = std::collections::HashMap::new();
            for strategy in Strategy::all() {
                if !engine.support_for(strategy, &guest).is_supported() {
                    continue;
                }
                let artifact = artifacts
                    .entry(engine.artifact_class(strategy))
                    .or_insert_with(|| engine.compile(&guest, strategy, &config()).unwrap());
                let module = engine.load(&guest, artifact, strategy, &config()).unwrap();
                test(&format!("{} on {} {strategy}", guest.name(), engine.id()), &*module);
            }
        }
    }
}

#[test]
fn every_scenario_returns_and_bad_input_is_the_guests_error() {
    each(|name, module| {
        let mut instance = module.new_instance().unwrap();
        for (export, abi, input) in scenarios() {
            let id = module.export(export, abi).unwrap();
            for _ in 0..3 {
                assert_eq!(call(&mut *instance, id, &input), Outcome::Returned, "{name}: {export}");
            }
            if input.is_empty() {
                continue;
            }
            let mut wrong = input.clone();
            // Inside a text of one, and of the other a digit of its own.
            *wrong.iter_mut().rfind(|byte| byte.is_ascii_digit()).unwrap() ^= 1;
            let truncated = &input[..input.len() - 3];
            let longer = [&input[..], b"}"].concat();
            for bad in [&wrong[..], truncated, &longer, b""] {
                let outcome = call(&mut *instance, id, bad);
                let trap = outcome.trap().unwrap_or_else(|| panic!("{name}: {export} took it"));
                let by_host = matches!(trap.kind, TrapKind::BadInput { .. });
                let by_guest = trap.kind == TrapKind::Unreachable;
                assert!(by_host || by_guest, "{name}: {export}: {trap}");
                let outcome = call(&mut *instance, id, &input);
                assert_eq!(outcome, Outcome::Returned, "{name}: {export} after {trap}");
            }
        }
    });
}

#[test]
fn an_input_larger_than_any_memory_is_the_guests_error() {
    // Nothing of it is ever read: it takes no memory here.
    let input = vec![0; (4 << 30) + 1];
    let engine = &touchstone_wasmtime::engines()[0];
    let guest = guest("json-component");
    for strategy in ["recreate_instance", "pooling_cow"] {
        let module = load(&**engine, &guest, strategy.parse().unwrap());
        let mut instance = module.new_instance().unwrap();
        for (export, abi, right) in scenarios() {
            if matches!(abi, Abi::Bytes | Abi::Codec) && export.contains("small") {
                let id = module.export(export, abi).unwrap();
                let outcome = call(&mut *instance, id, &input);
                assert!(outcome.trap().is_some(), "{export}");
                assert_eq!(call(&mut *instance, id, &right), Outcome::Returned, "{export}");
            }
        }
    }
}

#[test]
fn without_a_codec_nothing_is_decoded_by_one() {
    let engine = &touchstone_wasmtime::engines()[0];
    let guest = guest("json-component");
    let strategy = "pooling_cow".parse().unwrap();
    for codec in [None, Some(guest.clone())] {
        let config = Config { codec, ..Config::default() };
        let artifact = engine.compile(&guest, strategy, &config).unwrap();
        let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
        let error = module.export("run-small-typed", Abi::Codec).unwrap_err();
        let expected = if config.codec.is_some() { "is not a codec" } else { "no codec component" };
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(
            module.export("run-small-bytes", Abi::Codec),
            Err(Error::ExportUnsupported { .. })
        ));
        assert!(module.export("run-small-typed", Abi::Typed).is_ok());
    }
}

/// The codec serves all calls of an instance, also those before it was asked for.
#[test]
fn one_codec_serves_many_calls() {
    let engine = &touchstone_wasmtime::engines()[0];
    let module = load(&**engine, &guest("json-component"), "pooling_cow".parse().unwrap());
    let mut instance = module.new_instance().unwrap();
    let (small, big) = (file("inputs/small.json"), file("inputs/big.json"));
    let run_small = module.export("run-small-typed", Abi::Codec).unwrap();
    let run_big = module.export("run-big-typed", Abi::Codec).unwrap();
    for round in 0..2000 {
        assert_eq!(call(&mut *instance, run_small, &small), Outcome::Returned, "{round}");
        assert_eq!(call(&mut *instance, run_big, &big), Outcome::Returned, "{round}");
        assert_ne!(call(&mut *instance, run_big, &small), Outcome::Returned, "{round}");
    }
}
