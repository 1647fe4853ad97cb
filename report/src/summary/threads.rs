//! The cost of further threads.

use crate::Content;
use crate::markdown::{Table, below, code};
use crate::pages::Part;
use crate::units::{self, count};
use touchstone_record::Role;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let works = matrix.main_works(&[Role::EmptyCall, Role::DirtyMemory]);
    let most = works.iter().filter_map(|work| matrix.most_threads(work)).max();
    let Some(most) = most.filter(|most| *most > 1) else { return String::new() };
    let headings = works.iter().flat_map(|work| {
        let alone = format!("{}, alone", code(&work.case));
        [alone, format!("on {}", count(most, "thread")), "slow-down".to_owned()]
    });
    let mut table = Table::new("Executor", headings);
    for executor in &content.pages.threads {
        let cells = works.iter().flat_map(|work| {
            let time = |threads| matrix.time(executor, work, threads);
            let [alone, several] = [1, most].map(|n| time(n).as_ref().map(units::brief));
            [alone, several, matrix.slow_down(executor, work, most).as_ref().map(units::times)]
        });
        table.row_of_some(code(executor), &cells.collect::<Vec<_>>());
    }
    let text = format!(
        "## Threads\n\nThe time of one call, alone and of one thread while the others do the same. The \
         slow-down is the number of threads over the ratio of the throughputs: 1.00 is perfect \
         scaling. The processes' median ratio counts, so the quotient of the two times may differ a \
         little. Every thread is pinned to a processor of its own. \
         {}",
        content.link_to_part(&Part::Threads)
    );
    below(&text, &table.finish())
}
