//! The guests of the behaviour tests, as text.

/// Substrate's convention, and the allocator beside it. `__heap_base` is no
/// multiple of 8: the first header lies at 2008, the first input at 2016.
pub(crate) const SUBSTRATE: &str = r#"(module
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (memory (export "memory") 1)
  (global (export "__heap_base") i32 (i32.const 2001))
  (data (i32.const 1024) "hello")
  (func $pack (param $pointer i32) (param $length i32) (result i64)
    (i64.or (i64.extend_i32_u (local.get $pointer))
            (i64.shl (i64.extend_i32_u (local.get $length)) (i64.const 32))))
  (func (export "echo") (param i32 i32) (result i64)
    (call $pack (local.get 0) (local.get 1)))
  (func (export "nothing") (param i32 i32) (result i64) (i64.const 0))
  (func (export "constant") (param i32 i32) (result i64)
    (call $pack (i32.const 1024) (i32.const 5)))
  ;; Where the input lies, and its header.
  (func (export "place") (param i32 i32) (result i64)
    (i32.store (i32.const 0) (local.get 0))
    (i64.store (i32.const 4) (i64.load (i32.sub (local.get 0) (i32.const 8))))
    (call $pack (i32.const 0) (i32.const 12)))
  ;; Takes a MiB from the host and uses the end of it.
  (func (export "large") (param i32 i32) (result i64) (local $at i32)
    (local.set $at (i32.add (call $malloc (i32.const 1048576)) (i32.const 1048568)))
    (i64.store (local.get $at) (i64.extend_i32_u (memory.size)))
    (call $pack (local.get $at) (i32.const 8)))
  ;; First and last page of the memory, as found; then both are written.
  (func (export "ends") (param i32 i32) (result i64) (local $last i32)
    (local.set $last (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 8)))
    (i64.store (i32.const 16) (i64.load (i32.const 0)))
    (i64.store (i32.const 24) (i64.load (local.get $last)))
    (i64.store (i32.const 32) (i64.extend_i32_u (memory.size)))
    (i64.store (i32.const 0) (i64.const -1))
    (i64.store (local.get $last) (i64.const -1))
    (call $pack (i32.const 16) (i32.const 24)))
)"#;

/// The convention with an input that the guest fetches. It traps unless the
/// input is "abc".
pub(crate) const INPUT: &str = r#"(module
  (import "env" "input_len" (func $length (result i64)))
  (import "env" "input" (func $input (param i64)))
  (memory (export "memory") 1)
  (func (export "check")
    (if (i64.ne (call $length) (i64.const 3)) (then unreachable))
    (call $input (i64.const 100))
    (if (i32.ne (i32.load (i32.const 100)) (i32.const 0x636261)) (then unreachable)))
  (func (export "far") (call $input (i64.const 65534)))
)"#;

/// Numbers in, numbers out, without a memory.
pub(crate) const PLAIN: &str = r#"(module
  (func (export "nothing"))
  (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func (export "mix") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
    (local.get 3) (local.get 2) (local.get 1) (local.get 0))
  (global $count (mut i32) (i32.const 0))
  (func (export "count") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (global.get $count))
)"#;

/// Returns what lies at an address, and writes something there.
pub(crate) const VISITS: &str = r#"(module
  (memory (export "memory") 3)
  (func (export "visit") (param i32) (result i32)
    (i32.load (local.get 0))
    (i32.store (local.get 0) (i32.const 1))))"#;

