//! The time of a call on one thread and on as many threads as were timed.

use super::super::Form;
use super::super::dumbbells::{Dumbbells, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::times;
use crate::report::matrix::{Matrix, Work};
use crate::report::units::{self, MARK};
use crate::tables::charts::{Charts, Hue, Named, Threads};

/// The sentence and the chart; `None` where one thread alone was timed.
pub(super) fn pick<'a>(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &'a Threads,
) -> Option<(String, Form)> {
    let work = Work::from(&chart.work);
    let most = matrix.most_threads(&work).filter(|most| *most > 1)?;
    let timed = |named: &'a Named| {
        let time = |threads| matrix.time(&named.executor, &work, threads);
        Some((named, Value::from(time(1)?), Value::from(time(most)?)))
    };
    let mut rows: Vec<(&'a Named, Value, Value)> = chart.rows.iter().filter_map(timed).collect();
    let ratio = |row: &(&Named, Value, Value)| row.2.median / row.1.median;
    rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let row = |(named, alone, beside): &(&Named, Value, Value)| {
        let hue = charts.hue(&named.executor.engine);
        let mark = if alone.marked || beside.marked { MARK } else { "" };
        Row {
            label: named.label.clone(),
            ends: vec![(Fill::full(hue), *beside), (Fill::half(hue), *alone)],
            text: format!("{} ×{mark}", units::factor(beside.median / alone.median)),
        }
    };
    let together = units::count(most, "thread");
    let dumbbells = Dumbbells {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Time of one call on each thread, median; logarithmic axis".to_owned(),
            legend: vec![
                (Fill::half(Hue::Grey), "1 thread".to_owned()),
                (Fill::full(Hue::Grey), format!("{together} at the same time")),
            ],
            note: String::new(),
        },
        rows: rows.iter().map(row).collect(),
        line: None,
        heading: "slow-down".to_owned(),
    };
    let (best, worst) = (rows.first()?, rows.last()?);
    let finding = format!(
        "On {together} at the same time, one {} takes {} as long with `{}` ({} → {}). With `{}` it \
         takes {} as long ({} → {}).",
        chart.work.label,
        times(best.2, best.1),
        best.0.executor,
        best.1.time(),
        best.2.time(),
        worst.0.executor,
        times(worst.2, worst.1),
        worst.1.time(),
        worst.2.time()
    );
    Some((finding, Form::Dumbbells(dumbbells)))
}
