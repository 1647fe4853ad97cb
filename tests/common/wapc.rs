//! Calls of guests by waPC, and their calls of the host.

use super::{Loaded, each, each_with, guest};
use touchstone_executor::{
    Abi, Config, Functions, HostCall, Instance, Outcome, Strategy, TrapKind, wapc,
};

/// Operations by their first letter: `echo` responds with the message and a count of its calls,
/// `host` with the host's answer, `nothing` with nothing, `lengths` with those of the host's
/// answers before any. `fail` gives the message as its error, `silent` no error. `trap` traps after
/// a response, an error and a host call. `log` logs. `bad` passes an address and a length, both in
/// the message, to the function whose number is its first word.
const GUEST: &str = r#"(module
  (import "wapc" "__guest_request" (func $request (param i32 i32)))
  (import "wapc" "__guest_response" (func $respond (param i32 i32)))
  (import "wapc" "__guest_error" (func $fail (param i32 i32)))
  (import "wapc" "__host_call" (func $host (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response_len" (func $response_len (result i32)))
  (import "wapc" "__host_response" (func $response (param i32)))
  (import "wapc" "__host_error_len" (func $error_len (result i32)))
  (import "wapc" "__host_error" (func $error (param i32)))
  (import "wapc" "__console_log" (func $log (param i32 i32)))
  (memory (export "memory") 1 1)
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 16) "bindingspaceanswer\ff")
  (func $ask (param $length i32) (result i32)
    (call $host (i32.const 16) (i32.const 7) (i32.const 23) (i32.const 5) (i32.const 28)
      (i32.const 6) (i32.const 2048) (local.get $length)))
  (func $lengths
    (i32.store (i32.const 4096) (call $response_len))
    (i32.store (i32.const 4100) (call $error_len)))
  (func (export "first") (result i32) (i32.add (call $response_len) (call $error_len)))
  (func (export "two") (param i32 i32) (result i64) (i64.const 0))
  (func $bad (param $function i32) (param $at i32) (param $length i32)
    (block $8 (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 (local.get $function)))
      (call $request (local.get $at) (i32.const 2048)) (return))
      (call $respond (local.get $at) (local.get $length)) (return))
      (call $fail (local.get $at) (local.get $length)) (return))
      (call $log (local.get $at) (local.get $length)) (return))
      (drop (call $host (local.get $at) (local.get $length) (i32.const 23) (i32.const 5)
        (i32.const 28) (i32.const 6) (i32.const 0) (i32.const 0))) (return))
      (drop (call $host (i32.const 16) (i32.const 7) (i32.const 23) (i32.const 5)
        (local.get $at) (local.get $length) (i32.const 0) (i32.const 0))) (return))
      (drop (call $host (i32.const 16) (i32.const 7) (i32.const 23) (i32.const 5)
        (i32.const 28) (i32.const 6) (local.get $at) (local.get $length))) (return))
      (drop (call $ask (i32.const 4))) (call $response (local.get $at)) (return))
    (drop (call $ask (i32.const 0))) (call $error (local.get $at)))
  (func (export "__guest_call") (param $operation i32) (param $length i32) (result i32)
    (local $is i32)
    (call $request (i32.const 1024) (i32.const 2048))
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (local.set $is (i32.load8_u (i32.const 1024)))
    (if (i32.eq (local.get $is) (i32.const 0x65)) (then
      (i32.store8 (i32.add (i32.const 2048) (local.get $length)) (global.get $calls))
      (call $respond (i32.const 2048) (i32.add (local.get $length) (i32.const 1)))
      (return (i32.const 1))))
    (if (i32.eq (local.get $is) (i32.const 0x68)) (then
      (if (call $ask (local.get $length)) (then
        (call $response (i32.const 4096))
        (call $respond (i32.const 4096) (call $response_len))
        (return (i32.const 1))))
      (call $error (i32.const 4096))
      (call $fail (i32.const 4096) (call $error_len))
      (return (i32.const 0))))
    (if (i32.eq (local.get $is) (i32.const 0x6e)) (then (return (i32.const 1))))
    (if (i32.eq (local.get $is) (i32.const 0x6c)) (then
      (call $lengths)
      (call $log (i32.const 2048) (local.get $length))
      (call $respond (i32.const 4096) (i32.const 8))
      (return (i32.const 1))))
    (if (i32.eq (local.get $is) (i32.const 0x66)) (then
      (call $fail (i32.const 2048) (local.get $length))
      (return (i32.const 0))))
    (if (i32.eq (local.get $is) (i32.const 0x74)) (then
      (call $respond (i32.const 2048) (local.get $length))
      (call $fail (i32.const 2048) (local.get $length))
      (drop (call $ask (local.get $length)))
      unreachable))
    (if (i32.eq (local.get $is) (i32.const 0x62)) (then
      (call $bad (i32.load (i32.const 2048)) (i32.load (i32.const 2052))
        (i32.load (i32.const 2056)))
      (return (i32.const 1))))
    (i32.const 2)))"#;

