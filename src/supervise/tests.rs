//! Children of these tests are shells, or this test binary, which calls [`child`] alone.

use super::*;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "../../tests/fixtures/time.rs"]
mod time;

use time::LIMIT;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Ask {
    Echo(String),
    Print,
    ReadInput,
    Take(usize),
    Abort,
    Exit(i32),
    Hang,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Answer {
    Echo(String),
    Read(usize),
    Done,
}

/// The program of the children, not a test.
#[test]
fn child() {
    let Some(mut parent) = Parent::<Ask, Answer>::join().expect("a parent") else { return };
    let mut taken = Vec::new();
    while let Some(ask) = parent.hear().expect("a message") {
        match ask {
            Ask::Echo(text) => parent.say(&Answer::Echo(text)),
            Ask::Print => {
                println!("\"Done\"\nnot a message");
                parent.say(&Answer::Done)
            }
            Ask::ReadInput => {
                let read = std::io::read_to_string(std::io::stdin()).expect("/dev/null");
                parent.say(&Answer::Read(read.len()))
            }
            Ask::Take(bytes) => {
                taken.push(vec![1_u8; bytes]);
                continue;
            }
            Ask::Abort => std::process::abort(),
            Ask::Exit(code) => std::process::exit(code),
            Ask::Hang => loop {
                std::thread::sleep(LIMIT);
            },
        }
        .expect("a parent that listens");
    }
    std::process::exit(0);
}

fn this() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "supervise::tests::child", "--nocapture"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

fn shell(script: &str) -> Child<Ask, Answer> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    Child::spawn(command).expect("a shell")
}

fn start(asks: &[Ask]) -> Child<Ask, Answer> {
    let child = Child::spawn(this()).expect("a child");
    asks.iter().for_each(|ask| child.send(ask));
    child
}

fn hear(child: &mut Child<Ask, Answer>) -> Heard<Answer> {
    child.receive(Instant::now() + LIMIT).expect("nothing foreign")
}

fn ended(signal: &str) -> Heard<Answer> {
    Heard::Ended(Death::Signal(signal.to_owned()))
}

/// `true` if a process of this number exists, even as a zombie.
fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn messages_go_both_ways_and_printing_does_not_matter() {
    let text = "a line\nand \u{1F980}".to_owned();
    let mut child = start(&[Ask::Echo(text.clone()), Ask::Print, Ask::ReadInput]);
    assert_eq!(hear(&mut child), Heard::Message(Answer::Echo(text)));
    assert_eq!(hear(&mut child), Heard::Message(Answer::Done));
    assert_eq!(hear(&mut child), Heard::Message(Answer::Read(0)));
    assert_eq!(child.receive(Instant::now()).expect("nothing foreign"), Heard::Silent);
    child.send(&Ask::Exit(0));
    assert_eq!(hear(&mut child), Heard::Ended(Death::Exit(0)));
}

/// The program of [`this_program`]'s test: a copy, which is removed before it starts itself.
#[test]
fn a_copy() {
    if std::env::var_os(COPY).is_none() {
        return;
    }
    std::fs::remove_file(std::env::current_exe().expect("this program")).expect("a copy");
    let mut command = this_program(&["--exact", "supervise::tests::child", "--nocapture"]);
    command.stdout(std::process::Stdio::null());
    let mut child: Child<Ask, Answer> = Child::spawn(command).expect("a child");
    child.send(&Ask::Echo("from a removed program".to_owned()));
    let echo = Answer::Echo("from a removed program".to_owned());
    assert_eq!(hear(&mut child), Heard::Message(echo));
}

const COPY: &str = "TOUCHSTONE_TEST_COPY";

#[test]
fn a_program_whose_file_is_gone_starts_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy");
    std::fs::copy(image(), &copy).expect("a copy");
    let mut command = Command::new(&copy);
    command.args(["--exact", "supervise::tests::a_copy"]).env(COPY, "1");
    let output = command.output().expect("a process");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed") && !copy.exists(), "{said}");
}

#[test]
fn deaths_are_told_apart_and_said_in_words() {
    for (ask, words) in
        [(Ask::Abort, "was killed by SIGABRT"), (Ask::Exit(3), "ended with exit code 3")]
    {
        let mut child = start(&[Ask::Echo("last".to_owned()), ask]);
        // Earlier messages are heard first.
        assert_eq!(hear(&mut child), Heard::Message(Answer::Echo("last".to_owned())));
        let Heard::Ended(death) = hear(&mut child) else { panic!("it has not ended") };
        assert_eq!(death.to_string(), words);
        assert_eq!(hear(&mut child), Heard::Ended(death));
    }
    assert_eq!(Death::Time(Duration::from_millis(1500)).to_string(), "took longer than 1.5 s");
    assert_eq!(Death::Memory(3 << 30).to_string(), "used more than 3072 MiB");
}

