//! The cost of further threads.

use crate::Content;
use crate::markdown::Table;
use crate::units::{self, count};
use touchstone_record::Role;
use touchstone_record::escape::code;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works = [Role::EmptyCall, Role::DirtyMemory].map(|role| matrix.main_work(role));
    let works: Vec<_> = works.into_iter().flatten().collect();
    let most = works.iter().filter_map(|work| matrix.most_threads(work)).max();
    let Some(most) = most.filter(|most| *most > 1) else { return String::new() };
    let headings = works.iter().flat_map(|work| {
        [
            format!("{}, alone", code(&work.case)),
            format!("on {}", count(most, "thread")),
            "slow-down".to_owned(),
        ]
    });
    let mut table = Table::new("Executor", headings);
    for executor in &content.pages.threads {
        let cells = works.iter().flat_map(|work| {
            let (alone, several) =
                (matrix.time(executor, work, 1), matrix.time(executor, work, most));
            let ratio = matrix.slow_down(executor, work, most);
            [
                alone.map(|time| units::time_with_reach(&time)),
                several.map(|time| units::time_with_reach(&time)),
                ratio.map(|ratio| units::times(&ratio)),
            ]
        });
        let cells: Vec<_> = cells.collect();
        if cells.iter().any(Option::is_some) {
            table.row(code(executor), cells);
        }
    }
    let table = table.finish();
    if table.is_empty() {
        return table;
    }
    format!(
        "## Threads\n\nThe time of one call, alone and of one thread while the others do the same. The \
         slow-down is the number of threads over the ratio of the throughputs: 1.00 is perfect \
         scaling. The processes' median ratio counts, so the quotient of the two times may differ a \
         little. Every thread is pinned to a processor of its own. \
         {}\n\n{table}",
        content.link_to_part(&crate::pages::Part::Threads)
    )
}