/// A host that answers with the names of the request and its message reversed, and refuses an empty
/// message.
fn config() -> Config {
    let answers = wapc::functions(|_: &mut HostCall<'_>, request| {
        let wapc::Request { binding, namespace, operation, message } = request;
        if message.is_empty() {
            return Err(format!("{operation} needs a message"));
        }
        let names = format!("{binding} {namespace} {operation} ");
        Ok(names.bytes().chain(message.iter().rev().copied()).collect())
    });
    Config { functions: Functions::standard().with(&answers), ..Config::default() }
}

fn call(loaded: &Loaded, instance: &mut dyn Instance, input: &[u8]) -> (Outcome, Vec<u8>) {
    loaded.outcome(instance, loaded.export(wapc::CALL, Abi::Wapc), input)
}

fn error(message: &str) -> (Outcome, Vec<u8>) {
    let trap = TrapKind::GuestError { message: message.to_owned() }.into();
    (Outcome::Trapped(trap), Vec::new())
}

fn response(bytes: &[u8]) -> (Outcome, Vec<u8>) {
    (Outcome::Returned, bytes.to_vec())
}

pub(crate) fn two_hundred_calls_of_wapc_are_like_the_first(strategy: Strategy) {
    let long = [b"echo\n", &[b'x'; 3000][..]].concat();
    let inputs: [&[u8]; 8] = [
        b"echo\nmessage",
        b"host\nmessage",
        b"trap\nmessage",
        b"lengths",
        b"fail\nfor a reason",
        &long,
        b"host",
        b"bad\n\x01\0\0\0\xff\xff\xff\xff\x01\0\0\0",
    ];
    each_with(strategy, &guest(GUEST), &config(), |loaded| {
        let expected = inputs.map(|input| call(loaded, &mut *loaded.instance(), input));
        assert_eq!(expected[0], response(b"message\x01"), "{}", loaded.name);
        assert_eq!(expected[1], response(b"binding space answer egassem"), "{}", loaded.name);
        assert!(expected[2].0.trap().is_some(), "{}", loaded.name);
        assert_eq!(expected[3], response(&[0; 8]), "{}", loaded.name);
        let instance = &mut *loaded.instance();
        let plain = loaded.export("first", Abi::Plain);
        for number in 0..200_usize {
            // Every order of two.
            let which = (number + number / 8) % 8;
            let found = call(loaded, instance, inputs[which]);
            assert_eq!(found, expected[which], "{} call {number}", loaded.name);
            if number % 10 == 9 {
                // Another convention sees nothing of the call either.
                assert_eq!(loaded.output(instance, plain, b""), [0; 4], "{}", loaded.name);
            }
        }
        // Calls of one use share the instance, and not what they gave each other.
        let (export, mut output) = (loaded.export(wapc::CALL, Abi::Wapc), Vec::new());
        instance.prepare().unwrap();
        for (input, expected) in [
            (&b"echo\n"[..], &b"\x01"[..]),
            (b"host\nab", b"binding space answer ba"),
            (b"nothing", b""),
            (b"lengths", &[0; 8]),
            (b"echo\n", b"\x05"),
        ] {
            let outcome = instance.invoke(export, input, &mut output, None).unwrap();
            assert_eq!((outcome, &*output), (Outcome::Returned, expected), "{}", loaded.name);
        }
        instance.finish().unwrap();
    });
}

