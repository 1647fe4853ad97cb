//! A memory that grows in one call has its first size in the next one, and what it grows by is
//! zero each time: `memory.grow` is a call of the host, which keeps pages.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy, TrapKind};

/// Fills what it grows by, after it has looked at it. Of 2 to 40 pages.
const GUEST: &str = r#"(module
    (memory 2 40) (data (i32.const 8) "data")
    (func (export "grow") (param $more i32) (result i32 i32)
        (local $before i32) (local $at i32) (local $found i32)
        (local.set $before (memory.grow (local.get $more)))
        (local.set $at (i32.mul (local.get $before) (i32.const 65536)))
        (i32.store (i32.const 8) (i32.const 1))
        (block (br_if 0 (i32.eq (local.get $before) (i32.const -1)))
            (loop
                (br_if 1 (i32.ge_u (local.get $at) (i32.mul (memory.size) (i32.const 65536))))
                (local.set $found (i32.or (local.get $found) (i32.load (local.get $at))))
                (i32.store (local.get $at) (i32.const -1))
                (local.set $at (i32.add (local.get $at) (i32.const 1024)))
                (br 0)))
        (local.get $before) (local.get $found))
    (func (export "twice") (param i32) (result i32 i32)
        (drop (memory.grow (local.get 0))) (memory.grow (i32.const 1)) (memory.size))
    (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
    (func (export "size") (result i32) (memory.size)))"#;

fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

struct Guest<'a> {
    name: &'a str,
    module: &'a dyn Module,
    instance: Box<dyn Instance>,
}

impl<'a> Guest<'a> {
    fn new(name: &'a str, module: &'a dyn Module) -> Self {
        Self { name, module, instance: module.new_instance().unwrap() }
    }

    fn call(&mut self, export: &str, input: &[i32]) -> (Outcome, Vec<u8>) {
        let export = self.module.export(export, Abi::Plain).unwrap();
        let mut output = Vec::new();
        let outcome = self.instance.call(export, &numbers(input), &mut output).unwrap();
        (outcome, output)
    }

    #[track_caller]
    fn returns(&mut self, export: &str, input: &[i32], expected: &[i32]) {
        let found = self.call(export, input);
        assert_eq!(found, (Outcome::Returned, numbers(expected)), "{} {export}", self.name);
    }

    /// The host reads the memory of an instance that has grown, and the guest goes on.
    fn is_shown_after_growth(&mut self, is_grown_again: bool) {
        let export = |name| self.module.export(name, Abi::Plain).unwrap();
        let (twice, load) = (export("twice"), export("load"));
        let (mut output, instance) = (Vec::new(), &mut self.instance);
        let mut run = |instance: &mut Box<dyn Instance>, export, input| {
            let outcome = instance.invoke(export, &numbers(&[input]), &mut output, None).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{}", self.name);
        };
        instance.prepare().unwrap();
        run(instance, twice, 5);
        let memory = instance.memory().unwrap();
        assert_eq!(memory.len(), 8 * 65_536, "{}", self.name);
        std::thread::scope(|scope| {
            let sum = scope
                .spawn(|| memory[2 * 65_536..].iter().map(|byte| u64::from(*byte)).sum::<u64>());
            assert_eq!(sum.join().unwrap(), 0, "{}", self.name);
        });
        run(instance, load, 8 * 65_536 - 4);
        if is_grown_again {
            run(instance, twice, 2);
            run(instance, load, 11 * 65_536 - 4);
        }
        instance.finish().unwrap();
    }

    #[track_caller]
    fn is_out_of_bounds(&mut self, address: i32) {
        let (outcome, _) = self.call("load", &[address]);
        let kind = outcome.trap().map(|trap| &trap.kind);
        assert_eq!(kind, Some(&TrapKind::MemoryOutOfBounds), "{} {address}", self.name);
    }
}

/// Does something with the guest's module under every strategy of every engine that can have it.
fn everywhere(check: impl Fn(&str, &dyn Module)) {
    let guest =
        GuestModule::new("growing", &wat::parse_str(GUEST).unwrap(), HeapPages::default()).unwrap();
    let config = Config::default();
    for engine in touchstone_wasmedge::engines() {
        for strategy in Strategy::all() {
            if engine.support_for(strategy, &guest).is_supported() {
                let artifact = engine.compile(&guest, strategy, &config).unwrap();
                let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
                check(&format!("{} {strategy}", engine.id()), &*module);
            }
        }
    }
}

#[test]
fn a_memory_grows_from_its_first_size_in_each_call() {
    everywhere(|name, module| {
        let mut guest = Guest::new(name, module);
        for round in 0..400 {
            // Enough calls without growth to release pages.
            if !(100..380).contains(&round) {
                let more = [1, 3, 0, 38, 7, 39, 2, 20][round % 8];
                let before = if more == 39 { -1 } else { 2 };
                guest.returns("grow", &[more], &[before, 0]);
                guest.returns("twice", &[5], &[7, 8]);
                guest.returns("twice", &[38], &[-1, 40]);
            }
            guest.returns("size", &[], &[2]);
            guest.returns("load", &[8], &[i32::from_le_bytes(*b"data")]);
            guest.returns("load", &[2 * 65_536 - 4], &[0]);
            for address in [2 * 65_536 - 3, 2 * 65_536, 3 * 65_536, 39 * 65_536] {
                guest.is_out_of_bounds(address);
            }
        }
    });
}

/// Where each call grows the memory alike, compiled code gets what it grows by through the rights
/// of the thread, if the processor has protection keys.
#[test]
fn what_each_call_grows_by_is_open_to_that_call_alone() {
    everywhere(|name, module| {
        let mut guests = [Guest::new(name, module), Guest::new(name, module)];
        for round in 0..40 {
            let guest = &mut guests[usize::from(round % 5 == 4)];
            if round % 3 == 0 {
                guest.returns("twice", &[5], &[7, 8]);
            } else if round % 7 == 0 {
                // On another thread, which is told of nothing.
                std::thread::scope(|scope| {
                    scope.spawn(|| guest.returns("twice", &[5], &[7, 8])).join().unwrap();
                });
            } else {
                guest.is_shown_after_growth(round % 4 == 1);
            }
            for guest in &mut guests {
                guest.returns("size", &[], &[2]);
                for page in 2..9 {
                    guest.is_out_of_bounds(page * 65_536);
                }
            }
        }
    });
}
