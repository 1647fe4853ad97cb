//! The guests of the attacks, as text.

/// Output of `count` on a clean instance: both counters are 1.
pub(super) const CLEAN: [u8; 8] = [1, 0, 0, 0, 1, 0, 0, 0];

/// Part of all guests: a counter in a global and one in memory. Two conventions, because some
/// executors have only Substrate's.
const COUNT: &str = r#"
  (global (export "__heap_base") i32 (i32.const 4096))
  (global $count (mut i32) (i32.const 0))
  (data (i32.const 1024) "data")
  (func $leave
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1))))
  (func $both (export "count") (result i64)
    (call $leave)
    (i64.or (i64.extend_i32_u (global.get $count))
            (i64.shl (i64.extend_i32_u (i32.load (i32.const 8))) (i64.const 32))))
  (func (export "count_packed") (param i32 i32) (result i64)
    (i64.store (i32.const 16) (call $both)) (i64.const 0x800000010))
"#;

/// A harmless guest.
pub(super) fn well() -> String {
    format!("(module (memory (export \"memory\") 1 1) {COUNT})")
}

pub(super) fn endless_start() -> String {
    format!(
        "(module (memory (export \"memory\") 1 1) {COUNT}
           (func $start (call $leave) (loop $again (br $again)))
           (start $start))"
    )
}

/// Locals that live across the call in `recurse_large`.
const LARGE_FRAME: usize = 1000;

/// The hostile guest. Attacks have no parameters and results, so that their counterparts in
/// Substrate's convention can be generated.
pub(super) fn hostile() -> String {
    let attacks = format!("{ATTACKS}{}", large_frame());
    let names = attacks.split("(export \"").skip(1).filter_map(|rest| rest.split_once('"'));
    let packed: String = names
        .filter(|(_, rest)| rest.starts_with(')'))
        .map(|(name, _)| {
            format!(
                "(func (export \"{name}_packed\") (param i32 i32) (result i64)
                   (call ${name}) (i64.const 0))\n"
            )
        })
        .collect();
    format!(
        "(module {IMPORTS} (memory (export \"memory\") 2) {COUNT} {attacks} {packed} {RESULTS})"
    )
}

/// `recurse_large`: several kilobytes of frame per level.
fn large_frame() -> String {
    let locals = "i64 ".repeat(LARGE_FRAME);
    let set: String = (0..LARGE_FRAME)
        .map(|at| format!("(local.set {at} (i64.load (i32.const {})))", 8 * (at % 4096)))
        .collect();
    let used: String = (0..LARGE_FRAME)
        .map(|at| format!("(i64.store (i32.const {}) (local.get {at}))", 32_768 + 8 * at))
        .collect();
    format!(
        "(func $recurse_large (export \"recurse_large\") (local {locals})
           {set} (call $recurse_large) {used})"
    )
}

