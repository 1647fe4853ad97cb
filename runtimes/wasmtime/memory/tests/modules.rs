//! Instances of modules that are reset, compared with new ones.

use touchstone_wasmtime_memory::{Clean, Error, configure, prepare};
use wasmtime::{Caller, Config, Engine, Instance, Linker, Module, Store, TypedFunc};

/// Each function changes something; `digest` tells all that is there.
const GUEST: &str = r#"(module
    (import "host" "note" (func $note (param i32)))
    (type $number (func (result i32)))
    (memory $m 2 40)
    (data (i32.const 70000) "some data")
    (table $t 3 funcref) (elem (i32.const 0) $one $two $one)
    (global $g (mut i32) (i32.const 7)) (global $h (mut i64) (i64.const 8))
    (global $x (mut f64) (f64.const 9)) (global $r (mut funcref) (ref.null func))
    (global (export "theirs") (mut i32) (i32.const 10))
    (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
    (func $start (drop (memory.grow (i32.const 1))) (i32.store (i32.const 131080) (i32.const 77)))
    (start $start)
    (func $write (export "write") (param $seed i32) (local $left i32)
        (local.set $left (i32.const 50))
        (loop $next
            (local.set $seed (i32.add (i32.mul (local.get $seed) (i32.const 1103515245))
                (i32.const 12345)))
            (i32.store (i32.rem_u (local.get $seed) (i32.const 190000)) (local.get $seed))
            (br_if $next (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
    (func $grow (export "grow") (param $seed i32)
        (drop (memory.grow (i32.and (local.get $seed) (i32.const 7))))
        (i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)) (i32.const -1)))
    (func $set (export "set") (param $seed i32)
        (global.set $g (local.get $seed)) (global.set $h (i64.const 1))
        (global.set $x (f64.const 2)) (global.set $r (ref.func $one))
        (table.set (i32.rem_u (local.get $seed) (i32.const 3)) (ref.func $two))
        (call $note (local.get $seed)))
    (func (export "trap") (param $seed i32)
        (call $write (local.get $seed)) (call $grow (local.get $seed)) (call $set (local.get $seed))
        unreachable)
    (func (export "outside") (param $seed i32)
        (call $write (local.get $seed))
        (i32.store (i32.const 196608) (local.get $seed)))
    (func (export "grow_table") (param i32)
        (drop (table.grow $t (ref.null func) (i32.const 1))))
    (func (export "digest") (result i64) (local $at i32) (local $sum i64)
        (local.set $sum (i64.extend_i32_u (memory.size)))
        (loop $next
            (local.set $sum (i64.add (i64.load (local.get $at))
                (i64.mul (local.get $sum) (i64.const 6364136223846793005))))
            (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8)))
                (i32.mul (memory.size) (i32.const 65536)))))
        (i64.add (local.get $sum) (i64.add (global.get $h) (i64.extend_i32_u
            (i32.add (i32.add (global.get $g) (i32.trunc_f64_s (global.get $x)))
            (i32.add (i32.add (ref.is_null (global.get $r)) (i32.mul (i32.const 5)
                (call_indirect (type $number) (i32.const 0))))
            (i32.add (i32.mul (i32.const 25) (call_indirect (type $number) (i32.const 1)))
                (i32.mul (i32.const 125) (call_indirect (type $number) (i32.const 2))))))))))
    (elem declare func $one $two))"#;

/// A store with one instance, and what the host keeps.
struct Host {
    store: Store<Vec<i32>>,
    instance: Instance,
    digest: TypedFunc<(), i64>,
}

fn engine() -> Engine {
    let mut config = Config::new();
    configure(&mut config);
    Engine::new(&config).unwrap()
}

fn module(engine: &Engine, text: &str) -> Module {
    Module::new(engine, prepare(&wat::parse_str(text).unwrap()).unwrap()).unwrap()
}

impl Host {
    fn new(module: &Module) -> Self {
        let mut linker = Linker::new(module.engine());
        let note = |mut caller: Caller<'_, Vec<i32>>, value: i32| caller.data_mut().push(value);
        linker.func_wrap("host", "note", note).unwrap();
        let mut store = Store::new(module.engine(), Vec::new());
        let instance = linker.instantiate(&mut store, module).unwrap();
        let digest = instance.get_typed_func(&mut store, "digest").unwrap();
        Self { store, instance, digest }
    }

