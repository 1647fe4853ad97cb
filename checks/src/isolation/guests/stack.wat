;; A shadow stack as compilers lay it out: a global that points into memory below the data.
(module
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 16384))
  (global $stack (mut i32) (i32.const 4096))
  (data (i32.const 4096) "data above the stack")
  (func $frame (param $mark i64)
    (global.set $stack (i32.sub (global.get $stack) (i32.const 64)))
    (i64.store (global.get $stack) (local.get $mark))
    (i64.store offset=56 (global.get $stack) (local.get $mark)))
  (func $deep (param i32)
    (call $frame (i64.const 0x5a5a5a5a5a5a5a5a))
    (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1))))))
  ;; The pointer, then all that is on the stack.
  (func (export "observe") (param i32 i32) (result i64) (local $at i32) (local $sum i64)
    (loop $next
      (local.set $sum (i64.or (local.get $sum) (i64.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 4096))))
    (i64.store (i32.const 8192) (i64.extend_i32_u (global.get $stack)))
    (i64.store (i32.const 8200) (local.get $sum))
    (i64.const 0x1000002000))
  ;; Comes back without giving its frames back.
  (func (export "spoil_frames") (param i32 i32) (result i64)
    (call $deep (i32.const 10)) (i64.const 0))
  ;; Gives the frame back, and leaves its content.
  (func (export "spoil_content") (param i32 i32) (result i64)
    (call $frame (i64.const -1))
    (global.set $stack (i32.add (global.get $stack) (i32.const 64)))
    (i64.const 0))
  ;; Ends in the middle of its frames, and behind the last one.
  (func (export "trap_within") (param i32 i32) (result i64)
    (call $deep (i32.const 5)) unreachable)
  (func (export "trap_exhausted") (param i32 i32) (result i64)
    (call $deep (i32.const 1000)) (i64.const 0))
)