/// Shows all of its state, then changes all of it; the input's first byte says
/// what else happens: 1 grows the memory, 2 traps, 3 exhausts the stack.
pub(crate) const CHURN: &str = r#"(module
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
  (memory (export "memory") 3 12)
  (global $stack (mut i32) (i32.const 1024))
  (global $hidden (mut i64) (i64.const 77))
  (global $single (mut f32) (f32.const 0.25))
  (global $float (export "float") (mut f64) (f64.const 1.5))
  (global (export "__heap_base") i32 (i32.const 70000))
  (data (i32.const 1024) "some data above the stack")
  (data (i32.const 65530) "across two pages")
  ;; All of the memory; eight words in each turn, because interpreters take most of a test for it.
  (func $sum (result i64) (local $at i32) (local $sum i64)
    (loop $next
      (local.get $sum)
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=8 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=16 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=24 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=32 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=40 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=48 (local.get $at)))
      (i64.mul (i64.const 1099511628211)) (i64.add (i64.load offset=56 (local.get $at)))
      (local.set $sum)
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $at) (i32.shl (memory.size) (i32.const 16)))))
    (local.get $sum))
  (func $exhaust (param i64) (result i64)
    (i64.store (i32.const 2048) (local.get 0))
    (i64.add (i64.const 1) (call $exhaust (i64.add (local.get 0) (i64.const 1)))))
  (func (export "churn") (param $in i32) (param $length i32) (result i64)
    (local $mode i32) (local $sum i64) (local $out i32) (local $other i32)
    (local.set $mode (i32.load8_u (local.get $in)))
    (local.set $sum (call $sum))
    (local.set $out (call $malloc (i32.const 64)))
    (i64.store (local.get $out) (local.get $sum))
    (i32.store offset=8 (local.get $out) (memory.size))
    (i32.store offset=12 (local.get $out) (local.get $out))
    (i64.store offset=16 (local.get $out) (global.get $hidden))
    (f64.store offset=24 (local.get $out) (global.get $float))
    (f32.store offset=32 (local.get $out) (global.get $single))
    (i32.store offset=36 (local.get $out) (global.get $stack))
    (global.set $hidden (i64.const -3))
    (global.set $single (f32.const nan:0x212121))
    (global.set $float (f64.const -inf))
    (global.set $stack (i32.const 8))
    (i64.store (i32.const 0) (i64.const 0x0101010101010101))
    (i64.store (i32.const 1000) (i64.const -1))
    (i64.store (i32.const 1026) (i64.const -1))
    (i64.store (i32.const 5000) (i64.const -1))
    (i64.store (i32.const 65532) (i64.const -1))
    (i64.store (i32.const 131070) (i64.const -1))
    (i64.store (i32.const 196600) (i64.const -1))
    (local.set $other (call $malloc (i32.const 500)))
    (i64.store (local.get $other) (i64.const -1))
    (call $free (call $malloc (i32.const 500)))
    (call $free (local.get $other))
    (if (i32.eq (local.get $mode) (i32.const 1)) (then
      (if (i32.ne (memory.grow (i32.const 2)) (i32.const 3)) (then unreachable))
      (i64.store (i32.const 327672) (i64.const -1))
      (i64.store (call $malloc (i32.const 262144)) (i64.const -1))))
    (if (i32.eq (local.get $mode) (i32.const 2)) (then unreachable))
    (if (i32.eq (local.get $mode) (i32.const 3))
      (then (drop (call $exhaust (i64.const 0)))))
    (i64.or (i64.extend_i32_u (local.get $out)) (i64.const 0x2800000000)))
)"#;

/// A table that no export shows, read through indirect calls and then changed
/// in the way that the parameter says.
pub(crate) const TABLE: &str = r#"(module
  (type $digit (func (result i32)))
  (table $table 4 10 funcref)
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))
  (func $three (result i32) (i32.const 3))
  (elem (table $table) (i32.const 0) func $one $two $three $one)
  (elem $passive func $three $three)
  (func $at (param i32) (result i32) (call_indirect $table (type $digit) (local.get 0)))
  (func (export "shuffle") (param $how i32) (result i32 i32)
    (i32.add (i32.mul (call $at (i32.const 0)) (i32.const 1000))
      (i32.add (i32.mul (call $at (i32.const 1)) (i32.const 100))
        (i32.add (i32.mul (call $at (i32.const 2)) (i32.const 10)) (call $at (i32.const 3)))))
    (table.size $table)
    (if (i32.eq (local.get $how) (i32.const 0)) (then
      (table.copy $table $table (i32.const 0) (i32.const 1) (i32.const 3))))
    (if (i32.eq (local.get $how) (i32.const 1)) (then
      (table.init $table $passive (i32.const 0) (i32.const 0) (i32.const 2))))
    (if (i32.eq (local.get $how) (i32.const 2)) (then
      (table.set $table (i32.const 3) (ref.null func))))
    (if (i32.eq (local.get $how) (i32.const 3)) (then
      (table.fill $table (i32.const 0) (ref.func $two) (i32.const 4))))
    (if (i32.eq (local.get $how) (i32.const 4)) (then
      (drop (table.grow $table (ref.func $two) (i32.const 3))))))
)"#;

/// A table of references to things of the host, of which there are none: it can
/// only be filled with null, and grown.
pub(crate) const HOST_TABLE: &str = r#"(module
  (table $table 2 10 externref)
  (func (export "change") (param $grow i32) (result i32)
    (table.size $table)
    (table.set $table (i32.const 1) (ref.null extern))
    (drop (table.grow $table (ref.null extern) (local.get $grow))))
)"#;

