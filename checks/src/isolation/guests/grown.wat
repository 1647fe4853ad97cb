;; A memory that grows: its size, and what is in the pages that it grows by.
(module
  (memory (export "memory") 3 12)
  (global (export "__heap_base") i32 (i32.const 70000))
  (data (i32.const 4096) "data")
  (func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
  (func $grow (param i32)
    (call $must (i32.ne (memory.grow (local.get 0)) (i32.const -1))))
  ;; Writes to each page above the first three.
  (func $write (local $at i32)
    (local.set $at (i32.const 196608))
    (loop $next
      (i64.store (local.get $at) (i64.const -1))
      (i64.store offset=4088 (local.get $at) (i64.const -1))
      (local.set $at (i32.add (local.get $at) (i32.const 4096)))
      (br_if $next (i32.lt_u (local.get $at) (i32.shl (memory.size) (i32.const 16))))))
  (func (export "size") (param i32 i32) (result i64)
    (i64.store (i32.const 0) (i64.extend_i32_u (memory.size)))
    (i64.const 0x800000000))
  ;; Has two pages more than at first, and gives them out.
  (func (export "content") (param i32 i32) (result i64)
    (if (i32.lt_u (memory.size) (i32.const 5)) (then
      (call $grow (i32.sub (i32.const 5) (memory.size)))))
    (i64.const 0x0002000000030000))
  ;; Pages that can be had.
  (func (export "left") (param i32 i32) (result i64) (local $pages i64)
    (loop $more
      (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then
        (local.set $pages (i64.add (local.get $pages) (i64.const 1)))
        (br $more))))
    (i64.store (i32.const 0) (local.get $pages))
    (i64.const 0x800000000))
  (func $spoil_twice (export "spoil_twice") (param i32 i32) (result i64)
    (call $grow (i32.const 1)) (call $write) (call $grow (i32.const 3)) (call $write)
    (i64.const 0))
  (func (export "spoil_by_two") (param i32 i32) (result i64)
    (call $grow (i32.const 2)) (call $write) (i64.const 0))
  (func (export "spoil_to_the_limit") (param i32 i32) (result i64)
    (call $grow (i32.const 9)) (call $write) (i64.const 0))
  ;; Writes to every second page of the system's, and zeros, which change nothing, to the others.
  (func (export "spoil_every_other") (param i32 i32) (result i64) (local $at i32)
    (call $grow (i32.const 4))
    (local.set $at (i32.const 196608))
    (loop $next
      (i64.store offset=8 (local.get $at) (i64.const -1))
      (i64.store offset=4096 (local.get $at) (i64.const 0))
      (local.set $at (i32.add (local.get $at) (i32.const 8192)))
      (br_if $next (i32.lt_u (local.get $at) (i32.shl (memory.size) (i32.const 16)))))
    (i64.const 0))
  (func (export "trap") (param i32 i32) (result i64)
    (drop (call $spoil_twice (i32.const 0) (i32.const 0))) unreachable)
)
