//! Strategies beside each other.

use super::new_instances;
use crate::Content;
use crate::markdown::{NOTHING, Table, below};
use crate::matrix::{Cell, Executor};
use crate::units::{joined, time_with_reach};
use touchstone_executor::Strategy;
use touchstone_record::Role;
use touchstone_record::escape::code;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works = matrix.main_works(&[Role::EmptyCall, Role::DirtyMemory]);
    let mut table = Table::new("Strategy", content.pages.ladder.iter().map(code));
    for strategy in Strategy::all().into_iter().filter(|strategy| !strategy.is_precompiled()) {
        let cell = |engine: &String| {
            let executor = Executor { engine: engine.clone(), strategy };
            let times = works.iter().map(|work| match matrix.cell(&executor, work, 1) {
                Cell::Timed(time) => Some(time_with_reach(&time)),
                Cell::Refused(refusal) if refusal.status.is_failure() => {
                    Some(refusal.status.to_string())
                }
                _ => None,
            });
            let times: Vec<Option<String>> = times.collect();
            let texts = times.iter().map(|time| time.as_deref().unwrap_or(NOTHING));
            times.iter().any(Option::is_some).then(|| joined(texts, "<br>"))
        };
        let cells: Vec<Option<String>> = content.pages.ladder.iter().map(cell).collect();
        table.row_of_some(code(strategy), &cells);
    }
    let text = format!(
        "## Strategies\n\nOne call on a clean instance, one thread: {} on {}. {NOTHING}: the \
         engine cannot do it.",
        joined(works.iter().map(|work| code(&work.case)), ", below it "),
        code(works.first().map_or("", |work| &work.guest)),
    );
    match below(&text, &table.finish()) {
        none if none.is_empty() => none,
        table => table + &new_instances::section(content),
    }
}