pub(crate) fn an_error_of_a_guest_is_that_of_its_call(strategy: Strategy) {
    each_with(strategy, &guest(GUEST), &config(), |loaded| {
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            for (input, expected) in [
                (&b"fail\nfor\na reason"[..], error("for\na reason")),
                (b"fail", error("it failed without a text")),
                (b"silent", error("it failed without a text")),
                (b"fail\n\xff", error("\u{fffd}")),
                (b"host", error("answer needs a message")),
            ] {
                assert_eq!(call(loaded, instance, input), expected, "{}", loaded.name);
            }
            assert_eq!(call(loaded, instance, b"nothing"), response(b""), "{}", loaded.name);
        }
        for (name, found) in [("two", "(i32, i32) -> (i64)"), ("first", "() -> (i32)")] {
            let refused = loaded.module.export(name, Abi::Wapc).unwrap_err().to_string();
            assert!(refused.contains(found) && refused.contains("wapc"), "{refused}");
        }
    });
}

pub(crate) fn without_a_handler_a_host_call_is_an_error_of_the_guest(strategy: Strategy) {
    each(strategy, &guest(GUEST), |loaded| {
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            let found = call(loaded, instance, b"host\nmessage");
            assert_eq!(found, error("this host answers no calls"), "{}", loaded.name);
            assert_eq!(call(loaded, instance, b"echo"), response(b"\x01"), "{}", loaded.name);
        }
    });
}

pub(crate) fn addresses_of_wapc_outside_the_memory_are_traps(strategy: Strategy) {
    let functions = [
        "__guest_request",
        "__guest_response",
        "__guest_error",
        "__console_log",
        "__host_call",
        "__host_call",
        "__host_call",
        "__host_response",
        "__host_error",
    ];
    // One page, of which the last bytes are too few.
    let outside = [(65_535, 2), (65_537, 0), (0, u32::MAX), (u32::MAX, 1), (1 << 31, 1 << 31)];
    each_with(strategy, &guest(GUEST), &config(), |loaded| {
        let instance = &mut *loaded.instance();
        for (number, function) in functions.into_iter().enumerate() {
            // Some take an address and no length.
            let takes_length = !matches!(number, 0 | 7 | 8);
            for (at, length) in outside.into_iter().filter(|(at, _)| *at > 0 || takes_length) {
                let words = [number as u32, at, length].map(u32::to_le_bytes).concat();
                let (outcome, output) = call(loaded, instance, &[b"bad\n", &*words].concat());
                let named = match outcome.trap().map(|trap| &trap.kind) {
                    Some(TrapKind::HostFunction { name, .. }) => name == function,
                    _ => false,
                };
                assert!(named, "{}: {function} {at} {length}: {outcome:?}", loaded.name);
                assert!(output.is_empty(), "{}", loaded.name);
                assert_eq!(call(loaded, instance, b"echo"), response(b"\x01"), "{}", loaded.name);
            }
        }
        // A name that is no text.
        let words = [5_u32, 34, 1].map(u32::to_le_bytes).concat();
        let (outcome, _) = call(loaded, instance, &[b"bad\n", &*words].concat());
        assert!(format!("{outcome:?}").contains("not UTF-8"), "{}: {outcome:?}", loaded.name);
    });
}
