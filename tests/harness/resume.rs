//! Records survive what happens to runs: kills, a second writer, other builds; and a run that
//! was broken off goes on where it ended.

use crate::fixtures::{Run, cell, null};
use crate::mocked::{Place, Ran, Told, engines, one_strategy};
use anyhow::bail;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use touchstone::record::{self, Book, Header, Line, RecordFile, SCHEMA, Sink, Skipped, Status};
use touchstone::run::{Job, go_on};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::{Answer, MockEngine};

const EMPTY: &str = "call_empty_function";

fn in_folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/records.jsonl");
    (folder, path)
}

fn some() -> Run {
    let cells =
        [cell("alpha", "pooling", EMPTY, 1, 100.0), cell("alpha", "pooling", EMPTY, 2, 120.0)];
    Run::of_cells(cells).and(null(EMPTY, ("alpha", "pooling"), [0.9, 1.0, 1.1]))
}

/// The header and the lines of a run, one after the other.
fn all_lines(run: &Run) -> Vec<Line> {
    let header = Line::Run(Box::new(run.header.clone()));
    std::iter::once(header).chain(run.lines.iter().cloned()).collect()
}

fn write(path: &Path, lines: &[Line]) {
    let mut file = RecordFile::append_to(path).unwrap();
    for line in lines {
        file.append(line).unwrap();
    }
}

/// The one run of a file, and the numbers of the lines that were skipped.
fn read(path: &Path) -> (Header, Vec<Line>, Vec<usize>) {
    let mut loaded = record::load(path).unwrap();
    assert_eq!(loaded.runs.len(), 1);
    let (header, lines) = loaded.runs.remove(0);
    (header, lines, loaded.skipped.iter().map(|skipped| skipped.line).collect())
}

