//! The host over HTTP: the files of its folder, as they are and as they change.

use super::host::Host;
use crate::command::Folder;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// A module with a function `f` that answers with a byte.
fn answers(number: u8) -> String {
    format!(
        r#"(module (memory (export "memory") 1)
            (func (export "alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "f") (param i32 i32) (result i32) (i32.const {number})))"#
    )
}

fn f(host: &Host, contract: &str) -> (u16, String) {
    host.call(&[("X-Contract", contract), ("X-Func", "f")], "")
}

fn answer(number: u8) -> (u16, String) {
    (200, format!("{}\0\0\0", char::from(number)))
}

#[test]
fn files_that_cannot_be_used_end_nothing_and_are_named() {
    let (folder, outside) = (Folder::new(), Folder::new());
    fs::write(folder.at("good.wat"), answers(1)).unwrap();
    fs::write(folder.at("bad-text.wat"), "(module (func (export").unwrap();
    fs::write(folder.at("bad-bytes.wasm"), "no module").unwrap();
    fs::write(folder.at("twice.wasm"), "").unwrap();
    fs::write(folder.at("twice.wat"), answers(2)).unwrap();
    fs::write(outside.at("secret.wat"), answers(3)).unwrap();
    symlink(outside.at("secret.wat"), folder.at("link.wat")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.at("pipe.wat")).status().unwrap().success());
    let host = Host::of(folder, &["--threads", "1"]);
    assert_eq!(f(&host, "good"), answer(1));
    for (name, says) in [
        ("bad-bytes", "it is a text file"),
        ("bad-text", "bad-text.wat:1:16"),
        ("link", "it leads out of the folder"),
        ("pipe", "it is a pipe"),
    ] {
        let (status, text) = host.ask("GET", &[("X-Contract", name)], b"");
        assert!(status == 422 && text.contains(says), "{name}: {status} {text}");
        let line = host.says(&format!("left out: {name}: "));
        assert!(line.contains(says), "{line}");
    }
    assert_eq!(f(&host, "good"), answer(1));
}

#[test]
fn files_are_served_as_they_are_now() {
    let folder = Folder::new();
    fs::write(folder.at("one.wat"), answers(1)).unwrap();
    let host = Host::of(folder, &["--guests", "2"]);
    assert_eq!(f(&host, "one"), answer(1));
    fs::write(host.folder.at("new-one.wat"), answers(2)).unwrap();
    assert_eq!(f(&host, "new_one"), answer(2));
    fs::write(host.folder.at("next"), answers(3)).unwrap();
    fs::rename(host.folder.at("next"), host.folder.at("one.wat")).unwrap();
    assert_eq!(f(&host, "one"), answer(3));
    fs::write(host.folder.at("one.wat"), "(module").unwrap();
    assert_eq!(f(&host, "one").0, 422);
    fs::write(host.folder.at("one.wat"), answers(4)).unwrap();
    assert_eq!(f(&host, "one"), answer(4));
    fs::remove_file(host.folder.at("one.wat")).unwrap();
    let (status, text) = f(&host, "one");
    assert!(status == 404 && text.contains("near: new-one"), "{text}");
}
