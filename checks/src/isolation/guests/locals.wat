;; Locals that nobody set are zero, whatever the calls before left on the host's stack, in
;; registers or in an interpreter's cells.
(module
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 16384))
  (data (i32.const 4096) "data")
  (func $unset (param $depth i32) (result i64)
    (local i32 i32 i32 i32 i32 i32 i32 i32) (local i64 i64 i64 i64 i64 i64 i64 i64)
    (local f32 f32 f32 f32 f32 f32 f32 f32) (local f64 f64 f64 f64 f64 f64 f64 f64)
    (local $sum i64)
    (local.set $sum (i64.extend_i32_u
      (i32.or (i32.or (i32.or (local.get 1) (local.get 2)) (i32.or (local.get 3) (local.get 4)))
              (i32.or (i32.or (local.get 5) (local.get 6)) (i32.or (local.get 7) (local.get 8))))))
    (local.set $sum (i64.or (local.get $sum)
      (i64.or (i64.or (i64.or (local.get 9) (local.get 10)) (i64.or (local.get 11) (local.get 12)))
              (i64.or (i64.or (local.get 13) (local.get 14)) (i64.or (local.get 15) (local.get 16))))))
    (local.set $sum (i64.or (local.get $sum) (i64.extend_i32_u
      (i32.or (i32.or (i32.reinterpret_f32 (local.get 17)) (i32.reinterpret_f32 (local.get 20)))
              (i32.or (i32.reinterpret_f32 (local.get 22)) (i32.reinterpret_f32 (local.get 24)))))))
    (local.set $sum (i64.or (local.get $sum)
      (i64.or (i64.or (i64.reinterpret_f64 (local.get 25)) (i64.reinterpret_f64 (local.get 28)))
              (i64.or (i64.reinterpret_f64 (local.get 30)) (i64.reinterpret_f64 (local.get 32))))))
    (if (local.get $depth) (then
      (local.set $sum (i64.or (local.get $sum)
        (call $unset (i32.sub (local.get $depth) (i32.const 1)))))))
    (local.get $sum))
  ;; The same frame, every local set, and operands left lying below the next call.
  (func $junk (param $depth i32) (param $trap i32) (result i64)
    (local i32 i32 i32 i32 i32 i32 i32 i32) (local i64 i64 i64 i64 i64 i64 i64 i64)
    (local f32 f32 f32 f32 f32 f32 f32 f32) (local f64 f64 f64 f64 f64 f64 f64 f64)
    (local.set 2 (i32.const -1)) (local.set 5 (i32.const -1)) (local.set 9 (i32.const -1))
    (local.set 10 (i64.const -1)) (local.set 13 (i64.const -1)) (local.set 17 (i64.const -1))
    (local.set 18 (f32.const nan)) (local.set 21 (f32.const nan)) (local.set 25 (f32.const nan))
    (local.set 26 (f64.const nan)) (local.set 29 (f64.const nan)) (local.set 33 (f64.const nan))
    (i64.const 0x5a5a5a5a5a5a5a5a) (i64.const -1) (i64.const -1)
    (if (local.get $depth)
      (then (drop (call $junk (i32.sub (local.get $depth) (i32.const 1)) (local.get $trap))))
      (else (if (local.get $trap) (then unreachable))))
    i64.add i64.add
    (i64.extend_i32_u (i32.add (local.get 2) (i32.add (local.get 5) (local.get 9)))) i64.add
    (i64.add (local.get 10) (i64.add (local.get 13) (local.get 17))) i64.add
    (i64.extend_i32_u (i32.reinterpret_f32 (f32.add (local.get 18) (f32.add (local.get 21) (local.get 25))))) i64.add
    (i64.reinterpret_f64 (f64.add (local.get 26) (f64.add (local.get 29) (local.get 33)))) i64.add)
  (func (export "observe") (param i32 i32) (result i64)
    (i64.store (i32.const 0) (call $unset (i32.const 40)))
    (i64.const 0x800000000))
  (func (export "spoil_frames") (param i32 i32) (result i64)
    (drop (call $junk (i32.const 40) (i32.const 0))) (i64.const 0))
  (func (export "trap_within") (param i32 i32) (result i64)
    (drop (call $junk (i32.const 40) (i32.const 1))) (i64.const 0))
)
