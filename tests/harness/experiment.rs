//! The frame of experiments, with an experiment of two files: a declaration and a workload.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;
use touchstone::experiment::{
    Ask, Asked, Host, Planned, Question, Ran, Said, Say, Session, Terms, Workload, run,
};
use touchstone::lab::Refused;
use touchstone::plan::Filter;
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

/// Fails at a size, stops the run at another one, is wrong at a third and skips a fourth.
struct Toy {
    fails: u64,
    stops: u64,
    wrong: u64,
    skips: u64,
}

const TOY: Toy = Toy { fails: 9, stops: 9, wrong: 9, skips: 9 };

impl Workload for Toy {
    fn plan(&self, host: &mut Host, asked: &Asked) -> anyhow::Result<Planned> {
        let sizes = asked.numbers(&host.experiment, "size").into_iter();
        let filter = asked.filter.text();
        let place = |size| Place::default().with("size", size);
        let question =
            |size| Question { place: place(size), filter: filter.clone(), ..Question::default() };
        let (skipped, sizes): (Vec<u64>, Vec<u64>) = sizes.partition(|size| *size == self.skips);
        let skipped = skipped.into_iter().map(|size| {
            let point = host.point(place(size), 0);
            Line::Point(Box::new(point.refused(Status::Skipped, "left out".to_owned())))
        });
        Ok(Planned {
            questions: sizes.into_iter().map(question).collect(),
            refused: skipped.collect(),
            ..Planned::default()
        })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, .. } = ask;
        ANSWERED.set(ANSWERED.get() + 1);
        let size = question.place.number("size").unwrap();
        if size == self.stops {
            host.stop.now();
            return Ok(());
        }
        if size >= self.fails {
            return Err(Refused { status: Status::Failed, reason: "too large".to_owned() });
        }
        let point = host.point(question.place.clone(), 0).value("time", size as f64);
        say(Said::point(point.value("broken", f64::from(size == self.wrong))));
        Ok(())
    }

    fn runs_here(&self) -> bool {
        true
    }
}

fn measure(folder: &Path, toy: &Toy) -> anyhow::Result<Ran> {
    measure_as(folder, toy, DECLARATION, Asked::default())
}

fn measure_as(folder: &Path, toy: &Toy, declaration: &str, asked: Asked) -> anyhow::Result<Ran> {
    let declared = folder.join("toy.toml");
    std::fs::write(&declared, declaration).unwrap();
    let experiment = Experiment::load(&declared).unwrap();
    let stop = Stop::default();
    let experiments: Vec<(&Experiment, &dyn Workload)> = vec![(&experiment, toy)];
    let session = Session { experiments, engines: &[], worker: &[], asked, stop: &stop };
    let sampling = Sampling::untimed("toy", 1);
    let (ran, file) = run(session, sampling, &folder.join("toy.jsonl"), || Ok(()))?;
    anyhow::ensure!(!ran.stopped, "as if it was killed");
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
    let killed = Toy { stops: 3, ..TOY };
    measure(folder.path(), &killed).unwrap_err();
    assert_eq!(sizes(folder.path(), "toy.jsonl.part"), [(1, false), (2, false)]);
    assert_eq!(ANSWERED.get(), 3);
    let ran = measure(folder.path(), &TOY).unwrap();
    assert_eq!((ran, ANSWERED.get()), (Ran::default(), 5));
    let all = [(1, false), (2, false), (3, false), (4, false)];
    assert_eq!(sizes(folder.path(), "toy.jsonl"), all);
}

#[test]
fn larger_numbers_are_left_out_after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let ran = measure(folder.path(), &Toy { fails: 2, ..TOY }).unwrap();
    assert!(ran.failed);
    assert_eq!(sizes(folder.path(), "toy.jsonl"), [(1, false), (2, true)]);
}

#[test]
fn what_another_run_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = record::RecordFile::replacing(&folder.path().join("toy.jsonl")).unwrap();
    part.append(&Line::Run(Box::default())).unwrap();
    drop(part);
    measure(folder.path(), &TOY).unwrap();
    assert_eq!(sizes(folder.path(), "toy.jsonl").len(), 4);
}

#[test]
fn a_run_of_other_questions_options_or_settings_goes_on_with_no_point() {
    let asked = Asked::default;
    let (stall, rounds) = (Duration::from_millis(1), 7);
    let of_terms = |terms| Asked { terms, ..asked() };
    let settings = format!("{DECLARATION}\n[settings]\nmany = 2\n");
    let filter = Filter::new(Some("all")).unwrap();
    let others = [
        (DECLARATION, Asked { filter, ..asked() }),
        (DECLARATION, Asked { memory: Some(1 << 30), ..asked() }),
        (DECLARATION, of_terms(Terms { stall, ..Terms::default() })),
        (DECLARATION, of_terms(Terms { rounds, ..Terms::default() })),
        (settings.as_str(), asked()),
    ];
    for (declaration, other) in others {
        let folder = tempfile::tempdir().unwrap();
        measure(folder.path(), &Toy { stops: 3, ..TOY }).unwrap_err();
        let before = ANSWERED.get();
        measure_as(folder.path(), &TOY, declaration, other).unwrap();
        assert_eq!(ANSWERED.get() - before, 4);
        assert_eq!(sizes(folder.path(), "toy.jsonl").len(), 4);
    }
}

#[test]
fn a_wrong_answer_before_a_kill_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), &Toy { wrong: 1, stops: 3, ..TOY }).unwrap_err();
    assert!(measure(folder.path(), &TOY).unwrap().failed);
}

#[test]
fn half_a_line_at_the_end_costs_no_more_than_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), &Toy { stops: 4, ..TOY }).unwrap_err();
    let part = folder.path().join("toy.jsonl.part");
    let content = std::fs::read(&part).unwrap();
    std::fs::write(&part, &content[..content.len() - 9]).unwrap();
    let before = ANSWERED.get();
    measure(folder.path(), &TOY).unwrap();
    // The line before it may be of the same answer. The new point replaces the old one.
    assert_eq!(ANSWERED.get() - before, 3);
    let all = [(1, false), (2, false), (2, false), (3, false), (4, false)];
    assert_eq!(sizes(folder.path(), "toy.jsonl"), all);
    let (book, _) = record::newest(folder.path().join("toy.jsonl"), "make toy").unwrap();
    assert_eq!(book.points["toy"].measured().count(), 4);
}

#[test]
fn skipped_points_are_not_lost_by_a_kill_behind_the_header() {
    let folder = tempfile::tempdir().unwrap();
    measure(folder.path(), &Toy { skips: 4, stops: 1, ..TOY }).unwrap_err();
    let part = folder.path().join("toy.jsonl.part");
    let content = std::fs::read_to_string(&part).unwrap();
    std::fs::write(&part, content.split_inclusive('\n').next().unwrap()).unwrap();
    measure(folder.path(), &Toy { skips: 4, ..TOY }).unwrap();
    let all = [(4, true), (1, false), (2, false), (3, false)];
    assert_eq!(sizes(folder.path(), "toy.jsonl"), all);
}
