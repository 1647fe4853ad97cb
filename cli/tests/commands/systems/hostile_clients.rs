//! The host over HTTP with many contracts, and with clients that mean it harm beside good ones.

use super::host::{Host, built};
use crate::command::Folder;
use crate::command::time::LONG_RUN;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CONTRACTS: usize = 2000;
const THREADS: usize = 2;
/// Clients that make good calls.
const GOOD: usize = 3;
/// Connections of the host, fewer than those of the hostile clients.
const CONNECTIONS: &str = "32";
/// Connections that each hostile client with many of them has.
const MANY: usize = 12;
/// Peak of the resident memory of a host with 64 guests of a few kilobytes, KiB.
const MEMORY: usize = 512 << 10;
/// Pause of hostile clients that do not need the processor.
const PAUSE: Duration = Duration::from_millis(20);

/// Modules that answer with their numbers, and the published contract with its target.
fn folder() -> Folder {
    let folder = Folder::new();
    for number in 0..CONTRACTS {
        // The long name makes a long list of functions.
        let module = format!(
            r#"(module (memory (export "memory") 1)
                (func (export "alloc") (param i32) (result i32) (i32.const 1024))
                (func (export "trap") (param i32 i32) unreachable)
                (func (export "{}") (param i32))
                (func (export "number") (param i32 i32) (result i32) (i32.const {number})))"#,
            "x".repeat(if number == 0 { 50_000 } else { 1 })
        );
        fs::write(folder.at(&format!("c{number}.wat")), module).unwrap();
    }
    for name in ["contract", "mul"] {
        fs::copy(built(name), folder.at(&format!("{name}.wasm"))).unwrap();
    }
    fs::write(folder.at("bad.wat"), "(module").unwrap();
    folder
}

/// A good call: whether the answer is right.
fn good(host: &Host, number: usize) -> bool {
    if number.is_multiple_of(10) {
        let headers = [
            ("X-Contract", "contract"),
            ("X-Func", "myapp:app/custom@0.1.0#foo"),
            ("X-Codec", "json"),
            ("X-Target", "mul"),
        ];
        let body = r#"[{"foo":"myfoo","bar":"mybar"}]"#;
        return call(host, &headers, body).is_some_and(|answer| answer.ends_with(b"[U64(42)]"));
    }
    let contract = format!("c{number}");
    let answer = call(host, &[("X-Contract", &contract), ("X-Func", "number")], "");
    answer.is_some_and(|answer| answer.ends_with(&(number as u32).to_le_bytes()))
}

/// The answer to a POST; `None` if the connection fails, or the status is not 200.
fn call(host: &Host, headers: &[(&str, &str)], body: &str) -> Option<Vec<u8>> {
    let lines: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{lines}\r\n{body}"
    );
    let mut stream = TcpStream::connect(&host.address).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    answer.starts_with(b"HTTP/1.1 200 ").then_some(answer)
}

/// An attack of hostile clients, made again and again, each with its own connections.
type Attack = fn(&Host, &mut Vec<TcpStream>, usize);

const ATTACKS: [Attack; 7] =
    [sit, say_headers_slowly, never_read, keep_back, talk_nonsense, thrash, hang_up];

/// A new connection in the place of the oldest one that the host has ended, if there are many.
fn connect<'a>(host: &Host, own: &'a mut Vec<TcpStream>) -> Option<&'a mut TcpStream> {
    if own.len() < MANY {
        let stream = TcpStream::connect(&host.address).ok()?;
        stream.set_nonblocking(true).ok()?;
        own.push(stream);
        return own.last_mut();
    }
    own.retain_mut(|stream| match stream.peek(&mut [0]) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    });
    std::thread::sleep(PAUSE);
    None
}

/// Says nothing.
fn sit(host: &Host, own: &mut Vec<TcpStream>, _round: usize) {
    connect(host, own);
}

/// Sends a header that does not end.
fn say_headers_slowly(host: &Host, own: &mut Vec<TcpStream>, _round: usize) {
    if let Some(stream) = connect(host, own) {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nX-Contract: ");
    }
    own.retain_mut(|stream| stream.write(b"x").is_ok());
    std::thread::sleep(PAUSE);
}

/// Asks for long answers, one behind the other, and takes none.
fn never_read(host: &Host, own: &mut Vec<TcpStream>, _round: usize) {
    if let Some(stream) = connect(host, own) {
        let requests = "GET / HTTP/1.1\r\nX-Contract: c0\r\n\r\n".repeat(1000);
        let _ = stream.write(requests.as_bytes());
    }
}

/// Announces a body and keeps it back.
fn keep_back(host: &Host, own: &mut Vec<TcpStream>, _round: usize) {
    if let Some(stream) = connect(host, own) {
        let head = "POST / HTTP/1.1\r\nX-Contract: c1\r\nX-Func: number\r\n";
        let _ = write!(stream, "{head}Content-Length: 1000000\r\n\r\nx");
    }
}

