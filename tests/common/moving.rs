//! Memories that grow while a guest uses them, wherever their host puts them then.

use super::calling::kind;
use super::guests::FAR;
use super::{Loaded, each, guest};
use std::sync::Barrier;
use touchstone_executor::{Abi, ExportId, Instance, Outcome, Strategy, TrapKind};

/// Pages that the guest's memory has at first.
const FIRST: u32 = 4;
/// Pages by which `walk` grows the memory, one after the other: more different sizes
/// than an executor may keep memories of.
const STEPS: [u32; 12] = [1, 0, 3, 2, 40, 1, 1, 5, 1, 2, 3, 1];

/// Grows in all ways and looks at everything itself: what it does not find as it has
/// to be is an `unreachable`. Each export first makes sure that its memory is clean.
const GROWING: &str = r#"(module
  (import "env" "input_len" (func $input_len (result i64)))
  (import "env" "input" (func $input (param i64)))
  (memory (export "memory") 4 100)
  (table 1 funcref)
  (elem (i32.const 0) $descend)
  (type $descent (func (param i32)))
  (data (i32.const 64) "STEPS")
  (data (i32.const 1024) "clean at")

  (func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
  (func $end (result i32) (i32.shl (memory.size) (i32.const 16)))
  ;; A place's mark is told from its address.
  (func $mark (param i32) (result i64)
    (i64.mul (i64.extend_i32_u (i32.add (local.get 0) (i32.const 1))) (i64.const 0x9e3779b97f4a7c15)))
  (func $write (param i32) (i64.store (local.get 0) (call $mark (local.get 0))))
  (func $check (param i32)
    (call $must (i64.eq (i64.load (local.get 0)) (call $mark (local.get 0)))))
  (func $zero (param $at i32) (param $end i32)
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (call $must (i64.eqz (i64.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 504)))
        (br $next)))))
  (func $clean
    (call $must (i32.eq (memory.size) (i32.const 4)))
    (call $must (i64.eq (i64.load (i32.const 1024)) (i64.const 0x7461206e61656c63)))
    (call $zero (i32.const 2048) (i32.const 262144)))

  ;; Grows, looks at what is new, and writes at both of its ends and over the border.
  (func $grow (param $pages i32) (local $old i32)
    (local.set $old (call $end))
    (call $must (i32.eq (memory.grow (local.get $pages)) (i32.shr_u (local.get $old) (i32.const 16))))
    (call $must (i32.eq (call $end)
      (i32.add (local.get $old) (i32.shl (local.get $pages) (i32.const 16)))))
    (call $zero (local.get $old) (call $end))
    (if (local.get $pages) (then
      (call $write (i32.sub (local.get $old) (i32.const 4)))
      (call $write (i32.add (local.get $old) (i32.const 8)))
      (call $write (i32.sub (call $end) (i32.const 16))))))
  (func $step (param i32) (result i32)
    (i32.load offset=64 (i32.shl (local.get 0) (i32.const 2))))
  ;; All that was written in so many steps.
  (func $check_all (param $count i32) (local $step i32) (local $end i32)
    (local.set $end (i32.const 262144))
    (call $check (i32.sub (local.get $end) (i32.const 16)))
    (loop $next
      (if (i32.lt_u (local.get $step) (local.get $count)) (then
        (if (call $step (local.get $step)) (then
          (call $check (i32.sub (local.get $end) (i32.const 4)))
          (call $check (i32.add (local.get $end) (i32.const 8)))))
        (local.set $end
          (i32.add (local.get $end) (i32.shl (call $step (local.get $step)) (i32.const 16))))
        (call $check (i32.sub (local.get $end) (i32.const 16)))
        (call $check (i32.add (i32.const 2048) (i32.shl (local.get $step) (i32.const 3))))
        (local.set $step (i32.add (local.get $step) (i32.const 1)))
        (br $next))))
    (call $must (i32.eq (local.get $end) (call $end))))
  (func $walk (param $count i32) (local $step i32)
    (call $clean)
    (call $write (i32.sub (call $end) (i32.const 16)))
    (loop $next
      (call $check_all (local.get $step))
      (if (i32.lt_u (local.get $step) (local.get $count)) (then
        (call $grow (call $step (local.get $step)))
        (call $write (i32.add (i32.const 2048) (i32.shl (local.get $step) (i32.const 3))))
        (local.set $step (i32.add (local.get $step) (i32.const 1)))
        (br $next)))))
  (func (export "walk") (param i32) (result i32)
    (call $walk (local.get 0))
    ;; What is refused changes nothing.
    (call $must (i32.eq (memory.grow (i32.const 200)) (i32.const -1)))
    (call $check_all (local.get 0))
    (memory.size))
  (func (export "trap") (param i32) (call $walk (local.get 0)) unreachable)
  (func (export "once") (param i32) (result i32)
    (call $clean)
    (call $write (i32.const 4096))
    (call $grow (local.get 0))
    (call $check (i32.const 4096))
    (memory.size))

  ;; An access behind the memory, of a kind, after so many steps.
  (func (export "behind") (param $count i32) (param $kind i32) (local $end i32)
    (call $walk (local.get $count))
    (local.set $end (call $end))
    (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 (local.get $kind)))
      (drop (i32.load8_u (local.get $end))) (return))
      (i32.store8 (local.get $end) (i32.const 1)) (return))
      (drop (i32.load (i32.sub (local.get $end) (i32.const 3)))) (return))
      (i64.store (i32.sub (local.get $end) (i32.const 7)) (i64.const -1)) (return))
      (drop (i32.load8_u offset=327680 (i32.sub (local.get $end) (i32.const 1)))) (return))
    (drop (i32.load8_u (i32.const -1))))

  ;; Keeps an address, and perhaps more of it, while the memory grows in a loop.
  (func (export "held") (result i32) (local $at i32) (local $turn i32)
    (call $clean)
    (local.set $at (i32.const 4096))
    (loop $again
      (i64.store (local.get $at) (i64.extend_i32_u (local.get $at)))
      (call $must (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))
      (call $must (i64.eq (i64.load (local.get $at)) (i64.extend_i32_u (local.get $at))))
      (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (i64.const 1)))
      (i64.store (i32.sub (call $end) (i32.const 8)) (i64.load (local.get $at)))
      (local.set $at (i32.add (local.get $at) (i32.const 5000)))
      (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $turn) (i32.const 12))))
    (loop $again
      (local.set $at (i32.sub (local.get $at) (i32.const 5000)))
      (call $must (i64.eq (i64.load (local.get $at)) (i64.extend_i32_u (i32.add (local.get $at) (i32.const 1)))))
      (call $must (i64.eq (i64.load (local.get $at))
        (i64.load (i32.sub (i32.shl (i32.add (local.get $turn) (i32.const 4)) (i32.const 16)) (i32.const 8)))))
      (local.set $turn (i32.sub (local.get $turn) (i32.const 1)))
      (br_if $again (local.get $turn)))
    (memory.size))

  ;; Callers go on with their pointers when the calls inside them have grown the memory.
  (func $descend (param $depth i32) (local $at i32) (local $new i32)
    (local.set $at (i32.add (i32.const 8192) (i32.shl (local.get $depth) (i32.const 12))))
    (i64.store (local.get $at) (i64.const 1))
    (local.set $new (i32.shl (memory.grow (i32.const 2)) (i32.const 16)))
    (i64.store (local.get $new) (i64.const 3))
    (i64.store offset=8 (local.get $at) (i64.const 2))
    (if (local.get $depth) (then
      (call_indirect (type $descent) (i32.sub (local.get $depth) (i32.const 1)) (i32.const 0))
      (call $must (i64.eq (i64.load (i32.sub (local.get $at) (i32.const 4096))) (i64.const 6)))))
    (drop (memory.grow (i32.const 1)))
    (i64.store (local.get $at) (i64.add (i64.load (local.get $new))
      (i64.add (i64.load (local.get $at)) (i64.load offset=8 (local.get $at))))))
  (func (export "nested") (param i32) (result i32)
    (call $clean)
    (call $descend (local.get 0))
    (call $must (i64.eq
      (i64.load (i32.add (i32.const 8192) (i32.shl (local.get 0) (i32.const 12)))) (i64.const 6)))
    (memory.size))

  ;; Writes to so many pages of 4 KiB, then grows twice.
  (func $each_page (param $pages i32) (param $write i32) (local $at i32)
    (local.set $at (i32.const 8192))
    (loop $next
      (if (local.get $pages) (then
        (if (local.get $write) (then (call $write (local.get $at))) (else (call $check (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 4096)))
        (local.set $pages (i32.sub (local.get $pages) (i32.const 1)))
        (br $next)))))
  (func (export "dirty") (param $pages i32) (result i32)
    (call $clean)
    (call $each_page (local.get $pages) (i32.const 1))
    (call $grow (i32.const 3))
    (call $each_page (local.get $pages) (i32.const 0))
    (call $each_page (local.get $pages) (i32.const 1))
    (call $grow (i32.const 2))
    (call $each_page (local.get $pages) (i32.const 0))
    (memory.size))

  ;; The input: byte after byte 7 more than the one before, and the first is 3.
  (func $fetch (param $at i32) (local $index i32) (local $length i32)
    (local.set $length (i32.wrap_i64 (call $input_len)))
    (call $input (i64.extend_i32_u (local.get $at)))
    (loop $next
      (if (i32.lt_u (local.get $index) (local.get $length)) (then
        (call $must (i32.eq (i32.load8_u (i32.add (local.get $at) (local.get $index)))
          (i32.and (i32.const 255) (i32.add (i32.const 3) (i32.mul (local.get $index) (i32.const 7))))))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br $next)))))
  (func (export "fetch") (result i32) (local $length i32) (local $old i32)
    (call $clean)
    (local.set $length (i32.wrap_i64 (call $input_len)))
    (call $write (i32.const 4096))
    (local.set $old (call $end))
    (call $grow (i32.const 2))
    ;; Over the border, in the old part, and up to the end.
    (call $fetch (i32.sub (local.get $old) (i32.shr_u (local.get $length) (i32.const 1))))
    (call $fetch (i32.const 16384))
    (call $fetch (i32.sub (call $end) (local.get $length)))
    (call $check (i32.const 4096))
    (call $grow (i32.const 3))
    (call $fetch (i32.const 20480))
    (call $fetch (i32.sub (call $end) (local.get $length)))
    (call $check (i32.const 4096))
    (memory.size))
  (func (export "fetch_behind")
    (call $clean)
    (call $grow (i32.const 2))
    (call $input (i64.extend_i32_u
      (i32.add (i32.const 1) (i32.sub (call $end) (i32.wrap_i64 (call $input_len)))))))
)"#;

