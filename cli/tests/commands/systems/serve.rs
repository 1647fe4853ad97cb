//! The host over HTTP: the command, as its clients and its operators see it.

use super::host::{Host, built};
use crate::command::time::with_longer_limits;
use crate::command::{Folder, touchstone};
use std::io::{Read, Write};
use std::time::Duration;

/// A module whose functions take bytes, and one that never ends.
const MODULE: &str = r#"(module
    (memory (export "memory") 2)
    (global $free (mut i32) (i32.const 1024))
    (func (export "alloc") (param i32) (result i32) (global.get $free))
    (func (export "length") (param i32 i32) (result i64) (i64.extend_i32_u (local.get 1)))
    (func (export "calls") (param i32 i32) (result i32)
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (i32.load (i32.const 0)))
    (func (export "spin") (param i32 i32) (loop $again (br $again)))
    (func (export "trap") (param i32 i32) unreachable)
    (func (export "größe") (export "new\nline") (param i32 i32))
    (func (export "number") (param i64)))"#;

/// A host of published contracts and of the module.
fn start(arguments: &[&str]) -> Host {
    let folder = Folder::new();
    for name in ["contract", "mul"] {
        std::fs::copy(built(name), folder.at(&format!("{name}.wasm"))).unwrap();
    }
    std::fs::write(folder.at("module.wat"), MODULE).unwrap();
    Host::of(folder, arguments)
}

const CONTRACT: (&str, &str) = ("X-Contract", "contract");
const GREET: (&str, &str) = ("X-Func", "myapp:app/custom@0.1.0#greet");
const ADD: (&str, &str) = ("X-Func", "myapp:app/custom@0.1.0#add");
const FOO: (&str, &str) = ("X-Func", "myapp:app/custom@0.1.0#foo");
const JSON: (&str, &str) = ("X-Codec", "wasm_serde_json");
const TOML: (&str, &str) = ("X-Codec", "wasm_serde_toml");
const MUL: (&str, &str) = ("X-Target", "mul");

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