/// Sends what is no request, or too long.
fn talk_nonsense(host: &Host, _own: &mut Vec<TcpStream>, round: usize) {
    let head = "POST / HTTP/1.1\r\nX-Contract: c1\r\nX-Func: number\r\n";
    let requests = [
        "\0\u{1}\u{2}\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000)),
        format!("{head}Content-Length: 2000000\r\n\r\n{}", "x".repeat(2_000_000)),
        format!("{head}X-Func: trap\r\nContent-Length: 0\r\n\r\n"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"),
        format!("GET / HTTP/1.1\r\nX-Contract: {}\r\n\r\n", "c".repeat(10_000)),
    ];
    let request = &requests[round % requests.len()];
    if let Ok(mut stream) = TcpStream::connect(&host.address) {
        let _ = stream.set_read_timeout(Some(PAUSE));
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read(&mut [0; 100]);
    }
    std::thread::sleep(PAUSE);
}

/// Calls what fails, each time with another target.
fn thrash(host: &Host, _own: &mut Vec<TcpStream>, round: usize) {
    let (contract, target) = (format!("c{}", round % 7), format!("c{}", round % CONTRACTS));
    let calls = [
        [("X-Contract", "contract"), ("X-Func", "f"), ("X-Target", &*target)],
        [("X-Contract", &*contract), ("X-Func", "trap"), ("X-Codec", "toml")],
        [("X-Contract", "bad"), ("X-Func", "f"), ("X-Target", "mul")],
        [("X-Contract", "mul"), ("X-Func", "f"), ("X-Target", "contract")],
    ];
    assert!(call(host, &calls[round % calls.len()], "").is_none());
    std::thread::sleep(PAUSE);
}

/// Makes calls and does not wait for the answers.
fn hang_up(host: &Host, _own: &mut Vec<TcpStream>, round: usize) {
    if let Ok(mut stream) = TcpStream::connect(&host.address) {
        let number = round % CONTRACTS;
        let _ = write!(
            stream,
            "POST / HTTP/1.1\r\nX-Contract: c{number}\r\nX-Func: number\r\nContent-Length: 0\r\n\r\n"
        );
    }
    std::thread::sleep(PAUSE);
}

/// Good calls with hostile clients beside them, for as long as `goes_on` says after the number of
/// the call.
fn besieged(goes_on: impl Fn(usize) -> bool + Sync) {
    let host = Host::of(
        folder(),
        &["--threads", &THREADS.to_string(), "--connections", CONNECTIONS, "--timeout", "120"],
    );
    let (next, lost, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let threads = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for attack in ATTACKS {
            let (host, is_over) = (&host, &is_over);
            scope.spawn(move || {
                let mut own = Vec::new();
                for round in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    attack(host, &mut own, round);
                }
            });
        }
        let clients: Vec<_> = (0..GOOD)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let call = next.fetch_add(1, Ordering::Relaxed);
                        if !goes_on(call) {
                            return;
                        }
                        // All contracts come, and seldom one again while it is loaded.
                        if !good(&host, call * 7 % CONTRACTS) {
                            lost.fetch_add(1, Ordering::Relaxed);
                        }
                        threads.fetch_max(host.status("Threads"), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let ended = clients.into_iter().map(|client| client.join()).collect::<Vec<_>>();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    let (calls, lost) = (next.into_inner() - GOOD, lost.into_inner());
    let (threads, memory) = (threads.into_inner(), host.status("VmHWM"));
    println!("{calls} good calls, {lost} lost, {threads} threads, {memory} KiB");
    assert_eq!(lost, 0, "of {calls} calls");
    // For connections, for deadlines and WasmEdge's guardian; and those that compile.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(threads <= THREADS + 3 + 2 * processors, "{threads} threads");
    assert!(memory <= MEMORY, "{memory} KiB");
}

#[test]
fn good_calls_are_answered_beside_hostile_clients() {
    besieged(|call| call < 300);
}

#[test]
#[ignore = "takes ten minutes; the test above does the same for less long"]
fn good_calls_are_answered_for_ten_minutes() {
    let begin = Instant::now();
    besieged(|_| begin.elapsed() < LONG_RUN);
}

#[test]
fn clients_that_take_no_answers_lose_their_places() {
    let host = Host::of(folder(), &["--connections", "4", "--timeout", "3600"]);
    let requests = "GET / HTTP/1.1\r\nX-Contract: c0\r\n\r\n".repeat(2000);
    let stalled: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = host.connect();
            stream.write_all(requests.as_bytes()).unwrap();
            stream
        })
        .collect();
    for number in [11, 12, 13] {
        assert!(good(&host, number));
    }
    drop(stalled);
}
