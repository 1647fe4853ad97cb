//! The one policy for what interference spoiled, over mock engines: further processes, at
//! most so many, and a mark where they did not help.
//!
//! Every test here first makes the interference probe find interference, so that no sample is
//! clean.

use crate::mocked::{Place, Ran, compare_cells, engines, one_strategy};
use std::collections::BTreeMap;
use touchstone::measure::probe;
use touchstone::plan::Budget;
use touchstone::record::{CellKey, Line, Metric, Observations, Purpose, Sample, Samples, estimate};
use touchstone::run::{Finished, Job, Task};

fn with_extra(extra: u32, job: Job) -> Job {
    Job { budget: Budget { extra, ..job.budget.clone() }, ..job }
}

/// The processes in which each engine's cell was measured.
fn processes(ran: &Ran) -> BTreeMap<String, Vec<u32>> {
    let mut processes: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for seen in ran.observations() {
        processes.entry(seen.cell.engine.clone()).or_default().push(seen.process);
    }
    processes
}

#[test]
fn cells_with_too_few_clean_samples_are_measured_again_so_often_and_marked() {
    probe::never_clean();
    let place = Place::new("[1]");
    let all = engines([&one_strategy("one"), &one_strategy("other")]);
    let ran = place.run(&all, with_extra(2, place.job(&all)));
    let seen = processes(&ran);
    assert_eq!((&seen["one"], &seen["other"]), (&vec![0, 1, 2, 3, 4], &vec![0, 1, 2, 3, 4]));
    assert_eq!((ran.came.cells.measured, ran.came.cells.marked, ran.told.more), (2, 2, 4));
    assert_eq!(ran.told.said.len(), 2);
    assert!(ran.told.said[0].starts_with("2 of 2 have too few clean samples"));
    let book = ran.book();
    for cell in book.cells.keys() {
        assert!(book.estimate(cell, Metric::Call).unwrap().marked);
        assert!(book.throughput(cell).unwrap().marked);
    }
    // Nothing is repeated where no further process is allowed.
    let ran = place.run(&all, place.job(&all));
    assert_eq!((&processes(&ran)["one"], ran.told.more), (&vec![0, 1, 2], 0));
}

#[test]
fn only_the_cells_that_need_it_are_measured_again() {
    probe::never_clean();
    let place = Place::new("[1]");
    let all = engines([&one_strategy("one"), &one_strategy("other")]);
    let run = |one: &[bool], other: &[bool]| {
        let mut job = with_extra(2, place.job(&all));
        for task in job.tasks() {
            let clean = if task.engine() == "one" { one } else { other };
            let seen: BTreeMap<u32, bool> = (0..).zip(clean.iter().copied()).collect();
            if let Task::Cell(cell) = &task {
                let clean = seen.iter().filter(|(_, clean)| **clean);
                let medians = clean.map(|(process, _)| (*process, 1.0)).collect();
                job.done.medians.insert((Task::Cell(cell.clone()), Metric::Call), medians);
            }
            job.done.tasks.insert(task, seen);
        }
        place.run(&all, job)
    };
    // Three clean processes are enough, also where a fourth was not clean.
    let ran = run(&[true; 3], &[true, true, false, true]);
    assert_eq!((processes(&ran).len(), ran.came.cells.marked, ran.told.more), (0, 0, 0));
    let ran = run(&[true; 3], &[true, true, false]);
    assert_eq!(processes(&ran), BTreeMap::from([("other".to_owned(), vec![3, 4])]));
    assert_eq!((ran.came.cells.measured, ran.came.cells.marked), (2, 1));
    assert!(ran.told.said[0].starts_with("1 of 2 have"), "{:?}", ran.told.said);
}

