//! The whole pipeline on a real Redis, with the server in a thread.

use super::*;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;
use tokio::sync::oneshot;

/// The project's Redis; `None` if there is none and none is required.
fn redis() -> Option<Program> {
    let project = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    match Program::find(&project) {
        Ok(program) => Some(program),
        Err(missing) => {
            let is_required = std::env::var_os("TOUCHSTONE_REQUIRE_REDIS").is_some();
            assert!(!is_required, "TOUCHSTONE_REQUIRE_REDIS is set, and {missing}");
            eprintln!("skipped: {missing}");
            None
        }
    }
}

fn messages(count: u64) -> Vec<Message> {
    let message = |sequence: u64| Message {
        sequence,
        kind: (sequence * sequence / 3 % 2) as u32,
        text: format!("message {sequence}, not to be lost on its way").into_bytes(),
        tampered: sequence % 16 == 5,
    };
    (0..count).map(message).collect()
}

/// Results of a run with native verdicts.
fn outcome(count: u64, outage: Option<Outage>) -> Option<(Outcome, u64)> {
    let program = redis()?;
    let folder = tempfile::tempdir().unwrap();
    let mut redis = RedisServer::start(&program, folder.path()).unwrap();
    let places = Places { redis: redis.socket(), ring: folder.path().join("ring") };
    let run = Run::new(&places.ring).unwrap();
    let (ready, address) = channel();
    let (end, ended) = oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        let tell = |address| Ok(ready.send(address)?);
        serve(&places, tell, async {
            let _ = ended.await;
        })
    });
    let messages = messages(count);
    let mut refused = 0;
    let verify = |signed: &Signed, message: &Message| {
        let valid = is_valid(signed.kind, &signed.entry);
        assert_eq!(valid, !message.tampered, "{}", message.sequence);
        refused += u64::from(!valid);
        Ok(false)
    };
    let address = address.recv().unwrap();
    let outcome = run.perform(address, &messages, &mut redis, outage, || false, verify).unwrap();
    drop(end);
    server.join().unwrap().unwrap();
    Some((outcome, refused))
}

#[test]
fn each_message_arrives_once_and_tampered_ones_are_refused() {
    let Some((outcome, refused)) = outcome(600, None) else { return };
    assert_eq!((outcome.handled.len(), refused), (600, 600 / 16 + 1));
    assert_eq!((outcome.counts, outcome.restarts), (Counts::default(), 0));
    assert!(outcome.handled.iter().all(|handled| handled.latency_ns >= handled.verdict_ns));
}

#[test]
fn nothing_is_lost_when_redis_is_killed_and_comes_back() {
    let outage = Outage { after: 500, lasts: Duration::from_millis(30) };
    let Some((outcome, _)) = outcome(2_000, Some(outage)) else { return };
    assert_eq!((outcome.counts, outcome.restarts), (Counts::default(), 1));
    assert_eq!(outcome.handled.len(), 2_000);
}

#[test]
fn a_stream_refuses_what_it_has() {
    let Some(program) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut redis = RedisServer::start(&program, folder.path()).unwrap();
    let messages = messages(10);
    let append = |from: usize, to: usize| {
        queue::Queue::new(&redis.socket()).append(&messages[from..to]).unwrap();
    };
    append(0, 4);
    append(2, 8);
    append(1, 3);
    append(8, 10);
    assert_eq!(queue::Queue::new(&redis.socket()).from(0).unwrap(), messages);
    redis.kill();
    redis.start_again().unwrap();
    let mut queue = queue::Queue::new(&redis.socket());
    assert_eq!(queue.from(7).unwrap(), messages[7..]);
    assert_eq!(queue.from(10).unwrap(), []);
}

#[test]
fn a_redis_that_cannot_start_is_an_error_that_says_why() {
    let Some(program) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("appendonlydir")).unwrap();
    std::fs::write(folder.path().join("appendonlydir/appendonly.aof.manifest"), "nonsense")
        .unwrap();
    let error = RedisServer::start(&program, folder.path()).unwrap_err().to_string();
    assert!(error.contains("redis-server ended with"), "{error}");
    let none = Program { server: "/nowhere/redis-server".into(), ..program };
    let error = RedisServer::start(&none, folder.path()).unwrap_err().to_string();
    assert!(error.contains("cannot start /nowhere/redis-server"), "{error}");
}
