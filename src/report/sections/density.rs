//! Density: what a live instance takes, and calls on one of many.

use crate::record::{Book, Density};
use crate::report::markdown::{Table, code};
use crate::report::units::{grouped, time};
use std::collections::BTreeMap;
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// What a reader learns from rows of that strategy.
const COPIES: &str = " In the rows `instance_reuse` each instance has a copy of the guest's data. The \
                      other rows map the data from one image. The part that both rows of an engine share \
                      belongs to the runtime.";

/// The same of Touchstone's pool.
const POOLED: &str = " In the rows `pooling_tracked` an idle instance holds nothing: it takes one of \
                      the pool's for each call. The pool has as many as there are calls \
                      at a time, all of one module.";

pub(in crate::report) fn section(book: Option<&Book>) -> String {
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
    let Density { case, guest, .. } = &book.densities[0];
    format!(
        "## Live instances\n\nMany live instances of {} in one process (`make density`, \
         commit {}), with the largest number that each executor reached within its memory and two \
         minutes. Columns for one instance: proportional memory (PSS) and mappings before its first call and \
         after the last one, and page tables. A call of {} is on a random instance; the \
         first one of each instance stands apart.{}{}\n\n{}",
        code(guest),
        code(&book.header.tools.commit),
        code(case),
        if has_copies { COPIES } else { "" },
        if has_pools { POOLED } else { "" },
        table.finish()
    )
}
