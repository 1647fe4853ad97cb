//! Things that do the same work, timed in turns: the null rows and the
//! adapters' overhead.

use crate::record::{PEERS, PairRecord};
use crate::report::markdown::{Table, code, escape};
use crate::report::rank::{Believable, NULL_GROUP};
use crate::report::units::{self, count, percent, ratio};
use std::fmt::Write;

pub(in crate::report) fn section(pairs: &[PairRecord], believable: &Believable) -> String {
    let mut text = String::from("## Pairs\n\n");
    // Those have a section of their own.
    let pairs: Vec<&PairRecord> = pairs.iter().filter(|pair| pair.group != PEERS).collect();
    if pairs.is_empty() {
        text.push_str(
            "There are no records of pairs: nothing is known about the smallest difference to \
             believe, nor about the adapters' overhead.\n\n",
        );
        return text;
    }
    text.push_str(
        "Two things that do the same work, timed in turns within one run. The ratio is subject over \
         reference with its 95 % interval: above 1 the subject is slower.\n\n",
    );
    let mut groups: Vec<&str> = pairs.iter().map(|pair| pair.group.as_str()).collect();
    groups.dedup();
    // What the null rows show is needed to read all others.
    groups.sort_by_key(|group| *group != NULL_GROUP);
    for group in groups {
        let own: Vec<&PairRecord> =
            pairs.iter().copied().filter(|pair| pair.group == group).collect();
        let _ = write!(text, "### {}\n\n{}\n\n", code(group), says(group, &own, believable));
        text.push_str(&tables(&own, believable));
    }
    text
}

/// What a group says as a whole.
fn says(group: &str, pairs: &[&PairRecord], believable: &Believable) -> String {
    if group == NULL_GROUP {
        return null_rows(believable);
    }
    let worst = pairs.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let apart = pairs.iter().filter(|pair| verdict(pair, believable) == "slower").count();
    worst.map_or_else(String::new, |worst| {
        format!(
            "Slower for certain: {apart} of {}; the highest ratio is {} ({}).",
            pairs.len(),
            ratio(worst.ratio),
            code(&worst.subject)
        )
    })
}

/// How far the same thing strays from itself.
fn null_rows(believable: &Believable) -> String {
    let cases: Vec<String> = believable
        .cases()
        .into_iter()
        .map(|(case, stray)| {
            format!(
                "{} for {} (worst of {}: {}, {})",
                percent(stray.typical),
                code(case),
                count(stray.rows, "row"),
                percent(stray.worst),
                code(&stray.worst_subject)
            )
        })
        .collect();
    if cases.is_empty() {
        return "The null rows hold no usable interval.".to_owned();
    }
    format!(
        "The same thing twice: a row strays as far as its interval reaches from 1. The smallest \
         difference that this page lets anyone believe is, case by case, the median over these \
         rows: {}. A noisy row, of few \
         rounds of slow calls, does not widen it for all others; its own intervals are wide enough.",
        cases.join("; ")
    )
}

/// What a pair lets one believe.
fn verdict(pair: &PairRecord, believable: &Believable) -> &'static str {
    // Without a null row, nothing is known about what a difference means.
    let Some(least) = believable.least(&pair.case) else { return "unknown" };
    if !(pair.ratio_low.is_finite() && pair.ratio_high.is_finite()) {
        "unknown"
    } else if pair.ratio_low > 1.0 && pair.ratio - 1.0 >= least {
        "slower"
    } else if pair.ratio_high < 1.0 && 1.0 - pair.ratio >= least {
        "faster"
    } else {
        "no difference"
    }
}

/// The pairs of a group, a table for each row of the big table.
fn tables(pairs: &[&PairRecord], believable: &Believable) -> String {
    let row = |pair: &PairRecord| {
        format!("{}_from_{}_on_{}_threads", pair.case, pair.guest, pair.threads)
    };
    let mut rows: Vec<String> = pairs.iter().map(|pair| row(pair)).collect();
    rows.dedup();
    let mut text = String::new();
    for name in rows {
        let own = pairs.iter().copied().filter(|pair| row(pair) == name);
        let _ = write!(text, "{}:\n\n{}", code(&name), table(own, believable));
    }
    text
}

fn table<'a>(pairs: impl Iterator<Item = &'a PairRecord>, believable: &Believable) -> String {
    let headings =
        ["Subject", "reference", "ratio", "subject's median", "reference's median", "verdict"];
    let mut table = Table::new(&headings);
    for pair in pairs {
        table.row(&[
            code(&pair.subject),
            escape(&pair.reference),
            format!(
                "{} [{} – {}]",
                ratio(pair.ratio),
                ratio(pair.ratio_low),
                ratio(pair.ratio_high)
            ),
            units::time(pair.subject_ns),
            units::time(pair.reference_ns),
            verdict(pair, believable).to_owned(),
        ]);
    }
    table.finish()
}
