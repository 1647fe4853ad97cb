//! Real work: a few calls of each suite.

use super::named;
use crate::Content;
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::Work;
use crate::pages::{Group, Part};
use crate::rank::fastest;
use crate::units::brief;

/// Rows of a group that are shown.
const MOST: usize = 8;

pub(super) fn section(content: &Content<'_>) -> String {
    let tables: String = content.pages.work.iter().map(|of| group(content, of)).collect();
    if tables.is_empty() && content.picks.is_empty() {
        return own_cases(content);
    }
    let text = "## Real work\n\nThe time of a call on a clean instance under the fastest strategy \
                of each engine.";
    below(text, &tables)
}

/// A run of cases that the pages do not name.
fn own_cases(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let engines = matrix.engines();
    let mut table = Table::new("Call", engines.iter().map(code));
    for work in &matrix.works {
        let best = engines
            .iter()
            .map(|engine| fastest(matrix, work, |executor| executor.engine == *engine).map(named));
        table.row_of_some(work.names(), &best.collect::<Vec<_>>());
    }
    let text = format!(
        "## Calls\n\nThe time of a call on a clean instance under the fastest strategy of each \
         engine. All strategies and threads: {}",
        content.link_to_part(&Part::Threads)
    );
    below(&text, &table.finish())
}

fn group(content: &Content<'_>, group: &Group) -> String {
    let mut table = Table::new("Call", group.engines.iter().map(code));
    for row in group.rows.iter().take(MOST) {
        let work = Work::from(row);
        let best = group.engines.iter().map(|engine| {
            let own = fastest(content.matrix, &work, |executor| executor.engine == *engine);
            own.map(|(_, time)| brief(&time))
        });
        table.row_of_some(markdown(&row.label), &best.collect::<Vec<_>>());
    }
    let link = content.link_named(&group.page, "Details");
    let table = below(&format!("### {}\n\n{link}", markdown(&group.title)), &table.finish());
    match group.note.trim().replace('\n', " ") {
        note if note.is_empty() || table.is_empty() => table,
        note => format!("{table}{note}\n\n"),
    }
}
