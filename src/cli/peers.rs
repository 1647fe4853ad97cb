//! `touchstone peers`.

use super::Ended;
use super::output::{complain, print, short};
use anyhow::Result;
use std::time::{Duration, Instant};
use touchstone::guests::Guests;
use touchstone::measure::get_to_know;
use touchstone::peers::{self, PeerPlan, Row};
use touchstone::record::{self, Record, RecordFile, Status};
use touchstone::session::{Session, config_for, cores};
use touchstone::{case, provenance};

/// Times executors against their peers, in turns, and prints a line for each row.
///
/// The rows are those of benches/peers.toml. The fields of a line have tabs
/// between them: case, guest, threads, strategy, reference, ratio, low, high. The
/// ratio is how many times faster the strategy is than the reference: the time of
/// a call on the reference over the time on the strategy, so that 2 is twice as
/// fast and 0.5 half as fast. It is the median over the rounds, low and high are
/// the ends of its 95 % confidence interval. A row that cannot be timed has - for
/// numbers and a ninth field with the reason.
///
/// Both sides of a row give the expected output before and after each round. On
/// several threads, the others do the same work while their side is timed and
/// sleep while it is not. The rows against `itself` show what the machine lets
/// anyone believe. Exits with 1 when an output was wrong or something failed.
#[derive(Debug, clap::Args)]
pub(super) struct Peers {
    /// Regular expression over the rows' names, which are
    /// `<case>/<guest>/<threads>/<strategy>`
    filter: Option<String>,
    /// Rounds of a row, in which both sides are timed once; 6 are the fewest for
    /// an interval
    #[arg(long, value_name = "N", default_value = "205", value_parser = rounds)]
    rounds: usize,
    /// Time that a row may take, loading included
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = super::run::seconds)]
    row_time: Duration,
    /// Print the rows and store no record of them
    #[arg(long)]
    no_record: bool,
}

/// For clap: enough rounds for an interval.
fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds) if rounds >= 6 => Ok(rounds),
        _ => Err(format!("'{text}' is no number of rounds from 6 upwards")),
    }
}

impl Peers {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let rows = peers::load(&peers::default_path(), &cases)?;
        let rows = peers::select(rows, self.filter.as_deref())?;
        let path = record::default_path();
        let mut records = if self.no_record { None } else { Some(RecordFile::append_to(&path)?) };

        let most = rows.iter().map(|row| row.threads).max().unwrap_or(1).min(cores());
        let mut session = Session::new(Guests::built(), config_for(most));
        let engines = touchstone_runtimes::engines();
        let plan = PeerPlan { rounds: self.rounds, at_most: self.row_time };
        let provenance = provenance::of_this_run(plan.sampling());
        let mut tally = Tally::default();
        let started = Instant::now();
        print(&peers::head())?;
        get_to_know();
        for (index, row) in rows.iter().enumerate() {
            tell(index, rows.len(), started, row);
            let measured = peers::measure(&mut session, &engines, row, plan, &provenance);
            print(&peers::line(row, &measured))?;
            match measured {
                Ok(record) => {
                    tally.timed += 1;
                    if let Some(records) = &mut records {
                        records.append(&Record::Pair(Box::new(record)))?;
                    }
                }
                Err(refused) => match refused.status {
                    Status::Unsupported | Status::Skipped => tally.left_out += 1,
                    _ => tally.failed += 1,
                },
            }
        }
        tally.tell(records.is_some().then(|| short(&path)));
        Ok(if tally.failed == 0 { Ended::Well } else { Ended::Badly })
    }
}

/// What happened to the rows.
#[derive(Default)]
struct Tally {
    timed: usize,
    left_out: usize,
    failed: usize,
}

impl Tally {
    fn tell(&self, records: Option<String>) {
        let Self { timed, left_out, failed } = self;
        let records = records.map_or_else(String::new, |path| format!("; records: {path}"));
        complain(&format!(
            "{timed} rows timed, {left_out} left out with the reason, {failed} failed{records}"
        ));
    }
}

/// What comes next, and how long the rest may take.
fn tell(done: usize, all: usize, started: Instant, row: &Row) {
    let left = match u32::try_from(done) {
        Ok(done @ 1..) => {
            let rest = u32::try_from(all).unwrap_or(u32::MAX) - done;
            let seconds = (started.elapsed() / done * rest).as_secs();
            format!(", about {}:{:02} min left", seconds / 60, seconds % 60)
        }
        _ => String::new(),
    };
    complain(&format!("[{}/{all}{left}] {} against {}", done + 1, row.id(), row.reference));
}