fn growing() -> touchstone_executor::guest::GuestModule {
    let steps = STEPS.map(|step| format!("\\{step:02x}\\00\\00\\00")).concat();
    guest(&GROWING.replace("STEPS", &steps))
}

/// Pages after so many steps.
fn size_after(steps: usize) -> u32 {
    FIRST + STEPS[..steps].iter().sum::<u32>()
}

/// The guest under one engine and strategy, and one instance of it.
struct Run<'a> {
    loaded: &'a Loaded,
    instance: Box<dyn Instance>,
}

impl<'a> Run<'a> {
    fn new(loaded: &'a Loaded) -> Self {
        Self { loaded, instance: loaded.instance() }
    }

    fn call(&mut self, export: ExportId, input: &[u8]) -> (Outcome, Vec<u8>) {
        self.loaded.outcome(&mut *self.instance, export, input)
    }

    /// A call with numbers that has to end with a memory of so many pages.
    #[track_caller]
    fn grows(&mut self, export: &str, number: Option<u32>, pages: u32) {
        let handle = self.loaded.export(export, Abi::Plain);
        let input = number.map(u32::to_le_bytes);
        let found = self.call(handle, input.as_ref().map_or(&[], |input| &input[..]));
        let expected = (Outcome::Returned, pages.to_le_bytes().to_vec());
        assert_eq!(found, expected, "{}: {export} {number:?}", self.loaded.name);
    }

