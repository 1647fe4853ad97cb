;; A start function that grows the memory and writes to what it has grown by.
(module
  (memory (export "memory") 1 8)
  (global (export "__heap_base") i32 (i32.const 16384))
  (data (i32.const 4096) "data")
  (func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
  (func $grow (param i32)
    (call $must (i32.ne (memory.grow (local.get 0)) (i32.const -1))))
  (func $start
    (call $grow (i32.const 2))
    (i64.store (i32.const 65536) (i64.const 5))
    (i64.store (i32.const 196600) (i64.const 6)))
  (start $start)
  ;; The size, what the start function wrote, the size that a growth starts from, and the ends
  ;; of what it gives.
  (func (export "observe") (param i32 i32) (result i64)
    (i64.store (i32.const 0) (i64.extend_i32_u (memory.size)))
    (i64.store (i32.const 8) (i64.load (i32.const 65536)))
    (i64.store (i32.const 16) (i64.load (i32.const 196600)))
    (i64.store (i32.const 24) (i64.extend_i32_u (memory.grow (i32.const 1))))
    (i64.store (i32.const 32) (i64.load (i32.const 196608)))
    (i64.store (i32.const 40) (i64.load (i32.const 262136)))
    (i64.const 0x3000000000))
  (func $write
    (i64.store (i32.const 65536) (i64.const 99))
    (i64.store (i32.const 196600) (i64.const 99)))
  ;; Writes to both ends of each page above the first three.
  (func $write_above (local $at i32)
    (local.set $at (i32.const 196608))
    (loop $next
      (i64.store (local.get $at) (i64.const -1))
      (i64.store offset=65528 (local.get $at) (i64.const -1))
      (local.set $at (i32.add (local.get $at) (i32.const 65536)))
      (br_if $next (i32.lt_u (local.get $at) (i32.shl (memory.size) (i32.const 16))))))
  (func (export "spoil") (param i32 i32) (result i64)
    (call $write) (i64.const 0))
  (func (export "spoil_by_one") (param i32 i32) (result i64)
    (call $grow (i32.const 1)) (call $write_above) (i64.const 0))
  (func $limit (export "spoil_to_the_limit") (param i32 i32) (result i64)
    (call $grow (i32.const 5)) (call $write) (call $write_above) (i64.const 0))
  (func (export "trap") (param i32 i32) (result i64)
    (drop (call $limit (i32.const 0) (i32.const 0))) unreachable)
)
