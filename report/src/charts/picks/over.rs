//! Lines of executors over a dimension of an experiment, such as the memory that a call writes.

use super::super::Form;
use super::super::frame::{Frame, Value};
use super::super::lines::{Crossing, DASHES, Lines, Series};
use super::super::theme::Fill;
use crate::tables::charts::Charts;
use crate::units;
use std::collections::BTreeSet;
use touchstone_record::compare::{Verdict, crossings, drops, fastest, page_size, ratio};
use touchstone_record::escape::code;
use touchstone_record::{
    Dimension, Estimate, Executor, Experiment, PAGE, Place, PointBook, PointChart,
};

/// The points that the lines show.
struct Course<'a> {
    points: &'a PointBook,
    chart: &'a PointChart,
    metric: &'a str,
    axis: &'a Dimension,
}

/// Values of the axis from which on an executor has the shortest time.
struct Stretch<'a> {
    executor: &'a Executor,
    /// The first value that was measured there.
    from: u64,
}

/// The sentences and the chart; `None` where there are no records of it.
pub(super) fn pick(
    charts: &Charts,
    experiment: &Experiment,
    chart: &PointChart,
    points: &PointBook,
    axis: &str,
) -> Option<(String, Form)> {
    let (axis, metric) = (experiment.dimension(axis)?, chart.value.as_deref()?);
    let course = Course { points, chart, metric, axis };
    let executors: Vec<Executor> =
        chart.lines.iter().filter_map(|name| name.parse().ok()).collect();
    let mut lines: Vec<(&Executor, Series)> = Vec::new();
    for executor in &executors {
        let seen = lines.iter().filter(|(other, _)| other.engine == executor.engine).count();
        let fill = Fill::full(charts.hue(&executor.engine));
        // Lines of one engine have its colour and differ in their dashes.
        let own = course.series(executor, fill, DASHES[seen % DASHES.len()]);
        lines.extend(own.map(|own| (executor, own)));
    }
    let xs = lines.iter().flat_map(|(executor, _)| course.values(executor));
    let xs: BTreeSet<u64> = xs.collect();
    let executors: Vec<&Executor> = lines.iter().map(|(executor, _)| *executor).collect();
    let stretches = course.stretches(&executors, &xs);
    let crossing = |pair: &[Stretch<'_>]| {
        let [before, after] = pair else { return None };
        let at = course.meeting(before, after, &xs);
        let x = course.scaled(at);
        let y = lines.iter().find(|(of, _)| *of == after.executor)?.1.at(x)?;
        let label = format!("from {}: {}", course.label(at), after.executor.strategy);
        Some((at, Crossing { x, y, label }))
    };
    let (ats, crossings): (Vec<f64>, Vec<Crossing>) =
        stretches.windows(2).filter_map(crossing).unzip();
    let finding = course.finding(&stretches, &ats, &executors, &xs)?;
    let marks = xs.iter().map(|x| (course.scaled(*x as f64), course.label(*x as f64))).collect();
    let form = Form::Lines(Lines {
        frame: Frame {
            title: chart.title.clone(),
            axis: chart.axis.clone(),
            legend: Vec::new(),
            note: chart.note.clone(),
        },
        vertical: chart.vertical.clone(),
        marks,
        series: lines.into_iter().map(|(_, series)| series).collect(),
        crossings,
    });
    Some((finding, form))
}

impl Course<'_> {
    /// The place of a value of the axis.
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

    /// The values of the axis at which an executor was measured.
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
        let point = |value: &u64| {
            Some((self.scaled(*value as f64), Value::from(self.time(executor, *value)?)))
        };
        let mut points: Vec<(f64, Value)> = values.iter().filter_map(point).collect();
        points.retain(|point| point.1.median > 0.0);
        let label = executor.strategy.to_string();
        (points.len() > 1).then_some(Series { label, fill, dashes, points, dotted: true })
    }

    /// Which executor has the shortest time where. Another one begins a stretch only where it is
    /// faster for certain, by the rounds that both were timed in.
    fn stretches<'b>(&self, executors: &[&'b Executor], xs: &BTreeSet<u64>) -> Vec<Stretch<'b>> {
        let mut stretches: Vec<Stretch<'b>> = Vec::new();
        for &from in xs {
            let place = self.at(from);
            let all = executors.iter().copied();
            let Some((executor, _)) = fastest(self.points, &place, self.metric, all) else {
                continue;
            };
            let is_faster = |last: &Stretch<'_>| {
                last.executor != executor
                    && ratio(self.points, &place, self.metric, executor, last.executor)
                        .is_none_or(|judged| judged.verdict == Verdict::Faster)
            };
            if stretches.last().is_none_or(is_faster) {
                stretches.push(Stretch { executor, from });
            }
        }
        stretches
    }

    /// From which value on the executor of the later stretch is faster.
    fn meeting(&self, before: &Stretch<'_>, after: &Stretch<'_>, xs: &BTreeSet<u64>) -> f64 {
        let ratio = |value: &u64| {
            let (place, metric) = (self.at(*value), self.metric);
            let judged = ratio(self.points, &place, metric, after.executor, before.executor)?;
            Some((*value, judged.ratio))
        };
        let ratios: Vec<(u64, Estimate)> = xs.iter().filter_map(ratio).collect();
        let changes = crossings(&ratios).changes;
        let own = changes.iter().find(|change| change.between.1 == after.from);
        own.map_or(after.from as f64, |change| change.pages)
    }

    /// Which executor is the fastest where, with its time at both ends.
    fn finding(
        &self,
        stretches: &[Stretch<'_>],
        crossings: &[f64],
        executors: &[&Executor],
        xs: &BTreeSet<u64>,
    ) -> Option<String> {
        let (first, last) = (*xs.first()?, *xs.last()?);
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
        if crossings.is_empty() && self.dropping_never_wins(start.executor, executors, xs) {
            text += &format!(" {}", self.chart.never);
        }
        Some(text)
    }

    /// `true` if an executor restores pages, and none of those that drop them is faster at any of
    /// the values, nor can be.
    fn dropping_never_wins(
        &self,
        than: &Executor,
        executors: &[&Executor],
        xs: &BTreeSet<u64>,
    ) -> bool {
        let mut dropping = executors.iter().filter(|executor| drops(executor.strategy)).peekable();
        let loses = |executor: &Executor| {
            xs.iter().all(|value| {
                ratio(self.points, &self.at(*value), self.metric, executor, than)
                    .is_some_and(|judged| judged.verdict != Verdict::Faster)
            })
        };
        let has_some = dropping.peek().is_some();
        !drops(than.strategy) && has_some && dropping.all(|executor| loses(executor))
    }
}