#[test]
fn the_published_examples_run_word_for_word() {
    let host = start(&[]);
    assert_eq!(
        host.ask("GET", &[CONTRACT], b""),
        ok("myapp:app/custom@0.1.0#greet: func(s: string) -> string\n\
            myapp:app/custom@0.1.0#add: func(a: u64, b: u64) -> u64\n\
            myapp:app/custom@0.1.0#foo: func(t: record{foo: string, bar: string}) -> u64\n")
    );
    let greeting = "[String(\"Hello, world!\")]";
    assert_eq!(host.call(&[CONTRACT, GREET, JSON], r#"["world"]"#), ok(greeting));
    assert_eq!(host.call(&[CONTRACT, ADD, JSON], "[3, 5]"), ok("[U64(8)]"));
    let foo = r#"[{"foo":"myfoo","bar":"mybar"}]"#;
    assert_eq!(host.call(&[CONTRACT, FOO, JSON, MUL], foo), ok("[U64(42)]"));
    let foo = r#"[{ foo = "myfoo", bar = "mybar" }]"#;
    assert_eq!(host.call(&[CONTRACT, FOO, TOML, MUL], foo), ok("[U64(42)]"));
    assert_eq!(host.call(&[CONTRACT, ADD, ("X-Codec", "toml")], "[3, 5]"), ok("[U64(8)]"));
    // The same in JSON, for those who ask for it.
    let json = ("Accept", "application/json");
    assert_eq!(host.call(&[CONTRACT, ADD, TOML, json], "[3, 5]"), ok("[8]"));
    let json = ("Content-Type", "application/json; charset=utf-8");
    let greeting = "[\"Hello, world!\"]";
    assert_eq!(host.call(&[CONTRACT, GREET, JSON, json], r#"["world"]"#), ok(greeting));
    let text = ("Accept", "text/plain");
    assert_eq!(host.call(&[CONTRACT, ADD, JSON, json, text], "[3, 5]"), ok("[U64(8)]"));
}

#[test]
fn codecs_come_from_a_folder_as_well() {
    let codecs = Folder::new();
    std::fs::copy(built("wasm-serde-json"), codecs.at("wasm_serde_json.wasm")).unwrap();
    let codecs = codecs.at("wasm_serde_json.wasm");
    let host = start(&[codecs.parent().unwrap().to_str().unwrap()]);
    assert_eq!(host.call(&[CONTRACT, ADD, JSON], "[3, 5]"), ok("[U64(8)]"));
    assert_eq!(host.call(&[CONTRACT, ADD, TOML], "[3, 5]").0, 404);
}

#[test]
fn modules_take_and_give_bytes_and_every_call_is_clean() {
    let host = start(&["--threads", "1"]);
    let module = ("X-Contract", "module");
    let (status, functions) = host.ask("GET", &[module], b"");
    assert_eq!(status, 200);
    assert!(functions.contains("length: (i32, i32) -> (i64)\n"), "{functions}");
    // What cannot be called is listed with the reason.
    assert!(functions.contains("number: (i64) -> () (not callable: "), "{functions}");
    assert!(
        functions.contains("new\\nline: (i32, i32) -> () (not callable: no header"),
        "{functions}"
    );
    let named = host.call(&[module, ("X-Func", "größe")], "");
    assert_eq!(named, ok(""));
    let length = host.call(&[module, ("X-Func", "length")], "12345");
    assert_eq!(length, ok("\u{5}\0\0\0\0\0\0\0"));
    for _ in 0..3 {
        assert_eq!(host.call(&[module, ("X-Func", "calls")], ""), ok("\u{1}\0\0\0"));
    }
    let (status, text) = host.call(&[module, ("X-Func", "number")], "");
    assert!(status == 400 && text.contains("(i64) -> ()"), "{text}");
    let (status, text) = host.call(&[module, ("X-Func", "trap")], "");
    assert!(status == 500 && text.contains("unreachable"), "{text}");
    assert_eq!(host.call(&[module, ("X-Func", "calls")], ""), ok("\u{1}\0\0\0"));
}

#[test]
fn bad_requests_get_an_answer_that_says_what_to_do() {
    let host = start(&["--max-body", "100", "--max-headers", "8192"]);
    let long = "x".repeat(101);
    let broken = r#"[3, "#;
    for (headers, body, status, says) in [
        (&[][..], "", 400, "X-Contract is missing; there are: contract, module, mul"),
        (&[("X-Contract", "contrakt"), ADD], "", 404, "no contract 'contrakt'; near: contract"),
        (&[CONTRACT], "", 400, "X-Func is missing"),
        (&[CONTRACT, ("X-Func", "myapp:app/custom@0.1.0#ad"), JSON], "[]", 404, "custom@0.1.0#add"),
        (&[CONTRACT, ADD], "[]", 400, "X-Codec is missing"),
        (&[CONTRACT, ADD, ("X-Codec", "yaml")], "[]", 404, "no codec 'yaml'"),
        (&[CONTRACT, FOO, JSON, ("X-Target", "mu")], "[]", 404, "no target 'mu'; near: mul"),
        (&[CONTRACT, FOO, JSON, ("X-Target", "contract")], "[]", 422, "does not export"),
        (
            &[CONTRACT, FOO, JSON],
            r#"[{"foo":"a","bar":"b"}]"#,
            400,
            "nobody provides; name a target in X-Target",
        ),
        (&[CONTRACT, ADD, JSON], broken, 400, "line 1, column 4"),
        (&[CONTRACT, ADD, TOML], "[1, 2\n=]", 400, "line 2, column 1"),
        (&[CONTRACT, ADD, JSON], "[3]", 400, "a list of 2 parameters expected"),
        (&[CONTRACT, ADD, JSON], r#"[3, "5"]"#, 400, "u64 expected, a string found"),
        (&[CONTRACT, ADD, JSON], &long, 413, "more than 100 bytes"),
    ] {
        let (found, text) = host.call(headers, body);
        assert!(found == status && text.contains(says), "{headers:?} {body}: {found} {text}");
    }
    let (status, text) = host.ask("PUT", &[CONTRACT, ADD, JSON], b"[1, 2]");
    assert!(status == 405 && text.contains("call them with POST"), "{text}");
    assert_eq!(host.ask("GET", &[CONTRACT, ADD], b"").0, 405);
    let (status, text) = host.ask("POST", &[CONTRACT, GREET, JSON], b"[\"\xff\"]");
    assert!(status == 400 && text.contains("no UTF-8 from byte 2 on"), "{text}");
    assert!(host.raw(b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n").contains(" 404 "));
    let header = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert!(host.raw(header.as_bytes()).contains(" 431 "));
    assert!(host.raw(b"what is this\r\n\r\n").contains(" 400 "));
    for (name, value) in [CONTRACT, ADD, JSON, MUL] {
        let headers = [CONTRACT, ADD, JSON, MUL, (name, value)];
        let (status, text) = host.call(&headers, "[1, 2]");
        assert!(status == 400 && text.contains(&format!("the header {name} was sent")), "{text}");
    }
    // It serves still.
    assert_eq!(host.call(&[CONTRACT, ADD, JSON], "[3, 5]"), ok("[U64(8)]"));
}

#[test]
fn what_takes_longer_than_the_timeout_is_answered() {
    let host = start(&["--timeout", "2"]);
    let (status, text) = host.call(&[("X-Contract", "module"), ("X-Func", "spin")], "");
    assert!(status == 504 && text.contains("did not end within 2000 ms"), "{status} {text}");
    // A client that says less than it announces.
    let cut = host.raw(
        b"POST / HTTP/1.1\r\nX-Contract: contract\r\nX-Func: a\r\n\
                         Content-Length: 9\r\n\r\n[1",
    );
    assert!(cut.contains(" 408 "), "{cut}");
    // It serves still.
    assert_eq!(host.ask("GET", &[CONTRACT], b"").0, 200);
}

#[test]
fn bodies_end_where_everybody_sees_their_end() {
    let host = start(&[]);
    let head = "POST / HTTP/1.1\r\nX-Contract: module\r\nX-Func: length\r\n";
    let five = "\u{5}\0\0\0\0\0\0\0";
    let answer = |rest: &str| host.raw(format!("{head}{rest}").as_bytes());
    let chunks = "Transfer-Encoding: chunked\r\n";
    let chunked = "\r\n2\r\n12\r\n3\r\n345\r\n0\r\n\r\n";
    assert!(answer(&format!("Connection: close\r\n{chunks}{chunked}")).ends_with(five));
    // Two lengths that differ, two codings, and a chunk without a length.
    for rest in [
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
        "Content-Length: 5, 6\r\n\r\n123456",
        "Content-Length: +5\r\n\r\n12345",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        &format!("{chunks}\r\nx\r\n12\r\n0\r\n\r\n"),
    ] {
        let answer = answer(rest);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{rest}: {answer}");
    }
    // Nothing follows a body whose end another server might see elsewhere.
    let next = "GET / HTTP/1.1\r\nX-Contract: module\r\nConnection: close\r\n\r\n";
    for lengths in
        [format!("Content-Length: 4\r\n{chunks}"), format!("{chunks}Content-Length: 4\r\n")]
    {
        let answer = answer(&format!("{lengths}{chunked}{next}"));
        assert!(answer.contains(five) && !answer.contains("length: (i32"), "{answer}");
    }
    // A client of 1996.
    let old = host.raw(b"GET / HTTP/1.0\r\nX-Contract: module\r\n\r\n");
    assert!(old.starts_with("HTTP/1.0 200 ") && old.contains("length: (i32"), "{old}");
    let old = format!("POST / HTTP/1.0\r\n{chunks}{chunked}");
    assert!(host.raw(old.as_bytes()).contains(" 400 "));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let host = start(&["--timeout", "3600", "--threads", "1"]);
    let mut stream = host.connect();
    let request = "POST / HTTP/1.1\r\nX-Contract: module\r\nX-Func: length\r\n\
                   Content-Length: 1\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_exact(&mut [0; 25]).unwrap();
    host.signal("-INT");
    // It listens no more: the first one has arrived.
    while std::net::TcpStream::connect(&host.address).is_ok() {}
    assert_eq!(host.end("-TERM"), 130);
}

#[test]
fn signals_end_it_after_the_requests_that_it_has() {
    for (signal, code) in [("-TERM", 0), ("-INT", 130)] {
        with_longer_limits(1.0, |limit| ends_after_its_request(signal, code, limit));
    }
}

/// `None` if the host gave up the request before its body came.
fn ends_after_its_request(signal: &str, code: i32, limit: Duration) -> Option<()> {
    let limit = limit.as_secs_f64().to_string();
    let host = start(&["--timeout", &limit, "--threads", "1"]);
    let mut stream = host.connect();
    // Held by a body that is not whole yet, then by a call that does not end.
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nX-Contract: module\r\nX-Func: spin\r\nContent-Length: 1\r\n\
                  Expect: 100-continue\r\n\r\n",
        )
        .unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    let answered = std::thread::spawn(move || {
        stream.write_all(b"x").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(host.end(signal), code);
    let answer = answered.join().unwrap();
    if answer.contains(" 408 ") {
        return None;
    }
    assert!(answer.contains(" 504 ") && answer.contains("connection: close"), "{answer}");
    Some(())
}

#[test]
fn what_cannot_be_served_is_said_at_the_start() {
    let folder = Folder::new();
    let at = folder.at("nothing");
    touchstone(&["serve", at.to_str().unwrap()]).refused(&["cannot read the folder"]);
    std::fs::create_dir(&at).unwrap();
    touchstone(&["serve", at.to_str().unwrap()]).refused(&["no .wasm or .wat file"]);
    std::fs::copy(built("mul"), at.join("mul.wasm")).unwrap();
    let at = at.to_str().unwrap();
    touchstone(&["serve", at, "--engine", "v8"]).refused(&["no engine 'v8'", "wasmtime"]);
    touchstone(&["serve", at, "--listen", "127.0.0.1"]).refused(&["cannot listen on 127.0.0.1"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    touchstone(&["serve", at, "--listen", &taken]).refused(&["cannot listen", "in use"]);
}
