//! The frame of experiments, with an experiment of two files: a declaration and a workload.

use std::cell::Cell;
use std::path::Path;
use touchstone::experiment::{
    Asked, Host, Planned, Question, Ran, Said, Say, Session, Terms, Workload, run,
};
use touchstone::lab::Refused;
use touchstone::record::{self, Experiment, Line, Place, Sampling, Sink, Status};
use touchstone::supervise::Stop;

const DECLARATION: &str = "
title = 'Toys'
command = 'toy'
help = 'Counts.'
records = 'toy.jsonl'
made_by = 'make toys'
page = 'toys'
text = 'Toys.'

[[dimensions]]
name = 'size'
values = [1, 2, 3, 4]
ends = true

[metrics]
broken = { unit = 'count', zero = true }
time = { unit = 'ns' }
";

thread_local! {
    /// Questions that were answered.
    static ANSWERED: Cell<u64> = const { Cell::new(0) };
}

/// Fails at a size, and stops the run at another one.
struct Toy {
    fails: u64,
    stops: u64,
}

impl Workload for Toy {
    fn plan(&self, host: &mut Host, asked: &Asked) -> anyhow::Result<Planned> {
        let sizes = asked.numbers(&host.experiment, "size").into_iter();
        let question =
            |size| Question { place: Place::default().with("size", size), ..Question::default() };
        Ok(Planned { questions: sizes.map(question).collect(), ..Planned::default() })
    }

    fn answer(
        &self,
        host: Host,
        question: &Question,
        _terms: &Terms,
        say: &mut Say<'_>,
    ) -> anyhow::Result<Result<(), Refused>> {
        ANSWERED.set(ANSWERED.get() + 1);
        let size = question.place.number("size").unwrap();
        if size == self.stops {
            anyhow::bail!("as if it was killed");
        }
        if size >= self.fails {
            return Ok(Err(Refused { status: Status::Failed, reason: "too large".to_owned() }));
        }
        let point = host.point(question.place.clone(), 0).value("time", size);
        say(Said::point(point.value("broken", 0_u64)));
        Ok(Ok(()))
    }

    fn runs_here(&self) -> bool {
        true
    }
}

fn measure(folder: &Path, toy: &Toy) -> anyhow::Result<Ran> {
    let declared = folder.join("toy.toml");
    std::fs::write(&declared, DECLARATION).unwrap();
    let experiment = Experiment::load(&declared).unwrap();
    let (stop, asked) = (Stop::default(), Asked::default());
    let experiments: Vec<(&Experiment, &dyn Workload)> = vec![(&experiment, toy)];
    let session = Session { experiments, engines: &[], worker: &[], asked, stop: &stop };
    let sampling = Sampling::untimed("toy", 1);
    let (ran, file) = run(session, sampling, &folder.join("toy.jsonl"), || Ok(()))?;
    file.finish()?;
    Ok(ran)
}

fn sizes(folder: &Path, name: &str) -> Vec<(u64, bool)> {
    let runs = record::load(folder.join(name)).unwrap().runs;
    assert_eq!(runs.len(), 1);
    let of = |line: &Line| match line {
        Line::Point(point) => (point.place.number("size").unwrap(), point.refused.is_some()),
        line => panic!("{line:?}"),
    };
    runs[0].1.iter().map(of).collect()
}

#[test]
fn a_workload_and_a_declaration_are_an_experiment_that_goes_on_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Toy { fails: 9, stops: 3 };
    measure(folder.path(), &killed).unwrap_err();
    assert_eq!(sizes(folder.path(), "toy.jsonl.part"), [(1, false), (2, false)]);
    assert_eq!(ANSWERED.get(), 3);
    let ran = measure(folder.path(), &Toy { fails: 9, stops: 9 }).unwrap();
    assert_eq!((ran, ANSWERED.get()), (Ran::default(), 5));
    let all = [(1, false), (2, false), (3, false), (4, false)];
    assert_eq!(sizes(folder.path(), "toy.jsonl"), all);
}

#[test]
fn larger_numbers_are_left_out_after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let ran = measure(folder.path(), &Toy { fails: 2, stops: 9 }).unwrap();
    assert!(ran.failed);
    assert_eq!(sizes(folder.path(), "toy.jsonl"), [(1, false), (2, true)]);
}

#[test]
fn what_another_run_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = record::Replacement::of(&folder.path().join("toy.jsonl")).unwrap();
    part.append(&Line::Run(Box::default())).unwrap();
    drop(part);
    measure(folder.path(), &Toy { fails: 9, stops: 9 }).unwrap();
    assert_eq!(sizes(folder.path(), "toy.jsonl").len(), 4);
}