/// Adds bytes as they are, as a writer that was stopped in the middle does.
fn scribble(path: &Path, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn records_come_back_as_they_were_written() {
    let (_folder, path) = in_folder();
    write(&path, &all_lines(&some()));
    assert_eq!(read(&path), (some().header, some().lines, Vec::new()));
}

#[test]
fn half_a_line_at_the_end_costs_that_line_alone() {
    let (_folder, path) = in_folder();
    let all = all_lines(&some());
    write(&path, &all[..2]);
    let whole = std::fs::read(&path).unwrap();
    scribble(&path, &whole[..whole.len() / 2]);
    // The next run ends the line before it writes its own.
    write(&path, &all[2..3]);
    let (_, lines, skipped) = read(&path);
    assert_eq!((lines, skipped), (all[1..3].to_vec(), vec![3]));
    let reason = &record::load(&path).unwrap().skipped[0].reason;
    assert!(reason.contains("EOF"), "{reason}");
    // Opening it once more adds nothing.
    let before = std::fs::read(&path).unwrap();
    drop(RecordFile::append_to(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn bytes_that_are_no_text_cost_their_line_alone() {
    let (_folder, path) = in_folder();
    let all = all_lines(&some());
    write(&path, &all[..2]);
    scribble(&path, b"\xff\xfe\0\n\n[1, 2]\n");
    write(&path, &all[2..]);
    let (_, lines, skipped) = read(&path);
    assert_eq!((lines, skipped), (all[1..].to_vec(), vec![3, 5]));
}

#[test]
fn another_layout_is_called_that() {
    let (_folder, path) = in_folder();
    write(&path, &all_lines(&some()));
    let mut newer = some().header;
    newer.schema = 999;
    let newer = serde_json::to_string(&Line::Run(Box::new(newer))).unwrap();
    let before = all_lines(&some()).len();
    scribble(&path, format!("{newer}\n").as_bytes());
    // Nor is a line below such a header believed.
    let below = serde_json::to_string(&some().lines[0]).unwrap();
    scribble(&path, format!("{below}\n").as_bytes());
    let skipped = record::load(&path).unwrap().skipped;
    let reason = format!("layout version 999 where this build reads {SCHEMA}");
    assert_eq!(skipped[0], Skipped { line: before + 1, reason });
    assert!(skipped[1].reason.contains("no header above it"), "{}", skipped[1].reason);
    assert_eq!(read(&path).1, some().lines);
}

#[test]
fn a_second_writer_is_sent_away_until_the_first_is_done() {
    let (_folder, path) = in_folder();
    let all = all_lines(&some());
    let mut first = RecordFile::append_to(&path).unwrap();
    let refused = format!("{:#}", RecordFile::append_to(&path).unwrap_err());
    assert!(refused.contains("another run"), "{refused}");
    assert!(refused.contains("is writing"), "{refused}");
    assert!(refused.contains(&path.display().to_string()), "{refused}");
    // Where the kernel says who it is, which it does not in every container.
    let named = refused.contains(&format!("process {}", std::process::id()));
    assert!(named || !refused.contains("process"), "{refused}");
    // Readers are not kept out, and the first goes on.
    first.append(&all[0]).unwrap();
    assert_eq!(record::load(&path).unwrap().runs.len(), 1);
    drop(first);
    write(&path, &all[1..2]);
    assert_eq!(read(&path).1, all[1..2]);
}

#[test]
fn a_file_can_be_emptied_before_it_is_written_anew() {
    let (_folder, path) = in_folder();
    write(&path, &all_lines(&some()));
    let mut file = RecordFile::append_to(&path).unwrap();
    file.clear().unwrap();
    file.append(&all_lines(&some())[0]).unwrap();
    assert_eq!(read(&path), (some().header, Vec::new(), Vec::new()));
}

#[test]
fn old_records_stay_until_the_new_ones_are_complete() {
    let (_folder, path) = in_folder();
    let all = all_lines(&some());
    write(&path, &all);
    let new = || {
        let mut new = RecordFile::replacing(&path).unwrap();
        new.append(&all[0]).unwrap();
        assert_eq!(read(&path).1, some().lines);
        new
    };
    let stopped = new();
    assert_eq!(read(stopped.path()).1, []);
    drop(stopped);
    new().finish().unwrap();
    assert_eq!(read(&path), (some().header, Vec::new(), Vec::new()));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("file");
    std::fs::write(&in_the_way, "").unwrap();
    let error = RecordFile::append_to(in_the_way.join("records.jsonl")).unwrap_err();
    assert!(format!("{error:#}").contains("cannot make the folder"), "{error:#}");
    let error = RecordFile::replacing(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it is a folder; name another file with --records"), "{error}");
}

/// Runs of lines, as a record file has them.
fn runs(lines: &[Line]) -> Vec<(Header, Vec<Line>)> {
    let mut runs: Vec<(Header, Vec<Line>)> = Vec::new();
    for line in lines {
        match line {
            Line::Run(header) => runs.push(((**header).clone(), Vec::new())),
            line => runs.last_mut().unwrap().1.push(line.clone()),
        }
    }
    runs
}

/// A mock with two strategies, and all that was made of it.
fn whole() -> (Place, Vec<Arc<dyn MeasuredEngine>>, Ran) {
    let place = Place::new("[1]");
    let other = MockEngine::new("two").supporting(|strategy| match strategy.to_string().as_str() {
        "instance_reuse" | "pooling" => touchstone_executor::Support::Native,
        _ => touchstone_executor::Support::unsupported("two are enough"),
    });
    let all = engines([&one_strategy("one"), &other]);
    let ran = place.run(&all, place.job(&all));
    (place, all, ran)
}

/// Keeps so many lines; then the disk is full.
struct Breaks {
    lines: Vec<Line>,
    room: usize,
}

impl Sink for Breaks {
    fn append(&mut self, line: &Line) -> anyhow::Result<()> {
        if self.lines.len() == self.room {
            bail!("the disk is full");
        }
        self.lines.push(line.clone());
        Ok(())
    }
}

/// How often each line stands there that has to be there once.
fn counted(lines: &[Line]) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for line in lines {
        let name = match line {
            Line::Run(_) => "run".to_owned(),
            Line::Setup(setup) => format!("setup {} {}", setup.executor, setup.guest),
            Line::Observations(seen) => format!("{:?} {}", seen.cell, seen.process),
            Line::Refusal(refusal) => format!("{refusal:?}"),
            other => panic!("{other:?}"),
        };
        *counted.entry(name).or_default() += 1;
    }
    counted
}

#[test]
fn a_run_that_was_broken_off_goes_on_without_losing_or_repeating_anything() {
    let (place, all, ran) = whole();
    let expected = counted(&ran.lines);
    assert!(expected.values().all(|count| *count == 1), "{expected:?}");
    let refusals = ran.lines.iter().filter(|line| matches!(line, Line::Refusal(_))).count();
    // At once, after the header, among the refusals, after the first setup, between cells,
    // between processes, before the last line.
    let end = ran.lines.len();
    for room in [0, 1, refusals, refusals + 2, refusals + 3, refusals + 6, end - 2, end - 1] {
        let mut sink = Breaks { lines: Vec::new(), room };
        let ran = place.run_into(&all, place.job(&all), &mut sink, &mut Told::default());
        let reason = ran.map_or_else(|error| Some(error.to_string()), |came| came.broken_off);
        assert_eq!(reason.as_deref(), Some("the disk is full"));
        assert_eq!(sink.lines.len(), room);

        let mut job = place.job(&all);
        let begun = go_on(&mut job, runs(&sink.lines));
        assert_eq!(begun.is_some(), room > 0);
        let rest = place.run(&all, job);
        let found = counted(&[sink.lines.clone(), rest.lines.clone()].concat());
        assert_eq!(found, expected, "broken off after {room} lines");
        assert_eq!((rest.came.cells.measured, rest.came.failed()), (3, 0));
        let after: usize = expected.keys().filter(|name| name.starts_with("CellKey")).count();
        let before = sink.lines.iter().filter(|line| matches!(line, Line::Observations(_)));
        assert_eq!(rest.told.begun.len(), after - before.count());
    }
}

#[test]
fn what_was_in_force_is_told_right_after_a_break() {
    let (place, all, ran) = whole();
    let whole = ran.book();
    for room in 1..ran.lines.len() {
        let kept = &ran.lines[..room];
        let mut job = place.job(&all);
        go_on(&mut job, runs(kept)).unwrap();
        let setups = |line: &&Line| matches!(line, Line::Setup(_));
        // Not run again: what is still to be written follows from what was.
        let written = kept.iter().filter(setups).count();
        assert_eq!(job.done.setups.written.len(), written);
        assert_eq!(job.done.setups.first.len(), written);
        assert!(job.done.setups.first.keys().all(|executor| {
            whole.setups.contains_key(&(executor.clone(), "guest".to_owned()))
        }));
    }
}

/// Makes a job go on with a run; whether it does.
fn goes_on(
    place: &Place,
    all: &[Arc<dyn MeasuredEngine>],
    lines: &[Line],
    change: fn(&mut Job),
) -> bool {
    let mut job = place.job(all);
    change(&mut job);
    go_on(&mut job, runs(lines)).is_some()
}

#[test]
fn a_run_of_another_machine_or_build_is_not_gone_on_with() {
    let (place, all, ran) = whole();
    let lines = &ran.lines;
    let mut none = place.job(&all);
    assert_eq!(go_on(&mut none, Vec::new()), None);
    assert!(goes_on(&place, &all, lines, |_| {}));
    for change in [
        (|job: &mut Job| job.header.machine.kernel = "7.0".to_owned()) as fn(&mut Job),
        |job| job.header.machine.cores += 1,
        |job| job.header.tools.binary = "0123456789abcdef".to_owned(),
        |job| job.header.sampling.name = "quick".to_owned(),
        |job| job.header.questions = "0123456789abcdef".to_owned(),
        |job| job.header.sampling.in_process = false,
        |job| job.header.works[0].guest_sha256 = "bb22".to_owned(),
    ] {
        assert!(!goes_on(&place, &all, lines, change));
    }
    // The same binary, whatever the tree around it looks like by now; and how long each
    // cell is sampled follows from their number, which a run that goes on may not share.
    assert!(goes_on(&place, &all, lines, |job| {
        job.header.tools.commit = "fedcba987654-dirty".to_owned();
        job.header.sampling.samples += 1;
        job.header.sampling.seed += 1;
    }));
    // A binary that could not be read is never the same.
    let mut unread = lines.clone();
    let Line::Run(header) = &mut unread[0] else { panic!() };
    header.tools.binary.clear();
    assert!(!goes_on(&place, &all, &unread, |job| job.header.tools.binary.clear()));
}

#[test]
fn the_last_run_of_a_file_goes_on_with_its_own_head_and_order() {
    let (place, all, ran) = whole();
    let mut newer = ran.lines[..ran.lines.len() - 1].to_vec();
    let Line::Run(header) = &mut newer[0] else { panic!() };
    header.run = "newer".to_owned();
    header.sampling.seed = 77;
    let mut job = place.job(&all);
    let both = [ran.lines.clone(), newer].concat();
    assert_eq!(go_on(&mut job, runs(&both)), Some(3));
    assert_eq!((&*job.header.run, job.budget.seed), ("newer", 77));
    assert_eq!(place.run(&all, job).observations().len(), 1);
}

#[test]
fn cells_that_went_wrong_are_done_again() {
    let place = Place::new("[1]");
    let is_well = Arc::new(AtomicBool::new(false));
    let state = Arc::clone(&is_well);
    let engine = one_strategy("mock").answering(move |call| {
        if state.load(Ordering::Relaxed) {
            Answer::Output(call.input.to_vec())
        } else {
            Answer::Fail("a cable".to_owned())
        }
    });
    let all = engines([&engine]);
    let failed = place.run(&all, place.job(&all));
    assert_eq!(failed.refusals()[0].status, Status::Failed);
    is_well.store(true, Ordering::Relaxed);
    let mut job = place.job(&all);
    go_on(&mut job, runs(&failed.lines)).unwrap();
    let rest = place.run(&all, job);
    assert_eq!((rest.came.cells.measured, rest.came.failed()), (1, 0));
    // Read together, the cell has its time and the old failure is gone.
    let (header, lines) = runs(&[failed.lines, rest.lines].concat()).remove(0);
    let book = Book::of(header, lines);
    let cell = place.cell(&engine, 1).key;
    assert_eq!(book.cells[&cell].len(), 3);
    assert_eq!(book.refusal(&cell), None);

    // What cannot be had is not asked for again.
    let refusing = MockEngine::new("none")
        .supporting(|_| touchstone_executor::Support::unsupported("no such pool"));
    let all = engines([&refusing]);
    let job = || Job { cells: vec![place.cell(&refusing, 1)], ..place.job(&all) };
    let first = place.run(&all, job());
    let mut again = job();
    go_on(&mut again, runs(&first.lines)).unwrap();
    let rest = place.run(&all, again);
    assert_eq!((rest.told.begun.len(), rest.came.cells.left_out), (0, 1));
    assert!(rest.lines.is_empty(), "{:?}", rest.lines);
}
