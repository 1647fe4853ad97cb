//! The pipeline that swaps modules, run small on some engines of this build.

use crate::command::command;
use std::path::{Path, PathBuf};
use touchstone::record::{self, Book, Points};

fn project() -> PathBuf {
    touchstone::files::project("")
}

/// `true` if there is a Redis. Required if `TOUCHSTONE_REQUIRE_REDIS` is set.
fn has_redis() -> bool {
    match touchstone_systems::pipeline::Program::find(&project()) {
        Ok(_) => true,
        Err(missing) => {
            let is_required = std::env::var_os("TOUCHSTONE_REQUIRE_REDIS").is_some();
            assert!(!is_required, "TOUCHSTONE_REQUIRE_REDIS is set, and {missing}");
            eprintln!("skipped: {missing}");
            false
        }
    }
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, String, Book) {
    let records = folder.join("systems.jsonl");
    let temporary = folder.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let output = command()
        .args(["systems", "pipeline", "--small", "--seed", "7", "--records"])
        .arg(&records)
        .args(arguments)
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let book = record::load(&records).unwrap().newest().unwrap();
    // Every Redis removed its folder.
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{err}");
    (output.status.code().unwrap(), err, book)
}

/// A filter for the host and the engines that do this in seconds. The methods of all engines are
/// tested with `swap`.
fn quick() -> String {
    let slow = ["wasmedge", "wasmedge_aot", "wasmtime_pulley", "tinywasm"];
    let engines = touchstone_runtimes::engines();
    let ids = engines.iter().map(|engine| engine.id()).filter(|id| !slow.contains(id));
    let ids: Vec<&str> = ids.collect();
    format!("^(host|({})_(interpreted|instance|recreate|pooling).*)$", ids.join("|"))
}

/// The value of a metric.
fn value(run: &Points, name: &str) -> u64 {
    run.values(name)[0] as u64
}

#[test]
fn every_message_gets_its_verdict_once_by_every_method_also_when_redis_is_killed() {
    if !has_redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, err, book) = run(folder.path(), &["--filter", &quick()]);
    assert_eq!(code, 0, "{err}");
    let runs: Vec<&Points> = book.points["pipeline"].measured().collect();
    for run in &runs {
        let of = |name: &str| value(run, name);
        assert_eq!(["lost", "doubled", "misordered", "altered"].map(of), [0; 4], "{run:?}");
        assert!(of("tampered") > 0 && of("swaps") > 0 && of("total_ns") > 0, "{run:?}");
        let messages = run.place.number("messages").unwrap();
        assert_eq!(of("swapping.calls") + of("still.calls"), messages, "{run:?}");
        assert_eq!((of("swapping.calls"), of("latency.calls")), (of("swaps"), messages));
    }
    let count =
        |is_meant: &dyn Fn(&Points) -> bool| runs.iter().filter(|run| is_meant(run)).count();
    let is = |run: &Points, name: &str, value: &str| run.place.text(name) == Some(value);
    assert_eq!(count(&|run| is(run, "verifier", "nobody")), 1);
    assert_eq!(count(&|run| is(run, "verifier", "host")), 3);
    assert_eq!(count(&|run| value(run, "restarts") == 1), 2);
    let is_long = |run: &Points| run.place.number("messages") == Some(512);
    assert_eq!(count(&|run| is(run, "verifier", "host") && is_long(run)), 1);
    for method in ["recompile", "load_artifact", "instantiate"] {
        assert!(count(&|run| is(run, "method", method)) > 0, "{method}");
    }
}

#[test]
fn without_a_redis_the_command_says_what_to_do() {
    if touchstone_systems::pipeline::Program::find(&project()).is_ok() {
        let nowhere = touchstone_systems::pipeline::Program::find(Path::new("/nowhere"));
        if let Err(missing) = nowhere {
            assert!(missing.to_string().contains("make redis"));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, err, book) = run(folder.path(), &[]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("run `make redis`"), "{err}");
    let mut refused = book.points["pipeline"].refused();
    assert!(refused.any(|(_, refusal, _)| refusal.reason.contains("make redis")));
}

#[test]
fn the_server_is_for_the_programs_own_use() {
    let output = command().args(["systems", "--pipeline-server"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("own use"), "{err}");
}
