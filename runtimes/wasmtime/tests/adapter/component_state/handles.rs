//! Handles of components' objects.

use super::{call, component, each, stay_clean};
use touchstone_executor::{Abi, Outcome, Trap, TrapKind};

/// Handles are numbered from 1, and numbers that were given back last are given out first.
const HANDLES: &str = r#"(component
    (component $inner
        (type $resource (resource (rep i32)))
        (core func $new (canon resource.new $resource))
        (core func $drop (canon resource.drop $resource))
        (core module $main
            (import "handle" "new" (func $new (param i32) (result i32)))
            (import "handle" "drop" (func $drop (param i32)))
            (func $take (param $count i32) (local $index i32)
                (loop
                    (local.set $index (i32.add (local.get $index) (i32.const 1)))
                    (if (i32.ne (call $new (i32.const 0)) (local.get $index))
                        (then unreachable))
                    (br_if 0 (i32.ne (local.get $index) (local.get $count)))))
            ;; In the order in which they were taken: afterwards they come the other way round.
            (func $give (param $count i32) (local $index i32)
                (loop
                    (local.set $index (i32.add (local.get $index) (i32.const 1)))
                    (call $drop (local.get $index))
                    (br_if 0 (i32.ne (local.get $index) (local.get $count)))))
            (func $turn (param i32) (call $take (local.get 0)) (call $give (local.get 0)))
            (func (export "none"))
            (func (export "few") (call $turn (i32.const 3)))
            (func (export "many") (call $turn (i32.const 30)))
            (func (export "more") (call $turn (i32.const 1500)))
            (func (export "leak") (call $take (i32.const 3)))
            (func (export "leak-most") (call $take (i32.const 20000)))
            (func (export "leak-one") (call $take (i32.const 3)) (call $drop (i32.const 2)))
            (func (export "trap") (call $take (i32.const 2)) unreachable)
            (func (export "bad") (call $take (i32.const 2)) (call $drop (i32.const 99))))
        (core instance $main (instantiate $main (with "handle" (instance
            (export "new" (func $new))
            (export "drop" (func $drop))))))
        (func (export "none") (canon lift (core func $main "none")))
        (func (export "few") (canon lift (core func $main "few")))
        (func (export "many") (canon lift (core func $main "many")))
        (func (export "more") (canon lift (core func $main "more")))
        (func (export "leak") (canon lift (core func $main "leak")))
        (func (export "leak-most") (canon lift (core func $main "leak-most")))
        (func (export "leak-one") (canon lift (core func $main "leak-one")))
        (func (export "trap") (canon lift (core func $main "trap")))
        (func (export "bad") (canon lift (core func $main "bad"))))
    (instance $one (instantiate $inner))
    (instance $two (instantiate $inner))
    (export "none" (func $one "none"))
    (export "few" (func $one "few"))
    (export "many" (func $one "many"))
    (export "more" (func $one "more"))
    (export "leak" (func $one "leak"))
    (export "leak-most" (func $one "leak-most"))
    (export "leak-one" (func $one "leak-one"))
    (export "trap" (func $one "trap"))
    (export "bad" (func $one "bad"))
    (export "two-few" (func $two "few"))
    (export "two-many" (func $two "many"))
    (export "two-leak" (func $two "leak")))"#;

#[test]
fn handles_have_the_numbers_of_a_new_table() {
    let changing = [
        "few", "leak", "none", "two-few", "many", "leak-one", "two-many", "few", "more",
        "two-leak", "none", "many", "few",
    ];
    stay_clean(&component(HANDLES), &changing, &["trap", "bad"]);
}

