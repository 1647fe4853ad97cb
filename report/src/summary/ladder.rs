//! Strategies beside each other.

use super::new_instances;
use crate::Content;
use crate::markdown::{NOTHING, Table};
use crate::matrix::{Cell, Executor};
use crate::units::time_with_reach;
use touchstone_executor::Strategy;
use touchstone_record::Role;
use touchstone_record::escape::code;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works: Vec<_> = [Role::EmptyCall, Role::DirtyMemory]
        .into_iter()
        .filter_map(|role| matrix.main_work(role))
        .collect();
    let mut table = Table::new("Strategy", content.pages.ladder.iter().map(code));
    for strategy in Strategy::all().into_iter().filter(|strategy| !strategy.is_precompiled()) {
        let cell = |engine: &String| {
            let executor = Executor { engine: engine.clone(), strategy };
            let times = works.iter().map(|work| match matrix.cell(&executor, work, 1) {
                Cell::Timed(time) => time_with_reach(&time),
                Cell::Refused(refusal) if refusal.status.is_failure() => refusal.status.to_string(),
                _ => NOTHING.to_owned(),
            });
            times.collect::<Vec<_>>()
        };
        let cells: Vec<Vec<String>> = content.pages.ladder.iter().map(cell).collect();
        if cells.iter().flatten().any(|cell| cell != NOTHING) {
            let cells = cells.into_iter().map(|mut times| {
                times.dedup_by(|a, b| a == b && a == NOTHING);
                times.join("<br>")
            });
            table.row(code(strategy), cells);
        }
    }
    let table = table.finish();
    if table.is_empty() {
        return table;
    }
    let names: Vec<String> = works.iter().map(|work| code(&work.case)).collect();
    format!(
        "## Strategies\n\nOne call on a clean instance, one thread: {} on {}. {NOTHING}: the \
         engine cannot do it.\n\n{table}{}",
        names.join(", below it "),
        code(works.first().map_or("", |work| &work.guest)),
        new_instances::section(content),
    )
}
