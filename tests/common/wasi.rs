//! Programs of WASI preview 1.

use super::{each_with, guest};
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use touchstone_executor::wasi::{Directory, Settings};
use touchstone_executor::{Abi, Config, Outcome, Strategy, TrapKind};

/// `_start` writes all that it can observe to the standard output: arguments, variables, times,
/// random bytes, a file, a listing, the input. `open` writes the error code of opening the path
/// in the input, `exit` exits with the code in the input, `bad` passes addresses outside the
/// memory. `time` is no program, and reads a clock.
const OBSERVER: &str = include_str!("../fixtures/observer.wat");

/// The settings of the tests, the folder that they hand in, and the log.
fn config() -> (tempfile::TempDir, Config, Arc<Mutex<Vec<String>>>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "the file").unwrap();
    symlink("/etc/passwd", folder.path().join("out")).unwrap();
    let directory = Some(Directory::open(folder.path()).unwrap());
    let arguments = vec!["observer".to_owned(), "one".to_owned()];
    let environment = vec![("NAME".to_owned(), "value".to_owned())];
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    let config = Config {
        max_log_level: 3,
        log: Some(Arc::new(move |level, target, message| {
            sink.lock().unwrap().push(format!("{level} {target} {message}"));
        })),
        wasi: Some(Arc::new(Settings { arguments, environment, directory })),
        ..Config::default()
    };
    (folder, config, log)
}

pub(crate) fn programs_observe_the_same_in_every_call(strategy: Strategy) {
    let (_folder, config, log) = config();
    let first = Mutex::new(None);
    each_with(strategy, &guest(OBSERVER), &config, |loaded| {
        let export = loaded.export("_start", Abi::Wasi);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            let output = loaded.output(instance, export, b"the input");
            assert!(output.starts_with(b"observer\0one\0NAME=value\0"), "{}", loaded.name);
            assert!(output.ends_with(b"the fileoutthe input"), "{}", loaded.name);
            let mut first = first.lock().unwrap();
            assert_eq!(first.get_or_insert_with(|| output.clone()), &output, "{}", loaded.name);
            assert_eq!(std::mem::take(&mut *log.lock().unwrap()), ["2 stderr text"]);
        }
    });
}

pub(crate) fn programs_exit_with_their_code(strategy: Strategy) {
    each_with(strategy, &guest(OBSERVER), &Config::default(), |loaded| {
        let export = loaded.export("exit", Abi::Wasi);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, export, &[0]), b"t", "{}", loaded.name);
            for code in [1_i8, -1] {
                let (outcome, output) = loaded.outcome(instance, export, &code.to_le_bytes());
                let trap = TrapKind::Exit { code: code.into() }.into();
                assert_eq!(outcome, Outcome::Trapped(trap), "{}", loaded.name);
                assert_eq!(output, b"t", "{}", loaded.name);
            }
        }
        // Under another convention an exit is a trap whatever the code.
        let (outcome, _) = loaded.outcome(instance, loaded.export("exit", Abi::Input), &[]);
        assert_eq!(outcome, Outcome::Trapped(TrapKind::Exit { code: 0 }.into()));
    });
}

pub(crate) fn programs_stay_in_their_memory_and_directory(strategy: Strategy) {
    let (_folder, config, _) = config();
    each_with(strategy, &guest(OBSERVER), &config, |loaded| {
        let (open, bad) = (loaded.export("open", Abi::Wasi), loaded.export("bad", Abi::Wasi));
        let instance = &mut *loaded.instance();
        let code = |output: Vec<u8>| u32::from_le_bytes(output.try_into().unwrap());
        assert_eq!(code(loaded.output(instance, open, b"text")), 0, "{}", loaded.name);
        assert_eq!(code(loaded.output(instance, open, b"nothing")), 44);
        for path in ["..", "../x", "/etc/passwd", "out"] {
            assert_eq!(code(loaded.output(instance, open, path.as_bytes())), 76, "{path}");
        }
        assert_eq!(loaded.output(instance, bad, b""), [21, 0, 0, 0].repeat(4), "{}", loaded.name);
    });
    // Without a directory there is no descriptor to open it by.
    each_with(strategy, &guest(OBSERVER), &Config::default(), |loaded| {
        let open = loaded.export("open", Abi::Wasi);
        assert_eq!(loaded.output(&mut *loaded.instance(), open, b"text"), [8, 0, 0, 0]);
    });
}

pub(crate) fn other_conventions_use_wasi_too(strategy: Strategy) {
    each_with(strategy, &guest(OBSERVER), &Config::default(), |loaded| {
        let time = loaded.export("time", Abi::Plain);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, time, b""), 1_000_000_u64.to_le_bytes());
        }
    });
}

pub(crate) fn what_a_start_function_did_is_part_of_the_clean_state(strategy: Strategy) {
    let started = OBSERVER.replace(
        r#"(func (export "_start")"#,
        r#"(func $start (call $must (call $clock (i32.const 1) (i64.const 1) (i32.const 400))))
           (start $start)
           (func (export "_start")"#,
    );
    let written = OBSERVER.replace(
        r#"(func (export "_start")"#,
        r#"(func $start (call $put (i32.const 16) (i32.const 4))) (start $start)
           (func (export "_start")"#,
    );
    each_with(strategy, &guest(&written), &Config::default(), |loaded| {
        let exit = loaded.export("exit", Abi::Wasi);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            assert_eq!(loaded.output(instance, exit, &[0]), b"textt", "{}", loaded.name);
        }
    });
    each_with(strategy, &guest(&started), &Config::default(), |loaded| {
        let time = loaded.export("time", Abi::Plain);
        let instance = &mut *loaded.instance();
        for _ in 0..3 {
            let output = loaded.output(instance, time, b"");
            assert_eq!(output, 2_000_000_u64.to_le_bytes(), "{}", loaded.name);
        }
    });
}
