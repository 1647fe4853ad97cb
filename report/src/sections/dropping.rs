//! Where dropping written pages is faster than restoring them, and which way of finding written
//! pages suits which host.

use crate::Records;
use crate::experiment::capital;
use crate::markdown::{Table, code, markdown};
use crate::races::{CALL, Race, fastest, races};
use crate::units::{median, page_size};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::MemoryFrom;
use touchstone_record::{Executor, Experiment, Place, PointBook, preference};

pub(crate) fn section(records: &Records) -> String {
    let Some((experiment, points)) = records.experiment("resets") else { return String::new() };
    sentences(experiment, points) + &advice(points)
}

/// Ways to restore by engine and way of finding written pages.
type Ways<'a> = BTreeMap<(&'a str, MemoryFrom), &'a Race>;

/// Where dropping becomes faster than restoring: a list for each course, with one way to restore
/// for each way of finding written pages.
fn sentences(experiment: &Experiment, points: &PointBook) -> String {
    let mut courses: BTreeMap<_, (&Place, Ways<'_>)> = BTreeMap::new();
    let races = races(points);
    for race in &races {
        let Executor { engine, strategy } = &race.restoring;
        let course = courses.entry(experiment.order(&race.course));
        let (_, ways) = course.or_insert_with(|| (&race.course, Ways::new()));
        let best = ways.entry((engine, strategy.memory)).or_insert(race);
        if preference(*strategy) < preference(best.restoring.strategy) {
            *best = race;
        }
    }
    if courses.is_empty() {
        return String::new();
    }
    let mut text = "### Dropping or restoring\n\nThe way to drop that is the fastest with the \
                    most pages, against the first way to restore of each kind that a user would \
                    try. A crossing lies between the two sizes in parentheses. At both, the interval \
                    of the ratio excludes a difference of 2 % or less; between them it does not. \
                    The size before them is interpolated where the medians cross for the last \
                    time, on logarithmic axes. Ways to restore drop what exceeds their limit (see \
                    the effective configuration).\n\n"
        .to_owned();
    for (course, ways) in courses.into_values() {
        text += &format!("* {}:\n", capital(&markdown(&experiment.in_words(course))));
        for race in ways.values() {
            text += &format!("  * {}.\n", capital(&race.sentence()));
        }
    }
    text + "\n"
}

/// Sizes of the table of advice, pages.
const SIZES: [u64; 4] = [16, 256, 1024, 16_384];

/// Which strategy is the fastest for which host.
fn advice(points: &PointBook) -> String {
    type Takes = fn(MemoryFrom) -> bool;
    // A host, the drift of its calls, and the ways of finding written pages that work beside it.
    let hosts: [(&str, &str, Takes); 3] = [
        ("none of the below", "same", |_| true),
        // Write faults are signals, for which Touchstone's handler must be the topmost.
        ("has signal handlers of its own", "same", |memory| memory != MemoryFrom::Tracked),
        ("serves guests that write other pages in each call", "all", |_| true),
    ];
    let at = |drift: &str, pages: u64| {
        let place = Place::default().with("touch", "byte").with("place", "contiguous");
        place.with("drift", drift).with("threads", 1_u64).with("pages", pages)
    };
    let executors: BTreeSet<Executor> =
        points.measured().filter_map(|own| own.place.executor()).collect();
    let is_measured = |pages: &u64| points.measured().any(|own| own.place.has(&at("all", *pages)));
    let sizes: Vec<u64> = SIZES.into_iter().filter(is_measured).collect();
    if sizes.is_empty() {
        return String::new();
    }
    let headings = sizes.iter().map(|pages| page_size(*pages as f64));
    let mut table = Table::of_words("The host", headings);
    for (says, drift, takes) in hosts {
        let best = |pages: &u64| {
            let suit = executors.iter().filter(|of| takes(of.strategy.memory));
            let (executor, call) = fastest(points, &at(drift, *pages), CALL, suit)?;
            Some(format!("{}, {}", code(executor), median(&call)))
        };
        table.row(says, sizes.iter().map(best));
    }
    format!(
        "### Strategies by host\n\nThe executor with the shortest median, by what the \
         host does and what a call writes (one byte of each page, contiguous, 1 thread). Every \
         strategy works in a process that forks: parent and child each reset their own copy of a \
         memory. A host that installs a handler of SIGSEGV calls \
         `memory::reinstall_signal_handler` after that, or takes a strategy that needs no \
         handler.\n\n{}",
        table.finish()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{
        Book, Header, Line, Point, Sample, Samples, Sampling, experiments_folder,
    };

    fn book() -> Book {
        let mut lines = Vec::new();
        let points = [("same", 16), ("same", 1024), ("all", 16), ("all", 1024_u64)];
        let times = [
            ("pooling_cow", [900.0, 9000.0, 900.0, 9000.0]),
            ("instance_reuse_tracked", [100.0, 18_000.0, 2000.0, 99_000.0]),
            ("instance_reuse_gated", [200.0, 20_000.0, 800.0, 50_000.0]),
        ];
        for (strategy, times) in times {
            for ((drift, pages), ns) in points.into_iter().zip(times) {
                let strategy = strategy.parse().unwrap();
                let place = Place::of(&Executor { engine: "some".to_owned(), strategy });
                let place = place.with("touch", "byte").with("place", "contiguous");
                let place = place.with("drift", drift).with("threads", 1_u64).with("pages", pages);
                for process in 0..3 {
                    let point = Point::new("resets", place.clone(), process);
                    let call = Samples(vec![Sample::single(ns); 6]);
                    lines.push(Line::Point(Box::new(point.samples(CALL, call))));
                }
            }
        }
        let sampling = Sampling { processes: 3, ..Sampling::untimed("resets", 1) };
        Book::of(Header { sampling, ..Header::default() }, lines)
    }

    #[test]
    fn times_crossings_and_advice_come_from_the_records() {
        let experiment = Experiment::load(experiments_folder().join("resets.toml")).unwrap();
        let book = book();
        let points = &book.points["resets"];
        let text = crate::experiment::section(&experiment, Some(&book))
            + &sentences(&experiment, points)
            + &advice(points);
        for part in [
            "in 3 processes",
            "One byte of each page, contiguous, the same pages in each call, 1 thread:\n\n",
            "| 64 KiB (16 pages) | 100.0 ns | 200.0 ns | 900.0 ns |",
            "<summary>One byte of each page, contiguous, all other pages in each call, 1 thread",
            "  * From 1.5 MiB on (64 KiB to 4 MiB), dropping (`some_pooling_cow`) is faster than restoring \
             (`some_instance_reuse_tracked`).\n",
            "  * Dropping (`some_pooling_cow`) is faster than restoring \
             (`some_instance_reuse_tracked`) at every size where they differ.\n",
            "| The host | 64 KiB | 4 MiB |",
            "| none of the below | `some_instance_reuse_tracked`, 100.0 ns | `some_pooling_cow`, \
             9.000 µs |",
            "| has signal handlers of its own | `some_instance_reuse_gated`, 200.0 ns | ",
            "| serves guests that write other pages in each call | `some_instance_reuse_gated`, \
             800.0 ns |",
        ] {
            assert!(text.contains(part), "'{part}' is not in:\n{text}");
        }
        let empty = crate::experiment::section(&experiment, None);
        assert!(empty.contains("`make resets` makes them"));
    }
}
