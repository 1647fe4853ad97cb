//! Executors at places of an experiment: ratios of the same rounds, and dropping written pages
//! against restoring them.

use super::crossing::{Change, Crossings, crossings};
use super::markdown::code;
use super::units::page_size;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::{MemoryFrom, Strategy};
use touchstone_record::compare::Verdict::Faster;
use touchstone_record::compare::{Judged, MARGIN, judge_rounds};
use touchstone_record::{Book, Estimate, Executor, Experiment, Place, PointBook, Points, Sample};

/// `true` if the written pages of a strategy's memory are dropped, rather than restored in place.
pub fn drops(strategy: Strategy) -> bool {
    matches!(strategy.memory, MemoryFrom::Segments | MemoryFrom::CopyOnWrite)
}

/// How many times slower one executor is than another at a place: from the rounds in which both
/// were timed in turns. `None` if there is no such round.
pub fn ratio(
    points: &PointBook,
    place: &Place,
    metric: &str,
    subject: &Executor,
    baseline: &Executor,
) -> Option<Judged> {
    let of = |executor: &Executor| points.get(&place.at(executor));
    in_rounds((of(subject)?, metric), (of(baseline)?, metric))
}

/// How many times slower a metric of some points is than one of others that was sampled in the
/// same rounds. `None` if there is no such round.
pub fn in_rounds(subject: (&Points, &str), baseline: (&Points, &str)) -> Option<Judged> {
    let rounds = subject.0.samples(subject.1).filter_map(|(process, own)| {
        let other = baseline.0.samples(baseline.1).find(|(other, _)| *other == process)?.1;
        let round = |(own, other): (&Sample, &Sample)| {
            ((own.per_call(), other.per_call()), own.clean && other.clean)
        };
        Some(own.0.iter().zip(&other.0).map(round).collect())
    });
    judge_rounds(rounds, MARGIN)
}

/// The executor with the shortest time at a place, among some.
pub fn fastest<'a>(
    points: &PointBook,
    place: &Place,
    metric: &str,
    among: impl IntoIterator<Item = &'a Executor>,
) -> Option<(&'a Executor, Estimate)> {
    let timed = among
        .into_iter()
        .filter_map(|executor| Some((executor, points.get(&place.at(executor))?.sampled(metric)?)));
    timed.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))
}

/// Numbers of pages, and the executors that were measured with any of them.
pub(crate) type Measured = (BTreeSet<u64>, BTreeSet<Executor>);

/// A way that drops written pages against one that restores them, where all but their number is
/// the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    /// The place without the executor and the number of pages.
    pub course: Place,
    /// The way that drops them: of those of the engine, the fastest with the most pages.
    pub dropping: Executor,
    /// The way that restores them.
    pub restoring: Executor,
    /// Dropping as the subject, restoring as the baseline.
    pub crossings: Crossings,
}

/// The metric of the calls that write pages.
pub const CALL: &str = "call";
/// The dimension of races.
const PAGES: &str = "pages";

/// The places without executor and number of pages, each with its executors and numbers.
pub fn courses(points: &PointBook) -> BTreeMap<Place, Measured> {
    let mut courses: BTreeMap<Place, Measured> = BTreeMap::new();
    for own in points.measured() {
        let (Some(executor), Some(pages)) = (own.place.executor(), own.place.number(PAGES)) else {
            continue;
        };
        let course = own.place.without_executor().without([PAGES]);
        let (all, executors) = courses.entry(course).or_default();
        all.insert(pages);
        executors.insert(executor);
    }
    courses
}

/// The sentences about all courses, a line each, of an experiment with such courses.
#[must_use]
pub fn summary(experiment: &Experiment, book: &Book) -> String {
    let races = book.points.get(&experiment.name).map(races).unwrap_or_default();
    let line =
        |race: &Race| format!("{}: {}\n", experiment.in_words(&race.course), race.sentence());
    races.iter().map(line).collect()
}

