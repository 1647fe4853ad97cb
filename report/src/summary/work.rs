//! Real work: a few calls of each suite.

use crate::Content;
use crate::markdown::Table;
use crate::matrix::Work;
use crate::pages::Group;
use crate::rank::fastest;
use crate::units::time_with_reach;
use touchstone_record::escape::{code, markdown};

/// Rows of a group that are shown.
const MOST: usize = 8;

pub(super) fn section(content: &Content<'_>) -> String {
    let tables: String = content.pages.work.iter().filter_map(|of| group(content, of)).collect();
    if tables.is_empty() {
        return tables;
    }
    format!(
        "## Real work\n\nThe time of a call on a clean instance under the fastest strategy of each \
         engine.\n\n{tables}"
    )
}

fn group(content: &Content<'_>, group: &Group) -> Option<String> {
    let matrix = content.matrix;
    let mut table = Table::new("Call", group.engines.iter().map(code));
    for row in group.rows.iter().take(MOST) {
        let work = Work::from(row);
        let best = group.engines.iter().map(|engine| {
            let own = fastest(matrix, &work, |executor| executor.engine == *engine);
            own.map(|(_, time)| time_with_reach(&time))
        });
        let cells: Vec<Option<String>> = best.collect();
        if cells.iter().any(Option::is_some) {
            table.row(markdown(&row.label), cells);
        }
    }
    let table = table.finish();
    let link = content.link(&group.page);
    let note = match group.note.trim().replace('\n', " ") {
        note if note.is_empty() => note,
        note => note + "\n\n",
    };
    let title = markdown(&group.title);
    (!table.is_empty()).then(|| format!("### {title}\n\n{link}\n\n{table}{note}"))
}
