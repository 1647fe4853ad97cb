;; A passive data segment, which is gone once it is dropped.
(module
  (memory (export "memory") 1 1)
  (global (export "__heap_base") i32 (i32.const 16384))
  (data (i32.const 4096) "data")
  (data $passive "\2a\00\00\00\00\00\00\00")
  (func (export "observe") (param i32 i32) (result i64)
    (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 8))
    (i64.const 0x800000000))
  (func $spoil (export "spoil") (param i32 i32) (result i64) (data.drop $passive) (i64.const 0))
  (func (export "trap") (param i32 i32) (result i64)
    (drop (call $spoil (i32.const 0) (i32.const 0))) unreachable)
)
