//! Programs of WASI preview 2: run where the build has it, otherwise refused by name.

use crate::command::{Folder, touchstone};

/// A program that does nothing, and a function in an interface of its own.
const PROGRAM: &str = r#"(component
    (core module $m (func (export "run") (result i32) (i32.const 0))
      (func (export "add") (param i32 i32) (result i32)
        (i32.add (local.get 0) (local.get 1))))
    (core instance $i (instantiate $m))
    (func $run (result (result)) (canon lift (core func $i "run")))
    (instance $run (export "run" (func $run)))
    (export "wasi:cli/run@0.2.3" (instance $run)))"#;

/// A component without the program, with an interface of its own.
const INTERFACE: &str = r#"(component
    (core module $m (func (export "add") (param i32 i32) (result i32)
        (i32.add (local.get 0) (local.get 1))))
    (core instance $i (instantiate $m))
    (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
    (instance $own (export "add" (func $add)))
    (export "my:own/sums@1.0.0" (instance $own)))"#;

#[test]
fn a_program_is_called_by_itself_and_refused_by_name_elsewhere() {
    let folder = Folder::new();
    let program = folder.module(PROGRAM);
    let ran = touchstone(&["run", &program, "--json"]);
    let runs = cfg!(feature = "preview2");
    assert_eq!(ran.out.contains(r#""status":"returned""#), runs, "{}{}", ran.out, ran.err);
    for line in ran.lines() {
        assert_eq!(line["export"], "wasi:cli/run@0.2.3#run");
        assert_eq!(line["abi"], "wasi");
        let engine = line["backend"].as_str().unwrap();
        let reason = line["reason"].as_str().unwrap_or_default();
        match line["status"].as_str().unwrap() {
            "returned" => assert!(engine.starts_with("wasmtime"), "{line}"),
            "unsupported" if engine.starts_with("wasmtime") && !runs => {
                let words = ["a program of WASI preview 2", "the feature preview2"];
                assert!(words.iter().all(|words| reason.contains(words)), "{line}");
            }
            status => assert_eq!(status, "unsupported", "{line}"),
        }
    }
}

#[test]
fn functions_of_an_interface_are_named_and_called() {
    let folder = Folder::new();
    let component = folder.module(INTERFACE);
    let shown = touchstone(&["run", &component]);
    assert!(shown.out.contains("my:own/sums@1.0.0#add"), "{}", shown.out);
    assert!(shown.err.contains("which export is to be called?"), "{}", shown.err);
    if cfg!(feature = "wasmtime") {
        let call = ["--call", "my:own/sums@1.0.0#add", "--args", "40", "2", "--json"];
        let ran = touchstone(&[&["run", &component], &call[..]].concat());
        let lines = ran.lines();
        let returned: Vec<_> = lines.iter().filter(|line| line["status"] == "returned").collect();
        assert!(returned.len() > 10, "{}", ran.out);
        // "42", in hexadecimal.
        assert!(returned.iter().all(|line| line["output"] == "0x3432"), "{}", ran.out);
    }
}

/// A function with a result is called by the typed convention, and another one is told of it.
#[cfg(feature = "wasmtime")]
#[test]
fn the_convention_of_a_component_is_guessed_and_named() {
    let folder = Folder::new();
    let component = folder.module(
        r#"(component
            (core module $m (func (export "make") (result i32) (i32.const 1)))
            (core instance $i (instantiate $m))
            (func (export "make") (result u32) (canon lift (core func $i "make"))))"#,
    );
    let call = ["run", &component, "--call", "make", "--backend", "^wasmtime$"];
    let out = touchstone(&call).well();
    assert!(out.contains("convention  typed") && out.contains(": \"1\"\n"), "{out}");
    for abi in ["input", "bytes", "plain", "substrate"] {
        let ran = touchstone(&[&call[..], &["--abi", abi]].concat());
        assert!(ran.out.contains("--abi typed"), "{abi}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_component_without_functions_is_said_to_have_none() {
    let folder = Folder::new();
    for (text, words) in [
        ("(component)", "it is a component that exports no function"),
        ("(module (memory 1))", "the module exports no function"),
    ] {
        let ran = touchstone(&["run", &folder.module(text)]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("nothing to call") && ran.err.contains(words), "{}", ran.err);
    }
}

#[cfg(feature = "preview2")]
mod programs {
    use crate::command::{Folder, Ran, touchstone};
    use serde_json::Value;
    use std::path::Path;

    /// The program below around an adapter, made by `test-runtime/componentize`.
    const COMPONENT: &[u8] = include_bytes!("../../../tests/fixtures/observer-component.wasm");

    fn component(folder: &Path) -> String {
        let file = folder.join("observer");
        std::fs::write(&file, COMPONENT).unwrap();
        file.display().to_string()
    }

    fn module(folder: &Path, module: &[u8]) -> String {
        std::fs::create_dir_all(folder.join("one")).unwrap();
        let file = folder.join("one/observer");
        std::fs::write(&file, module).unwrap();
        file.display().to_string()
    }

    fn run(file: &str, more: &[&str]) -> Ran {
        touchstone(
            &[&["run", file, "--json", "--backend", "^wasmtime(_winch|_pulley)?$"], more].concat(),
        )
    }

    fn returned(ran: &Ran) -> Vec<Value> {
        let lines = ran.lines();
        lines.into_iter().filter(|line| line["status"] == "returned").collect()
    }

    #[test]
    fn a_program_that_fails_exits_with_1() {
        let folder = Folder::new();
        let failing =
            super::PROGRAM.replace("(result i32) (i32.const 0))", "(result i32) (i32.const 1))");
        let ran = run(&folder.module(&failing), &[]);
        let lines = ran.lines();
        let trapped = lines.iter().filter(|line| line["status"] == "trapped");
        assert!(trapped.clone().count() >= 9 && returned(&ran).is_empty(), "{}", ran.out);
        assert!(trapped.clone().all(|line| line["reason"] == "exited with code 1"), "{}", ran.out);
        assert!(trapped.clone().all(|line| line["exit_code"] == 1), "{}", ran.out);
    }

    #[test]
    fn handles_of_the_host_are_not_reset_in_place() {
        let folder = Folder::new();
        let ran = run(&component(&folder.at("")), &["--strategy", "instance_reuse_cow"]);
        assert!(returned(&ran).is_empty(), "{}", ran.out);
        assert!(ran.out.contains("handles of the host's objects"), "{}", ran.out);
    }

    /// Programs of preview 2 observe the same arguments, variables, times, random bytes, files,
    /// listings and input as those of preview 1.
    #[test]
    fn they_observe_what_programs_of_preview_1_do() {
        let folder = Folder::new();
        let (path, files) = (folder.at(""), folder.at("files"));
        std::fs::create_dir(&files).unwrap();
        std::fs::write(files.join("text"), "the file").unwrap();
        let observer =
            wat::parse_str(include_str!("../../../tests/fixtures/observer.wat")).unwrap();
        let files = files.display().to_string();
        let more = ["--args", "one", "--env", "A=b", "--dir", &files, "--input", "text:the input"];
        let first = run(&module(&path, &observer), &[&["--call", "_start"], &more[..]].concat());
        let second = run(&component(&path), &more);
        let (first, second) = (returned(&first), returned(&second));
        assert!(second.len() >= 9, "{second:?}");
        for line in &second {
            assert_eq!(line["output"], first[0]["output"], "{line}");
        }
    }
}
