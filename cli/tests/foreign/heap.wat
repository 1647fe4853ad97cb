;; The host functions of a program of Emscripten with minified names: growing the memory, and a copy.
(module
  (import "main" "memory" (memory 1))
  ;; `emscripten_resize_heap`: 1 if the memory has as many bytes.
  (func (export "a") (param $bytes i32) (result i32)
    (i32.ne (i32.const -1)
      (memory.grow
        (i32.sub (i32.shr_u (i32.add (local.get $bytes) (i32.const 65535)) (i32.const 16)) (memory.size)))))
  (func (export "b") (param i32 i32 i32)
    (memory.copy (local.get 0) (local.get 1) (local.get 2))))
