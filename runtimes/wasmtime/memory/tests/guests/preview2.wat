;; `run` counts the call in its text, writes the text to standard output and reads a clock. `keep`
;; does not give the stream back.
(component
    (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
    (alias export $error "error" (type $error-type))
    (import "wasi:io/streams@0.2.0" (instance $streams
        (export "output-stream" (type $stream (sub resource)))
        (alias outer 1 $error-type (type $outer))
        (export "error" (type $error (eq $outer)))
        (type $failure (variant (case "last-operation-failed" (own $error)) (case "closed")))
        (export "stream-error" (type $stream-error (eq $failure)))
        (export "[method]output-stream.blocking-write-and-flush" (func
            (param "self" (borrow $stream)) (param "contents" (list u8))
            (result (result (error $stream-error)))))))
    (alias export $streams "output-stream" (type $stream))
    (import "wasi:cli/stdout@0.2.0" (instance $stdout
        (alias outer 1 $stream (type $outer))
        (export "output-stream" (type $own (eq $outer)))
        (export "get-stdout" (func (result (own $own))))))
    (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
        (export "now" (func (result u64)))))
    (core module $memory (memory (export "memory") 1))
    (core instance $memory (instantiate $memory))
    (alias core export $memory "memory" (core memory $bytes))
    (core func $write (canon lower
        (func $streams "[method]output-stream.blocking-write-and-flush") (memory $bytes)))
    (core func $get (canon lower (func $stdout "get-stdout")))
    (core func $now (canon lower (func $clock "now")))
    (core func $drop (canon resource.drop $stream))
    (core module $main
        (import "host" "memory" (memory 1))
        (import "host" "write" (func $write (param i32 i32 i32 i32)))
        (import "host" "get" (func $get (result i32)))
        (import "host" "now" (func $now (result i64)))
        (import "host" "drop" (func $drop (param i32)))
        (data (i32.const 100) "call 0\n")
        (global $ended (mut i32) (i32.const 0))
        (func (export "run") (local $stream i32)
            (if (global.get $ended) (then unreachable))
            (if (i64.eqz (call $now)) (then unreachable))
            (i32.store8 (i32.const 105) (i32.add (i32.load8_u (i32.const 105)) (i32.const 1)))
            (local.set $stream (call $get))
            (if (i32.ne (local.get $stream) (i32.const 1)) (then unreachable))
            (call $write (local.get $stream) (i32.const 100) (i32.const 7) (i32.const 200))
            (if (i32.load8_u (i32.const 200)) (then unreachable))
            (call $drop (local.get $stream))
            (global.set $ended (i32.const 1)))
        (func (export "keep") (drop (call $get))))
    (core instance $main (instantiate $main (with "host" (instance
        (export "memory" (memory $bytes)) (export "write" (func $write))
        (export "get" (func $get)) (export "now" (func $now)) (export "drop" (func $drop))))))
    (func (export "run") (canon lift (core func $main "run")))
    (func (export "keep") (canon lift (core func $main "keep"))))