    #[track_caller]
    fn traps(&mut self, export: &str, numbers: &[u32], expected: &TrapKind) {
        let handle = self.loaded.export(export, Abi::Plain);
        let input: Vec<u8> = numbers.iter().copied().flat_map(u32::to_le_bytes).collect();
        let (outcome, _) = self.call(handle, &input);
        assert_eq!(kind(&outcome), Some(expected), "{}: {export} {numbers:?}", self.loaded.name);
    }
}

pub(crate) fn a_memory_that_grows_often_keeps_all_that_was_written(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        for round in 0..3 {
            for steps in [STEPS.len(), 0, 5, 1, 2, STEPS.len()] {
                run.grows("walk", Some(steps as u32), size_after(steps));
                if round == 1 {
                    run.traps("trap", &[steps as u32], &TrapKind::Unreachable);
                }
            }
        }
    });
}

/// Also where an earlier call's memory was larger.
pub(crate) fn behind_the_size_of_a_memory_every_access_traps(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        for round in 0..10 {
            for access in 0..6 {
                // Every kind meets every one of these sizes within the rounds.
                let steps = [0, 1, 4, 0, STEPS.len()][(round + access) % 5];
                let numbers = [steps as u32, access as u32];
                run.traps("behind", &numbers, &TrapKind::MemoryOutOfBounds);
            }
            run.grows("walk", Some(5), size_after(5));
        }
    });
}

