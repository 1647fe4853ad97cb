;; Greets its input, with the number of its calls.
(module
  (import "env" "input_len" (func $length (result i64)))
  (import "env" "input" (func $input (param i64)))
  (import "host" "count" (func $count (result i32)))
  (import "host" "answer" (func $answer (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "0: hello, ")
  (func (export "handle")
    (call $input (i64.const 1034))
      (i32.store8 (i32.const 1024) (i32.add (call $count) (i32.const 48)))
    (call $answer (i32.const 1024) (i32.add (i32.wrap_i64 (call $length)) (i32.const 10)))))
