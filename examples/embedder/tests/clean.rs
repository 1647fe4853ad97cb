//! Two hundred calls on one instance end like those on brand-new ones, whatever the host functions
//! do: on every engine of the build, under every strategy.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::*;

const CALLS: u32 = 200;

/// `f` changes all its state, then calls the host function that its parameter names.
const GUEST: &str = r#"(module
    (import "host" "add" (func $add (param i32 i32) (result i32)))
    (import "host" "panic" (func $panic (param i32)))
    (import "host" "grow" (func $grow (param i32) (result i32)))
    (import "host" "end" (func $end (param i32) (result i32)))
    (import "host" "name" (func $name (result i32)))
    (import "host" "other" (func $other (param i32) (result i32)))
    (import "host" "forever" (func $forever))
    (memory (export "memory") 2 16)
    (global $calls (mut i32) (i32.const 0))
    (func (export "f") (param $which i32) (param $x i32) (result i32)
        (local $found i32)
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (i32.store (i32.and (local.get $x) (i32.const 0x1fff0))
            (i32.add (i32.load (i32.and (local.get $x) (i32.const 0x1fff0))) (i32.const 1)))
        (local.set $found (call $add (local.get $which) (local.get $x)))
        (if (i32.eq (local.get $which) (i32.const 1)) (then (call $panic (local.get $x))))
        (if (i32.eq (local.get $which) (i32.const 2))
            (then (local.set $found (call $grow (i32.and (local.get $x) (i32.const 3))))))
        (if (i32.eq (local.get $which) (i32.const 3))
            (then (local.set $found (call $end (local.get $x)))))
        (if (i32.eq (local.get $which) (i32.const 4)) (then (local.set $found (call $name))))
        (if (i32.eq (local.get $which) (i32.const 5))
            (then (local.set $found (call $other (local.get $x)))))
        (if (i32.eq (local.get $which) (i32.const 6))
            (then (call $forever) (loop $endless (br $endless))))
        (if (i32.eq (local.get $which) (i32.const 7)) (then (unreachable)))
        (loop $l
            (local.set $x (i32.shr_u (local.get $x) (i32.const 1)))
            (br_if $l (local.get $x)))
        (i32.add (i32.mul (global.get $calls) (i32.const 1000))
            (i32.add (local.get $found)
                (i32.load (i32.and (local.get $x) (i32.const 0x1fff0)))))))"#;

/// Another instance of the same module, set when there is one.
type Other = Arc<Mutex<Option<(TypedExport<(i32, i32), i32>, Box<dyn Instance>)>>>;

fn functions(other: &Other, stop: &InterruptHandle) -> Functions {
    let total = State::new(100_i32);
    let mut functions = Functions::standard();
    functions
        .wrap("host", "add", move |call: &mut HostCall<'_>, a: i32, b: i32| {
            let total = call.state(&total);
            *total = total.wrapping_add(a).wrapping_add(b & 0xff);
            Ok(*total)
        })
        .wrap("host", "panic", |call: &mut HostCall<'_>, x: i32| -> Result<(), Trap> {
            call.write(64, &x.to_le_bytes())?;
            panic!("number {x}");
        })
        .wrap("host", "grow", |call: &mut HostCall<'_>, pages: u32| {
            let grown = call.grow(pages);
            let size = call.memory().len();
            call.write(size as u32 - 8, &pages.to_le_bytes())?;
            Ok(size as u32 + u32::from(grown))
        })
        .wrap("host", "end", |call: &mut HostCall<'_>, x: i32| {
            let size = call.memory().len() as u32;
            let before = call.read(size - 4, 4)?.to_vec();
            call.write(size - 4, &x.to_le_bytes())?;
            // Every second call goes beyond the end.
            call.read(size - 4, 4 + (x as u32 & 1))?;
            Ok(i32::from(before[0]))
        })
        .wrap("host", "name", |call: &mut HostCall<'_>| {
            let name = call.context::<String>()?;
            name.push('!');
            Ok(name.len() as u32)
        });
    let other = Arc::clone(other);
    functions.wrap("host", "other", move |call: &mut HostCall<'_>, x: i32| {
        // The inner call makes no further one: the lock is taken.
        let Ok(mut other) = other.try_lock() else { return Err(call.refuse("it waits")) };
        let Some((f, instance)) = &mut *other else { return Ok(0) };
        let which = if x & 1 == 0 { 2 } else { 5 };
        match f.call(&mut **instance, (which, x)).map_err(|error| call.refuse(error))? {
            Ok(found) => Ok(found),
            Err(trap) => Ok(trap.to_string().len() as i32),
        }
    });
    let stop = stop.clone();
    functions.wrap("host", "forever", move |_: &mut HostCall<'_>| {
        while !stop.is_interrupted() {
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    });
    functions
}

/// How a call ended, and the memory that it left.
fn call(
    f: &TypedExport<(i32, i32), i32>,
    instance: &mut dyn Instance,
    params: (i32, i32),
    stop: &InterruptHandle,
    interruptible: bool,
) -> String {
    let mut name = String::from("alice");
    // Every third context is of another type.
    let mut number = 5_u32;
    let context = match params.1 % 3 {
        0 => Context::new(&mut number),
        _ => Context::new(&mut name),
    };
    let interrupt = interruptible.then(|| stop.clone());
    let options = CallOptions { context: Some(context), interrupt, ..CallOptions::default() };
    stop.clear();
    let thread = (params.0 == 6).then(|| {
        let stop = stop.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(1));
            stop.interrupt();
        })
    });
    let ended = f.call_with(instance, params, options);
    if let Some(thread) = thread {
        thread.join().unwrap();
    }
    format!("{ended:?} {name}")
}

#[test]
fn calls_are_like_those_on_brand_new_instances() {
    // Panics of the host function are expected.
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload_as_str().is_none_or(|text| !text.starts_with("number ")) {
            eprintln!("{panic}");
        }
    }));
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| engine.execution() != Execution::Native);
    // The workspace's own build may have none.
    if engines.is_empty() {
        return;
    }
    let mut covered = Vec::new();
    let wasm = wat::parse_str(GUEST).unwrap();
    let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
    for engine in engines {
        for strategy in Strategy::all() {
            if matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. }) {
                continue;
            }
            let (other, stop) = (Other::default(), InterruptHandle::new());
            let interruptible = engine.capabilities().deadline;
            let functions = functions(&other, &stop);
            let config = Config { functions, interruptible, ..Config::default() };
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let f = TypedExport::of(&guest, &*module, "f").unwrap();
            *other.lock().unwrap() = Some((f.clone(), module.new_instance().unwrap()));
            let mut instance = module.new_instance().unwrap();
            let mut random = 1_u32;
            for number in 0..CALLS {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Interrupted calls take milliseconds.
                let which = match random >> 16 & 7 {
                    6 if number % 4 != 0 || !interruptible => 0,
                    which => which as i32,
                };
                let params = (which, (random >> 4) as i32 & 0xff_ffff);
                let used = call(&f, &mut *instance, params, &stop, interruptible);
                let mut new = module.new_instance().unwrap();
                let brand_new = call(&f, &mut *new, params, &stop, interruptible);
                assert_eq!(used, brand_new, "{} {strategy} {number} {params:?}", engine.id());
            }
            covered.push(format!("{}_{strategy}", engine.id()));
        }
    }
    let _ = std::panic::take_hook();
    println!("{} executors: {}", covered.len(), covered.join(", "));
    assert!(!covered.is_empty());
}