#[test]
fn a_child_that_ends_before_it_is_told_anything_is_heard_to_end() {
    let mut child = shell("exit 3");
    // Until it is a zombie.
    let stat = format!("/proc/{}/stat", child.pid());
    while !std::fs::read_to_string(&stat).expect("a process").contains(") Z ") {
        std::thread::yield_now();
    }
    child.send(&Ask::Print);
    assert_eq!(hear(&mut child), Heard::Ended(Death::Exit(3)));
}

#[test]
fn a_child_over_its_memory_limit_is_killed() {
    let limit = 64 << 20;
    let mut child = Child::<Ask, Answer>::spawn(this()).expect("a child");
    child.limit_memory(limit);
    child.send(&Ask::Take(2 * limit as usize));
    assert_eq!(hear(&mut child), Heard::Ended(Death::Memory(limit)));
    assert!(!exists(child.pid()));
}

#[test]
fn lines_that_are_no_messages_are_errors() {
    let mut child = shell("echo '{\"Surprise\":1}' >&0; echo '\"Done\"' >&0; printf '\"Do' >&0");
    let wrong = child.receive(Instant::now() + LIMIT).unwrap_err();
    assert_eq!(wrong.to_string(), "'{\"Surprise\":1}' is not a message that was expected");
    assert_eq!(hear(&mut child), Heard::Message(Answer::Done));
    // A line that is cut off does not count.
    assert_eq!(hear(&mut child), Heard::Ended(Death::Exit(0)));
}

#[test]
fn an_endless_line_is_an_error() {
    let mut child = shell("exec cat /dev/zero >&0");
    let wrong = child.receive(Instant::now() + LIMIT).unwrap_err();
    assert_eq!(wrong.to_string(), "a line is longer than 64 MiB");
}

#[test]
fn hanging_children_end_with_their_handle() {
    let mut child = start(&[Ask::Hang]);
    let pid = child.pid();
    assert_eq!(child.receive(Instant::now()).expect("nothing foreign"), Heard::Silent);
    assert_eq!(child.kill().expect("an end"), Death::Signal("SIGKILL".to_owned()));
    assert_eq!(hear(&mut child), ended("SIGKILL"));
    assert!(!exists(pid));

    let child = start(&[Ask::Hang]);
    let pid = child.pid();
    drop(child);
    assert!(!exists(pid));
}

#[test]
fn a_child_that_closes_its_end_and_hangs_is_killed() {
    let mut child = shell("exec sleep 3600 <&- 0</dev/null");
    assert_eq!(hear(&mut child), Heard::Ended(Death::Hung));
    assert!(!exists(child.pid()));
}

#[test]
fn stop_ends_what_runs_and_prevents_what_would_start() {
    let stop = Stop::default();
    let spawn = |script: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        stop.spawn::<Ask, Answer>(command).expect("a shell")
    };
    let mut obeys = spawn("exec sleep 3600").expect("a child");
    // Ignores SIGTERM from before its message until it is killed.
    let mut ignores = spawn("trap '' TERM; echo '\"Done\"' >&0; exec sleep 3600").expect("a child");
    assert_eq!(hear(&mut ignores), Heard::Message(Answer::Done));
    assert!(!stop.asked());
    let other = stop.clone();
    let thread = std::thread::spawn(move || other.now());
    assert_eq!(hear(&mut obeys), ended("SIGTERM"));
    assert_eq!(hear(&mut ignores), ended("SIGKILL"));
    thread.join().expect("no panic");
    assert!(stop.asked() && spawn("exit").is_none());
}

#[test]
fn who_is_no_child_of_ours_does_not_join() {
    let run = |input: &str, parent: Option<String>| {
        let mut command = this();
        command.stdin(std::fs::File::open(input).expect("a file")).env_remove(CHILD);
        command.envs(parent.map(|parent| (CHILD, parent)));
        command.status().expect("a process").code()
    };
    assert_eq!(run("/dev/null", None), Some(0));
    assert_eq!(run("/dev/null", Some("1".to_owned())), Some(101));
    assert_eq!(run("/dev/null", Some(std::process::id().to_string())), Some(101));
}
