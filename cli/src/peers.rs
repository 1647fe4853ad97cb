//! `touchstone peers`.

use super::Ended;
use super::common::{Known, Sunk, ended, stopped};
use anyhow::Result;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::plan::{Budget, Filter, Rows, default_rows};
use touchstone::record::escape::tsv;
use touchstone::record::{self, Book, Header, Line, Match, Means, Purpose, Replacement};
use touchstone::run::seed;
use touchstone::terminal::{complain, print};

/// Compares executors with their peers, in turns, and prints one line per row.
///
/// The rows are those of benches/comparisons.toml with the purpose `peers`. A line has eight
/// tab-separated fields: case, guest, threads, strategy, reference, ratio, low, high. The ratio of
/// these lines is the time of the reference over that of the strategy; the records hold the
/// inverse, times slower than the baseline. A row without a time has "-" for numbers and a ninth
/// field with the reason.
///
/// Exits with 1 when an output was wrong or a row failed.
#[derive(Debug, clap::Args)]
pub(super) struct Peers {
    /// Compare only rows whose name this regular expression matches
    filter: Option<String>,
    /// Compare each row in N fresh processes
    #[arg(long, value_name = "N", default_value = "6",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(record::MOST_PROCESSES)))]
    processes: u32,
    /// Make N rounds in each process; a round times both sides once
    #[arg(long, value_name = "N", default_value = "15")]
    rounds: NonZeroUsize,
    /// Replace the records in FILE [default: records/peers.jsonl of the project; in target/ with a
    /// filter]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Print the rows and store no records
    #[arg(long, conflicts_with = "records")]
    no_record: bool,
}

/// The fields of a line.
const HEAD: &str = "# ratio: how many times faster the strategy is than the reference (time of a \
                    call on the reference / time on the strategy), timed in turns; low and high: \
                    its 95 % confidence interval\n\
                    case\tguest\tthreads\tstrategy\treference\tratio\tlow\thigh\n";

impl Peers {
    pub(super) fn execute(self) -> Result<Ended> {
        let filter = Filter::new(self.filter.as_deref())?;
        let known = Known::load()?;
        let Known { cases, engines, plan, .. } = &known;
        let rows = Rows::load(&default_rows(), cases)?;
        let (compares, missing) = rows.select(&[Purpose::Peers], cases, engines, plan, &filter)?;
        let budget = Budget {
            name: "peers".to_owned(),
            processes: self.processes,
            rounds: self.rounds.get(),
            ..Budget::full(seed(None))
        };
        print(HEAD)?;
        for wanted in &missing {
            print(&line(&wanted.of, Err(&wanted.reason)))?;
        }
        let matches: Vec<Match> = compares.iter().map(|compare| compare.of.clone()).collect();
        let default = || record::output_path(record::PEERS, self.filter.is_none());
        let (came, book) = if self.no_record {
            let mut lines: Vec<Line> = Vec::new();
            let came =
                known.compare(compares, Vec::new(), budget, "", Sunk::Nowhere(&mut lines))?;
            (came, Book::of(Header::default(), lines))
        } else {
            let path = self.records.unwrap_or_else(default);
            let (mut file, before) = Replacement::go_on(&path)?;
            let came =
                known.compare(compares, Vec::new(), budget, "", Sunk::Part(&mut file, before))?;
            let book = record::load(file.part())?.newest().unwrap_or_default();
            match came.stopped || came.broken_off.is_some() {
                true => drop(stopped(&file)),
                false => file.finish()?,
            }
            (came, book)
        };
        let is_whole = !came.stopped && came.broken_off.is_none();
        for of in &matches {
            let measured = book.comparisons.get(of).and_then(|processes| judge(processes, MARGIN));
            print(&line(
                of,
                measured.ok_or(match is_whole {
                    true => "it failed, as was said above",
                    false => "the run was ended before",
                }),
            ))?;
        }
        complain(&format!(
            "{} rows timed, {} left out with the reason, {} failed",
            came.comparisons.measured,
            missing.len() + came.comparisons.left_out,
            came.comparisons.failed
        ));
        ended(&came, came.failed() == 0)
    }
}

/// The line of a row, with numbers or with a reason.
fn line(of: &Match, measured: Result<Judged, &str>) -> String {
    let Match { subject, baseline, .. } = of;
    let reference = match (&subject.means, &baseline.means) {
        _ if subject == baseline => "itself".to_owned(),
        _ if subject.executor != baseline.executor => baseline.to_string(),
        _ if subject.threads != baseline.threads => {
            format!("itself_on_{}_thread", baseline.threads)
        }
        (Means::After { case, .. }, _) => format!("itself_without_{case}"),
        (_, Means::Raw) => "raw".to_owned(),
        (Means::Limited, _) => "itself_without_deadline".to_owned(),
        _ => baseline.to_string(),
    };
    let mut fields = vec![
        of.case.clone(),
        of.guest.clone(),
        subject.threads.to_string(),
        subject.executor.to_string(),
        reference,
    ];
    let ratios = measured.map(|Judged { ratio, .. }| {
        // The lower end of one direction is the upper end of the other.
        let (low, high) = ratio.interval.unzip();
        [Some(ratio.median), high, low]
    });
    fields.extend(ratios.unwrap_or_default().map(|slower| {
        slower.map_or_else(|| "-".to_owned(), |slower| format!("{:.3}", 1.0 / slower))
    }));
    fields.extend(ratios.err().map(str::to_owned));
    let fields: Vec<String> = fields.iter().map(|field| tsv(field)).collect();
    format!("{}\n", fields.join("\t"))
}
