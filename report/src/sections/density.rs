//! Density: what a live instance takes, and calls on one of many.

use crate::markdown::Table;
use crate::units::{grouped, time};
use std::collections::BTreeMap;
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};
use touchstone_record::escape::{code, markdown};
use touchstone_record::{Book, Density, Executor, Refusal};

/// What a reader learns from rows of that strategy.
const COPIES: &str = " In the rows `instance_reuse` each instance has a copy of the guest's data. The \
                      other rows map the data from one image. The part that both rows of an engine share \
                      belongs to the runtime.";

/// The same of Touchstone's pool.
const POOLED: &str = " In the rows `pooling_tracked` an idle instance holds nothing: it takes one of \
                      the pool's for each call. The pool has as many as there are calls \
                      at a time, all of one module.";

/// Where the numbers stand that were too large.
const FAILED: &str = " The larger numbers at which one failed stand below the table.";

pub(crate) fn section(book: Option<&Book>) -> String {
    let Some(book) = book.filter(|book| !book.densities.is_empty()) else {
        return "## Live instances\n\nThere are no records of live instances; `make density` \
                makes them.\n\n"
            .to_owned();
    };
    let mut most: BTreeMap<_, &Density> = BTreeMap::new();
    for density in &book.densities {
        let executor = (&density.executor.engine, density.executor.strategy);
        let seen = most.entry(executor).or_insert(density);
        if density.instances > seen.instances {
            *seen = density;
        }
    }
    let headings = [
        "instances",
        "PSS, idle",
        "PSS, used",
        "page tables",
        "mappings, idle",
        "mappings, used",
        "to make one",
        "first call, p50",
        "first call, p99",
        "call, p50",
        "call, p99",
    ];
    let mut table = Table::new("Executor", headings);
    for density in most.values() {
        let [idle, used] = [&density.idle, &density.used].map(|now| density.each(now));
        let [making, first, calls] = [&density.making, &density.first_calls, &density.calls]
            .map(|tail| [tail.p50_ns, tail.p99_ns].map(|ns| time(ns as f64)));
        let kib = |kib: f64| format!("{kib:.1} KiB");
        let mut cells = vec![grouped(density.instances)];
        cells.extend([idle[1], used[1], used[2]].map(kib));
        cells.extend([idle[3], used[3]].map(|mappings| format!("{mappings:.1}")));
        cells.push(making[0].clone());
        cells.extend(first.into_iter().chain(calls));
        table.row(code(&density.executor), cells);
    }
    let copying = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Segments);
    let has_copies = most.keys().any(|(_, strategy)| *strategy == copying);
    let has_pools = most.keys().any(|(_, strategy)| strategy.is_touchstone_pool());
    let failed = failed(book);
    let Density { case, guest, .. } = &book.densities[0];
    format!(
        "## Live instances\n\nMany live instances of {} in one process (`make density`, \
         commit {}), with the largest of the tried numbers at which each executor made all \
         instances and calls.{} Columns for one instance: proportional memory (PSS) and mappings before its first call and \
         after the last one, and page tables. A call of {} is on a random instance; the \
         first one of each instance stands apart.{}{}\n\n{}{failed}",
        code(guest),
        code(&book.header.tools.commit),
        if failed.is_empty() { "" } else { FAILED },
        code(case),
        if has_copies { COPIES } else { "" },
        if has_pools { POOLED } else { "" },
        table.finish()
    )
}

/// The numbers at which executors failed, with the reasons. Empty where none did.
fn failed(book: &Book) -> String {
    let headings = ["tried", "live at its end, at least", "reason"];
    let mut table = Table::of_words("Executor", headings);
    for refusal in book.refusals.iter().filter(|refusal| refusal.status.is_failure()) {
        let Some(strategy) = refusal.strategy else { continue };
        let executor = Executor { engine: refusal.engine.clone(), strategy };
        let Some((tried, made, reason)) = numbers(refusal) else {
            table.row(code(&executor), [None, None, Some(markdown(&refusal.reason))]);
            continue;
        };
        let cells = [grouped(tried), grouped(made), markdown(reason)];
        table.row(code(&executor), cells.map(Some));
    }
    let table = table.finish();
    if table.is_empty() {
        return table;
    }
    format!(
        "### Numbers out of reach\n\nA process reports its number ten times per second, so \
         it may have had a few more when it ended.\n\n{table}"
    )
}

/// How many instances were tried, how many were live, and the reason why there were no more.
fn numbers(refusal: &Refusal) -> Option<(u64, u64, &str)> {
    let (tried, rest) = refusal.reason.split_once(" live instances: after ")?;
    let (made, reason) = rest.split_once(" of them, ")?;
    Some((tried.parse().ok()?, made.parse().ok()?, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{Footprint, Header, Line, Status, Tail};

    #[test]
    fn numbers_at_which_an_executor_failed_are_listed() {
        let strategy: Strategy = "pooling_cow".parse().unwrap();
        let executor = Executor { engine: "some".to_owned(), strategy };
        let live = Footprint::default();
        let tail = Tail { calls: 1, p50_ns: 1, p99_ns: 1, p999_ns: 1, max_ns: 1 };
        let density = Density {
            executor: executor.clone(),
            case: "call".to_owned(),
            guest: "guest".to_owned(),
            instances: 10_000,
            before: live,
            idle: live,
            used: live,
            making: tail,
            first_calls: tail,
            calls: tail,
        };
        let refusal = |status, reason: &str| {
            Line::Refusal(Refusal {
                engine: executor.engine.clone(),
                strategy: Some(strategy),
                guest: Some("guest".to_owned()),
                case: Some("call".to_owned()),
                threads: None,
                status,
                reason: reason.to_owned(),
            })
        };
        let reason = "20000 live instances: after 16003 of them, out of | memory";
        let of = |line| {
            let lines = vec![Line::Density(Box::new(density.clone())), line];
            section(Some(&Book::of(Header::default(), lines)))
        };
        let text = of(refusal(Status::Failed, reason));
        let row = "| `some_pooling_cow` | 20,000 | 16,003 | out of \\| memory |";
        assert!(text.contains(row) && text.contains(FAILED), "{text}");
        let text = of(refusal(Status::Failed, "no number"));
        assert!(text.contains("| `some_pooling_cow` | – | – | no number |"), "{text}");
        let text = of(refusal(Status::Unsupported, reason));
        assert!(!text.contains("out of reach") && !text.contains(FAILED), "{text}");
    }
}
