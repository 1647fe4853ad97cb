//! Executors at places of an experiment: ratios of the same rounds, and dropping written pages
//! against restoring them.

use super::markdown::code;
use super::units::page_size;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::{MemoryFrom, Strategy};
use touchstone_record::compare::Verdict::{self, Faster};
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

/// From some number of pages on, the other side is faster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Where the median ratio is one, in pages: interpolated on logarithmic axes between the last
    /// two neighbouring numbers with medians on different sides.
    pub pages: f64,
    /// The numbers with a difference between which it lies.
    pub between: (u64, u64),
    /// The verdict from there on: faster or slower.
    pub then: Verdict,
}

/// How the ratio of two ways changes with the number of pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossings {
    /// The verdict at the smallest number of pages with a difference; `None` without any.
    pub first: Option<Verdict>,
    /// Where that changes, in ascending order.
    pub changes: Vec<Change>,
}

/// Finds the crossings of a subject and a baseline from their ratio at some numbers of pages.
///
/// A number of pages counts where the interval of the ratio lies beyond the margin, on one side.
/// Between two such numbers with different results lies a crossing. What was measured between
/// them shows no difference; its medians only say where the ratio is about one. Ratios without a
/// logarithm are left out.
pub fn crossings(ratios: &[(u64, Estimate)]) -> Crossings {
    let has_logarithm =
        |(pages, own): &(u64, Estimate)| *pages > 0 && own.median > 0.0 && own.median.is_finite();
    let mut ratios: Vec<(u64, Estimate)> = ratios.iter().copied().filter(has_logarithm).collect();
    ratios.sort_by_key(|(pages, _)| *pages);
    let decided: Vec<(usize, Verdict)> = ratios
        .iter()
        .map(|(_, ratio)| Verdict::of(ratio.interval, MARGIN))
        .enumerate()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Faster | Verdict::Slower))
        .collect();
    let change = |pair: &[(usize, Verdict)]| {
        let [(low, verdict), (high, then)] = *pair else { return None };
        (verdict != then).then(|| Change {
            pages: where_one(&ratios[low..=high], then),
            between: (ratios[low].0, ratios[high].0),
            then,
        })
    };
    Crossings {
        first: decided.first().map(|(_, verdict)| *verdict),
        changes: decided.windows(2).filter_map(change).collect(),
    }
}

