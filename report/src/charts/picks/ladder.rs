//! The cost of a clean instance with each strategy of one engine.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::{slower, time};
use crate::matrix::Matrix;
use crate::tables::charts::{ChartWork, Charts, Ladder, Named};
use crate::units;
use touchstone_record::escape::{code, markdown};

/// The sentence and the chart; `None` where nothing was timed.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    ladder: &Ladder,
) -> Option<(String, Form)> {
    let fill = |named: &Named| {
        let hue = charts.hue(&named.executor.engine);
        if matrix.is_native(&named.executor) { Fill::half(hue) } else { Fill::full(hue) }
    };
    let row = |work: &ChartWork, named: &Named| {
        let value = time(matrix, &named.executor, work)?;
        Some(Row { label: named.label.clone(), panels: vec![vec![(fill(named), Some(value))]] })
    };
    let group = |work: &ChartWork| Group {
        heading: work.label.clone(),
        rows: ladder.rows.iter().filter_map(|named| row(work, named)).collect(),
    };
    let groups = ladder.works.iter().map(group).filter(|group| !group.rows.is_empty());
    let bars = Bars {
        frame: Frame {
            title: ladder.title.clone(),
            axis: "Time of one call on a clean instance, median, 1 thread; logarithmic axis"
                .to_owned(),
            legend: legend(charts, ladder),
            note: ladder
                .rows
                .iter()
                .map(|named| format!("{}: {}", named.executor.strategy, named.label))
                .collect::<Vec<_>>()
                .join("; "),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: groups.collect(),
    };
    let finding = finding(matrix, ladder)?;
    (bars.rows() > 0).then_some((finding, Form::Bars(bars)))
}

/// The meaning of full and half colours.
pub(super) fn owners(hue: crate::tables::charts::Hue) -> Vec<(Fill, String)> {
    vec![
        (Fill::full(hue), "Touchstone's strategy".to_owned()),
        (Fill::half(hue), "the runtime's own".to_owned()),
    ]
}

fn legend(charts: &Charts, ladder: &Ladder) -> Vec<(Fill, String)> {
    let engine = ladder.rows.first().map(|named| charts.hue(&named.executor.engine));
    owners(engine.unwrap_or_default())
}

/// All rows of the first work, against its first row.
fn finding(matrix: &Matrix<'_>, ladder: &Ladder) -> Option<String> {
    let work = ladder.works.first()?;
    let mut rows =
        ladder.rows.iter().filter_map(|named| Some((named, time(matrix, &named.executor, work)?)));
    let (first, least) = rows.next()?;
    let said = |(named, value): (&Named, Value)| {
        format!(
            "{} with {} ({})",
            value.time(),
            code(named.executor.strategy),
            slower(value, least)
        )
    };
    let others: Vec<String> = rows.map(said).collect();
    let text = format!(
        "On {}, a clean {} takes {} with {}.",
        markdown(&ladder.engine),
        markdown(&work.label),
        least.time(),
        code(first.executor.strategy)
    );
    Some(if others.is_empty() {
        text
    } else {
        format!("{text} Others take {}.", units::prose_list(&others))
    })
}