/// Whatever lies next to a memory that has grown: code may leave it to the pages behind a memory to
/// stop accesses far behind it.
pub(crate) fn far_behind_a_large_memory_every_access_traps(strategy: Strategy) {
    each(strategy, &guest(FAR), |loaded| {
        let poke = loaded.export("poke", Abi::Plain);
        // Several, so that memories lie next to each other.
        let mut instances: Vec<_> = (0..4).map(|_| loaded.instance()).collect();
        instances.iter_mut().for_each(|instance| instance.prepare().unwrap());
        for back in [1_u32, 65_536, 1 << 20, 9 << 20] {
            for instance in &mut instances {
                let ended =
                    instance.invoke(poke, &back.to_le_bytes(), &mut Vec::new(), None).unwrap();
                let trap = kind(&ended);
                assert_eq!(trap, Some(&TrapKind::MemoryOutOfBounds), "{}: {back}", loaded.name);
            }
        }
        instances.iter_mut().for_each(|instance| instance.finish().unwrap());
    });
}

pub(crate) fn addresses_are_held_while_a_memory_grows(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        for _ in 0..5 {
            run.grows("held", None, FIRST + 12);
            for depth in [0, 1, 8] {
                run.grows("nested", Some(depth), FIRST + 3 * (depth + 1));
            }
        }
    });
}

/// Few of them can be copied to another place, many cannot be known.
pub(crate) fn however_many_pages_were_written_they_are_kept(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        for pages in [1, 20, 29, 30, 31, 32, 33, 60, 2, 40, 1] {
            run.grows("dirty", Some(pages), FIRST + 5);
        }
    });
}

/// More sizes than an executor may keep memories of, and back to the first ones.
pub(crate) fn calls_grow_by_different_amounts_in_turn(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        for pages in [1, 3, 2, 40, 0, 5, 7, 9, 11, 13, 96, 15, 1, 3, 2, 40, 17, 0, 1] {
            run.grows("once", Some(pages), FIRST + pages);
            run.grows("once", Some(1), FIRST + 1);
        }
    });
}

pub(crate) fn the_host_writes_to_where_a_grown_memory_is(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let mut run = Run::new(loaded);
        let fetch = loaded.export("fetch", Abi::Input);
        let behind = loaded.export("fetch_behind", Abi::Input);
        for length in [9000_u32, 1, 0, 9000, 70_000] {
            let input: Vec<u8> = (0..length).map(|index| (3 + index * 7) as u8).collect();
            let found = run.call(fetch, &input);
            let expected = (Outcome::Returned, (FIRST + 5).to_le_bytes().to_vec());
            assert_eq!(found, expected, "{} {length}", loaded.name);
            let (outcome, _) = run.call(behind, &input);
            let refused = matches!(kind(&outcome), Some(TrapKind::HostFunction { name, .. }) if name == "input");
            assert!(refused, "{} {length}: {outcome:?}", loaded.name);
        }
    });
}

pub(crate) fn memories_that_grow_on_four_threads_do_not_mix(strategy: Strategy) {
    each(strategy, &growing(), |loaded| {
        let barrier = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut run = Run::new(loaded);
                    barrier.wait();
                    for call in 0..12_usize {
                        match (call + thread) % 4 {
                            0 => run.grows("walk", Some(5), size_after(5)),
                            1 => run.grows("once", Some(call as u32), FIRST + call as u32),
                            2 => run.traps("trap", &[3], &TrapKind::Unreachable),
                            _ => run.grows("dirty", Some(28 + call as u32), FIRST + 5),
                        }
                        run.traps("behind", &[1, thread as u32], &TrapKind::MemoryOutOfBounds);
                    }
                });
            }
        });
    });
}
