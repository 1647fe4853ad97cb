//! Guests whose instantiation traps: the same kind of trap on every engine and strategy.

use crate::everywhere::{in_process, on_every_engine};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Artifact, Config, Error, Instance, Result, Strategy, Trap, TrapKind};

const MEMORY: Option<TrapKind> = Some(TrapKind::MemoryOutOfBounds);
const TABLE: Option<TrapKind> = Some(TrapKind::TableOutOfBounds);
const START: Option<TrapKind> = Some(TrapKind::Unreachable);

/// Modules without their last function, and how their instantiation traps.
fn modules() -> Vec<(&'static str, Option<TrapKind>)> {
    vec![
        // Data, of which a part fits.
        (r#"(memory 1) (data (i32.const 0) "first") (data (i32.const 65533) "late")"#, MEMORY),
        (r#"(memory 1) (data (i32.const 65532) "last")"#, None),
        (r#"(memory 1) (data (i32.const 65536) "")"#, None),
        (r#"(memory 1) (data (i32.const 65537) "")"#, MEMORY),
        (r#"(memory 1) (data (i32.const -1) "ab")"#, MEMORY),
        (r#"(memory 1) (data (i32.const 0x80000000) "a")"#, MEMORY),
        (r#"(memory 0) (data (i32.const 0) "a")"#, MEMORY),
        (r#"(memory 0 0) (data (i32.const 0) "a")"#, MEMORY),
        (r#"(memory 0) (data (i32.const 0) "")"#, None),
        (r#"(memory 0) (data (i32.const 1) "")"#, MEMORY),
        (r#"(import "env" "memory" (memory 1 3)) (data (i32.const 65533) "late")"#, MEMORY),
        // The place is that of a global.
        (
            r#"(import "env" "__memory_base" (global i32)) (memory 0) (data (global.get 0) "a")"#,
            MEMORY,
        ),
        (r#"(memory 1) (data (i32.add (i32.const 65530) (i32.const 5)) "ab")"#, MEMORY),
        // Passive segments are placed by instructions.
        (r#"(memory 0) (data "passive") (table 0 funcref) (elem func $f)"#, None),
        // Other memories, and those with large addresses.
        (r#"(memory 1) (memory $b 1) (data (memory $b) (i32.const 65533) "late")"#, MEMORY),
        (r#"(memory i64 1) (data (i64.const 0x100000000) "a")"#, MEMORY),
        (r#"(memory i64 1) (data (i64.const -1) "a")"#, MEMORY),
        // Elements, in tables of every kind.
        ("(table 1 funcref) (elem (i32.const 1) $f)", TABLE),
        ("(table 1 funcref) (elem (i32.const 0) $f $f)", TABLE),
        ("(table 2 funcref) (elem (i32.const 0) $f $f)", None),
        ("(table 1 funcref) (elem (i32.const -1) $f)", TABLE),
        ("(table 1 funcref) (elem (i32.const 1) func)", None),
        ("(table 1 funcref) (elem (i32.const 2) func)", TABLE),
        (r#"(import "env" "table" (table 1 funcref)) (elem (i32.const 1) $f)"#, TABLE),
        ("(table 1 funcref) (table $b 1 funcref) (elem (table $b) (i32.const 1) func $f)", TABLE),
        ("(table 1 externref) (elem (i32.const 1) externref (ref.null extern))", TABLE),
        // Elements come before data, and both before a start function.
        (
            r#"(memory 1) (table 1 funcref) (data (i32.const 65533) "late")
               (elem (i32.const 1) $f)"#,
            TABLE,
        ),
        (r#"(memory 1) (data (i32.const 65533) "late") (start $traps)"#, MEMORY),
        ("(memory 1) (table 1 funcref) (elem (i32.const 1) $f) (start $traps)", TABLE),
        (r#"(memory 1) (data (i32.const 0) "first") (start $traps)"#, START),
        ("(start $traps)", START),
    ]
}

fn guest(text: &str) -> GuestModule {
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Prepares an instance. Some engines make one when they load.
fn prepared(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    artifact: &Artifact,
    strategy: Strategy,
) -> Result<Box<dyn Instance>> {
    let module = engine.load(guest, artifact, strategy, &Config::default())?;
    let mut instance = module.new_instance()?;
    if let Err(error) = instance.prepare() {
        assert!(instance.memory().is_none(), "{} {strategy}: {error}", engine.id());
        // Nothing is left of it that would make the second time another one.
        let again = instance.prepare().unwrap_err().to_string();
        assert_eq!(again, error.to_string(), "{} {strategy}", engine.id());
        return Err(error);
    }
    Ok(instance)
}

/// Tries a guest on every engine and strategy that supports it.
fn check(guest: &GuestModule, text: &str, expected: Option<&TrapKind>) {
    on_every_engine(|engine| {
        let mut artifacts: Vec<(&str, Artifact)> = Vec::new();
        for strategy in in_process() {
            if !engine.support_for(strategy, guest).is_supported() {
                continue;
            }
            let name = format!("{} {strategy}: {text}", engine.id());
            let class = engine.artifact_class(strategy);
            if !artifacts.iter().any(|(known, _)| *known == class) {
                let artifact = engine.compile(guest, strategy, &Config::default());
                let artifact = artifact.unwrap_or_else(|error| panic!("{name}: {error}"));
                artifacts.push((class, artifact));
            }
            let (_, artifact) = artifacts.iter().find(|(known, _)| *known == class).unwrap();
            match (prepared(&**engine, guest, artifact, strategy), expected) {
                (Ok(_), None) => {}
                (Err(Error::Instantiation { trap: Trap { kind, .. } }), Some(expected)) => {
                    assert_eq!(kind, *expected, "{name}");
                }
                (Ok(_), Some(kind)) => panic!("{name}: no {kind}"),
                (Err(error), _) => panic!("{name}: {error}"),
            }
        }
    });
}

#[test]
fn an_instantiation_that_traps_does_so_everywhere_in_the_same_way() {
    for (text, expected) in modules() {
        let traps = if text.contains("$traps") { "(func $traps unreachable)" } else { "" };
        let text = format!(r#"(module {text} {traps} (func $f (export "f")))"#);
        check(&guest(&text), &text, expected.as_ref());
    }
}

#[test]
fn so_does_a_component() {
    let text = r#"(component
      (core module $m (memory (export "memory") 1) (data (i32.const 65533) "late")
        (func (export "f") (result i32) (i32.const 1)))
      (core instance $i (instantiate $m))
      (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;
    check(&guest(text), text, MEMORY.as_ref());
    // Elements come before data here, too.
    let both = r#"(component
      (core module $m (memory 1) (table 1 funcref) (data (i32.const 65533) "late")
        (elem (i32.const 1) $f) (func $f (export "f") (result i32) (i32.const 1)))
      (core instance $i (instantiate $m))
      (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;
    check(&guest(both), both, TABLE.as_ref());
}

/// A fault in a module that the component has and does not instantiate.
#[test]
fn what_is_not_instantiated_does_not_trap() {
    let text = r#"(component
      (core module $bad (memory 1) (data (i32.const 65533) "late"))
      (core module $good (memory 1 2) (data (i32.const 0) "first")
        (func (export "f") (result i32) (i32.const 1)))
      (core instance $i (instantiate $good))
      (func (export "f") (result u32) (canon lift (core func $i "f"))))"#;
    check(&guest(text), text, None);
}
