//! The chart of an experiment, as its declaration has it.

use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::{Fill, Form, Frame, Matrix, Pick, over};
use crate::experiment::{self, filled, rows, sort};
use crate::tables::charts::{Charts, Hue};
use touchstone_record::{
    Estimate, Experiment, PointChart, PointGroup, PointRow, SentencePart, SentenceRow,
};

/// Points of a row of the chart.
type Points<'a> = experiment::Row<'a>;

/// The sentences and the chart; `None` where there are no records of it.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    experiment: &Experiment,
    chart: &PointChart,
) -> Pick {
    let points = matrix.records.points(experiment)?;
    if let Some(axis) = &chart.over {
        return over::pick(experiment, chart, points, axis);
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
    (!shown.is_empty()).then_some((sentences, Form::Bars(bars)))
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

/// The bars of a row, panel by panel.
fn panels(
    chart: &PointChart,
    points: &Points<'_>,
    hue: Hue,
    half: bool,
) -> Vec<Vec<(Fill, Option<Estimate>)>> {
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
