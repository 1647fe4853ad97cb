//! The cost of a clean instance with each strategy of one engine.

use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::{CLEAN_CALL, Fill, Form, Frame, Matrix, Pick, owners, slower};
use crate::markdown::{code, markdown};
use crate::tables::charts::{ChartWork, Charts, Ladder, Named};
use crate::units::{joined, prose_list, short};
use touchstone_record::Estimate;

pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, ladder: &Ladder) -> Pick {
    let time = |work: &ChartWork, own: &Named| matrix.time(&own.executor, &work.into(), 1);
    let row = |work: &ChartWork, named: &Named| {
        let (time, hue) = (time(work, named)?, charts.hue(&named.executor.engine));
        let is_native = matrix.is_native(&named.executor);
        let fill = if is_native { Fill::half(hue) } else { Fill::full(hue) };
        Some(Row { label: named.label.clone(), panels: vec![vec![(fill, Some(time))]] })
    };
    let group = |work: &ChartWork| Group {
        heading: work.label.clone(),
        rows: ladder.rows.iter().filter_map(|named| row(work, named)).collect(),
    };
    let groups = ladder.works.iter().map(group).filter(|group| !group.rows.is_empty());
    let engine = ladder.rows.first().map(|named| charts.hue(&named.executor.engine));
    let note = ladder.rows.iter().map(|own| format!("{}: {}", own.executor.strategy, own.label));
    let bars = Bars {
        frame: Frame {
            title: ladder.title.clone(),
            axis: CLEAN_CALL.to_owned(),
            legend: owners(engine.unwrap_or_default()),
            note: joined(note, "; "),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: groups.collect(),
    };
    // All rows of the first work, against its first row.
    let work = ladder.works.first()?;
    let mut rows = ladder.rows.iter().filter_map(|own| Some((own, time(work, own)?)));
    let (first, least) = rows.next()?;
    let said = |(own, time): (&Named, Estimate)| {
        let strategy = code(own.executor.strategy);
        format!("{} with {strategy} ({})", short(&time), slower(time, least))
    };
    let others: Vec<String> = rows.map(said).collect();
    let mut finding = format!(
        "On {}, a clean {} takes {} with {}.",
        markdown(&ladder.engine),
        markdown(&work.label),
        short(&least),
        code(first.executor.strategy)
    );
    if !others.is_empty() {
        finding += &format!(" Others take {}.", prose_list(&others));
    }
    Some((finding, Form::Bars(bars)))
}