/// From where on all medians are on the side of the last one: where a line through two neighbours
/// crosses the ratio one, on logarithmic axes.
fn where_one(ratios: &[(u64, Estimate)], then: Verdict) -> f64 {
    let points = ratios.iter().map(|(pages, ratio)| ((*pages as f64).ln(), ratio.median.ln()));
    let points: Vec<(f64, f64)> = points.collect();
    let is_then = |ratio: f64| if then == Verdict::Faster { ratio < 0.0 } else { ratio > 0.0 };
    let last = points.windows(2).rfind(|pair| !is_then(pair[0].1));
    let [(low, before), (high, after)] = *last.unwrap_or(&points) else { return f64::NAN };
    let share = before / (before - after);
    (low + share * (high - low)).exp()
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

    /// Ratios with an interval of so many parts of a hundred on each side.
    fn ratios(all: &[(u64, f64)], spread: f64) -> Vec<(u64, Estimate)> {
        let estimate = |median: f64| Estimate {
            interval: Some((median * (1.0 - spread), median * (1.0 + spread))),
            ..Estimate::exact(median)
        };
        all.iter().map(|(pages, ratio)| (*pages, estimate(*ratio))).collect()
    }

    #[test]
    fn a_crossing_is_interpolated_on_logarithmic_axes() {
        // Twice as slow at 64 pages and half as fast at 1024: one in the middle of both.
        let found = crossings(&ratios(&[(1, 8.0), (64, 2.0), (1024, 0.5)], 0.05));
        assert_eq!((found.first, found.changes.len()), (Some(Verdict::Slower), 1));
        let change = found.changes[0];
        assert!((change.pages - 256.0).abs() < 1e-9, "{}", change.pages);
        assert_eq!((change.between, change.then), ((64, 1024), Verdict::Faster));
        // Nearer to the point whose ratio is nearer to one.
        let found = crossings(&ratios(&[(100, 1.1), (1000, 0.25)], 0.01));
        assert!(found.changes[0].pages < 120.0, "{}", found.changes[0].pages);
    }

    #[test]
    fn where_intervals_overlap_there_is_no_crossing() {
        let found = crossings(&ratios(&[(1, 2.0), (64, 1.5), (1024, 0.9)], 0.2));
        assert_eq!((found.first, found.changes), (Some(Verdict::Slower), vec![]));
        let none = crossings(&ratios(&[(1, 1.1), (64, 1.0), (1024, 0.9)], 0.2));
        assert_eq!((none.first, none.changes), (None, vec![]));
        // Within the margin there is no difference, however sure it is.
        let none = crossings(&ratios(&[(1, 1.01), (64, 0.99)], 0.001));
        assert_eq!((none.first, none.changes), (None, vec![]));
        let without = Estimate { marked: true, ..Estimate::exact(3.0) };
        assert_eq!(crossings(&[(1, without)]).first, None);
        assert_eq!(crossings(&[]).first, None);
        for other in [0.0, f64::INFINITY, f64::NAN] {
            let all = ratios(&[(0, 2.0), (1, other), (4, 2.0), (16, other), (64, 0.5)], 0.05);
            let found = crossings(&all);
            assert_eq!(found.changes.len(), 1, "{other}");
            assert!((found.changes[0].pages - 16.0).abs() < 1e-9, "{:?}", found.changes);
        }
    }

    #[test]
    fn where_the_interval_decides_nothing_the_medians_say_where_it_crosses() {
        let mut all = ratios(&[(16, 4.0), (64, 1.05), (256, 0.25)], 0.1);
        all.reverse();
        let found = crossings(&all);
        assert_eq!(found.changes[0].between, (16, 256));
        // Just beyond 64, although a line from the first to the last crosses there, too.
        let pages = found.changes[0].pages;
        assert!((64.0..70.0).contains(&pages), "{pages}");
    }

    #[test]
    fn a_crossing_lies_where_the_medians_cross_and_not_between_distant_sizes() {
        // Much faster at first and a bit slower at the end: a line from one end to the other would
        // cross near the end, the medians do between 256 and 1024 pages.
        let mut all = ratios(&[(16, 0.1)], 0.01);
        all.extend(ratios(&[(256, 0.97), (1024, 1.03), (4096, 1.03)], 0.1));
        all.extend(ratios(&[(16_384, 1.05)], 0.01));
        let found = crossings(&all);
        assert_eq!(found.changes[0].between, (16, 16_384));
        let pages = found.changes[0].pages;
        assert!((500.0..530.0).contains(&pages), "{pages}");
        // Where they cross more than once, the last time counts.
        let mut all = ratios(&[(16, 0.1)], 0.01);
        all.extend(ratios(&[(64, 1.03), (256, 0.97), (1024, 1.03)], 0.1));
        all.extend(ratios(&[(4096, 1.05)], 0.01));
        let pages = crossings(&all).changes[0].pages;
        assert!((500.0..530.0).contains(&pages), "{pages}");
    }

    #[test]
    fn a_ratio_may_cross_one_more_than_once() {
        let found = crossings(&ratios(&[(1, 0.5), (4, 2.0), (16, 0.5), (64, 0.4)], 0.05));
        let then: Vec<Verdict> = found.changes.iter().map(|change| change.then).collect();
        assert_eq!(
            (found.first, then),
            (Some(Verdict::Faster), vec![Verdict::Slower, Verdict::Faster])
        );
        let between: Vec<(u64, u64)> = found.changes.iter().map(|change| change.between).collect();
        assert_eq!(between, [(1, 4), (4, 16)]);
    }
}
