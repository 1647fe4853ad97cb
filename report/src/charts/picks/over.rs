//! Lines of executors over a dimension of an experiment, such as the memory that a call writes.

use super::super::lines::{Crossing, DASHES, LINES, Lines, Series};
use super::{Fill, Form, Frame, Pick};
use crate::crossing::crossings;
use crate::markdown::code;
use crate::races::{drops, fastest, ratio};
use crate::units::{self, page_size};
use std::collections::BTreeSet;
use touchstone_record::compare::Verdict;
use touchstone_record::{
    Dimension, Estimate, Executor, Experiment, PAGE, Place, PointBook, PointChart,
};

/// The points that the lines show.
struct Course<'a> {
    points: &'a PointBook,
    chart: &'a PointChart,
    metric: &'a str,
    axis: &'a Dimension,
    /// The executors with a line.
    executors: Vec<&'a Executor>,
    /// The values of the axis at which any of them was measured.
    xs: BTreeSet<u64>,
}

/// Values of the axis from which on an executor has the shortest time.
struct Stretch<'a> {
    executor: &'a Executor,
    /// The first value that was measured there.
    from: u64,
}

/// The sentences and the chart; `None` where there are no records of it.
pub(super) fn pick(
    experiment: &Experiment,
    chart: &PointChart,
    points: &PointBook,
    axis: &str,
) -> Pick {
    let (axis, metric) = (experiment.dimension(axis)?, chart.value.as_deref()?);
    let executors: Vec<Executor> =
        chart.lines.iter().filter_map(|name| name.parse().ok()).collect();
    let (executors_of, xs) = (Vec::new(), BTreeSet::new());
    let mut course = Course { points, chart, metric, axis, executors: executors_of, xs };
    let mut series: Vec<Series> = Vec::new();
    for executor in &executors {
        let seen = course.executors.len();
        let fill = Fill::full(LINES[seen % LINES.len()]);
        if let Some(own) = course.series(executor, fill, DASHES[seen % DASHES.len()]) {
            series.push(own);
            let values: Vec<u64> = course.values(executor).collect();
            course.xs.extend(values);
            course.executors.push(executor);
        }
    }
    let stretches = course.stretches();
    let crossing = |pair: &[Stretch<'_>]| {
        let [before, after] = pair else { return None };
        let at = course.meeting(before, after);
        let x = course.scaled(at);
        let place = course.executors.iter().position(|of| *of == after.executor)?;
        let label = format!("from {}: {}", course.label(at), after.executor.strategy);
        Some((at, Crossing { x, y: series[place].at(x)?, label }))
    };
    let (ats, crossings): (Vec<f64>, Vec<Crossing>) =
        stretches.windows(2).filter_map(crossing).unzip();
    let finding = course.finding(&stretches, &ats)?;
    let mark = |x: &u64| (course.scaled(*x as f64), course.label(*x as f64));
    let lines = Lines {
        frame: Frame {
            title: chart.title.clone(),
            axis: chart.axis.clone(),
            note: chart.note.clone(),
            ..Frame::default()
        },
        vertical: chart.vertical.clone(),
        marks: course.xs.iter().map(mark).collect(),
        series,
        crossings,
    };
    Some((finding, Form::Lines(lines)))
}

impl<'a> Course<'a> {
    fn at(&self, value: u64) -> Place {
        self.chart.place.clone().with(&self.axis.name, value)
    }

    /// A value as the axis has it.
    fn scaled(&self, value: f64) -> f64 {
        if self.axis.pages { value * PAGE as f64 } else { value }
    }

    fn label(&self, value: f64) -> String {
        if self.axis.pages { page_size(value) } else { units::grouped(value.round() as u64) }
    }

    fn values(&self, executor: &Executor) -> impl Iterator<Item = u64> {
        let wanted = self.chart.place.at(executor);
        let own = self.points.measured().filter(move |points| points.place.has(&wanted));
        own.filter_map(|points| points.place.number(&self.axis.name))
    }

    fn time(&self, executor: &Executor, value: u64) -> Option<Estimate> {
        self.points.get(&self.at(value).at(executor))?.sampled(self.metric)
    }