/// The table of handles is that of a component without core code: it lifts `resource.new` and
/// `resource.drop` themselves. The component beside it, which calls them, has no handles.
#[test]
fn handles_without_core_code_have_the_numbers_of_a_new_table() {
    let functions = ["few", "many", "leak", "trap"]
        .map(|name| format!(r#"(func (export "{name}") (canon lift (core func $main "{name}")))"#));
    let exports = ["few", "many", "leak", "trap"]
        .map(|name| format!(r#"(export "{name}" (func $user "{name}"))"#));
    let guest = component(&format!(
        r#"(component
            (component $bare
                (type $resource (resource (rep i32)))
                (core func $new (canon resource.new $resource))
                (core func $drop (canon resource.drop $resource))
                (func (export "new") (param "rep" s32) (result s32) (canon lift (core func $new)))
                (func (export "drop") (param "handle" s32) (canon lift (core func $drop))))
            (component $user
                (import "new" (func $new (param "rep" s32) (result s32)))
                (import "drop" (func $drop (param "handle" s32)))
                (core func $new (canon lower (func $new)))
                (core func $drop (canon lower (func $drop)))
                (core module $main
                    (import "handle" "new" (func $new (param i32) (result i32)))
                    (import "handle" "drop" (func $drop (param i32)))
                    (func $take (param $count i32) (local $index i32)
                        (loop
                            (local.set $index (i32.add (local.get $index) (i32.const 1)))
                            (if (i32.ne (call $new (i32.const 0)) (local.get $index))
                                (then unreachable))
                            (br_if 0 (i32.ne (local.get $index) (local.get $count)))))
                    (func $turn (param $count i32) (local $index i32)
                        (call $take (local.get $count))
                        (loop
                            (local.set $index (i32.add (local.get $index) (i32.const 1)))
                            (call $drop (local.get $index))
                            (br_if 0 (i32.ne (local.get $index) (local.get $count)))))
                    (func (export "few") (call $turn (i32.const 3)))
                    (func (export "many") (call $turn (i32.const 30)))
                    (func (export "leak") (call $take (i32.const 3)))
            (func (export "leak-most") (call $take (i32.const 20000)))
                    (func (export "trap") (call $take (i32.const 2)) unreachable))
                (core instance $main (instantiate $main (with "handle" (instance
                    (export "new" (func $new))
                    (export "drop" (func $drop))))))
                {functions})
            (instance $bare (instantiate $bare))
            (instance $user (instantiate $user
                (with "new" (func $bare "new"))
                (with "drop" (func $bare "drop"))))
            {exports})"#,
        functions = functions.join("\n"),
        exports = exports.join("\n"),
    ));
    stay_clean(&guest, &["few", "leak", "many", "few", "leak", "leak", "few"], &["trap"]);
}

#[test]
fn calls_between_two_resets_see_the_handles_of_one_another() {
    each(&component(HANDLES), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let export = |name| module.export(name, Abi::Input).unwrap();
        let (few, many, leak) = (export("few"), export("many"), export("leak"));
        for round in 0..4 {
            instance.prepare().unwrap();
            let mut invoke = |export| instance.invoke(export, b"", &mut Vec::new(), None).unwrap();
            // More than the first one needs, and then numbers that are taken.
            assert_eq!(invoke(leak), Outcome::Returned, "{name}, round {round}");
            match invoke(many) {
                Outcome::Trapped(Trap { kind: TrapKind::Unreachable, .. }) => {}
                other => panic!("{name}, round {round}: {other:?}"),
            }
            instance.finish().unwrap();
            for export in [few, many, few] {
                let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
                assert_eq!(outcome, Outcome::Returned, "{name}, round {round}");
            }
        }
    });
}

/// A store allows 100,000 handles: those of earlier instances do not count.
#[test]
fn handles_that_are_left_take_none_of_the_next_instance() {
    each(&component(HANDLES), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for round in 0..12 {
            let outcome = call(&mut *instance, module, "leak-most");
            assert_eq!(outcome, Outcome::Returned, "{name}, round {round}");
        }
    });
}

#[test]
fn four_threads_have_instances_of_their_own() {
    each(&component(HANDLES), |name, module| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut instance = module.new_instance().unwrap();
                    for export in ["few", "many", "leak", "two-many", "few", "none"].repeat(5) {
                        let outcome = call(&mut *instance, module, export);
                        assert_eq!(outcome, Outcome::Returned, "{name}: {export}");
                    }
                });
            }
        });
    });
}