/// Every kind of trap, each after the state was changed; `count` shows whether
/// it still is. All of it in two conventions, for `either`.
pub(crate) const TRAPS: &str = r#"(module
  (import "env" "does_not_exist" (func $absent (param i32 i64) (result i64)))
  (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
  (type $nothing (func))
  (type $number (func (result i32)))
  (table 3 funcref)
  (elem (i32.const 0) $leave)
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 1024))
  (global $count (mut i32) (i32.const 0))
  (func $leave
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1))))
  (func $both (export "count") (result i64)
    (call $leave)
    (i64.or (i64.extend_i32_u (global.get $count))
            (i64.shl (i64.extend_i32_u (i32.load (i32.const 8))) (i64.const 32))))
  (func $unreachable (export "unreachable") (call $leave) unreachable)
  (func $load (export "load") (call $leave) (drop (i32.load (i32.const 65533))))
  (func $store (export "store") (call $leave) (i64.store offset=4294967295 (i32.const 1) (i64.const 1)))
  (func $divide (export "divide") (call $leave)
    (drop (i32.div_u (i32.const 1) (i32.sub (global.get $count) (global.get $count)))))
  (func $overflow (export "overflow") (call $leave)
    (drop (i32.div_s (i32.const 0x80000000) (i32.sub (i32.const 0) (global.get $count)))))
  (func $convert (export "convert") (call $leave)
    (drop (i32.trunc_f64_s (f64.div (f64.const 0) (f64.const 0)))))
  (func $null (export "null") (call $leave) (call_indirect (type $nothing) (i32.const 1)))
  (func $type (export "type") (call $leave) (drop (call_indirect (type $number) (i32.const 0))))
  (func $table (export "table") (call $leave) (call_indirect (type $nothing) (i32.const 3)))
  (func $recurse (export "recurse") (call $leave) (call $recurse) (call $leave))
  (func $missing (export "missing") (call $leave)
    (drop (call $absent (i32.const 1) (i64.const 2))))
  (func $refused (export "refused") (call $leave) (call $free (i32.const 3)))
  (func (export "result") (param i32 i32) (result i64)
    (call $leave) (i64.const 0x100000fff8))
  (func (export "endless") (call $leave) (loop $again (br $again)))
  (func (export "unreachable_packed") (param i32 i32) (result i64) (call $unreachable) (i64.const 0))
  (func (export "load_packed") (param i32 i32) (result i64) (call $load) (i64.const 0))
  (func (export "store_packed") (param i32 i32) (result i64) (call $store) (i64.const 0))
  (func (export "divide_packed") (param i32 i32) (result i64) (call $divide) (i64.const 0))
  (func (export "overflow_packed") (param i32 i32) (result i64) (call $overflow) (i64.const 0))
  (func (export "convert_packed") (param i32 i32) (result i64) (call $convert) (i64.const 0))
  (func (export "null_packed") (param i32 i32) (result i64) (call $null) (i64.const 0))
  (func (export "type_packed") (param i32 i32) (result i64) (call $type) (i64.const 0))
  (func (export "table_packed") (param i32 i32) (result i64) (call $table) (i64.const 0))
  (func (export "missing_packed") (param i32 i32) (result i64) (call $missing) (i64.const 0))
  (func (export "refused_packed") (param i32 i32) (result i64) (call $refused) (i64.const 0))
  (func (export "recurse_packed") (param i32 i32) (result i64) (call $recurse) (i64.const 0))
  (func (export "count_packed") (param i32 i32) (result i64)
    (i64.store (i32.const 16) (call $both)) (i64.const 0x800000010))
)"#;

/// Takes memory until there is none.
pub(crate) const BOMB: &str = r#"(module
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (memory (export "memory") 1)
  (global (export "__heap_base") i32 (i32.const 1024))
  (func (export "grow") (result i32)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (memory.size))
  (func (export "allocate")
    (loop $more (drop (call $malloc (i32.const 60000))) (br $more)))
  (func (export "by") (param i32) (result i32 i32)
    (memory.grow (local.get 0)) (memory.size))
)"#;

/// `step` adds its parameter to a global, which the start function has set to 10, and traps
/// then when it is 5.
pub(crate) const STEPS: &str = r#"(module
    (global $sum (mut i32) (i32.const 7))
    (global $steps (mut i64) (i64.const 0))
    (func $start (global.set $sum (i32.const 10)))
    (start $start)
    (func (export "step") (param i32) (result i32 i64)
        (global.set $sum (i32.add (global.get $sum) (local.get 0)))
        (global.set $steps (i64.add (global.get $steps) (i64.const 1)))
        (if (i32.eq (local.get 0) (i32.const 5)) (then (unreachable)))
        (global.get $sum)
        (global.get $steps)))"#;

