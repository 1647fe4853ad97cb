//! Resets: clean calls that write so many pages, where dropping becomes faster than restoring,
//! and which way of finding written pages suits which host.

use crate::markdown::{Table, details};
use crate::units::{count, median};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use touchstone_executor::MemoryFrom;
use touchstone_record::compare::{Course, Race, fastest, page_size, races};
use touchstone_record::escape::code;
use touchstone_record::{Book, Drift, Executor, Place, ResetKey, Touch};

pub(crate) fn section(book: Option<&Book>) -> String {
    let Some(book) = book.filter(|book| !book.resets.is_empty()) else {
        return "## Resets\n\nThere are no records of resets; `make resets` makes them.\n\n"
            .to_owned();
    };
    let processes = match book.header.sampling.processes {
        1 => "1 process".to_owned(),
        processes => format!("{processes} processes"),
    };
    format!(
        "## Resets\n\nThe time of one clean call that writes so many pages of 4 KiB (`make \
         resets`, commit {}). All executors of an engine are timed in turns in one process, and \
         each point in {}. Ratios are of the same rounds. Before anything was timed, and once \
         after it, the guest read every page that it writes: each was clean.\n\n{}{}{}",
        code(&book.header.tools.commit),
        processes,
        times(book),
        sentences(book),
        advice(book)
    )
}

/// The courses that were measured, the base first, each with its executors and numbers of pages.
fn courses(book: &Book) -> Vec<(Course, BTreeSet<&Executor>, BTreeSet<u64>)> {
    let mut courses: BTreeMap<Course, (BTreeSet<&Executor>, BTreeSet<u64>)> = BTreeMap::new();
    for ResetKey { point, executor } in book.resets.keys() {
        let (executors, pages) = courses.entry(Course::of(point)).or_default();
        executors.insert(executor);
        pages.insert(point.pages);
    }
    let mut courses: Vec<_> =
        courses.into_iter().map(|(course, (all, pages))| (course, all, pages)).collect();
    courses.sort_by_key(|(course, ..)| (course.threads, course.drift, course.place, course.touch));
    courses
}

/// A table for each course: the base open, the others folded.
fn times(book: &Book) -> String {
    let mut text = String::new();
    for (place, (course, executors, pages)) in courses(book).into_iter().enumerate() {
        let mut table = Table::new("Written", executors.iter().map(code));
        for pages in pages {
            let size = format!("{} ({})", page_size(pages as f64), count(pages, "page"));
            let call = |executor: &&Executor| {
                let key = ResetKey { point: course.at(pages), executor: (*executor).clone() };
                book.reset(&key).as_ref().map(median)
            };
            table.row(size, executors.iter().map(call));
        }
        let table = table.finish();
        if place == 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}:\n\n{table}", capital(&course.to_string()));
        } else {
            text.push_str(&details(&capital(&course.to_string()), &table));
        }
    }
    text
}

