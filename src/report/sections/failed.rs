//! The cells without a time, by reason.

use crate::record::{Refusal, Status};
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::Matrix;
use crate::report::units::count;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Strategy;

/// More strategies or places than these are counted, not named.
const MOST_NAMED: usize = 4;

/// Status, reason and cells, as they are printed.
type Row<'a> = (Status, &'a str, String);

pub(in crate::report) fn section(matrix: &Matrix<'_>) -> String {
    let heading = "## Cells without a time\n\n";
    let mut groups: BTreeMap<(Status, &str, &str), Vec<&Refusal>> = BTreeMap::new();
    for refusal in &matrix.book.refusals {
        let key = (refusal.status, refusal.reason.as_str(), refusal.engine.as_str());
        groups.entry(key).or_default().push(refusal);
    }
    if groups.is_empty() {
        return format!("{heading}Every cell of the run has a time.\n\n");
    }
    // Engines that refuse the same things for the same reason share a row.
    let mut rows: Vec<(Row<'_>, Vec<String>)> = Vec::new();
    for ((status, reason, engine), refusals) in groups {
        let row = (status, reason, what(&refusals));
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, engines)) => engines.push(code(engine)),
            None => rows.push((row, vec![code(engine)])),
        }
    }
    // Stable: failures first, then what was left out.
    rows.sort_by_key(|((status, ..), _)| !status.is_failure());
    let mut table = Table::of_words(&["Status", "Engines", "Reason", "Cells"]);
    for ((status, reason, what), engines) in rows {
        table.row(&[status.to_string(), engines.join(", "), escape(reason), what]);
    }
    format!(
        "{heading}A cell that is wrong, traps, fails or cannot be run is listed with its reason, \
         and its time is never published.\n\n{}",
        table.finish()
    )
}

/// The strategies and places of an engine's refusals.
fn what(refusals: &[&Refusal]) -> String {
    let mut places: BTreeMap<String, BTreeSet<Option<Strategy>>> = BTreeMap::new();
    for refusal in refusals {
        places.entry(place(refusal)).or_default().insert(refusal.strategy);
    }
    let mut alike: Vec<(BTreeSet<Option<Strategy>>, Vec<String>)> = Vec::new();
    for (place, strategies) in places {
        match alike.iter_mut().find(|(known, _)| *known == strategies) {
            Some((_, places)) => places.push(place),
            None => alike.push((strategies, vec![place])),
        }
    }
    let parts: Vec<String> = alike
        .into_iter()
        .map(|(strategies, places)| {
            let everywhere = places.iter().any(String::is_empty);
            let names = names(&strategies, everywhere);
            if everywhere {
                names
            } else if places.len() > MOST_NAMED {
                format!("{names} in {}", count(places.len(), "place"))
            } else {
                format!("{names} {}", places.join("; "))
            }
        })
        .collect();
    parts.join("<br>")
}

/// The strategies by name; where there are many of them, by their number unless they are
/// refused `everywhere` and so have no row in any other table.
fn names(strategies: &BTreeSet<Option<Strategy>>, everywhere: bool) -> String {
    let Some(named) = strategies.iter().copied().collect::<Option<Vec<Strategy>>>() else {
        return "all strategies".to_owned();
    };
    let variants = Strategy::all().into_iter().filter(|strategy| strategy.is_precompiled());
    if variants.eq(named.iter().copied()) {
        return "every precompiled variant".to_owned();
    }
    if named.len() > MOST_NAMED && !everywhere {
        return format!("{} strategies", named.len());
    }
    let names: Vec<String> = named.iter().map(|strategy| code(&strategy.to_string())).collect();
    names.join(", ")
}

/// Where a refusal holds; empty where it holds everywhere.
fn place(refusal: &Refusal) -> String {
    let parts = [
        refusal.case.as_ref().map(|case| format!("in {}", escape(case))),
        refusal.guest.as_ref().map(|guest| format!("on {}", escape(guest))),
        refusal.threads.map(|threads| format!("with {}", count(threads, "thread"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
