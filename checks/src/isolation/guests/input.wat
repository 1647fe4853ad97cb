;; What an earlier call was given: as a block in memory, and kept by the host.
(module
  (import "env" "input_len" (func $input_len (result i64)))
  (import "env" "input" (func $input (param i64)))
  (memory (export "memory") 2 2)
  (global (export "__heap_base") i32 (i32.const 70000))
  (data (i32.const 4096) "data")
  ;; All memory behind an input of one byte, which lies at 70008.
  (func (export "beyond") (param i32 i32) (result i64)
    (i64.or (i64.const 70009) (i64.shl (i64.const 61063) (i64.const 32))))
  (func (export "take") (param i32 i32) (result i64) (i64.const 0))
  ;; Gives it back as its output, too.
  (func (export "echo") (param $pointer i32) (param $length i32) (result i64)
    (i64.or (i64.extend_i32_u (local.get $pointer))
            (i64.shl (i64.extend_i32_u (local.get $length)) (i64.const 32))))
  (func (export "trap") (param i32 i32) (result i64) unreachable)
  ;; What the host gives to a call that it gave nothing to fetch.
  (func (export "kept") (param i32 i32) (result i64)
    (call $input (i64.const 8192))
    (i64.store (i32.const 8184) (call $input_len))
    (i64.const 0x1000001ff8))
  (func (export "fetch") (call $input (i64.const 32768)))
  (func (export "fetch_and_trap") (call $input (i64.const 32768)) unreachable)
  (func (export "fetch_not"))
)
