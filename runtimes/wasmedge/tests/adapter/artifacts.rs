//! Machine code that another process of the run takes over.

use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, ArtifactFolder, Config, Outcome, Strategy};

fn guest(answer: u8) -> GuestModule {
    // The host grows its memory, so its code is changed before it is compiled.
    let text = format!(
        r#"(module (memory (export "memory") 1) (data (i32.const 8) "\{answer:02x}")
            (func (export "answer") (result i32)
                (drop (memory.grow (i32.const 1))) (i32.load8_u (i32.const 8))))"#
    );
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Engines as another process would make them: interpreted and compiled.
fn engines() -> [Box<dyn MeasuredEngine>; 2] {
    touchstone_wasmedge::engines().try_into().ok().unwrap()
}

fn folder() -> (tempfile::TempDir, ArtifactFolder) {
    let parent = tempfile::tempdir().unwrap();
    let folder = ArtifactFolder::create(&parent.path().join("artifacts")).unwrap();
    (parent, folder)
}

#[test]
fn machine_code_is_taken_over_and_runs_as_such() {
    let ([_, first], [_, second]) = (engines(), engines());
    let (_parent, folder) = folder();
    let (guest, config) = (guest(42), Config::default());
    for strategy in Strategy::all() {
        if !first.support_for(strategy, &guest).is_supported() {
            continue;
        }
        assert!(first.compile(&guest, strategy, &config).unwrap().save(&folder).unwrap());
        let restored = second.restore(&guest, strategy, &config, &folder).unwrap().unwrap();
        let mut module = second.load(&guest, &restored, strategy, &config).unwrap();
        // It refuses code that WasmEdge would interpret.
        module.probe().unwrap();
        let export = module.export("answer", Abi::Plain).unwrap();
        let mut output = Vec::new();
        let outcome = module.new_instance().unwrap().call(export, b"", &mut output).unwrap();
        assert_eq!((outcome, &output[..]), (Outcome::Returned, &[42, 0, 0, 0][..]), "{strategy}");
    }
}

#[test]
fn nothing_is_taken_over_that_is_not_exactly_this() {
    let [interpreter, engine] = engines();
    let (parent, folder) = folder();
    let (strategy, config) = ("recreate_instance".parse().unwrap(), Config::default());
    // An interpreter has nothing to keep.
    let interpreted = interpreter.compile(&guest(42), strategy, &config).unwrap();
    assert!(!interpreted.save(&folder).unwrap());
    assert!(engine.compile(&guest(42), strategy, &config).unwrap().save(&folder).unwrap());
    let found = |engine: &dyn MeasuredEngine, answer, strategy: &str, config| {
        let strategy = strategy.parse().unwrap();
        engine.restore(&guest(answer), strategy, config, &folder).unwrap().is_some()
    };
    assert!(found(&*engine, 42, "recreate_instance", &config));
    assert!(found(&*engine, 42, "recreate_instance_precompiled", &config), "of the same class");
    assert!(!found(&*interpreter, 42, "recreate_instance", &config));
    assert!(!found(&*engine, 43, "recreate_instance", &config));
    assert!(!found(&*engine, 42, "recreate_instance_cow", &config), "of another class");
    assert!(!found(&*engine, 42, "instance_reuse_precompiled", &config), "of another class");
    let deadline = Config { deadline: Some(Duration::from_millis(9)), ..Config::default() };
    assert!(!found(&*engine, 42, "recreate_instance", &deadline));

    let entry = std::fs::read_dir(parent.path().join("artifacts")).unwrap().next().unwrap();
    let file = entry.unwrap().path();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert!(!found(&*engine, 42, "recreate_instance", &config), "cut off");
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    std::fs::write(&file, changed).unwrap();
    assert!(!found(&*engine, 42, "recreate_instance", &config), "changed");
}