/// A start function that writes, sets a global and takes from the host's heap.
pub(crate) const START: &str = r#"(module
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (memory (export "memory") 1)
  (global (export "__heap_base") i32 (i32.const 1024))
  (global $set (mut i32) (i32.const 0))
  (data (i32.const 16) "\05")
  (func $start
    (i32.store (i32.const 16) (i32.add (i32.load (i32.const 16)) (i32.const 1)))
    (i32.store (i32.const 20) (call $malloc (i32.const 8)))
    (global.set $set (i32.const 7)))
  (start $start)
  (func (export "look") (result i32 i32 i32 i32)
    (i32.load (i32.const 16)) (i32.load (i32.const 20)) (global.get $set)
    (call $malloc (i32.const 8))
    (i32.store (i32.const 16) (i32.const 99))
    (global.set $set (i32.const 99)))
)"#;

/// Grows its memory in its start function, and writes where it grew.
pub(crate) const GROWN_AT_START: &str = r#"(module
  (memory (export "memory") 1 9)
  (func $start
    (drop (memory.grow (i32.const 2)))
    (i32.store (i32.const 131072) (i32.const 7)))
  (start $start)
  (func (export "look") (param $more i32) (result i32 i32 i32)
    (memory.size) (i32.load (i32.const 131072)) (i32.load (i32.const 196604))
    (i32.store (i32.const 16) (i32.const 99))
    (i32.store (i32.const 131072) (i32.const 99))
    (i32.store (i32.const 196604) (i32.const 99))
    (drop (memory.grow (local.get $more)))
    (if (local.get $more) (then (i32.store (i32.const 196608) (i32.const 99)))))
  (func (export "behind") (result i32) (i32.load (i32.shl (memory.size) (i32.const 16))))
)"#;

/// Few turns of loops in each of which the host or one instruction has much to do.
pub(crate) const COSTLY: &str = r#"(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
  (memory (export "memory") 64)
  (func (export "log")
    (loop $again (call $log (i32.const 0) (i64.const 0) (i64.const 0x0040000000000000)) (br $again)))
  (func (export "host")
    (loop $again (drop (call $random (i32.const 0) (i32.const 4194304))) (br $again)))
  (func (export "fill")
    (loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 4194304)) (br $again))))"#;

/// Grows by more than what is reserved for offsets behind a memory, and stores behind 4 GiB from
/// there.
pub(crate) const FAR: &str = r#"(module
  (memory (export "memory") 1)
  (func (export "poke") (param $back i32)
    (drop (memory.grow (i32.const 700)))
    (i32.store8 offset=4294967295
      (i32.sub (i32.shl (memory.size) (i32.const 16)) (local.get $back)) (i32.const 1))))"#;

/// Imports one name with two types, of which no host has any.
pub(crate) const TWO_TYPES: &str = r#"(module
  (import "env" "absent" (func $narrow (param i32)))
  (import "env" "absent" (func $wide (param i64) (result i64)))
  (func (export "narrow") (call $narrow (i32.const 1)))
  (func (export "wide") (drop (call $wide (i64.const 1)))))"#;

/// Traps inside a recursion.
pub(crate) const RECURSION: &str = r#"(module
  (func $descend (export "descend") (param i32)
    (if (i32.eqz (local.get 0)) (then unreachable))
    (call $descend (i32.sub (local.get 0) (i32.const 1)))))"#;

/// Uses a passive segment once and drops it.
pub(crate) const PASSIVE: &str = r#"(module
  (memory (export "memory") 1)
  (data $passive "\2a\00\00\00")
  (func (export "once") (result i32)
    (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 4))
    (data.drop $passive)
    (i32.load (i32.const 0)))
)"#;

/// A module with an imported memory and 40 functions that nobody has, of four
/// types.
pub(crate) fn many_imports() -> String {
    let types = ["", "(param i32 i64) (result i64)", "(param f32 f64)", "(result i32)"];
    let imports: String = (0..40)
        .map(|index| {
            let ty = types[index % types.len()];
            format!("(import \"env\" \"unknown_{index}\" (func $f{index} {ty}))\n")
        })
        .collect();
    format!(
        r#"(module {imports} (import "env" "memory" (memory 2 4))
          (data (i32.const 4) "\07")
          (func (export "fine") (result i32) (i32.load (i32.const 4)))
          (func (export "call") (drop (call $f17 (i32.const 1) (i64.const 1)))))"#
    )
}

/// Active and passive segments in turn, some named by instructions and more behind those.
pub(crate) const SEGMENTS: &str = r#"(module
  (memory (export "memory") 1)
  (data (i32.const 0) "first") (data $passive "passive") (data $active (i32.const 8) "active")
  (data (i32.const 16) "last") (data "nobody's") (data (i32.const 18) "s over it")
  ;; Copies a byte of the passive segment, then as many as asked of an active one.
  (func (export "init") (param i32) (result i64)
    (memory.init $passive (i32.const 32) (i32.const 2) (i32.const 1))
    (memory.init $active (i32.const 33) (i32.const 0) (local.get 0))
    (i64.add (i64.load (i32.const 16)) (i64.load (i32.const 32))))
)"#;
