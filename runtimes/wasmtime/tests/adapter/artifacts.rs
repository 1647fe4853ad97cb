//! Compiled code that another process of the run takes over.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Artifact, ArtifactFolder, Config, Error, Outcome, Strategy};

fn guest(answer: u8) -> GuestModule {
    let text = format!(
        r#"(module (memory (export "memory") 1) (data (i32.const 8) "\{answer:02x}")
            (func (export "answer") (result i32) (i32.load8_u (i32.const 8))))"#
    );
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Engines as another process would make them.
fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    touchstone_wasmtime::engines()
}

fn strategies(engine: &dyn MeasuredEngine) -> Vec<Strategy> {
    let mut all = Strategy::all();
    all.retain(|one| engine.support_for(*one, &guest(42)).is_supported());
    all
}

fn folder() -> (tempfile::TempDir, ArtifactFolder) {
    let parent = tempfile::tempdir().unwrap();
    let folder = ArtifactFolder::create(&parent.path().join("artifacts")).unwrap();
    (parent, folder)
}

fn files(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent.join("artifacts")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn answers(engine: &dyn MeasuredEngine, artifact: &Artifact, strategy: Strategy) {
    let module = engine.load(&guest(42), artifact, strategy, &Config::default());
    let mut module = module.unwrap();
    module.probe().unwrap();
    let export = module.export("answer", Abi::Plain).unwrap();
    let mut output = Vec::new();
    let outcome = module.new_instance().unwrap().call(export, b"", &mut output).unwrap();
    assert_eq!((outcome, &output[..]), (Outcome::Returned, &[42, 0, 0, 0][..]), "{strategy}");
}

#[test]
fn another_engine_object_loads_what_the_first_one_compiled() {
    let config = Config::default();
    for (first, second) in engines().into_iter().zip(engines()) {
        let (_parent, folder) = folder();
        let strategies = strategies(&*first);
        assert!(!strategies.is_empty());
        for strategy in strategies {
            let compiled = first.compile(&guest(42), strategy, &config).unwrap();
            assert!(compiled.save(&folder).unwrap(), "{} {strategy}", first.id());
            let restored = second.restore(&guest(42), strategy, &config, &folder).unwrap();
            let restored = restored.expect("what was saved");
            let code =
                |artifact: &Artifact| artifact.code(first.id()).unwrap().unwrap().bytes().to_vec();
            assert!(code(&restored) == code(&compiled), "{} {strategy}", first.id());
            answers(&*second, &restored, strategy);
            // What was restored can be handed on.
            assert!(restored.save(&folder).unwrap());
        }
    }
}

#[test]
fn nothing_is_restored_for_anything_else() {
    let config = Config::default();
    let deadline = Config { deadline: Some(Duration::from_millis(9)), ..Config::default() };
    let strategy = "recreate_instance".parse().unwrap();
    let image = "recreate_instance_cow".parse().unwrap();
    let (_parent, folder) = folder();
    let engine = &engines()[0];
    engine.compile(&guest(42), strategy, &config).unwrap().save(&folder).unwrap();
    let restored = |engine: &dyn MeasuredEngine, answer, strategy, config| {
        engine.restore(&guest(answer), strategy, config, &folder).unwrap().is_some()
    };
    assert!(restored(&**engine, 42, strategy, &config));
    assert!(!restored(&**engine, 43, strategy, &config));
    assert!(!restored(&**engine, 42, image, &config));
    assert!(!restored(&**engine, 42, strategy, &deadline));
    let metered = Config { metered: true, ..Config::default() };
    assert!(!restored(&**engine, 42, strategy, &metered));
    for other in engines().iter().skip(1) {
        assert!(!restored(&**other, 42, strategy, &config), "{}", other.id());
    }
}

#[test]
fn a_file_that_was_changed_is_never_loaded() {
    let config = Config::default();
    let strategy: Strategy = "recreate_instance_cow_precompiled".parse().unwrap();
    let (parent, folder) = folder();
    let engine = &engines()[0];
    engine.compile(&guest(42), strategy, &config).unwrap().save(&folder).unwrap();
    let [file] = &files(parent.path())[..] else { panic!("one file") };
    let whole = fs::read(file).unwrap();
    let found = || engine.restore(&guest(42), strategy, &config, &folder).unwrap();
    for length in [0, 20, whole.len() / 2, whole.len() - 1] {
        fs::write(file, &whole[..length]).unwrap();
        assert!(found().is_none(), "cut off after {length} bytes");
    }
    for at in (0..whole.len()).step_by(97) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(file, changed).unwrap();
        assert!(found().is_none(), "with another byte {at}");
    }
    fs::write(file, &whole).unwrap();
    let restored = found().unwrap();
    answers(&**engine, &restored, strategy);
    // The file that is mapped is compared with what was read, as after compiling.
    let code = restored.code(engine.id()).unwrap().unwrap();
    code.stage().unwrap().set_len(100).unwrap();
    let refused = engine.load(&guest(42), &restored, strategy, &config).err();
    assert!(matches!(refused, Some(Error::BadArtifact { .. })), "{refused:?}");
}

#[test]
fn components_are_taken_over_as_well() {
    let text = r#"(component
        (core module $inner
            (memory (export "memory") 1)
            (func (export "once")
                (if (i32.load (i32.const 0)) (then unreachable))
                (i32.store (i32.const 0) (i32.const 1))))
        (core instance $inner (instantiate $inner))
        (func (export "once") (canon lift (core func $inner "once"))))"#;
    let wasm = wat::parse_str(text).unwrap();
    let guest = GuestModule::new("component", &wasm, HeapPages::default()).unwrap();
    let config = Config::default();
    for (first, second) in engines().into_iter().zip(engines()) {
        let (_parent, folder) = folder();
        for strategy in Strategy::all() {
            if !first.support_for(strategy, &guest).is_supported() {
                continue;
            }
            assert!(first.compile(&guest, strategy, &config).unwrap().save(&folder).unwrap());
            let restored = second.restore(&guest, strategy, &config, &folder).unwrap().unwrap();
            let mut module = second.load(&guest, &restored, strategy, &config).unwrap();
            module.probe().unwrap();
            let export = module.export("once", Abi::Input).unwrap();
            let mut instance = module.new_instance().unwrap();
            for _ in 0..2 {
                let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
                assert_eq!(outcome, Outcome::Returned, "{} {strategy}", first.id());
            }
        }
    }
}
