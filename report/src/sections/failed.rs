//! The cells without a time, by reason.

use crate::markdown::{Table, below, code, markdown};
use crate::units::{count, joined};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Strategy;
use touchstone_record::{Book, Refusal, Status};

/// More strategies or places than these are counted, not named.
const MOST_NAMED: usize = 4;

pub(crate) fn section(book: &Book) -> String {
    let table = table(&book.refusals);
    let text = match &*table {
        "" => "Every cell of the run has a time.\n\n",
        _ => {
            "A cell that is wrong, traps, fails or cannot be run is listed with its reason, and its \
             time is never published.\n\n"
        }
    };
    format!("## Cells without a time\n\n{text}{table}")
}

/// The cells that are wrong, trap or fail; nothing where there are none.
pub(crate) fn failures(book: &Book) -> String {
    let failures = book.refusals.iter().filter(|refusal| refusal.status.is_failure());
    below("## Failed cells", &table(failures))
}

/// A table of refusals, those with the same reason together; empty where there are none.
fn table<'a>(refusals: impl IntoIterator<Item = &'a Refusal>) -> String {
    let mut groups: BTreeMap<(Status, &str, &str), Vec<&Refusal>> = BTreeMap::new();
    for refusal in refusals {
        let key = (refusal.status, refusal.reason.as_str(), refusal.engine.as_str());
        groups.entry(key).or_default().push(refusal);
    }
    // Engines with the same refusals and reason share a row; the worst failures come first.
    type Row<'a> = (Reverse<Option<Status>>, Status, &'a str, String);
    let mut rows: BTreeMap<Row<'_>, Vec<String>> = BTreeMap::new();
    for ((status, reason, engine), refusals) in groups {
        let failure = Reverse(status.is_failure().then_some(status));
        let row = (failure, status, reason, what(&refusals));
        rows.entry(row).or_default().push(code(engine));
    }
    let mut table = Table::of_words("Status", ["Engines", "Reason", "Cells"]);
    for ((_, status, reason, what), engines) in rows {
        table.row(status.to_string(), [engines.join(", "), markdown(reason), what]);
    }
    table.finish()
}

/// The strategies of an engine's refusals with their places, those alike together.
fn what(refusals: &[&Refusal]) -> String {
    let mut places: BTreeMap<String, BTreeSet<Option<Strategy>>> = BTreeMap::new();
    for refusal in refusals {
        places.entry(place(refusal)).or_default().insert(refusal.strategy);
    }
    let mut alike: BTreeMap<BTreeSet<Option<Strategy>>, Vec<String>> = BTreeMap::new();
    for (place, strategies) in places {
        alike.entry(strategies).or_default().push(place);
    }
    let part = |(strategies, places): (BTreeSet<Option<Strategy>>, Vec<String>)| {
        // What is refused everywhere has no row in any other table: it is named.
        let everywhere = places.iter().any(String::is_empty);
        let names: Option<Vec<String>> = strategies.iter().map(|own| own.map(code)).collect();
        let names = match names {
            None => "all strategies".to_owned(),
            Some(names) if names.len() > MOST_NAMED && !everywhere => {
                format!("{} strategies", names.len())
            }
            Some(names) => names.join(", "),
        };
        match places.len() {
            _ if everywhere => names,
            0..=MOST_NAMED => format!("{names} {}", places.join("; ")),
            several => format!("{names} in {}", count(several, "place")),
        }
    };
    joined(alike.into_iter().map(part), "<br>")
}

/// Where a refusal holds; empty where it holds everywhere.
fn place(refusal: &Refusal) -> String {
    let parts = [
        refusal.case.as_ref().map(|case| format!("in {}", markdown(case))),
        refusal.guest.as_ref().map(|guest| format!("on {}", markdown(guest))),
        refusal.threads.map(|threads| format!("with {}", count(threads, "thread"))),
    ];
    joined(parts.into_iter().flatten(), " ")
}
