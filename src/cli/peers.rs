//! `touchstone peers`.

use super::Ended;
use super::bench::worker;
use touchstone::terminal::{complain, print};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use touchstone::case;
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::lab::Guests;
use touchstone::plan::{Budget, Filter, Plan, Rows, default_rows};
use touchstone::record::{self, Book, Line, Match, Purpose, RecordFile, Sink};
use touchstone::run::{
    Finished, Host, Job, Progress, artifacts, header, run, shared_in, watch_for_ctrl_c,
};
use touchstone::supervise::Stop;

/// Times executors against their peers, in turns, and prints a line for each row.
///
/// The rows are those of benches/comparisons.toml with the purpose `peers`. A line has eight
/// fields with tabs between them: case, guest, threads, strategy, reference, ratio, low, high.
/// The ratio of these lines is how many times faster the strategy is than the reference; the
/// records hold times slower than the baseline. A row that cannot be timed has - for numbers
/// and a ninth field with the reason.
///
/// Exits with 1 when an output was wrong or something failed.
#[derive(Debug, clap::Args)]
pub(super) struct Peers {
    /// Time only rows whose name this regular expression matches
    filter: Option<String>,
    /// Time each row in N fresh processes
    #[arg(long, value_name = "N", default_value = "6")]
    processes: u32,
    /// Make N rounds in each process; a round times both sides once
    #[arg(long, value_name = "N", default_value = "15")]
    rounds: usize,
    /// Write the records to FILE [default: records/peers.jsonl of the project, replaced]
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
        let cases = case::load_all(&case::default_folder())?;
        let engines = touchstone_runtimes::engines();
        let plan = Plan::new(&cases, &engines, &mut Guests::built())?;
        let rows = Rows::load(&default_rows(), &cases)?;
        let filter = Filter::new(self.filter.as_deref())?;
        let (compares, missing) =
            rows.select(&[Purpose::Peers], &cases, &engines, &plan, &filter)?;
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let budget = Budget {
            name: "peers".to_owned(),
            processes: self.processes.max(1),
            rounds: self.rounds.max(1),
            ..Budget::full(seed.map_or(1, |seed| seed.as_secs()))
        };
        let job = Job {
            header: header(budget.sampling(false), &engines, &plan),
            cells: Vec::new(),
            compares,
            refusals: Vec::new(),
            budget,
            in_process: false,
            done: Finished::default(),
        };
        print(HEAD)?;
        for wanted in &missing {
            print(&line(&wanted.of, &Err(wanted.reason.clone())))?;
        }
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, false)?;
        let artifacts = artifacts()?;
        let host = Host {
            cases: &cases,
            engines: &engines,
            guests: &Guests::built,
            worker: &worker,
            limit: Duration::from_secs(600),
            artifacts: Some(shared_in(&artifacts)),
            stop,
        };
        let matches: Vec<Match> = job.compares.iter().map(|compare| compare.of.clone()).collect();
        let head = job.header.clone();
        let mut progress = Progress::new(matches.len() * job.budget.processes as usize);
        let mut lines: Vec<Line> = Vec::new();
        let came = run(job, &host, &mut lines, &mut progress)?;
        drop(progress);
        if !self.no_record && !came.stopped {
            let path = self.records.unwrap_or_else(|| record::default_path(record::PEERS));
            let mut file = RecordFile::append_to(&path)?;
            file.clear()?;
            for line in &lines {
                file.append(line)?;
            }
        }
        let book = Book::of(head, lines);
        let mut judged = BTreeMap::new();
        for (of, processes) in &book.comparisons {
            let processes: Vec<_> = processes.iter().collect();
            judged.extend(judge(&processes, MARGIN).map(|judged| (of, judged)));
        }
        for of in &matches {
            let measured = judged.get(of).ok_or_else(|| "it failed, as was said above".to_owned());
            print(&line(of, &measured.copied()))?;
        }
        complain(&format!(
            "{} rows timed, {} left out with the reason, {} failed",
            came.comparisons.measured,
            missing.len() + came.comparisons.left_out,
            came.comparisons.failed
        ));
        if came.stopped {
            return Ok(Ended::Stopped);
        }
        Ok(if came.failed() == 0 { Ended::Well } else { Ended::Badly })
    }
}

/// The line of a row, with numbers or with a reason.
fn line(of: &Match, measured: &Result<Judged, String>) -> String {
    let reference = match (of.subject == of.baseline, of.baseline.executor == of.subject.executor) {
        (true, _) => "itself".to_owned(),
        (false, true) if of.baseline.threads != of.subject.threads => {
            format!("itself_on_{}_thread", of.baseline.threads)
        }
        (false, true) => match (&of.subject.means, &of.baseline.means) {
            (record::Means::After { case, .. }, _) => format!("itself_without_{case}"),
            (_, record::Means::Raw) => "raw".to_owned(),
            _ => of.baseline.to_string(),
        },
        _ => of.baseline.to_string(),
    };
    let mut fields = vec![
        of.case.clone(),
        of.guest.clone(),
        of.subject.threads.to_string(),
        of.subject.executor.to_string(),
        reference,
    ];
    match measured {
        Ok(judged) => {
            let number = |slower: Option<f64>| {
                slower.map_or_else(|| "-".to_owned(), |slower| format!("{:.3}", 1.0 / slower))
            };
            fields.push(number(Some(judged.ratio)));
            // The lower end of one direction is the upper end of the other.
            fields.push(number(judged.interval.map(|(_, high)| high)));
            fields.push(number(judged.interval.map(|(low, _)| low)));
        }
        Err(reason) => {
            fields.extend(["-"; 3].map(str::to_owned));
            fields.push(reason.clone());
        }
    }
    let fields: Vec<String> =
        fields.iter().map(|field| field.replace(char::is_control, " ")).collect();
    format!("{}\n", fields.join("\t"))
}
