use super::Ended;
use super::common::{Known, begin, ended, stopped};
use anyhow::Result;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use touchstone::case::{Guests, Suite};
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::plan::{Budget, Filter, Rows, default_rows};
use touchstone::record::escape::tsv;
use touchstone::record::{self, Header, Match, Means, Purpose, RecordFile, Sampling};
use touchstone::run::{
    Finished, Host, Job, digest_of, go_on, going_on, header, no_pairs, run, seed, starting_again,
};
use touchstone::supervise::Stop;
use touchstone::terminal::{Progress, complain, print};

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
#[command(after_help = "Example:\n  touchstone peers call_empty_function")]
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
}

/// Longest time of a comparison in a process.
const LIMIT: Duration = Duration::from_secs(1800);

/// The fields of a line.
const HEAD: &str = "# ratio: how many times faster the strategy is than the reference (time of a \
                    call on the reference / time on the strategy), timed in turns; low and high: \
                    its 95 % confidence interval\n\
                    case\tguest\tthreads\tstrategy\treference\tratio\tlow\thigh\n";

impl Peers {
    pub(super) fn execute(self) -> Result<Ended> {
        let filter = Filter::new(self.filter.as_deref())?;
        let known = Known::load(&Suite::BuiltIn)?;
        let Known { cases, engines, plan, .. } = &known;
        let rows = Rows::load(&default_rows(), cases)?;
        let (compares, missing) = rows.select(&[Purpose::Peers], cases, engines, plan, &filter)?;
        let (name, processes, rounds) = ("peers".to_owned(), self.processes, self.rounds.get());
        let budget = Budget { name, processes, rounds, ..Budget::full(seed(None)) };
        print(HEAD)?;
        for wanted in &missing {
            print(&line(&wanted.of, Err(&wanted.reason)))?;
        }
        let matches: Vec<Match> = compares.iter().map(|compare| compare.of.clone()).collect();
        let default = || record::output_path(record::PEERS, self.filter.is_none());
        let path = self.records.unwrap_or_else(default);
        let (mut file, before) = RecordFile::go_on(&path)?;
        let header = header(budget.sampling(false), engines, plan);
        let sampling = Sampling { seed: 0, ..header.sampling.clone() };
        let header = Header { questions: digest_of(&(&matches, sampling))?, ..header };
        let progress = &mut Progress::new(compares.len() * budget.processes as usize, true);
        let (cells, refusals, done) = (Vec::new(), Vec::new(), Finished::default());
        let (main, contests, in_process) = (Vec::new(), Vec::new(), false);
        let mut job =
            Job { header, cells, main, compares, contests, refusals, budget, in_process, done };
        match go_on(&mut job, before.into_iter().collect()) {
            Some(done) => {
                let begun = format!("{done} comparisons were begun");
                complain(&going_on(&job.header.run, &begun));
            }
            None if file.clear()? => complain(&starting_again(file.path())),
            None => {}
        }
        let stop = Stop::default();
        begin(&stop, false)?;
        let (guests, worker) = (&Guests::built, &|| Ok(super::bench::worker()));
        let (pairs, limit, until) = (&no_pairs, LIMIT, None);
        let host = Host { cases, engines, guests, worker, pairs, limit, until, stop };
        let came = run(job, &host, &mut file, progress)?;
        let book = record::load(file.path())?.newest().unwrap_or_default();
        let is_whole = !came.stopped && came.broken_off.is_none();
        if is_whole {
            file.finish()?;
        } else {
            stopped(&file);
        }
        for of in &matches {
            let measured = book.comparisons.get(of).and_then(|processes| judge(processes, MARGIN));
            let no_time =
                if is_whole { "it failed, as was said above" } else { "the run was ended before" };
            print(&line(of, measured.ok_or(no_time)))?;
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
    // The lower end of one direction is the upper end of the other.
    let ratios = measured.as_ref().ok().map(|Judged { ratio, .. }| {
        let (low, high) = ratio.interval.unzip();
        [Some(ratio.median), high, low]
    });
    let ratios = ratios.unwrap_or_default().map(|slower| {
        slower.map_or_else(|| "-".to_owned(), |slower| format!("{:.3}", 1.0 / slower))
    });
    let (threads, executor) = (subject.threads.to_string(), subject.executor.to_string());
    let names = [of.case.clone(), of.guest.clone(), threads, executor, reference];
    let fields = names.into_iter().chain(ratios).chain(measured.err().map(str::to_owned));
    format!("{}\n", fields.map(|field| tsv(&field)).collect::<Vec<_>>().join("\t"))
}
