//! Times on one and on several threads, of every executor on the guests of the overview.
//! Times on more threads than processors, which take turns, stand in no other table or chart.

use super::refused;
use crate::markdown::{Footnotes, NOTHING, Table, below, code, markdown};
use crate::matrix::{Cell, Executor, Matrix, Work};
use crate::units::{count, joined, rate, time_with_interval, times};
use crate::usl::Law;
use std::collections::BTreeSet;
use touchstone_record::{CellKey, Header, Machine, Status};

pub(crate) fn section(matrix: &Matrix<'_>) -> String {
    // A run on one thread has all its times here.
    let has_several = |work: &Work| matrix.most_threads(work) > Some(1);
    let is_any = matrix.works.iter().any(has_several);
    let works = matrix.works.iter().filter(|work| !is_any || has_several(work));
    let tables: String = works.map(|work| table(matrix, work)).collect();
    let heading = "## Times on one and on several threads\n\n";
    if tables.is_empty() {
        return format!("{heading}Nothing was timed.\n\n");
    }
    let skipped = matrix.book.refusals.iter().filter(|refusal| refusal.status == Status::Skipped);
    let skipped: BTreeSet<usize> = skipped.filter_map(|refusal| refusal.threads).collect();
    let skipped = joined(skipped.iter().map(ToString::to_string), " and ");
    let skipped = match &*skipped {
        "" => String::new(),
        numbers => format!(
            " Rows on {numbers} threads were skipped here: threads would take turns on the \
             processors."
        ),
    };
    format!(
        "{heading}Time of one call on a clean instance: median [95 % interval]. On N threads it is \
         the time of one thread while N−1 others do the same. Throughput is that of all threads \
         over that of one (N × is perfect): the median of the processes' ratios, because a process \
         has its own physical pages. Every thread is pinned to a processor of its \
         own.{skipped}\n\n{tables}{}{}",
        laws(matrix),
        crowded(matrix)
    )
}

/// The fits of the Universal Scalability Law. Empty where no executor has three numbers of threads.
fn laws(matrix: &Matrix<'_>) -> String {
    let table = |work: &Work| {
        let headings = ["contention σ", "coherence κ", "most throughput at"];
        let mut table = Table::new("Executor", headings);
        for executor in &matrix.executors {
            let Some(law) = Law::fit(&matrix.throughputs(executor, work)) else { continue };
            let peak = law.peak().map(|peak| format!("{peak:.0} threads"));
            let values =
                [Some(format!("{:.4}", law.sigma)), Some(format!("{:.5}", law.kappa)), peak];
            table.row(code(executor), values);
        }
        below(&format!("### {}", work.names()), &table.finish())
    };
    let tables: String = matrix.works.iter().map(table).collect();
    if tables.is_empty() {
        return tables;
    }
    format!(
        "## Scalability (model)\n\nNot measured: parameters of the Universal Scalability Law, fitted \
         to the throughputs above. On N threads it has N / (1 + σ(N − 1) + κN(N − 1)) times the \
         throughput of one. σ is the share of work that is done one after the other, κ the cost of \
         coherence between each two threads. The last column extrapolates; {NOTHING}: the fitted \
         throughput never falls.\n\n{tables}"
    )
}

fn table(matrix: &Matrix<'_>, work: &Work) -> String {
    let threads = matrix.threads(work);
    let headings = threads.iter().flat_map(|n| {
        let scaling = (*n > 1).then(|| format!("throughput of {n}"));
        std::iter::once(count(*n, "thread")).chain(scaling)
    });
    let mut table = Table::new("Executor", headings);
    let mut notes = Footnotes::default();
    for executor in &matrix.executors {
        let is_shown = |n: &usize| match matrix.cell(executor, work, *n) {
            Cell::Timed(_) => true,
            Cell::Refused(refusal) => refusal.status.is_failure(),
            Cell::Absent => false,
        };
        if !threads.iter().any(is_shown) {
            continue;
        }
        let mut cells = Vec::new();
        for n in &threads {
            cells.push(match matrix.cell(executor, work, *n) {
                Cell::Timed(time) => Some(time_with_interval(&time)),
                Cell::Refused(refusal) => Some(refused(refusal, &mut notes)),
                Cell::Absent => None,
            });
            let scaling = (*n > 1).then(|| matrix.scaling(executor, work, *n));
            cells.extend(scaling.map(|scaling| scaling.as_ref().map(times)));
        }
        table.row(heading(matrix, executor), cells);
    }
    format!("### {}\n\n{}{}", work.names(), table.finish(), notes.finish())
}

/// An executor, with the state that its calls leak.
fn heading(matrix: &Matrix<'_>, executor: &Executor) -> String {
    match matrix.records.checks.leaks(executor) {
        leaks if leaks.is_empty() => code(executor),
        leaks => format!("{}<br>**leaks {}**", code(executor), markdown(&leaks)),
    }
}

/// The sharing of a machine's processors, as a label.
pub(super) fn sharing(threads: usize, machine: &Machine) -> String {
    format!("{} on {}", count(threads, "thread"), count(machine.cores, "processor"))
}

/// The time of a call and the throughput of each cell, beside perfect sharing. Empty if no such
/// cell was timed.
fn crowded(matrix: &Matrix<'_>) -> String {
    let book = matrix.crowded_book();
    let cells: Vec<&CellKey> = book.cells.keys().filter(|cell| book.is_crowded(cell)).collect();
    let works: BTreeSet<(&str, &str, usize)> =
        cells.iter().map(|cell| (&*cell.case, &*cell.guest, cell.threads)).collect();
    let tables = works.into_iter().map(|(case, guest, threads)| {
        let headings = ["one call", "calls per second of all threads", "times perfect sharing"];
        let mut table = Table::new("Executor", headings);
        let key = (case, guest, threads);
        for cell in cells.iter().filter(|own| (&*own.case, &*own.guest, own.threads) == key) {
            // Perfect sharing: the throughput of a thread on each processor.
            let alone = CellKey { threads: book.header.machine.cores, ..(*cell).clone() };
            let own = book.throughput(cell);
            let ratio = book.throughput(&alone).zip(own).map(|(alone, own)| alone.over(own));
            let values = [
                matrix.crowded_time(cell).as_ref().map(time_with_interval),
                own.as_ref().map(rate),
                ratio.as_ref().map(times),
            ];
            table.row(code(cell.executor()), values);
        }
        let sharing = sharing(threads, &book.header.machine);
        format!("### {} on {}, {sharing}\n\n{}", code(case), code(guest), table.finish())
    });
    let tables: String = tables.collect();
    if tables.is_empty() {
        return tables;
    }
    let Header { machine, tools, sampling, .. } = &book.header;
    let numbers: BTreeSet<usize> = cells.iter().map(|cell| cell.threads).collect();
    format!(
        "## More threads than processors\n\n*Oversubscribed*: {} are pinned to {}, and threads on one \
         processor take turns. The time of a call contains the turns of the others, so its median \
         says nothing about a single call. With perfect sharing (1.00), all threads together make \
         as many calls as one thread on each processor. A thread that spins while another one holds \
         a lock wastes its turn. Machine: {}, {}, Linux {}; commit {}, sampling {}.\n\n{tables}",
        joined(numbers.into_iter().map(|n| count(n, "thread")), " or "),
        count(machine.cores, "processor"),
        markdown(&machine.cpu),
        count(machine.cores, "processor"),
        markdown(&machine.kernel),
        code(&tools.commit),
        code(&sampling.name),
    )
}
