//! Shards: their union is the whole run, and their merged records are those of one.

use crate::mocked::{Place, budget, engines, one_strategy};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use touchstone::case::{self, Guests};
use touchstone::plan::{Budget, cores, default_rows};
use touchstone::record::{
    self, Book, Header, InitFacts, Line, Loaded, MergeError, Property, Purpose, Shard, Sink,
    Stream, merge,
};
use touchstone::run::{Job, Selection, Task};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::MockEngine;

const CASES: usize = 9;

/// A folder with some cases, on one and two threads, and comparisons of them.
struct Run {
    place: Place,
    engines: Vec<Arc<dyn MeasuredEngine>>,
}

impl Run {
    fn new() -> Self {
        let mut place = Place::new("[1, 2]");
        for number in 1..CASES {
            let name = format!("echo_{number}");
            let case = case::Case { name, ..place.case().clone() };
            place = place.and(case);
        }
        let names: Vec<String> =
            place.cases().iter().map(|case| format!("{:?}", case.name)).collect();
        let rows = |more: &str| {
            format!("[[rows]]\nbaseline = \"itself\"\ncases = [{}]\n{more}\n", names.join(", "))
        };
        let text = rows("purpose = \"null\"")
            + &rows("purpose = \"deadline\"\nexecutors = [\"two_instance_reuse\"]");
        std::fs::write(place.folder().join("rows.toml"), text).unwrap();
        let other =
            MockEngine::new("two").supporting(|strategy| match strategy.to_string().as_str() {
                "instance_reuse" | "pooling" => touchstone_executor::Support::Native,
                _ => touchstone_executor::Support::unsupported("two are enough"),
            });
        Self { place, engines: engines([&one_strategy("one"), &other]) }
    }

    fn job(&self, shard: Option<Shard>) -> Job {
        let selection = Selection {
            shard,
            purposes: vec![Purpose::Null, Purpose::Deadline],
            ..Selection::default()
        };
        let budget = |_| Budget { processes: 1, rounds: 2, ..budget() };
        let rows = self.place.folder().join("rows.toml");
        let (cases, guests) = (self.place.cases(), &mut self.place.guests());
        Job::new(cases, &self.engines, guests, &rows, &selection, budget, true).unwrap()
    }

