//! What calls are made of, as tables.

use crate::record::Estimate;
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::Matrix;
use crate::report::shares::{PARTS, rows};
use crate::report::units::{median, percent, times};
use crate::tables::Shares;

pub(in crate::report) fn section(matrix: &Matrix<'_>, layouts: &[Shares]) -> String {
    layouts.iter().map(|shares| tables(matrix, shares)).collect()
}

fn tables(matrix: &Matrix<'_>, shares: &Shares) -> String {
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
            let value = |median| Estimate { median, interval: None, marked: split.marked };
            let mut cells = vec![
                code(&row.executor.to_string()),
                median(&value(split.fresh)),
                median(&value(split.warm)),
                times(&value(split.fresh / split.warm)),
            ];
            // Of their sum: a part that noise made negative is shown as zero.
            let whole: f64 = split.parts.iter().sum();
            let part = |ns: &f64| format!("{} ({})", median(&value(*ns)), percent(ns / whole));
            cells.extend(split.parts.iter().map(part));
            table.row(&cells);
        }
        text += &format!("### {}\n\n{}", escape(&panel.heading), table.finish());
    }
    text
}
