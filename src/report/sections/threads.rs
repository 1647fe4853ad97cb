//! What happens on more threads: latency and throughput relative to one.

use crate::record::CellRecord;
use crate::report::markdown::{Table, code, details, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units::{count, rate, times};

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let tables: Vec<String> =
        matrix.guests().into_iter().filter_map(|guest| table(matrix, guest)).collect();
    if tables.is_empty() {
        return "## Threads\n\nNothing was timed on more than one thread.\n\n".to_owned();
    }
    format!(
        "## Threads\n\nLatency on N threads over latency on one (1 × is perfect), and throughput of \
         N threads together with its ratio to one thread (N × is perfect). {}\n\n{}",
        progress(matrix),
        tables.concat()
    )
}

/// Whether the other threads really did the same while one was timed.
fn progress(matrix: &Matrix) -> String {
    let several: Vec<&CellRecord> = matrix.timed().filter(|cell| cell.key.threads > 1).collect();
    let (known, unknown): (Vec<&CellRecord>, Vec<&CellRecord>) = several
        .into_iter()
        .partition(|cell| cell.other_threads_calls.len() + 1 == cell.key.threads);
    let idle: Vec<String> = known
        .iter()
        .filter(|cell| cell.other_threads_calls.contains(&0))
        .map(|cell| code(&cell.key.id()))
        .collect();
    let least = known.iter().flat_map(|cell| &cell.other_threads_calls).min();
    let mut text = match least {
        Some(least) if idle.is_empty() => format!(
            "In {} of {} cells on several threads every other thread made calls while one was timed, \
             the slowest {least}.",
            known.len(),
            known.len() + unknown.len(),
        ),
        Some(_) => format!(
            "**In {} an other thread made no call while one was timed, so these did not run under \
             contention: {}.**",
            count(idle.len(), "cell"),
            idle.join(", ")
        ),
        None => String::new(),
    };
    if !unknown.is_empty() {
        let gap = if text.is_empty() { "" } else { " " };
        text.push_str(&format!(
            "{gap}For {} the calls of the other threads are not on record.",
            count(unknown.len(), "cell")
        ));
    }
    text
}

/// One guest: its cases beside each other.
fn table(matrix: &Matrix, guest: &str) -> Option<String> {
    let several = |work: &Work| -> Vec<usize> {
        matrix.threads(work).into_iter().filter(|threads| *threads > 1).collect()
    };
    let works: Vec<(&Work, Vec<usize>)> = matrix
        .works
        .iter()
        .filter(|work| work.guest == guest)
        .map(|work| (work, several(work)))
        .filter(|(_, several)| !several.is_empty())
        .collect();
    let mut headings = vec!["Executor".to_owned()];
    for (work, several) in &works {
        let case = code(&work.case);
        headings.push(format!("{case}<br>throughput, 1 thread"));
        for threads in several {
            headings.push(format!("{case}<br>latency, {threads} : 1"));
            headings.push(format!("{case}<br>throughput, {threads} threads"));
        }
    }
    let mut table = Table::new(&headings);
    let mut rows = 0;
    for executor in &matrix.executors {
        let timed = |work: &Work, threads: &usize| matrix.time(executor, work, *threads).is_some();
        if !works.iter().any(|(work, several)| several.iter().any(|n| timed(work, n))) {
            continue;
        }
        rows += 1;
        let mut row = vec![code(&executor.name())];
        for (work, several) in &works {
            row.extend(cells(matrix, executor, work, several));
        }
        table.row(&row);
    }
    let title = format!("<code>{}</code>, {}", escape(guest), count(rows, "executor"));
    (rows > 0).then(|| details(&title, &table.finish()))
}

/// The cells of one executor and one work.
fn cells(matrix: &Matrix, executor: &Executor, work: &Work, several: &[usize]) -> Vec<String> {
    let missing = || "–".to_owned();
    let alone = matrix.throughput(executor, work, 1);
    let mut row = vec![alone.map_or_else(missing, rate)];
    for threads in several {
        let together = matrix.time(executor, work, *threads);
        let latency = matrix.time(executor, work, 1).zip(together);
        row.push(latency.map_or_else(missing, |(one, all)| times(all.median / one.median)));
        row.push(match (matrix.throughput(executor, work, *threads), alone) {
            (Some(all), Some(one)) => format!("{} ({})", rate(all), times(all / one)),
            (Some(all), None) => rate(all),
            (None, _) => missing(),
        });
    }
    row
}