    /// The records of a shard in a file.
    fn measure(&self, shard: Option<Shard>, path: &Path) {
        let mut bytes = Vec::new();
        let (mut sink, mut told) = (Stream::new(&mut bytes), Default::default());
        self.place.run_into(&self.engines, self.job(shard), &mut sink, &mut told).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn shards(of: u32) -> impl Iterator<Item = Shard> {
    (1..=of).map(move |index| Shard { index, of })
}

/// Every task of the whole is in exactly one shard.
#[track_caller]
fn assert_is_union(whole: &Job, parts: &[Job]) {
    let mut seen: BTreeMap<Task, usize> = BTreeMap::new();
    for task in parts.iter().flat_map(Job::tasks) {
        *seen.entry(task).or_default() += 1;
    }
    assert!(seen.values().all(|times| *times == 1));
    let expected: BTreeSet<Task> = whole.tasks().into_iter().collect();
    assert_eq!(seen.into_keys().collect::<BTreeSet<_>>(), expected);
    for part in parts {
        assert_eq!(part.refusals, whole.refusals);
        assert_eq!((&part.budget, &part.header.works), (&whole.budget, &whole.header.works));
        let [cells, compares] = [
            part.cells.iter().map(|cell| (cell.key.case.clone(), cell.key.guest.clone())).collect(),
            part.compares.iter().map(|own| (own.of.case.clone(), own.of.guest.clone())).collect(),
        ]
        .map(|works: BTreeSet<(String, String)>| works);
        // All threads, engines, strategies and comparisons of a case on a guest.
        for work in cells.union(&compares) {
            let of_whole = |task: &&Task| task.case() == work.0 && task.module().2 == work.1;
            let (own, all) = (part.tasks(), whole.tasks());
            assert_eq!(own.iter().filter(of_whole).count(), all.iter().filter(of_whole).count());
        }
    }
}

#[test]
fn the_union_of_shards_is_the_whole_run() {
    let run = Run::new();
    let whole = run.job(None);
    assert!(whole.compares.len() >= 2 * CASES && whole.cells.len() >= 3 * CASES);
    for of in [1, 2, 3, 5, 8, 40] {
        let parts: Vec<Job> = shards(of).map(|shard| run.job(Some(shard))).collect();
        assert_is_union(&whole, &parts);
        let digests: BTreeSet<&str> = parts.iter().map(|job| &*job.header.questions).collect();
        assert_eq!(digests.len(), 1);
    }
}

#[test]
fn the_shards_of_the_project_are_its_plan() {
    let cases = case::built_in().unwrap();
    let all = engines([&MockEngine::new("wasmtime"), &MockEngine::new("wasmi")]);
    let mut guests = Guests::built();
    let mut job = |shard| {
        let purposes = vec![Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against];
        let selection = Selection { shard, purposes, ..Selection::default() };
        let budget = |_| budget();
        Job::new(&cases, &all, &mut guests, &default_rows(), &selection, budget, true).unwrap()
    };
    let whole = job(None);
    assert!(whole.compares.len() > 10 && whole.cells.len() > 1000);
    let parts: Vec<Job> = shards(3).map(|shard| job(Some(shard))).collect();
    assert_is_union(&whole, &parts);
    let sizes: Vec<usize> = parts.iter().map(|part| part.cells.len()).collect();
    assert!(sizes.iter().all(|size| size * 6 > whole.cells.len()), "{sizes:?}");
}

/// The shards of a run in files, and the run in one.
struct Measured {
    folder: tempfile::TempDir,
    of: u32,
}

impl Measured {
    fn new(of: u32) -> Self {
        let (folder, run) = (tempfile::tempdir().unwrap(), Run::new());
        let own = Self { folder, of };
        shards(of).for_each(|shard| run.measure(Some(shard), &own.path(shard.index)));
        run.measure(None, &own.folder.path().join("whole"));
        own
    }

    fn path(&self, index: u32) -> PathBuf {
        self.folder.path().join(format!("shard-{index}.jsonl"))
    }

    fn loaded(&self) -> Vec<(PathBuf, Loaded)> {
        let paths = (1..=self.of).map(|index| self.path(index));
        paths.map(|path| (path.clone(), record::load(&path).unwrap())).collect()
    }

    fn whole(&self) -> Book {
        record::load(self.folder.path().join("whole")).unwrap().newest().unwrap()
    }

    /// The refusal to merge after a change of the last shard's header.
    #[track_caller]
    fn refused(&self, change: impl FnOnce(&mut Header)) -> MergeError {
        let mut files = self.loaded();
        change(&mut files.last_mut().unwrap().1.runs[0].0);
        let error = merge(files).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(": ") && text.len() < 600, "{text}");
        error
    }

    /// Such a refusal because a property differs.
    #[track_caller]
    fn differs(&self, property: Property, change: impl FnOnce(&mut Header)) {
        let error = self.refused(change);
        let is_meant =
            matches!(&error, MergeError::Differs { property: own, .. } if *own == property);
        assert!(is_meant, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("shard-1.jsonl") && text.contains("shard-3.jsonl"), "{text}");
    }
}

#[test]
fn merged_records_have_the_cells_and_counts_of_one_run() {
    let measured = Measured::new(3);
    let merged = merge(measured.loaded()).unwrap();
    let whole = measured.whole();
    assert_eq!((merged.shards, merged.header.merged.len()), (3, 3));
    assert_eq!((&merged.header.shard, &*merged.header.questions), (&None, ""));
    let observed = |lines: &[Line]| {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines {
            *seen
                .entry(match line {
                    Line::Observations(own) => format!("{:?} {}", own.cell, own.process),
                    Line::Comparison(own) => format!("{:?} {}", own.of, own.process),
                    Line::Refusal(own) => format!("{own:?}"),
                    Line::Setup(own) => format!("{:?}", (&own.executor, &own.guest)),
                    other => panic!("{other:?}"),
                })
                .or_default() += 1;
        }
        seen
    };
    let mut unsharded = record::load(measured.folder.path().join("whole")).unwrap();
    let (header, lines) = unsharded.runs.remove(0);
    assert_eq!(observed(&merged.lines), observed(&lines));
    assert!(merged.to_string().starts_with("3 shards, "), "{merged}");
    let book = Book::of(merged.header, merged.lines);
    assert_eq!(book.setups, whole.setups);
    assert_eq!(book.refusals, whole.refusals);
    assert_eq!(book.header.works, header.works);
    assert!(book.cells.keys().eq(whole.cells.keys()));
    assert!(book.comparisons.keys().eq(whole.comparisons.keys()));
    if cores() > 1 {
        assert_eq!(book.cells.len(), 6 * CASES);
    }
}

#[test]
fn a_shard_that_is_missing_double_or_broken_off_is_refused() {
    assert_eq!(merge(Vec::new()), Err(MergeError::NoFile));
    let measured = Measured::new(3);
    let mut files = measured.loaded();
    files.remove(1);
    assert_eq!(merge(files), Err(MergeError::Missing { missing: vec![2], of: 3 }));
    assert!(
        merge(measured.loaded().into_iter().take(1).collect())
            .unwrap_err()
            .to_string()
            .contains("2, 3 are")
    );

    let mut files = measured.loaded();
    files.extend(measured.loaded().into_iter().take(1));
    let double = merge(files).unwrap_err();
    assert!(matches!(double, MergeError::Double(..)), "{double}");

    let path = measured.path(3);
    let content = std::fs::read_to_string(&path).unwrap();
    // Without its end line, with half of it, with a changed digit, and with a line less.
    let end = content.trim_end().rfind('\n').unwrap() + 1;
    let first = content.find('\n').unwrap() + 1;
    let second = first + content[first..].find('\n').unwrap() + 1;
    let changed = content.replacen("\"process\":0", "\"process\":1", 1);
    let shorter = format!("{}{}", &content[..first], &content[second..]);
    for broken in [&content[..end], &content[..end + 20], &*changed, &*shorter, ""] {
        std::fs::write(&path, broken).unwrap();
        let error = merge(measured.loaded()).unwrap_err();
        assert!(matches!(error, MergeError::Unfinished(_)), "{error:?}");
        assert!(error.to_string().contains("shard-3.jsonl"), "{error}");
    }
    std::fs::write(&path, content.replacen("\"schema\":", "\"schema\":9", 1)).unwrap();
    let error = merge(measured.loaded()).unwrap_err();
    assert!(matches!(error, MergeError::Unreadable(..)), "{error:?}");
    assert!(error.to_string().contains("layout version 9"), "{error}");
    std::fs::write(&path, std::fs::read(measured.folder.path().join("whole")).unwrap()).unwrap();
    assert!(matches!(merge(measured.loaded()), Err(MergeError::NoShard(_))));
}

#[test]
fn a_shard_of_another_run_is_refused_and_the_difference_named() {
    let measured = Measured::new(3);
    assert!(merge(measured.loaded()).is_ok());
    // Another seed and another name of the operating system change no time.
    let mut files = measured.loaded();
    files[2].1.runs[0].0.sampling.seed += 1;
    files[2].1.runs[0].0.machine.os = "Another Linux".to_owned();
    files[2].1.runs[0].0.machine.memory_kib += 1;
    assert!(merge(files).is_ok());
    measured.differs(Property::Layout, |header| header.schema += 1);
    measured.differs(Property::Commit, |header| header.tools.commit = "other".to_owned());
    measured.differs(Property::Binary, |header| header.tools.binary = "other".to_owned());
    measured.differs(Property::Engines, |header| {
        header.engines.get_mut("two").unwrap().version = "mock 1.1".to_owned();
    });
    measured.differs(Property::Sampling, |header| header.sampling.samples += 1);
    measured.differs(Property::Sampling, |header| header.sampling.name = "quick".to_owned());
    measured.differs(Property::Guests, |header| header.works[0].guest_sha256 = "00".to_owned());
    measured.differs(Property::Guests, |header| {
        let init = InitFacts { export: "init".to_owned(), sha256: "00".to_owned() };
        header.works[0].init = Some(init);
    });
    measured.differs(Property::Guests, |header| drop(header.works.pop()));
    measured.differs(Property::Selection, |header| header.questions = "other".to_owned());
    measured.differs(Property::Processor, |header| header.machine.cpu = "other".to_owned());
    measured.differs(Property::Kernel, |header| header.machine.kernel = "7.0".to_owned());
    measured.differs(Property::Machine, |header| header.machine.cores += 1);
    measured.differs(Property::Division, |header| header.shard = Some(Shard { index: 3, of: 4 }));
    let error = measured.refused(|header| header.shard = Some(Shard { index: 2, of: 3 }));
    assert!(matches!(error, MergeError::Double(..)), "{error}");
    let error = measured.refused(|header| header.shard = Some(Shard { index: 9, of: 3 }));
    assert!(matches!(error, MergeError::NoShard(_)), "{error}");
    let error = measured.refused(|header| header.shard = None);
    assert!(matches!(error, MergeError::NoShard(_)), "{error}");
    // Cells of another shard under this one's number.
    let mut files = measured.loaded();
    let (a, b) = (files[1].1.runs[0].1.clone(), files[2].1.runs[0].1.clone());
    (files[2].1.runs[0].1, files[1].1.runs[0].1) = (a, b);
    let error = merge(files).unwrap_err();
    assert!(matches!(error, MergeError::Foreign { .. }), "{error}");
}

#[test]
fn a_stream_that_closes_ends_the_run() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let line = Line::Run(Box::default());
    let error = Stream::new(Closed).append(&line).unwrap_err();
    assert!(error.to_string().contains("cannot print the records"), "{error:#}");
}
