//! State inside components, of each kind: no call sees what the one before it has left.

#[path = "component_state/handles.rs"]
mod handles;

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Imports, Instance, InstanceFrom, Module, Outcome, Strategy, Support,
    TrapKind,
};

fn component(text: &str) -> GuestModule {
    let bytes = wat::parse_str(text).unwrap();
    GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
}

/// Runs a test on every engine and strategy that can do the guest; those that reset in
/// place have to.
fn each(guest: &GuestModule, test: impl Fn(&str, &dyn Module)) {
    let config = Config { imports: Imports::Trap, ..Config::default() };
    for engine in touchstone_wasmtime::engines() {
        let mut in_place = 0;
        for strategy in Strategy::all() {
            if engine.support_for(strategy, guest).is_supported() {
                let artifact = engine.compile(guest, strategy, &config).unwrap();
                let module = engine.load(guest, &artifact, strategy, &config).unwrap();
                test(&format!("{} {strategy}", engine.id()), &*module);
                in_place += usize::from(strategy.instance == InstanceFrom::Reuse);
            }
        }
        assert!(in_place >= 4 || engine.id() == "wasmtime_nearcore", "{}", engine.id());
    }
}

fn call(instance: &mut dyn Instance, module: &dyn Module, name: &str) -> Outcome {
    let export = module.export(name, Abi::Input).unwrap();
    instance.call(export, b"", &mut Vec::new()).unwrap()
}

/// Calls these again and again: each traps unless the state is as it was at first, and then
/// changes it.
fn stay_clean(guest: &GuestModule, changing: &[&str], trapping: &[&str]) {
    each(guest, |name, module| {
        let mut instance = module.new_instance().unwrap();
        for round in 0..4 {
            for export in changing {
                let outcome = call(&mut *instance, module, export);
                assert_eq!(outcome, Outcome::Returned, "{name}: {export}, round {round}");
                for trapping in trapping {
                    let outcome = call(&mut *instance, module, trapping);
                    assert!(matches!(outcome, Outcome::Trapped(_)), "{name}: {trapping}");
                    let outcome = call(&mut *instance, module, export);
                    assert_eq!(outcome, Outcome::Returned, "{name}: {export} after {trapping}");
                }
            }
        }
    });
}

