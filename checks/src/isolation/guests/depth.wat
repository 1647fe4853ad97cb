;; How deep calls can go: executors count what they use of a stack.
(module
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 16384))
  (data (i32.const 4096) "data")
  ;; So many calls inside each other, then perhaps a trap.
  (func $descend (param $depth i32) (param $trap i32) (result i32)
    (if (i32.eqz (local.get $depth)) (then
      (if (local.get $trap) (then unreachable))
      (return (i32.const 0))))
    (i32.add (i32.const 1)
      (call $descend (i32.sub (local.get $depth) (i32.const 1)) (local.get $trap))))
  (func (export "observe") (param i32 i32) (result i64)
    (i64.store (i32.const 0) (i64.extend_i32_u (call $descend (i32.const 400) (i32.const 0))))
    (i64.const 0x800000000))
  (func (export "trap_deep") (param i32 i32) (result i64)
    (i64.extend_i32_u (call $descend (i32.const 400) (i32.const 1))))
  (func (export "trap_exhausted") (param i32 i32) (result i64)
    (i64.extend_i32_u (call $descend (i32.const -1) (i32.const 0))))
)
