//! Executors against their peers, timed in turns: how many times faster.

use crate::record::{PEERS, PairRecord};
use crate::report::markdown::{Table, code, escape};
use crate::report::order;
use crate::report::units::factor;

pub(in crate::report) fn section(pairs: &[PairRecord]) -> String {
    let mut own: Vec<&PairRecord> = pairs.iter().filter(|pair| pair.group == PEERS).collect();
    if own.is_empty() {
        return "## Against the peer\n\nThere are no records of peers; `make peers` makes them.\n\n"
            .to_owned();
    }
    own.sort_by(|a, b| {
        order::cases(&a.case, &b.case)
            .then_with(|| order::guests(&a.guest, &b.guest))
            .then_with(|| a.threads.cmp(&b.threads))
    });
    let headings =
        ["Case", "guest", "threads", "executor", "reference", "times faster [95 % interval]"];
    let mut table = Table::new(&headings);
    for pair in own {
        let [ratio, low, high] = pair.times_faster().map(factor);
        table.row(&[
            code(&pair.case),
            code(&pair.guest),
            pair.threads.to_string(),
            code(&pair.subject),
            escape(&pair.reference),
            format!("{ratio} [{low} – {high}]"),
        ]);
    }
    format!(
        "## Against the peer\n\nTwo executors timed in turns within one process (`make peers`): how \
         many times faster the executor is than the reference, below 1 slower. The rows against \
         `itself` are the same thing twice and show what may be believed. `itself_on_1_thread` is \
         the same executor alone; `itself_without_…` never made the call that the executor made \
         some calls before.\n\n{}",
        table.finish()
    )
}