/// All kinds of state in one module. `start`: what else is in it.
fn all_kinds(start: &str) -> String {
    format!(
        r#"(core module $state
            (memory (export "memory") 1 5)
            (data (i32.const 8) "data")
            (table $table (export "table") 3 10 funcref)
            (elem (table $table) (i32.const 1) func $seven)
            (elem declare func $eight)
            (global $i32 (mut i32) (i32.const 5))
            (global $i64 (mut i64) (i64.const -6))
            (global $f32 (mut f32) (f32.const 7.5))
            (global $f64 (mut f64) (f64.const -8.5))
            (global $function (mut funcref) (ref.null func))
            (global $exported (export "exported") (mut i32) (i32.const 9))
            (type $number (func (result i32)))
            (func $seven (result i32) (i32.const 7))
            (func $eight (result i32) (i32.const 8))
            {start}
            (func $expect (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
            (func (export "step")
                (call $expect (i32.eq (global.get $i32) (i32.const 5)))
                (call $expect (i64.eq (global.get $i64) (i64.const -6)))
                (call $expect (f32.eq (global.get $f32) (f32.const 7.5)))
                (call $expect (f64.eq (global.get $f64) (f64.const -8.5)))
                (call $expect (ref.is_null (global.get $function)))
                (call $expect (i32.eq (global.get $exported) (i32.const 9)))
                (call $expect (ref.is_null (table.get $table (i32.const 0))))
                (call $expect
                    (i32.eq (call_indirect $table (type $number) (i32.const 1)) (i32.const 7)))
                (call $expect (i32.eq (i32.load (i32.const 8)) (i32.const 0x61746164)))
                (call $expect (i32.eqz (i32.load (i32.const 60000))))
                (call $expect (i32.eq (memory.size) (i32.const 1)))
                (call $change))
            (func $change
                (global.set $i32 (i32.const 1))
                (global.set $i64 (i64.const 1))
                (global.set $f32 (f32.const 1))
                (global.set $f64 (f64.const 1))
                (global.set $function (ref.func $eight))
                (global.set $exported (i32.const 1))
                (table.set $table (i32.const 0) (ref.func $eight))
                (table.set $table (i32.const 1) (ref.func $eight))
                (i32.store (i32.const 8) (i32.const 1))
                (i32.store (i32.const 60000) (i32.const 1)))
            (func (export "trap") (call $change) unreachable)
            (func (export "grow")
                (call $expect (i32.eq (memory.grow (i32.const 2)) (i32.const 1)))
                (call $expect (i32.eqz (i32.load (i32.const 190000))))
                (i32.store (i32.const 190000) (i32.const 1))
                (call $change))
            (func (export "grow-table")
                (call $expect (i32.eq (table.size $table) (i32.const 3)))
                (drop (table.grow $table (ref.null func) (i32.const 2)))
                (call $change)))"#
    )
}

const LIFTED: &str = r#"
    (core instance $own (instantiate $state))
    (func $step (export "step") (canon lift (core func $own "step")))
    (func $trap (export "trap") (canon lift (core func $own "trap")))
    (func $grow (export "grow") (canon lift (core func $own "grow")))
    (func $table (export "grow-table") (canon lift (core func $own "grow-table")))"#;

const CHANGING: [&str; 3] = ["step", "grow", "grow-table"];

#[test]
fn globals_tables_and_memories_are_as_at_first() {
    let guest = component(&format!("(component {} {LIFTED})", all_kinds("")));
    stay_clean(&guest, &CHANGING, &["trap"]);
}

#[test]
fn what_a_start_function_has_done_stays() {
    let start = r#"
        (start $start)
        (func $start
            (call $expect (i32.eqz (i32.load (i32.const 16))))
            (i32.store (i32.const 16) (i32.const 3))
            (global.set $started (i32.add (global.get $started) (i32.const 1)))
            (table.set $table (i32.const 2) (ref.func $eight)))
        (global $started (mut i32) (i32.const 0))
        (func (export "started")
            (call $expect (i32.eq (global.get $started) (i32.const 1)))
            (call $expect (i32.eq (i32.load (i32.const 16)) (i32.const 3)))
            (call $expect
                (i32.eq (call_indirect $table (type $number) (i32.const 2)) (i32.const 8)))
            (global.set $started (i32.const 9))
            (i32.store (i32.const 16) (i32.const 9))
            (table.set $table (i32.const 2) (ref.null func))
            (call $change))"#;
    let started = r#"(func (export "started") (canon lift (core func $own "started")))"#;
    let guest = component(&format!("(component {} {LIFTED} {started})", all_kinds(start)));
    let changing = ["started", "step", "grow", "grow-table"];
    stay_clean(&guest, &changing, &["trap"]);
}

#[test]
fn what_a_start_function_has_grown_stays() {
    let guest = component(
        r#"(component
            (core module $grown
                (memory (export "memory") 1 5)
                (start $start)
                (func $start
                    (drop (memory.grow (i32.const 1)))
                    (i32.store (i32.const 65536) (i32.const 7)))
                (func $expect (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
                (func $step (export "step")
                    (call $expect (i32.eq (memory.size) (i32.const 2)))
                    (call $expect (i32.eq (i32.load (i32.const 65536)) (i32.const 7)))
                    (call $expect (i32.eqz (i32.load (i32.const 131068))))
                    (i32.store (i32.const 65536) (i32.const 9))
                    (i32.store (i32.const 131068) (i32.const 9)))
                (func (export "grow")
                    (call $step)
                    (call $expect (i32.eq (memory.grow (i32.const 2)) (i32.const 2)))
                    (call $expect (i32.eqz (i32.load (i32.const 196608))))
                    (i32.store (i32.const 196608) (i32.const 9)))
                (func (export "behind")
                    (drop (i32.load (i32.shl (memory.size) (i32.const 16))))))
            (core instance $own (instantiate $grown))
            (func (export "step") (canon lift (core func $own "step")))
            (func (export "grow") (canon lift (core func $own "grow")))
            (func (export "behind") (canon lift (core func $own "behind"))))"#,
    );
    stay_clean(&guest, &["step", "grow"], &["behind"]);
}

/// Instances at several depths, two of them of one component, and one of a module of an
/// outer component.
#[test]
fn instances_inside_instances_are_clean_too() {
    let inner = format!("(component $inner {} {LIFTED})", all_kinds(""));
    let exports = |name: &str| {
        ["step", "trap", "grow", "grow-table"]
            .map(|function| format!(r#"(export "{name}-{function}" (func ${name} "{function}"))"#))
            .join("\n")
    };
    let guest = component(&format!(
        r#"(component $root
            {inner}
            {state}
            (component $middle
                (alias outer $root $inner (component $again))
                (alias outer $root $state (core module $state))
                (instance $deep (instantiate $again))
                {LIFTED}
                {deep})
            (instance $first (instantiate $inner))
            (instance $middle (instantiate $middle))
            (instance $second (instantiate $inner))
            {LIFTED}
            {first}
            {second}
            (export "middle-step" (func $middle "step"))
            (export "middle-grow" (func $middle "grow"))
            (export "deep-step" (func $middle "deep-step"))
            (export "deep-grow" (func $middle "deep-grow")))"#,
        state = all_kinds(""),
        deep = exports("deep"),
        first = exports("first"),
        second = exports("second"),
    ));
    let changing = [
        "step",
        "first-step",
        "second-step",
        "middle-step",
        "deep-step",
        "grow",
        "first-grow",
        "second-grow",
        "middle-grow",
        "deep-grow",
        "first-grow-table",
    ];
    stay_clean(&guest, &changing, &["trap", "second-trap"]);
}

/// One module writes to the memory, the table and the global of another, at the start and
/// in calls.
#[test]
fn state_that_another_module_changes_is_brought_back() {
    let guest = component(
        r#"(component
            (core module $owner
                (memory (export "memory") 1)
                (table (export "table") 2 funcref)
                (global (export "global") (mut i32) (i32.const 0)))
            (core instance $owner (instantiate $owner))
            (core module $user
                (import "owner" "memory" (memory 1))
                (import "owner" "table" (table 2 funcref))
                (import "owner" "global" (global $global (mut i32)))
                (data (i32.const 32) "x")
                (elem (i32.const 0) func $self)
                (func $self)
                (start $start)
                (func $start
                    (i32.store (i32.const 0) (i32.const 3))
                    (global.set $global (i32.const 4)))
                (func $expect (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
                (func (export "step")
                    (call $expect (i32.eq (i32.load (i32.const 0)) (i32.const 3)))
                    (call $expect (i32.eq (i32.load8_u (i32.const 32)) (i32.const 120)))
                    (call $expect (i32.eq (global.get $global) (i32.const 4)))
                    (call_indirect (i32.const 0))
                    (call $expect (ref.is_null (table.get (i32.const 1))))
                    (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536))
                    (global.set $global (i32.const 5))
                    (table.set (i32.const 1) (ref.func $self))
                    (table.set (i32.const 0) (ref.null func))))
            (core instance $user (instantiate $user (with "owner" (instance $owner))))
            (func (export "step") (canon lift (core func $user "step"))))"#,
    );
    stay_clean(&guest, &["step"], &[]);
}

/// A text that is no UTF-8 is an error of the host, after which Wasmtime would let the
/// instance be called again.
#[test]
fn a_call_that_fails_without_a_trap_leaves_nothing() {
    let guest = component(
        r#"(component
            (import "unknown" (func $unknown (param "x" string)))
            (core module $memory (memory (export "memory") 1) (data (i32.const 0) "\ff\ff"))
            (core instance $memory (instantiate $memory))
            (alias core export $memory "memory" (core memory $mem))
            (core func $lowered (canon lower (func $unknown) (memory $mem)))
            (core module $main
                (import "env" "memory" (memory 1))
                (import "env" "unknown" (func $unknown (param i32 i32)))
                (global $global (mut i32) (i32.const 0))
                (func $change (export "step")
                    (if (global.get $global) (then unreachable))
                    (if (i32.load (i32.const 4)) (then unreachable))
                    (global.set $global (i32.const 1))
                    (i32.store (i32.const 4) (i32.const 1)))
                (func (export "fail") (call $change) (call $unknown (i32.const 0) (i32.const 2))))
            (core instance $main (instantiate $main (with "env" (instance
                (export "memory" (memory $mem))
                (export "unknown" (func $lowered))))))
            (func (export "step") (canon lift (core func $main "step")))
            (func (export "fail") (canon lift (core func $main "fail"))))"#,
    );
    stay_clean(&guest, &["step"], &["fail"]);
}

#[test]
fn what_cannot_be_brought_back_is_refused_by_name() {
    let engine = &touchstone_wasmtime::engines()[0];
    let refusal = |text: &str| {
        let guest = component(text);
        let strategy = "instance_reuse_tracked".parse().unwrap();
        let Support::Unsupported { reason } = engine.support_for(strategy, &guest) else {
            panic!("{text} is not refused");
        };
        let compiled = engine.compile(&guest, strategy, &Config::default());
        assert!(matches!(compiled, Err(Error::Unsupported { .. })), "{text}");
        reason
    };
    for (text, why) in [
        (
            r#"(component (core module
                (memory 1) (data $d "x") (func (data.drop $d))))"#,
            "data.drop",
        ),
        (
            r#"(component (core module (table 1 funcref) (elem $e func $f)
                (func $f (elem.drop $e))))"#,
            "elem.drop",
        ),
        (
            r#"(component
                (import "m" (core module $m))
                (core instance (instantiate $m)))"#,
            "given at run time",
        ),
        (
            r#"(component
                (type $r (resource (rep i32)))
                (core module (func $f) (start $f)))"#,
            "resources and a start function",
        ),
        (
            r#"(component
                (core module (func (export "__touchstone_reset"))))"#,
            "__touchstone_reset",
        ),
        (
            r#"(component
                (component
                    (core module $m (func (export "f")))
                    (core instance $i (instantiate $m))
                    (func (export "touchstone-reset-i1") (canon lift (core func $i "f")))))"#,
            "touchstone-reset-i1",
        ),
    ] {
        let reason = refusal(text);
        assert!(reason.contains(why), "{reason}");
    }
}