    fn digest(&mut self) -> i64 {
        self.digest.call(&mut self.store, ()).unwrap()
    }

    /// `true` if the call did not trap.
    fn call(&mut self, name: &str, seed: u32) -> bool {
        let function = self.instance.get_typed_func::<u32, ()>(&mut self.store, name).unwrap();
        function.call(&mut self.store, seed).is_ok()
    }
}

/// Resets after calls that end in all ways, and compares with an instance that nobody has called.
fn two_hundred_calls(module: &Module, seed: u32) {
    let new = Host::new(module).digest();
    let mut host = Host::new(module);
    let mut clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    assert_eq!(host.digest(), new);
    let mut changed = 0;
    for call in 0..200 {
        let seed = seed.wrapping_add(call).wrapping_mul(0x9e37_79b9);
        let name = ["write", "grow", "set", "trap", "outside"][call as usize % 5];
        let returned = host.call(name, seed);
        assert_eq!(returned, !["trap", "outside"].contains(&name), "{name}");
        changed += usize::from(host.digest() != new);
        let theirs = host.instance.get_global(&mut host.store, "theirs").unwrap();
        theirs.set(&mut host.store, wasmtime::Val::I32(call as i32)).unwrap();
        clean.reset_with(&mut host.store, |notes| notes.clear()).unwrap();
        assert_eq!(host.digest(), new, "after {name} with {seed}");
        assert_eq!(theirs.get(&mut host.store).i32(), Some(10));
        assert!(host.store.data().is_empty());
    }
    assert_eq!(changed, 200);
}

#[test]
fn two_hundred_calls_find_what_a_new_instance_has() {
    two_hundred_calls(&module(&engine(), GUEST), 1);
}

#[test]
fn stores_of_threads_do_not_meet() {
    let module = module(&engine(), GUEST);
    std::thread::scope(|scope| {
        for seed in [1, 1000] {
            scope.spawn({
                let module = &module;
                move || two_hundred_calls(module, seed)
            });
        }
    });
}

/// The instance is made on one thread, called on others and reset on yet others.
#[test]
fn a_store_may_change_its_thread_at_any_time() {
    let module = module(&engine(), GUEST);
    let mut host = Host::new(&module);
    let new = host.digest();
    let mut clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    for seed in 0..40 {
        std::thread::scope(|scope| {
            scope.spawn(|| host.call("trap", seed)).join().unwrap();
        });
        if seed % 2 == 0 {
            clean.reset(&mut host.store).unwrap();
        } else {
            std::thread::scope(|scope| {
                scope.spawn(|| clean.reset(&mut host.store)).join().unwrap().unwrap();
            });
        }
        assert_eq!(host.digest(), new);
    }
}

#[test]
fn a_table_that_grew_ends_the_instance() {
    let mut host = Host::new(&module(&engine(), GUEST));
    let mut clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    assert!(host.call("grow_table", 0));
    assert!(matches!(clean.reset(&mut host.store), Err(Error::TableGrown)));
    assert!(matches!(clean.reset(&mut host.store), Err(Error::Unusable)));
}

#[test]
fn several_memories_and_long_addresses_come_back() {
    let module = module(
        &engine(),
        r#"(module (memory 1) (memory $second 1 3) (memory $long i64 1)
            (func (export "write") (param i32)
                (i32.store (local.get 0) (i32.const 1))
                (drop (memory.grow $second (i32.const 1)))
                (i32.store $second (i32.const 65540) (i32.const 2))
                (i32.store $long (i64.const 8) (i32.const 3)))
            (func (export "digest") (result i64)
                (i64.add (i64.load (i32.const 0))
                    (i64.add (i64.load $long (i64.const 8))
                        (i64.mul (i64.const 1000) (i64.extend_i32_u (memory.size $second)))))))"#,
    );
    let mut host = Host::new(&module);
    let mut clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    for _ in 0..3 {
        assert_eq!(host.digest(), 1000);
        assert!(host.call("write", 0));
        assert_eq!(host.digest(), 2004);
        clean.reset(&mut host.store).unwrap();
    }
}

