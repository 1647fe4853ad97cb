//! Things that do the same work, timed in turns: the null rows and the
//! adapters' overhead.

use crate::record::PairRecord;
use crate::report::markdown::{Table, code, escape};
use crate::report::rank::NULL_GROUP;
use crate::report::units::{self, percent, ratio};
use std::fmt::Write;

pub(in crate::report) fn section(pairs: &[PairRecord], believable: Option<f64>) -> String {
    let mut text = String::from("## Pairs\n\n");
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
        let own: Vec<&PairRecord> = pairs.iter().filter(|pair| pair.group == group).collect();
        let _ = write!(text, "### {}\n\n{}\n\n", code(group), says(group, &own, believable));
        text.push_str(&table(&own, believable));
    }
    text
}

/// What a group says as a whole.
fn says(group: &str, pairs: &[&PairRecord], believable: Option<f64>) -> String {
    if group == NULL_GROUP {
        return believable.map_or_else(
            || "The null rows hold no usable interval.".to_owned(),
            |share| {
                format!(
                    "The same thing twice: the smallest difference that this report lets anyone \
                     believe is {}.",
                    percent(share)
                )
            },
        );
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

/// What a pair lets one believe.
fn verdict(pair: &PairRecord, believable: Option<f64>) -> &'static str {
    let least = believable.unwrap_or(0.0);
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

fn table(pairs: &[&PairRecord], believable: Option<f64>) -> String {
    let mut table = Table::new(&[
        "Subject",
        "reference",
        "row",
        "ratio",
        "subject's median",
        "reference's median",
        "verdict",
    ]);
    for pair in pairs {
        table.row(&[
            code(&pair.subject),
            escape(&pair.reference),
            escape(&format!("{}_from_{}_on_{}_threads", pair.case, pair.guest, pair.threads)),
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
