//! Compilation, load and a number of calls: which engine is done first.

use super::super::lines::{Crossing, DASHES, LINES, Lines, Series};
use super::{Fill, Frame, Matrix, Pick, Work};
use crate::markdown::{code, markdown};
use crate::tables::charts::{BreakEven, Named};
use crate::units;
use touchstone_record::{Estimate, Metric};

/// Points of a line in each power of ten: the lines are curves on these axes.
const POINTS: i32 = 8;

/// The costs of an engine.
struct Cost<'a> {
    of: &'a Named,
    /// Until the first call has returned, ns.
    first: f64,
    /// Each call after it, ns.
    later: f64,
    marked: bool,
}

impl Cost<'_> {
    /// Time until N calls have returned, ns.
    fn total(&self, calls: f64) -> f64 {
        self.first + (calls - 1.0) * self.later
    }
}

pub(super) fn pick(matrix: &Matrix<'_>, chart: &BreakEven) -> Pick {
    let work = Work::from(&chart.work);
    let mut costs: Vec<Cost<'_>> = Vec::new();
    for of in &chart.lines {
        let before = [Metric::Compile, Metric::Load, Metric::FirstCall];
        let before = before.map(|metric| matrix.metric(&of.executor, &work, metric));
        let call = matrix.time(&of.executor, &work, 1);
        if let ([Some(compile), Some(load), Some(first)], Some(call)) = (before, call) {
            let first = compile.median + load.median + first.median;
            costs.push(Cost { of, first, later: call.median, marked: call.marked });
        }
    }
    let most = chart.most_calls.max(10) as f64;
    let winners = winners(&costs, most);
    let crossing = |(calls, cost): &(f64, &Cost<'_>)| Crossing {
        x: *calls,
        y: cost.total(*calls),
        label: format!("from {} calls: {}", rounded(*calls), cost.of.label),
    };
    let steps = (most.log10() * f64::from(POINTS)).ceil() as i32;
    let calls = |step| 10_f64.powf(f64::from(step) / f64::from(POINTS)).min(most);
    let point = |cost: &Cost<'_>, calls: f64| {
        (calls, Estimate { marked: cost.marked, ..Estimate::exact(cost.total(calls)) })
    };
    let series = costs.iter().zip(LINES.iter().cycle()).map(|(cost, hue)| Series {
        label: units::marked(cost.of.label.clone(), cost.marked),
        fill: Fill::full(*hue),
        dashes: DASHES[0],
        points: (0..=steps).map(|step| point(cost, calls(step))).collect(),
        dotted: false,
    });
    let decades = (0..=most.log10().floor() as i32).map(|decade| 10_f64.powi(decade));
    let lines = Lines {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Number of calls N; logarithmic axis".to_owned(),
            ..Frame::default()
        },
        vertical: "Compilation, load, first call and N − 1 calls on clean instances, 1 thread; \
                   logarithmic axis"
            .to_owned(),
        marks: decades.map(|calls| (calls, rounded(calls))).collect(),
        series: series.collect(),
        crossings: winners.iter().skip(1).map(crossing).collect(),
    };
    Some((finding(chart, &winners)?, Box::new(lines)))
}

/// Which engine is done first from how many calls on, from one call to the most.
fn winners<'a, 'b>(costs: &'a [Cost<'b>], most: f64) -> Vec<(f64, &'a Cost<'b>)> {
    let by_first = |a: &&Cost<'_>, b: &&Cost<'_>| a.first.total_cmp(&b.first);
    let Some(mut current) = costs.iter().min_by(by_first) else { return Vec::new() };
    let mut winners = vec![(1.0, current)];
    loop {
        // Of the lines that rise more slowly, the one that is met first.
        let meeting = |cost: &'a Cost<'b>| {
            let calls = 1.0 + (cost.first - current.first) / (current.later - cost.later);
            (cost.later < current.later).then_some((calls, cost))
        };
        let met = costs.iter().filter_map(meeting).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((calls, next)) = met.filter(|met| met.0 <= most) else { return winners };
        winners.push((calls, next));
        current = next;
    }
}

/// A number of calls in two digits: `4,800`, `1 million`.
fn rounded(calls: f64) -> String {
    let step = 10_f64.powf((calls.log10().floor() - 1.0).max(0.0));
    let calls = (calls / step).round() * step;
    if calls >= 1e6 {
        return format!("{} million", calls / 1e6);
    }
    // At least one and below a million.
    units::grouped(calls as u64)
}

/// Who is done first, and from how many calls on another one is.
fn finding(chart: &BreakEven, winners: &[(f64, &Cost<'_>)]) -> Option<String> {
    let ((_, first), others) = winners.split_first()?;
    let name = |cost: &Cost<'_>| units::marked(code(&cost.of.executor), cost.marked);
    let mut text = format!(
        "For {}, with compilation and load counted, {} is done first with {} ({}).",
        markdown(&chart.work.label),
        name(first),
        if others.is_empty() { "any number of calls" } else { "few calls" },
        units::time_short(first.total(1.0))
    );
    for (calls, cost) in others {
        let at = units::time_short(cost.total(*calls));
        text += &format!(" From about {} calls on, {} is ({at}).", rounded(*calls), name(cost));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_engine_is_done_first_where_its_line_crosses_the_lowest() {
        let named = Named { label: String::new(), executor: "some_interpreted".parse().unwrap() };
        let cost = |first, later| Cost { of: &named, first, later, marked: false };
        // The third is never the lowest.
        let costs = [cost(100.0, 10.0), cost(1000.0, 1.0), cost(1000.0, 9.0), cost(5000.0, 0.5)];
        let found: Vec<f64> = winners(&costs, 1e6).iter().map(|winner| winner.0).collect();
        assert_eq!(found, [1.0, 101.0, 8001.0]);
        assert_eq!(winners(&costs, 1000.0).len(), 2);
        assert_eq!([4836.0, 1.2e6, 7.0].map(rounded), ["4,800", "1.2 million", "7"]);
    }
}
