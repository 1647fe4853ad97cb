//! The time of a call on one thread and on as many threads as were timed.

use super::super::Form;
use super::super::dumbbells::{Dumbbells, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::short;
use crate::matrix::{Matrix, Work};
use crate::tables::charts::{Charts, Hue, Named, Threads};
use crate::units;
use touchstone_record::Estimate;
use touchstone_record::escape::{code, markdown};

/// A row: a call alone and beside others.
struct Timed<'a> {
    named: &'a Named,
    alone: Value,
    beside: Value,
    /// The number of threads over the ratio of the throughputs.
    slow_down: Estimate,
}

impl Timed<'_> {
    /// The slow-down as prose: `1.1 times`.
    fn times(&self) -> String {
        format!("{} times", units::marked(short(self.slow_down.median), self.slow_down.marked))
    }
}

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
        let slow_down = matrix.slow_down(&named.executor, &work, most)?;
        Some(Timed { named, alone: time(1)?.into(), beside: time(most)?.into(), slow_down })
    };
    let mut rows: Vec<Timed<'a>> = chart.rows.iter().filter_map(timed).collect();
    rows.sort_by(|a, b| a.slow_down.median.total_cmp(&b.slow_down.median));
    let row = |Timed { named, alone, beside, slow_down }: &Timed<'_>| {
        let hue = charts.hue(&named.executor.engine);
        Row {
            label: named.label.clone(),
            ends: vec![(Fill::full(hue), *beside), (Fill::half(hue), *alone)],
            text: units::times(slow_down),
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
            ..Frame::default()
        },
        rows: rows.iter().map(row).collect(),
        line: None,
        heading: "slow-down".to_owned(),
    };
    let (best, worst) = (rows.first()?, rows.last()?);
    let finding = format!(
        "On {together} at the same time, one {} takes {} as long with {} ({} → {}). With {} it \
         takes {} as long ({} → {}).",
        markdown(&chart.work.label),
        best.times(),
        code(&best.named.executor),
        best.alone.time(),
        best.beside.time(),
        code(&worst.named.executor),
        worst.times(),
        worst.alone.time(),
        worst.beside.time()
    );
    Some((finding, Form::Dumbbells(dumbbells)))
}
