;; A mutable global that holds a reference.
(module
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 16384))
  (data (i32.const 4096) "data")
  (global $held (mut funcref) (ref.null func))
  (func $some)
  (elem declare func $some)
  (func (export "observe") (param i32 i32) (result i64)
    (i64.store (i32.const 0) (i64.extend_i32_u (ref.is_null (global.get $held))))
    (i64.const 0x800000000))
  (func (export "spoil") (param i32 i32) (result i64)
    (global.set $held (ref.func $some)) (i64.const 0))
)