    /// The line of an executor; `None` with fewer than two points.
    fn series(&self, executor: &Executor, fill: Fill, dashes: &'static [f64]) -> Option<Series> {
        let values: BTreeSet<u64> = self.values(executor).filter(|value| *value > 0).collect();
        let point = |value: &u64| Some((self.scaled(*value as f64), self.time(executor, *value)?));
        let mut points: Vec<(f64, Estimate)> = values.iter().filter_map(point).collect();
        points.retain(|point| point.1.median > 0.0);
        let label = executor.strategy.to_string();
        (points.len() > 1).then_some(Series { label, fill, dashes, points, dotted: true })
    }

    /// Which executor has the shortest time where. Another one begins a stretch only where it is
    /// faster for certain, by the rounds that both were timed in.
    fn stretches(&self) -> Vec<Stretch<'a>> {
        let mut stretches: Vec<Stretch<'a>> = Vec::new();
        for &from in &self.xs {
            let place = self.at(from);
            let all = self.executors.iter().copied();
            let Some((executor, _)) = fastest(self.points, &place, self.metric, all) else {
                continue;
            };
            let is_faster = |last: &Stretch<'_>| {
                let judged = || self.verdict(from, executor, last.executor);
                last.executor != executor && judged().is_none_or(|own| own == Verdict::Faster)
            };
            if stretches.last().is_none_or(is_faster) {
                stretches.push(Stretch { executor, from });
            }
        }
        stretches
    }

    /// An executor against another one at a value; `None` without rounds of both.
    fn verdict(&self, value: u64, of: &Executor, than: &Executor) -> Option<Verdict> {
        Some(ratio(self.points, &self.at(value), self.metric, of, than)?.verdict)
    }

    /// From which value on the executor of the later stretch is faster.
    fn meeting(&self, before: &Stretch<'_>, after: &Stretch<'_>) -> f64 {
        let ratio = |value: &u64| {
            let (place, metric) = (self.at(*value), self.metric);
            let judged = ratio(self.points, &place, metric, after.executor, before.executor)?;
            Some((*value, judged.ratio))
        };
        let ratios: Vec<(u64, Estimate)> = self.xs.iter().filter_map(ratio).collect();
        let changes = crossings(&ratios).changes;
        let own = changes.iter().find(|change| change.between.1 == after.from);
        own.map_or(after.from as f64, |change| change.pages)
    }

    /// Which executor is the fastest where, with its time at both ends.
    fn finding(&self, stretches: &[Stretch<'_>], crossings: &[f64]) -> Option<String> {
        let (first, last) = (*self.xs.first()?, *self.xs.last()?);
        let (start, end) = (stretches.first()?, stretches.last()?);
        let time = |of: &Stretch<'_>, value| {
            self.time(of.executor, value).map(|call| units::time_short(call.median))
        };
        let mut text = format!(
            "{} {} is fastest with {} ({}).",
            self.chart.subject,
            self.label(first as f64),
            code(start.executor.strategy),
            time(start, first)?
        );
        for (at, stretch) in crossings.iter().zip(&stretches[1..]) {
            let strategy = code(stretch.executor.strategy);
            text += &format!(" From about {} on, {strategy} is.", self.label(*at));
        }
        text += &format!(" At {} it takes {}.", self.label(last as f64), time(end, last)?);
        if crossings.is_empty() && self.dropping_never_wins(start.executor) {
            text += &format!(" {}", self.chart.never);
        }
        Some(text)
    }

    /// `true` if an executor restores pages, and none of those that drop them is faster at any of
    /// the values, nor can be.
    fn dropping_never_wins(&self, than: &Executor) -> bool {
        let mut dropping = self.executors.iter().filter(|own| drops(own.strategy)).peekable();
        let loses = |value: &u64, own: &Executor| {
            self.verdict(*value, own, than).is_some_and(|verdict| verdict != Verdict::Faster)
        };
        !drops(than.strategy)
            && dropping.peek().is_some()
            && dropping.all(|own| self.xs.iter().all(|value| loses(value, own)))
    }
}