#[test]
fn a_memory_may_be_empty_at_first() {
    let module = module(
        &engine(),
        r#"(module (memory 0 4)
            (func (export "write") (param i32)
                (drop (memory.grow (i32.const 2))) (i32.store (i32.const 70000) (i32.const 1)))
            (func (export "digest") (result i64) (local $sum i64)
                (if (memory.size) (then (local.set $sum (i64.load (i32.const 70000)))))
                (i64.add (local.get $sum) (i64.extend_i32_u (memory.size)))))"#,
    );
    let mut host = Host::new(&module);
    let mut clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    for _ in 0..3 {
        assert_eq!(host.digest(), 0);
        assert!(host.call("write", 0));
        assert_eq!(host.digest(), 3);
        clean.reset(&mut host.store).unwrap();
    }
}

/// A memory that another module makes for it: the module that imports it resets it.
#[test]
fn an_imported_memory_is_reset_once() {
    let engine = engine();
    let mut store = Store::new(&engine, ());
    let owner = module(&engine, r#"(module (memory (export "memory") 1))"#);
    let owner = Instance::new(&mut store, &owner, &[]).unwrap();
    let memory = owner.get_memory(&mut store, "memory").unwrap();
    let user = r#"(module (import "env" "memory" (memory 1)))"#;
    let user = Instance::new(&mut store, &module(&engine, user), &[memory.into()]).unwrap();
    let mut clean = Clean::snapshot(&mut store, &user).unwrap();
    memory.data_mut(&mut store)[5000] = 1;
    clean.reset(&mut store).unwrap();
    assert_eq!(memory.data(&store)[5000], 0);
    let second = Clean::snapshot(&mut store, &owner);
    assert!(matches!(second, Err(Error::MemoryTaken)), "{second:?}");
}

/// Pages stay watched; their writes are no faults of the guest.
#[test]
fn an_instance_outlives_its_snapshot_and_the_other_way_round() {
    let module = module(&engine(), GUEST);
    let mut host = Host::new(&module);
    drop(Clean::snapshot(&mut host.store, &host.instance).unwrap());
    assert!(host.call("write", 5) && host.call("grow", 5));
    let mut host = Host::new(&module);
    let clean = Clean::snapshot(&mut host.store, &host.instance).unwrap();
    assert!(host.call("write", 5));
    drop(host);
    drop(clean);
}

#[test]
#[should_panic(expected = "wrong store")]
fn a_snapshot_is_of_one_store() {
    let module = module(&engine(), GUEST);
    let [mut one, mut other] = [Host::new(&module), Host::new(&module)];
    let mut clean = Clean::snapshot(&mut one.store, &one.instance).unwrap();
    let _ = clean.reset(&mut other.store);
}

#[test]
fn what_cannot_come_back_is_refused_for_its_reason() {
    let refusal = |text: &str| prepare(&wat::parse_str(text).unwrap()).unwrap_err();
    let dropped = refusal(r#"(module (memory 1) (data "x") (func (data.drop 0)))"#);
    assert!(matches!(dropped, Error::DropsSegments));
    let collected = "(module (type $s (struct (field i32))) (func (drop (struct.new_default $s))))";
    assert!(matches!(refusal(collected), Error::CollectedObjects));
    assert!(matches!(prepare(b"none"), Err(Error::Guest(_))));
    let inside = r#"(component (core module (memory 1) (data "x") (func (data.drop 0))))"#;
    assert!(matches!(refusal(inside), Error::DropsSegments));
    // Not what `prepare` returns.
    let engine = engine();
    let mut store = Store::new(&engine, ());
    let raw = Module::new(&engine, wat::parse_str("(module (memory 1))").unwrap()).unwrap();
    let raw = Instance::new(&mut store, &raw, &[]).unwrap();
    assert!(matches!(Clean::snapshot(&mut store, &raw), Err(Error::NotPrepared)));
    // An engine as it is.
    let module = module(&Engine::default(), "(module (memory 1))");
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    assert!(matches!(Clean::snapshot(&mut store, &instance), Err(Error::ForeignMemory)));
    let without = self::module(&engine, "(module)");
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &without, &[]).unwrap();
    Clean::snapshot(&mut store, &instance).unwrap().reset(&mut store).unwrap();
}

#[test]
fn references_to_the_hosts_objects_cannot_be_saved() {
    let engine = engine();
    let module = module(
        &engine,
        r#"(module (global $g (mut externref) (ref.null extern))
            (func (export "f") (param externref) (global.set $g (local.get 0))))"#,
    );
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let refused = Clean::snapshot(&mut store, &instance).unwrap_err();
    assert!(matches!(refused, Error::ReferenceGlobal { name } if name.ends_with("global_0")));
}
