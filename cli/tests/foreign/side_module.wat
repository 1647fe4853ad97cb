;; What a dynamic linker gives to a side module: a memory and a table, and its place in both.
(module
  (memory (export "memory") 16)
  (table (export "__indirect_function_table") 16 funcref)
  (global (export "__stack_pointer") (mut i32) (i32.const 65536))
  (global (export "__memory_base") i32 (i32.const 131072))
  (global (export "__table_base") i32 (i32.const 1))
  (func (export "iswspace") (param i32) (result i32)
    (i32.or (i32.eq (local.get 0) (i32.const 32))
            (i32.lt_u (i32.sub (local.get 0) (i32.const 9)) (i32.const 5))))
  (func (export "iswalpha") (param i32) (result i32)
    (i32.lt_u (i32.sub (i32.or (local.get 0) (i32.const 32)) (i32.const 97)) (i32.const 26))))