const IMPORTS: &str = r#"
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
  (import "env" "ext_logging_max_level_version_1" (func $level (result i32)))
  (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
  (import "env" "input" (func $input (param i64)))
"#;

const ATTACKS: &str = r#"
  (type $nothing (func))
  (table $table 4 funcref)
  (elem (table $table) (i32.const 0) func $recurse_table $recurse_other $leave)
  (func $endless (export "endless") (call $leave) (loop $again (br $again)))
  (func $endless_calls (export "endless_calls") (call $leave)
    (loop $again (call $leave) (br $again)))
  (func $endless_host (export "endless_host") (call $leave)
    (loop $again (drop (call $level)) (br $again)))
  ;; Writes a byte of each page of 4 KiB from the first one to the last.
  (func $touch (local $at i32)
    (loop $next
      (i32.store8 (local.get $at) (i32.const 1))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br_if $next (i32.lt_u (local.get $at) (i32.shl (memory.size) (i32.const 16))))))
  (func $memory_by_pages (export "memory_by_pages") (call $leave)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (call $touch))
  (func $memory_at_once (export "memory_at_once") (call $leave)
    (if (i32.ne (memory.grow (i32.const 65534)) (i32.const -1)) (then unreachable))
    (if (i32.ne (memory.grow (i32.const -1)) (i32.const -1)) (then unreachable)))
  (func $memory_of_host (export "memory_of_host") (call $leave)
    (loop $more (drop (call $malloc (i32.const 1000000))) (br $more)))
  (func $table_by_parts (export "table_by_parts") (call $leave)
    (loop $more
      (br_if $more (i32.ne (table.grow $table (ref.func $leave) (i32.const 1000000))
                           (i32.const -1)))))
  (func $table_at_once (export "table_at_once") (call $leave)
    (if (i32.ne (table.grow $table (ref.null func) (i32.const -1)) (i32.const -1))
      (then unreachable)))
  (func $recurse (export "recurse") (call $leave) (call $recurse) (call $leave))
  (func $recurse_table (export "recurse_table") (call $leave)
    (call_indirect $table (type $nothing) (i32.const 1)) (call $leave))
  (func $recurse_other (call $leave)
    (call_indirect $table (type $nothing) (i32.const 0)) (call $leave))
  (func $recurse_level (export "recurse_level") (call $leave)
    (drop (call $level)) (call $recurse_level) (drop (call $level)))
  (func $recurse_malloc (export "recurse_malloc") (local $at i32)
    (local.set $at (call $malloc (i32.const 8)))
    (call $recurse_malloc) (call $free (local.get $at)))
  (func $recurse_log (export "recurse_log") (call $leave)
    (call $log (i32.const 0) (i64.const 0x400000400) (i64.const 0x400000400))
    (call $recurse_log) (call $leave))
  (func $log_pointer (export "log_pointer") (call $leave)
    (call $log (i32.const 0) (i64.const 0x4ffffffff) (i64.const 0x400000400)))
  (func $log_length (export "log_length") (call $leave)
    (call $log (i32.const 0) (i64.const 0x400000400) (i64.const 0xffffffff00000400)))
  (func $log_both (export "log_both") (call $leave)
    (call $log (i32.const 0) (i64.const -1) (i64.const -1)))
  (func $input_pointer (export "input_pointer") (call $leave)
    (call $input (i64.const -1)))
  (func $input_end (export "input_end") (call $leave)
    (call $input (i64.const 0x100000000)))
  (func $free_null (export "free_null") (call $leave) (call $free (i32.const 0)))
  (func $free_end (export "free_end") (call $leave) (call $free (i32.const -1)))
  (func $free_data (export "free_data") (call $leave) (call $free (i32.const 1024)))
  (func $free_never (export "free_never") (call $leave)
    (drop (call $malloc (i32.const 64))) (call $free (i32.const 4160)))
  (func $free_twice (export "free_twice") (local $at i32) (call $leave)
    (local.set $at (call $malloc (i32.const 64)))
    (call $free (local.get $at)) (call $free (local.get $at)))
  (func $malloc_huge (export "malloc_huge") (call $leave)
    (drop (call $malloc (i32.const -1))))
  (func $malloc_large (export "malloc_large") (call $leave)
    (drop (call $malloc (i32.const 33554433))))
  ;; A free header that leads outside the memory, and one that leads into the data.
  (func $header_out (export "header_out") (local $at i32) (call $leave)
    (local.set $at (call $malloc (i32.const 64)))
    (call $free (local.get $at))
    (i64.store (i32.sub (local.get $at) (i32.const 8)) (i64.const 0xfffffff0))
    (drop (call $malloc (i32.const 64)))
    (drop (call $malloc (i32.const 64))))
  (func $header_class (export "header_class") (local $at i32) (call $leave)
    (local.set $at (call $malloc (i32.const 64)))
    (i64.store (i32.sub (local.get $at) (i32.const 8)) (i64.const 0x1ffffffff))
    (call $free (local.get $at)))
"#;

/// Results and buffers outside the memory.
const RESULTS: &str = r#"
  (func (export "alloc") (param i32) (result i32) (call $leave) (i32.const -1))
  (func (export "take") (param i32 i32))
  (func (export "result_length") (param i32 i32) (result i64)
    (call $leave) (i64.const 0xffffffff00000000))
  (func (export "result_pointer") (param i32 i32) (result i64)
    (call $leave) (i64.const 0x00000001ffffffff))
  (func (export "result_both") (param i32 i32) (result i64)
    (call $leave) (i64.const -1))
  (func (export "result_wraps") (param i32 i32) (result i64)
    (call $leave) (i64.const 0x00000010fffffff8))
  (func (export "result_end") (param i32 i32) (result i64)
    (call $leave)
    (i64.or (i64.extend_i32_u (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 8)))
            (i64.const 0x900000000)))
"#;

#[cfg(test)]
mod tests {
    #[test]
    fn the_guests_are_valid() {
        for text in [super::well(), super::endless_start(), super::hostile()] {
            wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
