//! What calls are made of, as tables.

use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::Matrix;
use crate::report::shares::{PARTS, rows};
use crate::report::units::{percent, time, times};
use crate::tables::Shares;

pub(in crate::report) fn section(matrix: &Matrix, layouts: &[Shares]) -> String {
    layouts.iter().map(|shares| tables(matrix, shares)).collect()
}

fn tables(matrix: &Matrix, shares: &Shares) -> String {
    let mut text = format!("## {}\n\n{}\n\n", escape(&shares.title), shares.text.trim());
    for panel in &shares.panels {
        let rows = rows(matrix, shares, panel);
        if rows.is_empty() {
            continue;
        }
        let mut headings = vec!["Executor", "clean instance", "used instance", "clean / used"];
        headings.extend(PARTS);
        let mut table = Table::new(&headings);
        for row in rows {
            let split = row.split;
            let mut cells = vec![
                code(&row.executor.name()),
                time(split.fresh),
                time(split.warm),
                times(split.fresh / split.warm),
            ];
            // Of their sum: noise can have made one of them negative, which is shown as
            // zero.
            let whole: f64 = split.parts.iter().sum();
            let part = |ns: &f64| format!("{} ({})", time(*ns), percent(ns / whole));
            cells.extend(split.parts.iter().map(part));
            table.row(&cells);
        }
        text += &format!("### {}\n\n{}", escape(&panel.heading), table.finish());
    }
    text
}
