//! Executors timed in turns: against themselves (the noise floor), against the raw
//! interface of their runtime (the adapter's overhead), against the one a case names,
//! against their peers.

use super::function;
use crate::Records;
use crate::markdown::{Table, code, markdown};
use crate::rank::Noise;
use crate::units::{self, count, joined, percent, ratio_with_interval};
use indexmap::IndexMap;
use touchstone_record::compare::{self, Judged, MARGIN, Verdict};
use touchstone_record::{Book, Contender, Match, Purpose};

type Row<'a> = (&'a Match, Judged);

/// The comparisons of a run with a purpose, in the order of their names.
fn of(book: &Book, purpose: Purpose) -> Vec<Row<'_>> {
    let own = book.comparisons.iter().filter(|(of, _)| of.purpose == purpose);
    own.filter_map(|(of, processes)| Some((of, compare::judge(processes, MARGIN)?))).collect()
}

/// The comparisons of the run and those with peers, from a file of their own.
pub(crate) fn section(records: &Records) -> String {
    let mut text = format!(
        "## Comparisons\n\nTwo executors timed in turns in one process. The ratio is the subject's \
         time over the baseline's: times slower than the baseline, with its 95 % interval. The \
         verdict is \"equivalent\" where the whole interval lies within {} of 1, \"slower\" or \
         \"faster\" where all of it lies outside, else \"not enough data\".\n\n",
        percent(MARGIN)
    );
    let groups = [
        (
            Purpose::Overview,
            "Touchstone's resets against the runtimes' own, in pairs of fresh processes",
        ),
        (Purpose::Null, "Executors against themselves"),
        (Purpose::Overhead, "Adapters against the raw interface of their runtime"),
        (Purpose::Deadline, "Calls with a deadline that none reaches against calls without"),
        (Purpose::Against, "Every executor against one baseline"),
    ];
    let before = text.len();
    for (purpose, heading) in groups {
        let rows = of(&records.bench, purpose);
        let is_null = purpose == Purpose::Null;
        let says = || if is_null { floor(&records.noise) } else { summary(&rows) };
        if !rows.is_empty() {
            text += &format!("### {heading}\n\n{}\n\n{}", says(), tables(&rows));
        }
    }
    if text.len() == before {
        text.push_str("The run holds no comparisons: the noise floor is unknown.\n\n");
    }
    let rows = records.peers().map_or_else(Vec::new, |peers| of(peers, Purpose::Peers));
    text + &match records.peers() {
        Some(peers) if !rows.is_empty() => format!(
            "### Executors against their peers\n\nMeasured by `make peers`, commit {}. An executor \
             \"after\" a case makes its calls after one call of that case on the same instance. \
             These intervals are of one build. {}\n\n{}",
            code(&peers.header.tools.commit),
            summary(&rows),
            tables(&rows)
        ),
        _ => "There are no records of peers; `make peers` makes them.\n\n".to_owned(),
    }
}

/// How often each verdict was given, and the highest ratio.
fn summary(rows: &[Row<'_>]) -> String {
    let all = [Verdict::Slower, Verdict::Equivalent, Verdict::Faster, Verdict::NotEnoughData];
    let number = |verdict| rows.iter().filter(|(_, judged)| judged.verdict == verdict).count();
    let given = all.into_iter().map(|verdict| (number(verdict), verdict));
    let given = given.filter(|(n, _)| *n > 0).map(|(n, verdict)| format!("{n} {verdict}"));
    let worst = rows.iter().max_by(|a, b| a.1.ratio.median.total_cmp(&b.1.ratio.median));
    let worst = worst.map_or_else(String::new, |(of, judged)| {
        let ratio = units::times(&judged.ratio);
        format!("; the highest ratio is {ratio} ({})", code(&of.subject))
    });
    format!("Of {}: {}{worst}.", count(rows.len(), "comparison"), joined(given, ", "))
}

/// How far executors differ from themselves.
fn floor(noise: &Noise) -> String {
    let case = |(case, own): (&String, &Vec<(f64, Contender)>)| {
        let (worst, executor) = own.last()?;
        Some(format!(
            "* {} for {} (worst of {}: {}, {})\n",
            percent(noise.floor(case)?),
            code(case),
            count(own.len(), "executor"),
            percent(*worst),
            code(executor)
        ))
    };
    let cases: String = noise.cases.iter().filter_map(case).collect();
    if cases.is_empty() {
        return "None of these comparisons has an interval.".to_owned();
    }
    format!(
        "The noise floor of a case is how far an executor's interval reaches from 1 when it is \
         compared with itself, median over executors.\n\n{cases}"
    )
}

/// A table for each work and number of threads.
fn tables(rows: &[Row<'_>]) -> String {
    let headings = ["baseline", "ratio", "subject's time", "baseline's time", "verdict"];
    let mut groups: IndexMap<String, Table> = IndexMap::new();
    for (of, judged) in rows {
        let threads = match (of.subject.threads, of.baseline.threads) {
            (one, other) if one == other => one.to_string(),
            (one, other) => format!("{one}_against_{other}"),
        };
        let work = function(&of.case, &of.guest, threads);
        let table = groups.entry(work).or_insert_with(|| Table::new("Subject", headings));
        let cells = [
            markdown(&of.baseline.to_string()),
            ratio_with_interval(&judged.ratio),
            units::median(&judged.subject),
            units::median(&judged.baseline),
            judged.verdict.to_string(),
        ];
        table.row(code(&of.subject), cells);
    }
    let text = |(work, table): (String, Table)| format!("{}:\n\n{}", code(&work), table.finish());
    groups.into_iter().map(text).collect()
}
