//! A host over HTTP under load.

use crate::markdown::Table;
use crate::units::{marked, percent, ratio_with_interval, time};
use touchstone_record::escape::code;
use touchstone_record::{Book, Estimate, InstanceState, Load, Requests, Rounds};

/// Requests a second: `17,300 /s`.
pub(crate) fn rate(rate: f64) -> String {
    format!("{} /s", crate::units::grouped(rate.round() as u64))
}

pub(crate) fn section(book: Option<&Book>) -> String {
    let heading = "## Requests under load";
    let all = book.map(Rounds::all).unwrap_or_default();
    let (Some(book), Some(first)) = (book, all.first()) else {
        return format!(
            "{heading}\n\nThere are no records of requests under load; `make systems-full` makes \
             them.\n\n"
        );
    };
    let Some(Requests { case, guest, .. }) = first.rounds().first() else { return String::new() };
    let headings = [
        "instance",
        "capacity",
        "capacity / used",
        "answered, 80 %",
        "answered / used",
        "p50, 80 %",
        "p99, 80 %",
        "p99.9, 80 %",
        "p99.9 / used",
        "p99.9 / used, its load",
        "p99.9, 50 %",
        "p99.9, 95 %",
        "saturated, 95 %",
        "CPU per request",
        "resident",
    ];
    let mut table = Table::new("Executor", headings);
    for own in &all {
        let used = all.iter().find(|other| {
            other.state == InstanceState::Used
                && own.state == InstanceState::Clean
                && other.executor.engine == own.executor.engine
        });
        // Of another executor, the load is another one.
        let is_same_executor = used.is_some_and(|used| used.executor == own.executor);
        let quantile = |share, value| {
            own.quantile(share, value).map(|(ns, differs)| marked(time(ns), differs))
        };
        let differs = |own: &Rounds<'_>| {
            own.quantile(Load::COMPARED, Load::p999).is_some_and(|(_, differs)| differs)
        };
        let is_marked = differs(own) || used.is_some_and(differs);
        let times = |ratio: Estimate| ratio_with_interval(&Estimate { marked: is_marked, ..ratio });
        let capacity = |own: &Requests, used: &Requests| vec![own.capacity / used.capacity];
        let capacity = used.and_then(|used| own.ratio(used, capacity));
        let over = |value: fn(&Load) -> f64| own.over(used?, |round| &round.loads, value);
        let beside = used.and_then(|used| own.over(used, |round| &round.beside, Load::p999));
        let cells = [
            Some(own.state.to_string()),
            own.capacity().map(rate),
            capacity.map(percent_of),
            own.at(Load::COMPARED, |load| load.completed).map(rate),
            over(|load| load.completed).filter(|_| is_same_executor).map(percent_of),
            quantile(Load::COMPARED, Load::p50),
            quantile(Load::COMPARED, Load::p99),
            quantile(Load::COMPARED, Load::p999),
            over(Load::p999).filter(|_| is_same_executor).map(times),
            beside.map(times),
            quantile(50, Load::p999),
            quantile(95, Load::p999),
            Some(own.saturated(95)),
            own.at(Load::COMPARED, |load| load.cpu_ns).map(time),
            own.at(Load::COMPARED, |load| load.rss_kib as f64)
                .map(|kib| format!("{:.1} MiB", kib / 1024.0)),
        ];
        table.row(code(own.executor), cells);
    }
    format!(
        "{heading}\n\nA host over HTTP on loopback (`touchstone systems requests`, commit {}); a \
         request makes the call of {} on {}. Requests have planned times, at 50, 80 and 95 % of the \
         row's own capacity. A time counts from the planned time to the answer. A used instance is \
         as the call before left it. `/ used` is against it in the same rounds, each at 80 % of its \
         own capacity; for `its load`, the clean one gets 80 % of what the used one can do. The \
         ratios of p99.9 have the 95 % interval of their median. Values are medians over all loops \
         of {} rounds, in which all rows take turns, those of an engine one after the other. Where \
         the system grants it, client and hosts run before all other threads. † marks quantiles of \
         which the quartiles of the loops differ more than twofold: stalls of the machine are in \
         them. A loop is saturated if the host answers less than 97 % of what is offered.\n\n{}",
        code(&book.header.tools.commit),
        code(case),
        code(guest),
        first.rounds().len(),
        table.finish()
    )
}

/// A share as a percentage in whole numbers and a digit: `97.3 %`.
fn percent_of(share: Estimate) -> String {
    let share = share.median;
    if share < 0.1 { percent(share) } else { format!("{:.1} %", share * 100.0) }
}