/// Wasmtime asks each memory of a store whether a fault is in it.
#[test]
fn memories_beside_each_other_trap_on_their_own() {
    let guest = component(
        r#"(component
            (core module $a (memory 1)
                (func (export "near") (drop (i32.load (i32.const 65536))))
                (func (export "far") (drop (i32.load offset=65536 (i32.const -65536)))))
            (core module $b (memory 1) (func) (start 0))
            (core instance $a (instantiate $a))
            (core instance (instantiate $b))
            (core instance (instantiate $b))
            (func (export "near") (canon lift (core func $a "near")))
            (func (export "far") (canon lift (core func $a "far"))))"#,
    );
    each(&guest, |name, module| {
        let mut instance = module.new_instance().unwrap();
        for export in ["near", "far", "near"] {
            let outcome = call(&mut *instance, module, export);
            let kind = outcome.trap().map(|trap| &trap.kind);
            assert_eq!(kind, Some(&TrapKind::MemoryOutOfBounds), "{name}: {export}");
        }
    });
}

/// A call whose result cannot be read has run. What it has left is there for the next call of the
/// same use.
#[test]
fn a_result_that_cannot_be_read_leaves_what_the_call_did() {
    let guest = component(
        r#"(component
            (core module $m (memory (export "memory") 1)
                (data (i32.const 8) "\10\00\00\00\01\00\00\00\ff")
                (global $g (mut i32) (i32.const 0))
                (func (export "bad") (result i32)
                    (global.set $g (i32.add (global.get $g) (i32.const 1)))
                    (i32.store (i32.const 60000) (global.get $g))
                    (i32.const 8))
                (func (export "get") (result i32)
                    (i32.add (i32.load (i32.const 60000)) (global.get $g))))
            (core instance $i (instantiate $m))
            (alias core export $i "memory" (core memory $memory))
            (func (export "bad") (result string)
                (canon lift (core func $i "bad") (memory $memory)))
            (func (export "get") (result u32) (canon lift (core func $i "get"))))"#,
    );
    each(&guest, |name, module| {
        let export = |name| module.export(name, Abi::Typed).unwrap();
        let (bad, get) = (export("bad"), export("get"));
        let mut instance = module.new_instance().unwrap();
        for round in 0..4 {
            let mut output = Vec::new();
            assert_eq!(instance.call(get, b"", &mut output).unwrap(), Outcome::Returned);
            assert_eq!(output, b"0", "{name}, round {round}: clean");
            instance.prepare().unwrap();
            for calls in 1..3 {
                let ended = instance.invoke(bad, b"", &mut output, None).unwrap();
                assert!(matches!(ended, Outcome::Trapped(_)), "{name}: {ended:?}");
                let ended = instance.invoke(get, b"", &mut output, None).unwrap();
                assert_eq!(ended, Outcome::Returned, "{name}");
                assert_eq!(output, (2 * calls).to_string().as_bytes(), "{name}, round {round}");
            }
            instance.finish().unwrap();
        }
    });
}
