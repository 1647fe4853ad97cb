//! The parts of a call on a clean instance, computed from other calls: the call and a no-op,
//! each on a clean and on a used instance, and a call that only takes the input.

use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::tables::{Panel, Shares};
use crate::units::{median, percent, times};
use touchstone_record::{Estimate, Metric};

const PARTS: [&str; 4] =
    ["instance and call", "first touches and cleaning", "taking the input", "the guest's work"];

pub(crate) fn section(matrix: &Matrix<'_>, shares: &Shares) -> String {
    let mut text = format!("## {}\n\n{}\n\n", markdown(&shares.title), shares.text.trim());
    for panel in &shares.panels {
        let headings = ["clean instance", "used instance", "clean / used"];
        let mut table = Table::new("Executor", headings.into_iter().chain(PARTS));
        for executor in &shares.executors {
            if let Some(cells) = cells(matrix, panel, executor) {
                table.row(code(executor), cells);
            }
        }
        text += &below(&format!("### {}", markdown(&panel.heading)), &table.finish());
    }
    text
}

/// The parts of an executor's call. `None` where one of the times was not taken.
fn cells(matrix: &Matrix<'_>, panel: &Panel, executor: &Executor) -> Option<Vec<String>> {
    let work = |case: &str| Work { guest: panel.guest.clone(), case: case.to_owned() };
    let (call, noop) = (work(&panel.case), work(&panel.noop));
    let metric = |work, metric| matrix.metric(executor, work, metric);
    let all = [
        matrix.time(executor, &call, 1)?,
        metric(&call, Metric::WarmCall)?,
        matrix.time(executor, &noop, 1)?,
        metric(&noop, Metric::WarmCall)?,
        metric(&call, Metric::WarmTake)?,
    ];
    let marked = all.iter().any(|time| time.marked);
    let [fresh, warm, noop, warm_noop, take] = all.map(|time| time.median);
    let parts = split(fresh, warm, (noop, warm_noop), take);
    let value = |median| Estimate { marked, ..Estimate::exact(median) };
    let [clean, used] = [fresh, warm].map(|time| median(&value(time)));
    let mut cells = vec![clean, used, times(&value(fresh / warm))];
    // Of their sum: a part that noise made negative is shown as zero.
    let whole: f64 = parts.iter().sum();
    cells.extend(parts.map(|ns| format!("{} ({})", median(&value(ns)), percent(ns / whole))));
    Some(cells)
}

/// The parts of a call that takes `fresh` on a clean instance and `warm` on a used one, ns.
/// `noop` is what a call that does nothing takes on either, `take` one that only takes the
/// input, on a used one. A part that came out below zero, which noise can do, is zero.
fn split(fresh: f64, warm: f64, noop: (f64, f64), take: f64) -> [f64; 4] {
    let parts = [
        noop.0,
        // What a clean instance makes the work cost beside what it costs a call that does
        // nothing: pages that are touched for the first time, memory that grows, and making
        // both clean again.
        (fresh - noop.0) - (warm - noop.1),
        take - noop.1,
        warm - take,
    ];
    parts.map(|part| part.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole() {
        let parts = split(20_000.0, 400.0, (4_000.0, 50.0), 150.0);
        assert_eq!(parts, [4_000.0, 15_650.0, 100.0, 250.0]);
        assert_eq!(parts.iter().sum::<f64>(), 20_000.0);
        // Noise: nothing is less than nothing.
        assert_eq!(split(4_000.0, 400.0, (4_000.0, 50.0), 150.0)[1], 0.0);
    }
}
