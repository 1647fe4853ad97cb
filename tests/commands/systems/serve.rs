//! The host over HTTP: the command, as its clients and its operators see it.

use crate::command::time::{LIMIT, with_longer_limits};
use crate::command::{Folder, touchstone};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A host that runs, and the folder of its contracts.
struct Host {
    process: Child,
    address: String,
    _folder: Folder,
}

fn built(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("test-runtime/built/{name}.wasm"))
}

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
    (func (export "number") (param i64)))"#;

impl Host {
    /// Starts one. Without `--timeout`, only a hang meets its limit.
    fn start(arguments: &[&str]) -> Self {
        let limit = LIMIT.as_secs().to_string();
        let sets = arguments.contains(&"--timeout");
        let timeout = ["--timeout", &limit].into_iter().filter(|_| !sets);
        let folder = Folder::new();
        for name in ["contract", "mul"] {
            std::fs::copy(built(name), folder.at(&format!("{name}.wasm"))).unwrap();
        }
        std::fs::write(folder.at("module.wat"), MODULE).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_touchstone"))
            .arg("serve")
            .arg(folder.at("contract.wasm").parent().unwrap())
            .args(["--listen", "127.0.0.1:0"])
            .args(timeout)
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect(&line).to_owned();
        Self { process, address, _folder: folder }
    }

    /// Sends bytes and reads until the host closes the connection.
    fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // A host that refuses a request early may not read all of it.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Status code and body of the answer.
    fn ask(&self, method: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!(
            "{method} / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\
             {}\r\n",
            body.len(),
            lines.collect::<String>()
        );
        let answer = self.raw(&[head.as_bytes(), body].concat());
        let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn call(&self, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.ask("POST", headers, body.as_bytes())
    }

    /// Ends the host by a signal; its exit code.
    fn end(mut self, signal: &str) -> i32 {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.process.wait().unwrap().code().expect("it ended in order")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
    let host = Host::start(&[]);
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
}

#[test]
fn codecs_come_from_a_folder_as_well() {
    let codecs = Folder::new();
    std::fs::copy(built("wasm-serde-json"), codecs.at("wasm_serde_json.wasm")).unwrap();
    let codecs = codecs.at("wasm_serde_json.wasm");
    let host = Host::start(&[codecs.parent().unwrap().to_str().unwrap()]);
    assert_eq!(host.call(&[CONTRACT, ADD, JSON], "[3, 5]"), ok("[U64(8)]"));
    assert_eq!(host.call(&[CONTRACT, ADD, TOML], "[3, 5]").0, 404);
}

#[test]
fn modules_take_and_give_bytes_and_every_call_is_clean() {
    let host = Host::start(&["--threads", "1"]);
    let module = ("X-Contract", "module");
    let (status, functions) = host.ask("GET", &[module], b"");
    assert_eq!(status, 200);
    assert!(functions.contains("length: (i32, i32) -> (i64)\n"), "{functions}");
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
    let host = Host::start(&["--max-body", "100", "--max-headers", "8192"]);
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
    // It serves still.
    assert_eq!(host.call(&[CONTRACT, ADD, JSON], "[3, 5]"), ok("[U64(8)]"));
}

#[test]
fn what_takes_longer_than_the_timeout_is_answered() {
    let host = Host::start(&["--timeout", "2"]);
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
fn signals_end_it_after_the_requests_that_it_has() {
    for (signal, code) in [("-TERM", 0), ("-INT", 130)] {
        with_longer_limits(1.0, |limit| ends_after_its_request(signal, code, limit));
    }
}

/// `None` if the host gave up the request before its body came.
fn ends_after_its_request(signal: &str, code: i32, limit: Duration) -> Option<()> {
    let limit = limit.as_secs_f64().to_string();
    let host = Host::start(&["--timeout", &limit, "--threads", "1"]);
    let mut stream = TcpStream::connect(&host.address).unwrap();
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