#[test]
fn a_cell_of_the_main_page_gets_as_many_processes_as_its_spread_asks_for() {
    probe::never_clean();
    let all = engines([&one_strategy("one")]);
    let run = |is_main: bool, calls: [f64; 6], compiled: [f64; 6]| {
        let place = Place::new("[1]");
        let job = place.job(&all);
        let mut job = Job { budget: Budget { most: 8, ..job.budget.clone() }, ..job };
        for task in job.tasks() {
            job.main.extend(is_main.then(|| task.clone()));
            let seen = (0..6).map(|process| (process, true)).collect();
            job.done.tasks.insert(task.clone(), seen);
            let medians = [(Metric::Call, calls), (Metric::Compile, compiled)];
            for (metric, medians) in medians {
                let medians = (0..).zip(medians).collect();
                job.done.medians.insert((task.clone(), metric), medians);
            }
        }
        place.run(&all, job)
    };
    let (same, apart) = ([100.0; 6], [90.0, 100.0, 110.0, 90.0, 100.0, 110.0]);
    for (calls, compiled) in [(apart, same), (same, apart)] {
        let ran = run(true, calls, compiled);
        // Process numbers after those of passes; none of these processes is clean.
        assert_eq!(processes(&ran)["one"], Vec::from_iter(6..11));
        assert_eq!(ran.told.said, ["for the page in one process more: 1"; 8]);
    }
    assert_eq!(run(true, same, same).told.more, 0);
    assert_eq!(run(false, apart, apart).told.more, 0);
}

#[test]
fn a_comparison_follows_the_same_policy() {
    probe::never_clean();
    let place = Place::new("[1]");
    let engine = one_strategy("one");
    let all = engines([&engine]);
    let cell = place.cell(&engine, 1);
    let compare = compare_cells(Purpose::Null, cell.clone(), cell);
    let run = |clean: bool| {
        let compares = vec![compare.clone()];
        let mut job = with_extra(1, Job { cells: Vec::new(), compares, ..place.job(&all) });
        for task in job.tasks() {
            job.done.tasks.insert(task, (0..3).map(|process| (process, clean)).collect());
        }
        place.run(&all, job)
    };
    let made = |ran: &Ran| -> Vec<u32> {
        ran.book().comparisons.values().flatten().map(|made| made.process).collect()
    };
    assert_eq!((made(&run(true)), made(&run(false))), (vec![], vec![3]));
}

fn observations(process: u32, metric: Metric, clean: &[bool]) -> Line {
    let samples = clean.iter().map(|clean| Sample { clean: *clean, ..Sample::single(1.0) });
    let metrics = BTreeMap::from([(metric, Samples(samples.collect()))]);
    Line::Observations(Observations { cell: key(), process, probe_ns: 0, metrics })
}

fn key() -> CellKey {
    Place::new("[1]").cell(&one_strategy("one"), 1).key
}

/// A run that is continued judges processes as the run itself did, and as the estimate does.
#[test]
fn a_process_counts_with_three_clean_samples_or_all_that_it_has() {
    for (metric, clean, counts) in [
        (Metric::Call, &[true, true, true, false, false][..], 1),
        (Metric::Call, &[true, true, false, false, false], 0),
        (Metric::Call, &[true, true], 1),
        (Metric::Call, &[true, false], 0),
        (Metric::Call, &[true], 1),
        (Metric::WarmCall, &[true, true, false, false], 0),
        // The steps of a call are marked on their own.
        (Metric::Prepare, &[false, false, false, false], 1),
    ] {
        let mut done = Finished::default();
        done.take(&observations(0, metric, clean));
        assert_eq!(done.clean_processes(&Task::Cell(key())), counts, "{metric} {clean:?}");
    }
    // † as soon as fewer than three processes count.
    let samples = |clean: &[bool]| {
        let Line::Observations(seen) = observations(0, Metric::Call, clean) else { panic!() };
        seen.metrics[&Metric::Call].clone()
    };
    let (good, bad) = (samples(&[true, true, true, false]), samples(&[true, true, false, false]));
    let marked = |processes: &[&Samples]| estimate::of_processes(processes).unwrap().marked;
    assert!(!marked(&[&good, &bad, &good, &good]));
    assert!(marked(&[&good, &bad, &good]));
}
