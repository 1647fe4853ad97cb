//! Executors timed in turns: against themselves (the noise floor), against the raw
//! interface of their runtime (the adapter's overhead), against the one a case names.

use crate::compare::{self, Judged, MARGIN, Verdict};
use crate::record::{Book, Match, Purpose};
use crate::report::markdown::{Table, code, escape};
use crate::report::rank::Noise;
use crate::report::units::{self, count, percent, ratio_with_interval};
use std::fmt::Write;

/// A comparison with what it says.
pub(super) type Row<'a> = (&'a Match, Judged);

/// The comparisons of a run with a purpose, in the order of their names.
pub(super) fn of(book: &Book, purpose: Purpose) -> Vec<Row<'_>> {
    let own = book.comparisons.iter().filter(|(of, _)| of.purpose == purpose);
    own.filter_map(|(of, processes)| {
        let judged = compare::judge(&processes.iter().collect::<Vec<_>>(), MARGIN)?;
        Some((of, judged))
    })
    .collect()
}

/// What the ratios and verdicts of all tables of comparisons mean.
pub(super) fn legend() -> String {
    format!(
        "The ratio is the subject's time over the baseline's: times slower than the baseline, \
         with its 95 % interval. The verdict is \"equivalent\" where the whole interval lies \
         within {} of 1, \"slower\" or \"faster\" where all of it lies outside, else \"not enough \
         data\".",
        percent(MARGIN)
    )
}

pub(in crate::report) fn section(book: &Book, noise: &Noise) -> String {
    let mut text = String::from("## Comparisons\n\n");
    let groups = [
        (Purpose::Null, "Executors against themselves", noise_floor(noise)),
        (Purpose::Overhead, "Adapters against the raw interface of their runtime", String::new()),
        (Purpose::Against, "Executors against the one that the case names", String::new()),
    ];
    let _ = write!(text, "Two executors timed in turns in one process. {}\n\n", legend());
    let mut is_empty = true;
    for (purpose, heading, says) in groups {
        let rows = of(book, purpose);
        if rows.is_empty() {
            continue;
        }
        is_empty = false;
        let says = if says.is_empty() { summary(&rows) } else { says };
        let _ = write!(text, "### {heading}\n\n{says}\n\n{}", tables(&rows));
    }
    if is_empty {
        text.push_str(
            "The run holds no comparisons, so neither the noise floor nor the adapters' overhead \
             is known.\n\n",
        );
    }
    text
}

/// How often each verdict was given, and the highest ratio.
fn summary(rows: &[Row<'_>]) -> String {
    let all = [Verdict::Slower, Verdict::Equivalent, Verdict::Faster, Verdict::NotEnoughData];
    let number = |verdict| rows.iter().filter(|(_, judged)| judged.verdict == verdict).count();
    let verdicts: Vec<String> = all
        .into_iter()
        .map(|verdict| (number(verdict), verdict))
        .filter(|(number, _)| *number > 0)
        .map(|(number, verdict)| format!("{number} {verdict}"))
        .collect();
    let worst = rows.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let worst = worst.map_or_else(String::new, |(of, judged)| {
        let ratio = units::times(&judged.estimate());
        format!("; the highest ratio is {ratio} ({})", code(&of.subject.to_string()))
    });
    format!("Of {}: {}{worst}.", count(rows.len(), "comparison"), verdicts.join(", "))
}

/// How far executors differ from themselves.
fn noise_floor(noise: &Noise) -> String {
    let cases: Vec<String> = noise
        .cases()
        .map(|(case, own)| {
            format!(
                "{} for {} (worst of {}: {}, {})",
                percent(own.typical),
                code(case),
                count(own.executors, "executor"),
                percent(own.worst),
                code(&own.worst_executor)
            )
        })
        .collect();
    if cases.is_empty() {
        return "None of these comparisons has an interval.".to_owned();
    }
    format!(
        "The noise floor of a case is how far an executor's interval reaches from 1 when it is \
         compared with itself, median over executors: {}.",
        cases.join("; ")
    )
}

/// A table for each work and number of threads.
fn tables(rows: &[Row<'_>]) -> String {
    let mut groups: Vec<(String, Vec<&Row<'_>>)> = Vec::new();
    for row in rows {
        let of = row.0;
        let work = format!("{}_from_{}_on_{}_threads", of.case, of.guest, of.subject.threads);
        match groups.iter_mut().find(|(known, _)| *known == work) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((work, vec![row])),
        }
    }
    let table = |(work, rows): (String, Vec<&Row<'_>>)| {
        let headings =
            ["Subject", "baseline", "ratio", "subject's time", "baseline's time", "verdict"];
        let mut table = Table::new(&headings);
        for (of, judged) in rows {
            let mut row = vec![code(&of.subject.to_string()), escape(&of.baseline.to_string())];
            row.extend(cells(judged));
            table.row(&row);
        }
        format!("{}:\n\n{}", code(&work), table.finish())
    };
    groups.into_iter().map(table).collect()
}

/// Ratio, times and verdict.
pub(super) fn cells(judged: &Judged) -> [String; 4] {
    let time = |ns: f64| units::marked(units::time(ns), judged.marked);
    [
        ratio_with_interval(&judged.estimate()),
        time(judged.subject_ns),
        time(judged.baseline_ns),
        judged.verdict.to_string(),
    ]
}
