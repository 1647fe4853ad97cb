//! Dropping written pages against restoring them, from records of resets.

use super::{Crossings, Judged, MARGIN, crossings, judge_rounds};
use crate::escape::code;
use crate::{Book, Drift, Estimate, Executor, PAGE, Place, ResetKey, ResetPoint, Sample, Touch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use touchstone_executor::{MemoryFrom, Strategy};

/// What the calls of some points have in common: everything but the number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Course {
    /// How much of each page is written.
    pub touch: Touch,
    /// Where the pages lie.
    pub place: Place,
    /// Which of them are other pages than in the call before.
    pub drift: Drift,
    /// Threads.
    pub threads: usize,
}

impl Course {
    /// The course of a point.
    #[must_use]
    pub fn of(point: &ResetPoint) -> Self {
        let ResetPoint { touch, place, drift, threads, .. } = *point;
        Self { touch, place, drift, threads }
    }

    /// The point of a number of pages.
    #[must_use]
    pub fn at(&self, pages: u64) -> ResetPoint {
        let Self { touch, place, drift, threads } = *self;
        ResetPoint { touch, place, drift, threads, pages }
    }
}

/// In words.
impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let touch = match self.touch {
            Touch::Byte => "one byte of each page",
            Touch::Page => "whole pages",
        };
        let place = match self.place {
            Place::Contiguous => "contiguous",
            Place::Scattered => "scattered",
        };
        let drift = match self.drift {
            Drift::Same => "the same pages in each call",
            Drift::Tenth => "a tenth other pages in each call",
            Drift::All => "all other pages in each call",
        };
        let threads = match self.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        f.pad(&format!("{touch}, {place}, {drift}, {threads}"))
    }
}

/// Whether the written pages of a strategy's memory are dropped, rather than restored in place.
#[must_use]
pub fn drops(strategy: Strategy) -> bool {
    matches!(strategy.memory, MemoryFrom::Segments | MemoryFrom::CopyOnWrite)
}

/// How many times slower one executor is than another at a point: from the rounds in which both
/// were timed in turns. `None` if there is no such round.
#[must_use]
pub fn ratio(
    book: &Book,
    point: &ResetPoint,
    subject: &Executor,
    baseline: &Executor,
) -> Option<Judged> {
    let of = |executor: &Executor| {
        book.resets.get(&ResetKey { point: *point, executor: executor.clone() })
    };
    let (subject, baseline) = (of(subject)?, of(baseline)?);
    let rounds = subject.iter().filter_map(|own| {
        let other = baseline.iter().find(|other| other.process == own.process)?;
        let both = own.call.0.iter().zip(&other.call.0);
        let round = |(own, other): (&Sample, &Sample)| {
            ((own.per_call(), other.per_call()), own.clean && other.clean)
        };
        Some(both.map(round).collect())
    });
    judge_rounds(rounds, MARGIN)
}

/// The executor with the shortest time of a call at a point, among some.
#[must_use]
pub fn fastest<'a>(
    book: &Book,
    point: &ResetPoint,
    among: impl IntoIterator<Item = &'a Executor>,
) -> Option<(&'a Executor, Estimate)> {
    let timed = among.into_iter().filter_map(|executor| {
        let key = ResetKey { point: *point, executor: executor.clone() };
        Some((executor, book.reset(&key)?))
    });
    timed.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
}

/// Numbers of pages, and the executors that were measured with any of them.
type Measured<'a> = (BTreeSet<u64>, BTreeSet<&'a Executor>);

/// A way that drops written pages against one that restores them, on one course.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// The course.
    pub course: Course,
    /// The way that drops them: of those of the engine, the fastest with the most pages.
    pub dropping: Executor,
    /// The way that restores them.
    pub restoring: Executor,
    /// Dropping as the subject, restoring as the baseline.
    pub crossings: Crossings,
}

/// Every way that restores written pages against the fastest one that drops them, on each course
/// and engine.
#[must_use]
pub fn races(book: &Book) -> Vec<Race> {
    let mut measured: BTreeMap<(Course, &str), Measured<'_>> = BTreeMap::new();
    for ResetKey { point, executor } in book.resets.keys() {
        let (pages, executors) =
            measured.entry((Course::of(point), executor.engine.as_str())).or_default();
        pages.insert(point.pages);
        executors.insert(executor);
    }
    let mut races = Vec::new();
    for ((course, _), (pages, executors)) in measured {
        let (dropping, restoring): (Vec<&Executor>, Vec<&Executor>) =
            executors.into_iter().partition(|executor| drops(executor.strategy));
        let Some(most) = pages.last() else { continue };
        let Some((best, _)) = fastest(book, &course.at(*most), dropping) else { continue };
        for restoring in restoring {
            let ratios = pages.iter().filter_map(|pages| {
                Some((*pages, ratio(book, &course.at(*pages), best, restoring)?.ratio))
            });
            let crossings = crossings(&ratios.collect::<Vec<_>>());
            let (dropping, restoring) = (best.clone(), restoring.clone());
            races.push(Race { course, dropping, restoring, crossings });
        }
    }
    races
}