/// Every way that restores written pages against the fastest one that drops them, on each course
/// and engine.
pub fn races(points: &PointBook) -> Vec<Race> {
    let mut races = Vec::new();
    for (course, (_, executors)) in courses(points) {
        let at = |pages: u64| course.clone().with(PAGES, pages);
        let engines: BTreeSet<&str> = executors.iter().map(|own| own.engine.as_str()).collect();
        for engine in engines {
            let own = executors.iter().filter(|own| own.engine == engine);
            let (dropping, restoring): (Vec<&Executor>, Vec<&Executor>) =
                own.partition(|own| drops(own.strategy));
            let all = points.measured().filter(|points| {
                points.place.has(&course) && points.place.text("engine") == Some(engine)
            });
            let pages: BTreeSet<u64> = all.filter_map(|own| own.place.number(PAGES)).collect();
            let Some(most) = pages.last() else { continue };
            let Some((best, _)) = fastest(points, &at(*most), CALL, dropping) else { continue };
            for restoring in restoring {
                let ratios = pages.iter().filter_map(|pages| {
                    Some((*pages, ratio(points, &at(*pages), CALL, best, restoring)?.ratio))
                });
                let crossings = crossings(&ratios.collect::<Vec<_>>());
                let (dropping, restoring) = (best.clone(), restoring.clone());
                races.push(Race { course: course.clone(), dropping, restoring, crossings });
            }
        }
    }
    races
}

impl Race {
    /// A sentence without the course, with the names of both executors in code style in Markdown.
    pub fn sentence(&self) -> String {
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
        let from = |change: &Change| {
            let [low, high] = [change.between.0, change.between.1].map(|n| page_size(n as f64));
            let about = page_size(change.pages);
            format!("from {about} on ({low} to {high}), {}", claim(change.then))
        };
        crossings.changes.iter().map(from).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{Header, Line, Point, Samples};

    fn executor(strategy: &str) -> Executor {
        Executor { engine: "some".to_owned(), strategy: strategy.parse().unwrap() }
    }

    fn at(pages: u64) -> Place {
        Place::default().with("drift", "same").with("pages", pages)
    }

    /// Three processes with six rounds each; each round differs by a hundredth from the next.
    fn points(times: &[(&str, &[(u64, f64)])]) -> PointBook {
        let mut lines = Vec::new();
        for (strategy, times) in times {
            for (pages, ns) in *times {
                for process in 0..3 {
                    let sample = |round: i32| Sample::single(ns * (1.0 + f64::from(round) / 100.0));
                    let call = Samples((0..6).map(sample).collect());
                    let point = Point::new("resets", at(*pages).at(&executor(strategy)), process);
                    lines.push(Line::Point(Box::new(point.samples("call", call))));
                }
            }
        }
        Book::of(Header::default(), lines).points.remove("resets").unwrap_or_default()
    }

    #[test]
    fn ratios_come_from_the_same_rounds() {
        let points =
            points(&[("pooling_cow", &[(16, 300.0)]), ("instance_reuse_tracked", &[(16, 100.0)])]);
        let (a, b) = (executor("pooling_cow"), executor("instance_reuse_tracked"));
        let judged = ratio(&points, &at(16), "call", &a, &b).unwrap();
        // Round by round the ratio is the same, although the times are not.
        let (low, high) = judged.ratio.interval.unwrap();
        assert!((low - 3.0).abs() < 1e-9 && (high - 3.0).abs() < 1e-9, "{low} {high}");
        assert!(!judged.ratio.marked);
        assert_eq!(ratio(&points, &at(17), "call", &a, &b), None);
        assert_eq!(ratio(&points, &at(16), "call", &a, &executor("interpreted")), None);
    }

    #[test]
    fn the_fastest_way_to_drop_races_against_every_way_to_restore() {
        let points = points(&[
            ("pooling_cow", &[(16, 300.0), (1024, 1000.0)]),
            ("instance_reuse", &[(16, 200.0), (1024, 3000.0)]),
            ("instance_reuse_tracked", &[(16, 100.0), (1024, 3000.0)]),
            ("instance_reuse_gated", &[(16, 100.0), (1024, 500.0)]),
            ("recreate_instance_resident", &[(16, 300.0), (1024, 1000.0)]),
        ]);
        let sentences: Vec<String> = races(&points).iter().map(Race::sentence).collect();
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
        assert_eq!(races(&PointBook::default()), []);
    }
}
