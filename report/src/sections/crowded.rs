//! Times on more threads than processors, which take turns. They stand in no other table or chart.

use crate::markdown::{Table, code, markdown};
use crate::matrix::{Executor, Matrix};
use crate::units::{count, joined, rate, time_with_interval, times};
use std::collections::BTreeSet;
use touchstone_record::{CellKey, Header, Machine};

/// The sharing of a machine's processors, as a label.
pub(super) fn sharing(threads: usize, machine: &Machine) -> String {
    format!("{} on {}", count(threads, "thread"), count(machine.cores, "processor"))
}

/// The time of a call and the throughput of each cell, beside perfect sharing. Empty if no such
/// cell was timed.
pub(super) fn section(matrix: &Matrix<'_>) -> String {
    let book = matrix.crowded_book();
    let cells: Vec<&CellKey> = book.cells.keys().filter(|cell| book.is_crowded(cell)).collect();
    let works: BTreeSet<(&str, &str, usize)> =
        cells.iter().map(|cell| (&*cell.case, &*cell.guest, cell.threads)).collect();
    let tables = works.into_iter().map(|(case, guest, threads)| {
        let headings = ["one call", "calls per second of all threads", "times perfect sharing"];
        let mut table = Table::new("Executor", headings.map(str::to_owned));
        let own = cells
            .iter()
            .filter(|cell| (&*cell.case, &*cell.guest, cell.threads) == (case, guest, threads));
        for cell in own {
            let executor: Executor = cell.executor();
            let time = matrix.crowded_time(cell);
            let values = [
                time.as_ref().map(time_with_interval),
                book.throughput(cell).as_ref().map(rate),
                matrix.over_perfect_sharing(cell).as_ref().map(times),
            ];
            table.row(code(executor), values);
        }
        let sharing = sharing(threads, &book.header.machine);
        format!("### {} on {}, {sharing}\n\n{}", code(case), code(guest), table.finish())
    });
    let tables: String = tables.collect();
    if tables.is_empty() {
        return tables;
    }
    let Header { machine, tools, sampling, .. } = &book.header;
    format!(
        "## More threads than processors\n\n*Oversubscribed*: {} are pinned to {}, and threads on one \
         processor take turns. The time of a call contains the turns of the others, so its median \
         says nothing about a single call. With perfect sharing (1.00), all threads together make \
         as many calls as one thread on each processor. A thread that spins while another one holds \
         a lock wastes its turn. Machine: {}, {}, Linux {}; commit {}, sampling {}.\n\n{tables}",
        joined(
            cells
                .iter()
                .map(|cell| cell.threads)
                .collect::<BTreeSet<_>>()
                .iter()
                .map(|n| count(*n, "thread")),
            " or "
        ),
        count(machine.cores, "processor"),
        markdown(&machine.cpu),
        count(machine.cores, "processor"),
        markdown(&machine.kernel),
        code(&tools.commit),
        code(&sampling.name),
    )
}
