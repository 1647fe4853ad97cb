//! The pipeline that swaps modules, run small on every engine of this build.

use crate::command::command;
use std::path::{Path, PathBuf};
use touchstone::record::{self, Book, Pipeline, SystemFound, Verifier};

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

fn runs(book: &Book) -> Vec<(&str, &Pipeline)> {
    let own = book.systems.iter().filter_map(|system| match &system.found {
        SystemFound::Pipeline(run) => Some((&*system.executor.engine, run)),
        _ => None,
    });
    own.collect()
}

#[test]
fn every_message_gets_its_verdict_once_by_every_method_also_when_redis_is_killed() {
    if !has_redis() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (code, err, book) = run(folder.path(), &[]);
    assert_eq!(code, 0, "{err}");
    let runs = runs(&book);
    for (engine, run) in &runs {
        assert_eq!(run.wrong(), 0, "{engine} {run:?}");
        assert!(run.tampered > 0 && run.swaps > 0 && run.total_ns > 0, "{engine} {run:?}");
        assert_eq!(run.swapping.calls + run.still.calls, run.messages, "{engine} {run:?}");
        assert_eq!((run.swapping.calls, run.latency.calls), (run.swaps, run.messages));
    }
    let count =
        |is_meant: &dyn Fn(&Pipeline) -> bool| runs.iter().filter(|(_, run)| is_meant(run)).count();
    assert_eq!(count(&|run| run.verifier == Verifier::Nobody), 1);
    assert_eq!(count(&|run| run.verifier == Verifier::Host), 3);
    assert_eq!(count(&|run| run.restarts == 1), 2);
    assert_eq!(count(&|run| run.verifier == Verifier::Host && run.messages == 512), 1);
    for method in ["recompile", "load_artifact", "instantiate"] {
        assert!(count(&|run| run.verifier == Verifier::Method(method.to_owned())) > 0, "{method}");
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
    assert!(book.refusals.iter().any(|refusal| refusal.reason.contains("make redis")));
}

#[test]
fn the_server_is_for_the_programs_own_use() {
    let output = command().args(["systems", "--pipeline-server"]).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("own use"), "{err}");
}
