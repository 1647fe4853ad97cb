//! The chart of an experiment, as its declaration has it.

use super::super::bars::{Bar, Bars, Group, Row};
use super::super::frame::Spread;
use super::super::lines::{Crossing, DASHES, LINES, Lines, Series};
use super::{Fill, Frame, Matrix, Pick};
use crate::experiment::{self, filled, rows, sort};
use crate::markdown::code;
use crate::races::{crossings, drops, fastest, ratio};
use crate::tables::charts::{Charts, Hue};
use crate::units::{self, page_size};
use std::collections::BTreeSet;
use touchstone_record::compare::Verdict;
use touchstone_record::{
    Dimension, Estimate, Executor, Experiment, PAGE, Place, PointBook, PointChart, PointGroup,
    PointRow, SentencePart, SentenceRow,
};

type Points<'a> = experiment::Row<'a>;

/// The sentences and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, experiment: &Experiment) -> Pick {
    let chart = experiment.chart.as_ref()?;
    let points = matrix.records.points(experiment)?;
    if let Some(axis) = &chart.over {
        return over(experiment, chart, points, axis);
    }
    let wanted = points.measured().filter(|points| points.place.has(&chart.place));
    let mut all = rows(experiment, wanted, chart.largest.as_deref(), &chart.beside);
    sort(&mut all, chart.by.as_deref());
    let one = [PointGroup::default()];
    let groups = if chart.groups.is_empty() { &one[..] } else { &chart.groups };
    let mut shown: Vec<&Points<'_>> = Vec::new();
    let groups: Vec<Group> = groups
        .iter()
        .map(|group| {
            let own = of_group(chart, group, &all);
            shown.extend(own.iter().map(|(_, _, points)| points));
            let published = group.published.iter().map(|(label, ns)| {
                let fill = Fill::half(group.engine.as_ref().map_or(Hue::Grey, |of| charts.hue(of)));
                let panels = vec![vec![(fill, Some(Estimate::exact(*ns)))]];
                Row { label: label.clone(), panels }
            });
            let row = |(label, half, points): &(String, bool, &Points<'_>)| {
                let engine = points.executor().map(|own| own.engine);
                let hue = engine.map_or(Hue::Grey, |engine| charts.hue(&engine));
                Row { label: label.clone(), panels: panels(chart, points, hue, *half) }
            };
            let rows = published.chain(own.iter().map(row)).collect();
            Group { heading: group.heading.clone(), rows }
        })
        .filter(|group| !group.rows.is_empty())
        .collect();
    let sentences = sentences(chart, &all, &shown);
    let fills = [Fill::full(Hue::Grey), Fill::half(Hue::Grey)];
    let legend = chart.bars.iter().zip(fills).map(|(bar, fill)| (fill, bar.heading.clone()));
    let headings = chart.panels.iter().map(|panel| panel.heading.clone());
    let bars = Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: chart.axis.clone(),
            legend: legend.collect(),
            note: chart.note.clone(),
        },
        spread: Spread::Logarithmic,
        panels: if chart.panels.is_empty() { vec![String::new()] } else { headings.collect() },
        groups,
    };
    (!shown.is_empty()).then_some((sentences, Box::new(bars)))
}

/// The rows of a group: label, half of the colour's strength, points.
fn of_group<'a, 'b>(
    chart: &PointChart,
    group: &PointGroup,
    all: &'b [Points<'a>],
) -> Vec<(String, bool, &'b Points<'a>)> {
    if !group.published.is_empty() {
        return Vec::new();
    }
    let own = || all.iter().filter(|points| points.place.has(&group.place));
    if let Some(label) = &group.label {
        return own().filter_map(|points| Some((points.words(label)?, false, points))).collect();
    }
    let is_of = |row: &PointRow, points: &Points<'_>| {
        points.executor().as_ref() == Some(&row.executor) && points.place.has(&row.place)
    };
    let named = |row: &PointRow, points: &'b Points<'a>| (row.label.clone(), row.half, points);
    if chart.by.is_some() {
        let row = |points: &'b Points<'a>| {
            chart.rows.iter().find(|row| is_of(row, points)).map(|row| named(row, points))
        };
        return own().filter_map(row).collect();
    }
    let points = |row: &PointRow| own().find(|own| is_of(row, own)).map(|own| named(row, own));
    chart.rows.iter().filter_map(points).collect()
}

fn panels(chart: &PointChart, points: &Points<'_>, hue: Hue, half: bool) -> Vec<Vec<Bar>> {
    let value = |of: &str| points.value(of);
    let fill = if half { Fill::half(hue) } else { Fill::full(hue) };
    if chart.bars.is_empty() {
        return chart.panels.iter().map(|panel| vec![(fill, value(&panel.value))]).collect();
    }
    let fills = [Fill::full(hue), Fill::half(hue)];
    vec![chart.bars.iter().zip(fills).map(|(bar, fill)| (fill, value(&bar.value))).collect()]
}

/// The sentences whose values were measured.
fn sentences(chart: &PointChart, all: &[Points<'_>], shown: &[&Points<'_>]) -> String {
    let half = |points: &&Points<'_>| {
        chart.half.as_ref().and_then(|half| points.value(half)).map_or(0.0, |own| own.median)
    };
    let by_half = |a: &&Points<'_>, b: &&Points<'_>| half(a).total_cmp(&half(b));
    let (few, many): (Vec<_>, Vec<_>) = all.iter().partition(|points| half(points) < 0.5);
    let row = |of: SentenceRow| match of {
        SentenceRow::Shown(index) => shown.get(index).copied(),
        SentenceRow::Best => all.first(),
        SentenceRow::Last => all.last(),
        SentenceRow::Below => few.iter().copied().max_by(by_half),
        SentenceRow::Above => many.iter().copied().min_by(by_half),
    };
    let value = |part: &str| match SentencePart::parse(part).ok()? {
        SentencePart::Few => Some(few.len().to_string()),
        SentencePart::Rows => Some(all.len().to_string()),
        SentencePart::Value(of, value, as_shown) => row(of)?.text(value, as_shown),
        SentencePart::Ratio([own, other], [value, over], as_shown) => {
            let ratio = shown.get(own)?.over(shown.get(other)?, value, over)?;
            Some(experiment::shown(as_shown, &ratio))
        }
    };
    let all = chart.sentences.iter().filter_map(|sentence| filled(sentence, &value));
    all.collect::<Vec<_>>().join(" ")
}

/// The points that the lines show.
struct Course<'a> {
    points: &'a PointBook,
    chart: &'a PointChart,
    metric: &'a str,
    axis: &'a Dimension,
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

/// The sentences and the lines of executors over a dimension, such as the memory that a call
/// writes; `None` where there are no records of it.
fn over(experiment: &Experiment, chart: &PointChart, points: &PointBook, axis: &str) -> Pick {
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
    Some((finding, Box::new(lines)))
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
