//! The time of a clean call against the memory that it writes.

use super::super::Form;
use super::super::frame::{Frame, Value};
use super::super::lines::{Crossing, Lines, Series};
use super::super::theme::Fill;
use super::short;
use crate::record::{Book, PAGE, ResetKey, ResetPoint};
use crate::report::matrix::Matrix;
use crate::report::units;
use crate::tables::charts::{ResetLine, Resets};
use std::collections::BTreeSet;

/// Another line is the lowest only where it is lower by this factor: noise makes two lines
/// cross at every point.
const LOWER: f64 = 1.05;

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, chart: &Resets) -> Option<(String, Form)> {
    let book = matrix.records.resets.as_ref()?;
    let lines: Vec<Series> =
        chart.lines.iter().filter_map(|line| series(book, chart, line)).collect();
    let xs: BTreeSet<u64> =
        lines.iter().flat_map(|line| &line.points).map(|p| p.0 as u64).collect();
    let xs: Vec<u64> = xs.into_iter().collect();
    let lowest = lowest(&lines, &xs);
    let crossings: Vec<Crossing> = lowest
        .windows(2)
        .map(|pair| {
            let [(_, _, before), (from, to, after)] = [pair[0], pair[1]];
            let (x, y) = meeting(before, after, from, to);
            let label = format!("from {}: {}", size(x), after.label);
            Crossing { x, y, label }
        })
        .collect();
    let finding = finding(&lowest, &xs, &crossings)?;
    let marks = xs.iter().map(|bytes| (*bytes as f64, size(*bytes as f64))).collect();
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
fn series(book: &Book, chart: &Resets, line: &ResetLine) -> Option<Series> {
    let &Resets { touch, place, drift, .. } = chart;
    let wanted = |key: &&ResetKey| {
        let ResetPoint { pages, .. } = key.point;
        let point = ResetPoint { touch, place, drift, threads: 1, pages };
        key.executor == line.executor && key.point == point && pages > 0
    };
    let own = book.resets.keys().filter(wanted);
    let point =
        |key: &ResetKey| Some(((key.point.pages * PAGE) as f64, Value::from(book.reset(key)?)));
    let mut points: Vec<(f64, Value)> = own.filter_map(point).collect();
    points.retain(|point| point.1.median > 0.0);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (points.len() > 1).then(|| Series {
        label: line.executor.strategy.to_string(),
        fill: Fill::full(line.hue),
        points,
        dotted: true,
    })
}

/// A line's time at a size.
fn at(line: &Series, x: u64) -> Option<f64> {
    line.points.iter().find(|point| point.0 as u64 == x).map(|point| point.1.median)
}

/// The line that is the lowest at each stretch of sizes: the last size of the stretch before,
/// its first size, and the line.
fn lowest<'a>(lines: &'a [Series], xs: &[u64]) -> Vec<(u64, u64, &'a Series)> {
    let mut stretches: Vec<(u64, u64, &Series)> = Vec::new();
    let mut before = xs.first().copied().unwrap_or_default();
    for &x in xs {
        let timed = lines.iter().filter_map(|line| Some((line, at(line, x)?)));
        let Some((line, time)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let is_other = stretches.last().is_none_or(|(_, _, last)| {
            at(last, x).is_none_or(|current| last.label != line.label && time * LOWER < current)
        });
        if is_other {
            stretches.push((before, x, line));
        }
        before = x;
    }
    stretches
}

/// Where two lines meet between two sizes, straight between their points as drawn.
fn meeting(before: &Series, after: &Series, from: u64, to: u64) -> (f64, f64) {
    let (left, right) = (from as f64, to as f64);
    let ends = || {
        let above = (at(after, from)? / at(before, from)?).ln();
        let below = (at(after, to)? / at(before, to)?).ln();
        let share = if above > below { (above / (above - below)).clamp(0.0, 1.0) } else { 1.0 };
        let y = at(after, from)? * (at(after, to)? / at(after, from)?).powf(share);
        Some((left * (right / left).powf(share), y))
    };
    ends().unwrap_or((right, at(after, to).unwrap_or(1.0)))
}

/// A size in two or three digits: `4 KiB`, `3.1 MiB`, `256 KiB`.
fn size(bytes: f64) -> String {
    let (value, unit) = match bytes / 1024.0 {
        kib if kib >= 1024.0 => (kib / 1024.0, "MiB"),
        kib => (kib, "KiB"),
    };
    format!("{} {unit}", short(value).trim_end_matches(".0"))
}

/// Which line is the lowest where, with its time at both ends.
fn finding(lowest: &[(u64, u64, &Series)], xs: &[u64], crossings: &[Crossing]) -> Option<String> {
    let (first, last) = (xs.first()?, xs.last()?);
    let (start, end) = (lowest.first()?.2, lowest.last()?.2);
    let time = |line: &Series, x| at(line, x).map(units::time_short);
    let mut text = format!(
        "A clean call that writes {} is fastest with `{}` ({}).",
        size(*first as f64),
        start.label,
        time(start, *first)?
    );
    for (crossing, stretch) in crossings.iter().zip(&lowest[1..]) {
        text += &format!(" From about {} on, `{}` is.", size(crossing.x), stretch.2.label);
    }
    let end_time = time(end, *last)?;
    Some(format!("{text} At {} it takes {end_time}.", size(*last as f64)))
}