impl Race {
    /// A sentence without the course, with the names of both executors in code style in Markdown.
    #[must_use]
    pub fn sentence(&self) -> String {
        use super::Verdict::Faster;
        let Self { dropping, restoring, crossings, .. } = self;
        let drop = format!("dropping ({})", code(dropping));
        let restore = format!("restoring ({})", code(restoring));
        let Some(first) = crossings.first else {
            return format!("no difference found between {drop} and {restore}");
        };
        let claim = |verdict| match verdict {
            Faster => format!("{drop} is faster than {restore}"),
            _ => format!("{restore} is faster than {drop}"),
        };
        if crossings.changes.is_empty() {
            return format!("{} at every size where they differ", claim(first));
        }
        let from = |change: &super::Change| {
            let [low, high] = [change.between.0, change.between.1].map(|n| page_size(n as f64));
            let about = page_size(change.pages);
            format!("from {about} on ({low} to {high}), {}", claim(change.then))
        };
        crossings.changes.iter().map(from).collect::<Vec<_>>().join("; ")
    }
}

/// A number of pages as a size in KiB or MiB, with two digits or all before the point.
#[must_use]
pub fn page_size(pages: f64) -> String {
    let kib = pages * PAGE as f64 / 1024.0;
    let short = |value: f64| match value {
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    };
    let whole = |text: String| text.strip_suffix(".0").map(str::to_owned).unwrap_or(text);
    if kib < 1000.0 {
        format!("{} KiB", whole(short(kib)))
    } else {
        format!("{} MiB", whole(short(kib / 1024.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Line, Reset, Samples};

    const COURSE: Course =
        Course { touch: Touch::Byte, place: Place::Contiguous, drift: Drift::Same, threads: 1 };

    fn executor(strategy: &str) -> Executor {
        Executor { engine: "some".to_owned(), strategy: strategy.parse().unwrap() }
    }

    /// Three processes with six rounds each; each round differs by a hundredth from the next.
    fn book(times: &[(&str, &[(u64, f64)])]) -> Book {
        let mut lines = Vec::new();
        for (strategy, times) in times {
            for (pages, ns) in *times {
                let key = ResetKey { point: COURSE.at(*pages), executor: executor(strategy) };
                for process in 0..3 {
                    let sample = |round: i32| Sample::single(ns * (1.0 + f64::from(round) / 100.0));
                    let call = Samples((0..6).map(sample).collect());
                    lines.push(Line::Reset(Box::new(Reset { key: key.clone(), process, call })));
                }
            }
        }
        Book::of(Header::default(), lines)
    }

    #[test]
    fn ratios_come_from_the_same_rounds() {
        let book =
            book(&[("pooling_cow", &[(16, 300.0)]), ("instance_reuse_tracked", &[(16, 100.0)])]);
        let (a, b) = (executor("pooling_cow"), executor("instance_reuse_tracked"));
        let judged = ratio(&book, &COURSE.at(16), &a, &b).unwrap();
        // Round by round the ratio is the same, although the times are not.
        let (low, high) = judged.ratio.interval.unwrap();
        assert!((low - 3.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9, "{low} {high}");
        assert!(!judged.ratio.marked);
        assert_eq!(ratio(&book, &COURSE.at(17), &a, &b), None);
        assert_eq!(ratio(&book, &COURSE.at(16), &a, &executor("interpreted")), None);
    }

    #[test]
    fn the_fastest_way_to_drop_races_against_every_way_to_restore() {
        let book = book(&[
            ("pooling_cow", &[(16, 300.0), (1024, 1000.0)]),
            ("instance_reuse", &[(16, 200.0), (1024, 3000.0)]),
            ("instance_reuse_tracked", &[(16, 100.0), (1024, 3000.0)]),
            ("instance_reuse_gated", &[(16, 100.0), (1024, 500.0)]),
            ("recreate_instance_resident", &[(16, 300.0), (1024, 1000.0)]),
        ]);
        let sentences: Vec<String> = races(&book).iter().map(Race::sentence).collect();
        let drop = "dropping (`some_pooling_cow`)";
        assert_eq!(
            sentences,
            [
                format!(
                    "from 512 KiB on (64 KiB to 4 MiB), {drop} is faster than restoring \
                     (`some_instance_reuse_tracked`)"
                ),
                format!(
                    "restoring (`some_instance_reuse_gated`) is faster than {drop} at every size \
                     where they differ"
                ),
                format!(
                    "no difference found between {drop} and restoring \
                     (`some_recreate_instance_resident`)"
                ),
            ]
        );
        assert_eq!(races(&Book::default()), []);
    }

    #[test]
    fn sizes_have_two_digits() {
        let texts = [1.0, 16.0, 128.4, 250.0, 256.0, 1331.2, 2560.0, 16_384.0].map(page_size);
        assert_eq!(
            texts,
            ["4 KiB", "64 KiB", "514 KiB", "1 MiB", "1 MiB", "5.2 MiB", "10 MiB", "64 MiB"]
        );
    }

    #[test]
    fn a_course_is_said_in_words() {
        assert_eq!(
            COURSE.to_string(),
            "one byte of each page, contiguous, the same pages in each call, 1 thread"
        );
        let other =
            Course { touch: Touch::Page, place: Place::Scattered, drift: Drift::All, threads: 2 };
        assert_eq!(
            other.to_string(),
            "whole pages, scattered, all other pages in each call, 2 threads"
        );
    }
}
