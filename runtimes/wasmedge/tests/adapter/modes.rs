//! The execution is the one that the engine names: machine code or not.

use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Execution, Module, Outcome, Result, Strategy, Support,
};

fn guest() -> GuestModule {
    let text = r#"(module (memory (export "memory") 1) (data (i32.const 8) "data")
        (func (export "answer") (result i32) (i32.const 42)))"#;
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

fn load(engine: &dyn MeasuredEngine, strategy: Strategy) -> Result<Box<dyn Module>> {
    let (guest, config) = (guest(), Config::default());
    let artifact = engine.compile(&guest, strategy, &config)?;
    engine.load(&guest, &artifact, strategy, &config)
}

/// Asked for it, WasmEdge loads and answers, and nothing but the speed differs.
#[test]
fn the_just_in_time_mode_that_interprets_is_refused() {
    let engine = touchstone_wasmedge::testing::just_in_time();
    assert_eq!(engine.execution(), Execution::Compiled);
    let strategy = "recreate_instance".parse().unwrap();
    let mut module = load(&*engine, strategy).unwrap();
    let export = module.export("answer", Abi::Plain).unwrap();
    let mut output = Vec::new();
    let outcome = module.new_instance().unwrap().call(export, b"", &mut output).unwrap();
    assert!(outcome.trap().is_none() && output == [42, 0, 0, 0]);
    let refused = module.probe().unwrap_err();
    assert!(matches!(refused, Error::WrongMode { .. }), "{refused}");
    assert!(refused.to_string().contains("interpret"), "{refused}");
    assert_eq!(module.effective().get("execution"), Some("interpreted"));
}

#[test]
fn machine_code_is_found_where_it_is_claimed_and_nowhere_else() {
    for engine in touchstone_wasmedge::engines() {
        for strategy in Strategy::all() {
            if let Support::Unsupported { .. } = engine.support_for(strategy, &guest()) {
                continue;
            }
            let mut module = load(&*engine, strategy).unwrap();
            module.probe().unwrap();
            let effective = module.effective();
            let execution = effective.get("execution").unwrap();
            assert_eq!(execution, engine.execution().to_string(), "{} {strategy}", engine.id());
            assert_eq!(effective.get("machine code").is_some(), execution == "compiled");
        }
    }
}

/// An instance that could not be made is kept. It looks after no memory any more: that of the next
/// instance may lie at the same place.
#[test]
fn an_instance_that_could_not_be_made_changes_no_other() {
    let text = |text: &str| {
        GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
    };
    let broken = text(
        r#"(module (memory 1) (table 1 funcref) (func $f) (elem (i32.const 5) $f)
            (func (export "x")))"#,
    );
    let counting = text(
        r#"(module (memory 1) (func (export "bump") (result i32)
            (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
            (i32.load (i32.const 0))))"#,
    );
    for engine in touchstone_wasmedge::engines() {
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &counting).is_supported() {
                continue;
            }
            let name = format!("{} {strategy}", engine.id());
            let load = |guest: &GuestModule| {
                let config = Config::default();
                let artifact = engine.compile(guest, strategy, &config)?;
                engine.load(guest, &artifact, strategy, &config)
            };
            // Some strategies notice it earlier.
            let kept = load(&broken).and_then(|module| module.new_instance());
            let kept = kept.map(|mut instance| {
                assert!(instance.prepare().is_err(), "{name}");
                instance
            });
            let module = load(&counting).unwrap();
            let bump = module.export("bump", Abi::Plain).unwrap();
            let mut instance = module.new_instance().unwrap();
            for call in 0..3 {
                let mut output = Vec::new();
                let ended = instance.call(bump, b"", &mut output).unwrap();
                assert_eq!(ended, Outcome::Returned, "{name}, call {call}");
                assert_eq!(output, [1, 0, 0, 0], "{name}, call {call}");
            }
            drop(kept);
        }
    }
}
