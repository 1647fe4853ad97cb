//! Whether executors run WebAssembly as its specification says.

use crate::record::findings::conformance::failures;
use crate::record::findings::conformance::{Conformance, OnEngine, Tally};
use crate::report::markdown::{Table, code, details, escape};
use crate::report::trust::Trust;
use crate::report::units;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Nothing where nothing was found out.
pub(in crate::report) fn section(trust: &Trust) -> String {
    let Some(found) = &trust.conformance else { return String::new() };
    let found = &found.findings;
    let mut text = "## Conformance\n\nThe test scripts of the WebAssembly specification, driven \
                    through the same contract as the measurements: assertions that hold of those \
                    an engine was held against; below it those that need what this project or \
                    the engine does not have. Editions and proposals bring the scripts of those before \
                    along, so an assertion may stand in more than one row. Modules that have to \
                    be refused are refused before any engine sees them and not counted for \
                    one.\n\n"
        .to_owned();
    text += &table(found);
    text += &limits(&found.engines);
    text += &listed(&found.engines);
    text += &reasons(&found.engines, "Unsupported, and why", |one| &one.unsupported);
    text += &reasons(&found.engines, "Not driven, and why", |one| &one.not_driven);
    text
}

fn table(found: &Conformance) -> String {
    let mut head = vec!["Scripts".to_owned()];
    head.extend(
        found
            .engines
            .iter()
            .map(|one| format!("{}<br>{}", code(&one.engine), escape(&one.version))),
    );
    let mut table = Table::new(&head);
    for group in &found.groups {
        let tallies: Vec<Tally> = found
            .engines
            .iter()
            .map(|one| one.groups.get(group).copied().unwrap_or_default())
            .collect();
        if tallies.iter().all(|tally| *tally == Tally::default()) {
            continue;
        }
        let mut row = vec![escape(group)];
        row.extend(tallies.into_iter().map(cell));
        table.row(&row);
    }
    for (name, number) in [
        ("**driven**", (|tally| tally.driven()) as fn(Tally) -> u64),
        ("passed", |tally| tally.passed),
        ("**failed**", |tally| tally.failed),
        ("unsupported", |tally| tally.unsupported),
        ("not driven", |tally| tally.not_driven),
        ("refused before", |tally| tally.refused),
    ] {
        let mut row = vec![name.to_owned()];
        row.extend(found.engines.iter().map(|one| units::grouped(number(one.total()))));
        table.row(&row);
    }
    table.finish()
}

fn cell(tally: Tally) -> String {
    let driven = match tally.driven() {
        0 => "–".to_owned(),
        driven if tally.failed > 0 => format!("**{}**/{driven}", tally.passed),
        driven => format!("{}/{driven}", tally.passed),
    };
    match tally.unsupported {
        0 => driven,
        unsupported => format!("{driven}<br>{unsupported} uns."),
    }
}

fn limits(engines: &[OnEngine]) -> String {
    let mut text = String::new();
    for one in engines {
        if let Some(limit) = &one.limit {
            // Writing to a string cannot fail.
            let _ = write!(text, "{} was given {}.\n\n", code(&one.engine), escape(limit));
        }
    }
    text
}

fn listed(engines: &[OnEngine]) -> String {
    let failures = failures(engines);
    if failures.is_empty() {
        return "Nothing failed.\n\n".to_owned();
    }
    let mut table = Table::of_words(&["Where", "Executors", "What", "Why"]);
    let count = failures.len();
    for (failure, engines) in failures {
        let engines: Vec<String> = engines.into_iter().map(code).collect();
        table.row(&[
            code(&failure.at),
            engines.join(", "),
            escape(&failure.what),
            escape(failure.why.as_deref().unwrap_or_default()),
        ]);
    }
    details(&format!("Every failure by name ({count})"), &table.finish())
}

fn reasons(
    engines: &[OnEngine],
    summary: &str,
    of: impl Fn(&OnEngine) -> &BTreeMap<String, u64>,
) -> String {
    let mut rows: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
    for one in engines {
        for (reason, count) in of(one) {
            rows.entry(reason).or_default().push((*count, &one.engine));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::of_words(&["Reason", "Assertions"]);
    for (reason, mut counts) in rows {
        counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let mut parts: Vec<(u64, Vec<String>)> = Vec::new();
        for (count, engine) in counts {
            match parts.last_mut() {
                Some((same, engines)) if *same == count => engines.push(code(engine)),
                _ => parts.push((count, vec![code(engine)])),
            }
        }
        let all = parts.len() == 1 && parts[0].1.len() == engines.len();
        let shown: Vec<String> = parts
            .into_iter()
            .map(
                |(count, names)| {
                    if all { count.to_string() } else { format!("{count}: {}", names.join(", ")) }
                },
            )
            .collect();
        table.row(&[escape(reason), shown.join("; ")]);
    }
    details(summary, &table.finish())
}