/// Where dropping becomes faster than restoring: a list for each course, with one way to restore
/// for each way of finding written pages.
fn sentences(book: &Book) -> String {
    let mut courses: BTreeMap<Course, BTreeMap<(&str, MemoryFrom), &Race>> = BTreeMap::new();
    let races = races(book);
    for race in &races {
        let Executor { engine, strategy } = &race.restoring;
        let ways = courses.entry(race.course).or_default();
        let best = ways.entry((engine, strategy.memory)).or_insert(race);
        if strategy.preference() < best.restoring.strategy.preference() {
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
                    time, on logarithmic axes. Ways to restore drop what exceeds their limit (see the effective \
                    configuration).\n\n"
        .to_owned();
    for (course, ways) in courses {
        let _ = writeln!(text, "* {}:", capital(&course.to_string()));
        for race in ways.values() {
            let _ = writeln!(text, "  * {}.", capital(&race.sentence()));
        }
    }
    text + "\n"
}

/// A host, and what it asks of a strategy.
struct Host {
    says: &'static str,
    /// The drift of the calls that it makes.
    drift: Drift,
    /// Whether a way of finding written pages works beside what the host does.
    takes: fn(MemoryFrom) -> bool,
}

/// Sizes of the table of advice, pages.
const SIZES: [u64; 4] = [16, 256, 1024, 16_384];

/// Which strategy is the fastest for which host.
fn advice(book: &Book) -> String {
    let any = |_| true;
    let hosts = [
        Host { says: "none of the below", drift: Drift::Same, takes: any },
        Host {
            says: "has signal handlers of its own",
            drift: Drift::Same,
            // Write faults are signals, for which Touchstone's handler must be the topmost.
            takes: |memory| !matches!(memory, MemoryFrom::Tracked | MemoryFrom::Auto),
        },
        Host {
            says: "serves guests that write other pages in each call",
            drift: Drift::All,
            takes: any,
        },
    ];
    let course = |drift| Course { touch: Touch::Byte, place: Place::Contiguous, drift, threads: 1 };
    let executors: BTreeSet<&Executor> = book.resets.keys().map(|key| &key.executor).collect();
    let sizes: Vec<u64> = SIZES
        .into_iter()
        .filter(|pages| book.resets.keys().any(|key| key.point == course(Drift::All).at(*pages)))
        .collect();
    if sizes.is_empty() {
        return String::new();
    }
    let headings = sizes.iter().map(|pages| page_size(*pages as f64));
    let mut table = Table::of_words("The host", headings);
    for Host { says, drift, takes } in hosts {
        let best = |pages: &u64| {
            let suit = executors.iter().copied().filter(|of| takes(of.strategy.memory));
            let (executor, call) = fastest(book, &course(drift).at(*pages), suit)?;
            Some(format!("{}, {}", code(executor), median(&call)))
        };
        table.row(says, sizes.iter().map(best));
    }
    format!(
        "### Strategies by host\n\nThe executor with the shortest median, by what the \
         host does and what a call writes (one byte of each page, contiguous, 1 thread). Every \
         strategy works in a process that forks: parent and child each reset their own copy of a \
         memory. A host that installs a handler of SIGSEGV calls `memory::reinstall_signal_handler` after that, \
         or takes a strategy that needs no handler.\n\n{}",
        table.finish()
    )
}

/// The same text with a capital letter at its start.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{Header, Line, Reset, ResetPoint, Sample, Samples, Sampling};

    fn book() -> Book {
        let mut lines = Vec::new();
        let points = [(Drift::Same, 16), (Drift::Same, 1024), (Drift::All, 16), (Drift::All, 1024)];
        let times = [
            ("pooling_cow", [900.0, 9000.0, 900.0, 9000.0]),
            ("instance_reuse_tracked", [100.0, 18_000.0, 2000.0, 99_000.0]),
            ("instance_reuse_gated", [200.0, 20_000.0, 800.0, 50_000.0]),
        ];
        for (strategy, times) in times {
            for ((drift, pages), ns) in points.into_iter().zip(times) {
                let (touch, place) = (Touch::Byte, Place::Contiguous);
                let point = ResetPoint { touch, place, drift, threads: 1, pages };
                let strategy = strategy.parse().unwrap();
                let executor = Executor { engine: "some".to_owned(), strategy };
                for process in 0..3 {
                    let call = Samples(vec![Sample::single(ns); 6]);
                    let key = ResetKey { point, executor: executor.clone() };
                    lines.push(Line::Reset(Box::new(Reset { key, process, call })));
                }
            }
        }
        let sampling = Sampling { processes: 3, ..Sampling::untimed("resets", 1) };
        Book::of(Header { sampling, ..Header::default() }, lines)
    }

    #[test]
    fn without_records_a_sentence_says_so() {
        let empty = section(Some(&Book::default()));
        assert_eq!(empty, section(None));
        assert!(empty.contains("`make resets` makes them"));
    }

    #[test]
    fn times_crossings_and_advice_come_from_the_records() {
        let text = section(Some(&book()));
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
    }
}
