//! The time of a call on one thread and on as many threads as were timed.

use super::super::dumbbells::{Dumbbells, Row};
use super::{Fill, Form, Frame, Matrix, Pick, Work, times};
use crate::markdown::{code, markdown};
use crate::tables::charts::{Charts, Hue, Named, Threads};
use crate::units::{self, short};

pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Threads) -> Pick {
    let work = Work::from(&chart.work);
    let most = matrix.most_threads(&work).filter(|most| *most > 1)?;
    let timed = |named: &'_ Named| {
        let time = |threads| matrix.time(&named.executor, &work, threads);
        let slow_down = matrix.slow_down(&named.executor, &work, most)?;
        Some((time(1)?, time(most)?, slow_down))
    };
    let rows = chart.rows.iter().filter_map(|named| Some((named, timed(named)?)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(_, a), (_, b)| a.2.median.total_cmp(&b.2.median));
    let row = |(named, (alone, beside, slow_down)): &(&Named, _)| {
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
    let ((best, quick), (worst, slow)) = (rows.first()?, rows.last()?);
    let finding = format!(
        "On {together} at the same time, one {} takes {} as long with {} ({} → {}). With {} it \
         takes {} as long ({} → {}).",
        markdown(&chart.work.label),
        times(quick.2),
        code(&best.executor),
        short(&quick.0),
        short(&quick.1),
        code(&worst.executor),
        times(slow.2),
        short(&slow.0),
        short(&slow.1)
    );
    Some((finding, Form::Dumbbells(dumbbells)))
}
