//! The time of a clean call against the memory that it writes.

use super::super::Form;
use super::super::frame::{Frame, Value};
use super::super::lines::{Crossing, DASHES, Lines, Series};
use super::super::theme::Fill;
use crate::matrix::Matrix;
use crate::tables::charts::{Charts, Hue, Resets};
use crate::units;
use std::collections::BTreeSet;
use touchstone_record::compare::{Course, Verdict, crossings, drops, fastest, page_size, ratio};
use touchstone_record::escape::code;
use touchstone_record::{Book, Drift, Estimate, Executor, PAGE, ResetKey};

/// Sizes from which on an executor has the shortest time.
struct Stretch<'a> {
    executor: &'a Executor,
    /// The first size that was measured there, pages.
    from: u64,
}

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Resets) -> Option<(String, Form)> {
    let book = matrix.records.resets.as_ref()?;
    let course = Course { touch: chart.touch, place: chart.place, drift: chart.drift, threads: 1 };
    let mut lines: Vec<(&Executor, Series)> = Vec::new();
    for executor in &chart.lines {
        let seen = lines.iter().filter(|(other, _)| other.engine == executor.engine).count();
        let fill = Fill::full(charts.hue(&executor.engine));
        // Lines of one engine have its colour and differ in their dashes.
        let own = series(book, course, executor);
        let own = own.map(|own| Series { fill, dashes: DASHES[seen % DASHES.len()], ..own });
        lines.extend(own.map(|own| (executor, own)));
    }
    let pages =
        |series: &Series| series.points.iter().map(|p| p.0 as u64 / PAGE).collect::<Vec<_>>();
    let xs: BTreeSet<u64> = lines.iter().flat_map(|(_, series)| pages(series)).collect();
    let stretches = stretches(book, course, &lines, &xs);
    let crossings: Vec<Crossing> = stretches
        .windows(2)
        .filter_map(|pair| {
            let [before, after] = pair else { return None };
            let at = meeting(book, course, before, after, &xs);
            let y = lines.iter().find(|(of, _)| *of == after.executor)?.1.at(at * PAGE as f64)?;
            let label = format!("from {}: {}", page_size(at), after.executor.strategy);
            Some(Crossing { x: at * PAGE as f64, y, label })
        })
        .collect();
    let executors: Vec<&Executor> = lines.iter().map(|(executor, _)| *executor).collect();
    let finding = finding(book, course, (&stretches, &crossings), &executors, &xs)?;
    let lines: Vec<Series> = lines.into_iter().map(|(_, series)| series).collect();
    let marks = xs.iter().map(|pages| ((pages * PAGE) as f64, page_size(*pages as f64))).collect();
    let form = Form::Lines(Lines {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Memory that each call writes; logarithmic axis".to_owned(),
            legend: Vec::new(),
            note: String::new(),
        },
        vertical: "Time of one call on a clean instance, median, 1 thread; logarithmic axis"
            .to_owned(),
        marks,
        series: lines,
        crossings,
    });
    Some((finding, form))
}

/// The line of an executor; `None` with fewer than two points.
fn series(book: &Book, course: Course, executor: &Executor) -> Option<Series> {
    let own = book.resets.keys().filter(|key| {
        key.executor == *executor && Course::of(&key.point) == course && key.point.pages > 0
    });
    let point =
        |key: &ResetKey| Some(((key.point.pages * PAGE) as f64, Value::from(book.reset(key)?)));
    let mut points: Vec<(f64, Value)> = own.filter_map(point).collect();
    points.retain(|point| point.1.median > 0.0);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (points.len() > 1).then(|| Series {
        label: executor.strategy.to_string(),
        fill: Fill::full(Hue::default()),
        dashes: DASHES[0],
        points,
        dotted: true,
    })
}

/// Which executor has the shortest time where. Another one begins a stretch only where it is
/// faster for certain, by the rounds that both were timed in.
fn stretches<'a>(
    book: &Book,
    course: Course,
    lines: &[(&'a Executor, Series)],
    xs: &BTreeSet<u64>,
) -> Vec<Stretch<'a>> {
    let mut stretches: Vec<Stretch<'a>> = Vec::new();
    for &pages in xs {
        let point = course.at(pages);
        let Some((executor, _)) = fastest(book, &point, lines.iter().map(|(of, _)| *of)) else {
            continue;
        };
        let is_faster = |last: &Stretch<'_>| {
            last.executor != executor
                && ratio(book, &point, executor, last.executor)
                    .is_none_or(|judged| judged.verdict == Verdict::Faster)
        };
        if stretches.last().is_none_or(is_faster) {
            stretches.push(Stretch { executor, from: pages });
        }
    }
    stretches
}

/// From how many pages on the executor of the later stretch is faster.
fn meeting(
    book: &Book,
    course: Course,
    before: &Stretch<'_>,
    after: &Stretch<'_>,
    xs: &BTreeSet<u64>,
) -> f64 {
    let ratio = |pages: &u64| {
        let judged = ratio(book, &course.at(*pages), after.executor, before.executor)?;
        Some((*pages, judged.ratio))
    };
    let ratios: Vec<(u64, Estimate)> = xs.iter().filter_map(ratio).collect();
    let changes = crossings(&ratios).changes;
    let own = changes.iter().find(|change| change.between.1 == after.from);
    own.map_or(after.from as f64, |change| change.pages)
}

/// Which executor is the fastest where, with its time at both ends.
fn finding(
    book: &Book,
    course: Course,
    (stretches, crossings): (&[Stretch<'_>], &[Crossing]),
    executors: &[&Executor],
    xs: &BTreeSet<u64>,
) -> Option<String> {
    let (first, last) = (*xs.first()?, *xs.last()?);
    let (start, end) = (stretches.first()?, stretches.last()?);
    let time = |of: &Stretch<'_>, pages| {
        let key = ResetKey { point: course.at(pages), executor: of.executor.clone() };
        book.reset(&key).map(|call| units::time_short(call.median))
    };
    let mut text = format!(
        "A clean call that writes {} is fastest with {} ({}).",
        page_size(first as f64),
        code(start.executor.strategy),
        time(start, first)?
    );
    for (crossing, stretch) in crossings.iter().zip(&stretches[1..]) {
        let size = page_size(crossing.x / PAGE as f64);
        text += &format!(" From about {size} on, {} is.", code(stretch.executor.strategy));
    }
    let end_time = time(end, last)?;
    text += &format!(" At {} it takes {end_time}.", page_size(last as f64));
    if crossings.is_empty() && dropping_never_wins(book, course, start.executor, executors, xs) {
        let pages = match course.drift {
            Drift::Same => "the same pages",
            Drift::Tenth => "a tenth other pages",
            Drift::All => "all other pages",
        };
        text += &format!(
            " Where each call writes {pages}, no strategy that drops pages is faster at any size."
        );
    }
    Some(text)
}

/// Whether an executor restores pages, and none of those that drop them is faster at any of the
/// sizes, nor can be.
fn dropping_never_wins(
    book: &Book,
    course: Course,
    than: &Executor,
    executors: &[&Executor],
    xs: &BTreeSet<u64>,
) -> bool {
    let mut dropping = executors.iter().filter(|executor| drops(executor.strategy)).peekable();
    let loses = |executor: &Executor| {
        xs.iter().all(|pages| {
            ratio(book, &course.at(*pages), executor, than)
                .is_some_and(|judged| judged.verdict != Verdict::Faster)
        })
    };
    !drops(than.strategy) && dropping.peek().is_some() && dropping.all(|executor| loses(executor))
}
