//! `cargo bench`: the matrix, timed by criterion and recorded cell by cell.

mod arguments;
mod job;
mod progress;
mod sampler;
mod workers;

use anyhow::Result;
use arguments::{Arguments, Mode};
use job::Job;
use progress::Progress;
use std::process::ExitCode;
use std::time::Duration;
use touchstone::case;
use touchstone::matrix::{self, Cell};
use touchstone::measure::{PairPlan, ROUND, get_to_know};
use touchstone::pairs::{self, Pair};
use touchstone::record::{self, Ended, Record, RecordFile, Sink, Status};
use touchstone::run::{Runner, Tally, end_in_order};
use touchstone::session::{Refused, cores, refused_beforehand};
use touchstone::worker::Worker;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Everything; gives back how many cells failed.
fn run() -> Result<usize> {
    let arguments = Arguments::read()?;
    let worker = Worker::join()?;
    let cases = case::load_all(&case::default_folder())?;
    let all = matrix::cells(&cases, &touchstone_runtimes::engines());
    let cells: Vec<Cell> =
        all.iter().filter(|cell| arguments.filter.matches(&cell.key.id())).cloned().collect();
    let pairs = pairs::select(pairs::pairs(&all), &arguments.filter);
    if let (Some(text), true, true) = (&arguments.filter_text, cells.is_empty(), pairs.is_empty()) {
        let mut names: Vec<String> = all.iter().map(|cell| cell.key.id()).collect();
        names.extend(pairs::pairs(&all).iter().map(Pair::id));
        let near = matrix::near(text, &names);
        anyhow::bail!("nothing matches '{text}'; near: {}", near.join(", "));
    }
    if arguments.mode == Mode::List {
        list(&cells, &pairs);
        return Ok(0);
    }
    register_fonts()?;
    if let Some(mut worker) = worker {
        end_in_order("")?;
        let job = Job::of_worker(&worker, &cells, &pairs);
        let came = Run::new(&arguments, job, Some(&mut worker)).backends();
        worker.leave(came)?;
        return Ok(0);
    }
    let mut job = Job::new(&arguments, &cells, &pairs)?;
    if arguments.mode != Mode::Measure {
        return Ok(Run::new(&arguments, job, None).backends()?.failed());
    }
    let path = record::default_path();
    if arguments.resume {
        job.go_on(&path, &cells)?;
    }
    if arguments.disturbed {
        job.only_disturbed(&path)?;
    }
    let mut records = RecordFile::append_to(&path)?;
    let came = if arguments.workers {
        workers::run(&arguments, job, &mut records)?
    } else {
        end_in_order(GO_ON)?;
        Run::new(&arguments, job, Some(&mut records)).backends()?
    };
    println!(
        "{} cells and {} pairs timed, {} cells left out with the reason, {} failed; records: {}",
        came.cells.timed,
        came.pairs.timed,
        came.cells.left_out,
        came.failed(),
        path.display()
    );
    Ok(came.failed())
}

/// What is left to say when a run is ended: every finished cell is on the disk already.
const GO_ON: &str =
    "\nstopped; all finished cells are recorded. Go on with: cargo bench … -- --resume";

/// What came of a run.
struct Came {
    cells: Tally,
    pairs: Tally,
}

impl Came {
    fn failed(&self) -> usize {
        self.cells.failed + self.pairs.failed
    }
}

/// Criterion draws with the same plotters library as the report, which is built
/// without the system's fonts: it has to be given the embedded ones.
fn register_fonts() -> Result<()> {
    use plotters::style::{FontStyle, register_font};
    for (style, font) in [
        (FontStyle::Normal, dejavu::sans::regular()),
        (FontStyle::Bold, dejavu::sans::bold()),
        (FontStyle::Italic, dejavu::sans::oblique()),
        (FontStyle::Oblique, dejavu::sans::oblique()),
    ] {
        if register_font("sans-serif", style, font).is_err() {
            anyhow::bail!("the embedded fonts cannot be read");
        }
    }
    Ok(())
}

/// As criterion lists: what would be timed.
fn list(cells: &[Cell], pairs: &[Pair]) {
    let cores = cores();
    for cell in cells.iter().filter(|cell| refused_beforehand(cell, cores).is_none()) {
        println!("{}: benchmark", cell.key.id());
    }
    for pair in pairs {
        println!("{}: benchmark", pair.id());
    }
}

/// How often cells are timed again that were disturbed.
const AGAIN: usize = 2;

struct Run<'a> {
    arguments: &'a Arguments,
    job: Job<'a>,
    records: Option<&'a mut dyn Sink>,
    progress: Progress,
    /// Names of the cells that something else disturbed for too long.
    disturbed: Vec<String>,
    /// Whether the cells are timed again because of that.
    is_again: bool,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, job: Job<'a>, records: Option<&'a mut dyn Sink>) -> Self {
        let progress = Progress::new(job.place);
        let is_again = arguments.disturbed;
        Self { arguments, job, records, progress, disturbed: Vec::new(), is_again }
    }

    /// Backend by backend, pairs before cells and the smaller guest before the
    /// larger. A process ages: after a compiler has been through a large module,
    /// runtimes that allocate much for an instance took up to twice as long.
    fn backends(mut self) -> Result<Came> {
        let mut criterion = criterion::Criterion::default()
            .warm_up_time(at_least(self.job.plan.warm_up))
            .measurement_time(at_least(self.job.plan.measurement))
            // Enough for the second digit of an interval's ends, at a tenth of
            // the time of criterion's default.
            .nresamples(10_000)
            .configure_from_args();
        if self.arguments.mode == Mode::Measure {
            get_to_know();
        }
        let mut came = Came { cells: Tally::default(), pairs: Tally::default() };
        for backend in &self.job.backends() {
            if self.arguments.mode == Mode::Measure {
                self.time_pairs(backend, &mut came.pairs)?;
            }
            came.cells = self.cells(backend, &mut criterion, came.cells)?;
        }
        self.again(&mut criterion)?;
        if !self.job.cells.is_empty() {
            criterion.final_summary();
        }
        Ok(came)
    }

    /// Again, in the hope of a quieter time.
    fn again(&mut self, criterion: &mut criterion::Criterion) -> Result<()> {
        self.job.pairs.clear();
        self.is_again = true;
        for _ in 0..AGAIN {
            let again = std::mem::take(&mut self.disturbed);
            if again.is_empty() || self.job.is_part {
                return Ok(());
            }
            println!("something else used the core while {} cells were timed: again", again.len());
            self.job.cells.retain(|cell| again.contains(&cell.key.id()));
            self.progress.add(again.len());
            for backend in &self.job.backends() {
                self.cells(backend, criterion, Tally::default())?;
            }
        }
        println!("{} cells stay disturbed", self.disturbed.len());
        Ok(())
    }

    fn cells(
        &mut self,
        backend: &str,
        criterion: &mut criterion::Criterion,
        tally: Tally,
    ) -> Result<Tally> {
        let mut cells: Vec<&Cell> =
            self.job.cells.iter().copied().filter(|cell| cell.key.backend == backend).collect();
        cells.sort_by_key(|cell| cell.case.guests.iter().position(|guest| *guest == cell.guest));
        let mut runner = Runner {
            session: &mut self.job.session,
            records: self.records.as_deref_mut().map(|records| records as &mut dyn Sink),
            provenance: self.job.provenance.clone(),
            plan: self.job.plan.clone(),
            tally,
            disturbed: std::mem::take(&mut self.disturbed),
            again: self.is_again,
        };
        let cores = cores();
        for cells in cells.chunk_by(|a, b| a.key.group() == b.key.group()) {
            let mut group = criterion.benchmark_group(cells[0].key.group());
            let mut refused_before = String::new();
            for cell in cells {
                if refused_beforehand(cell, cores).is_none() {
                    self.progress.next(&cell.key.id());
                }
                let mut sampler =
                    sampler::Criterion { group: &mut group, mode: self.arguments.mode };
                match runner.cell(cell, &mut sampler)? {
                    Some(refused) if refused.status == Status::Skipped => {}
                    Some(refused) => {
                        // The rows of other numbers of threads say the same.
                        let said = format!("{}: {}", cell.key.executor(), refused.reason);
                        if said != refused_before {
                            println!("{} {:?}: {}", cell.key.id(), refused.status, refused.reason);
                        }
                        refused_before = said;
                    }
                    None => {}
                }
            }
            group.finish();
        }
        self.disturbed = runner.disturbed;
        Ok(runner.tally)
    }

    /// Pairs have no place in criterion: what counts is their ratio.
    fn time_pairs(&mut self, backend: &str, tally: &mut Tally) -> Result<()> {
        let plan = PairPlan {
            rounds: self.job.plan.pair_rounds,
            round: ROUND,
            at_most: (self.job.plan.measurement * 4)
                .clamp(Duration::from_millis(300), Duration::from_secs(4)),
        };
        for pair in self.job.pairs.clone() {
            if pair.cell.key.backend != backend {
                continue;
            }
            let id = pair.id();
            self.progress.next(&id);
            if let Some(records) = &mut self.records {
                records.begin(&id)?;
            }
            let how = match pairs::measure(&mut self.job.session, pair, plan, &self.job.provenance)
            {
                Ok(record) => {
                    println!(
                        "{id:<80} {:.3} [{:.3} – {:.3}] times {} ({:.0} ns against {:.0} ns)",
                        record.ratio,
                        record.ratio_low,
                        record.ratio_high,
                        record.reference,
                        record.subject_ns,
                        record.reference_ns,
                    );
                    if let Some(records) = &mut self.records {
                        records.append(&Record::Pair(Box::new(record)))?;
                    }
                    Ended::Timed
                }
                // Told by the cells of the executor, with the reason.
                Err(error) if is_unsupported(&error) => Ended::LeftOut,
                Err(error) => {
                    println!("{id}: failed: {error:#}");
                    Ended::Failed
                }
            };
            tally.count(how);
            if let Some(records) = &mut self.records {
                records.end(&id, how)?;
            }
        }
        Ok(())
    }
}

/// Whether the backend cannot do the strategy for this guest.
fn is_unsupported(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<Refused>();
    refused.is_some_and(|refused| refused.status == Status::Unsupported)
}

/// Criterion refuses a time of zero.
fn at_least(time: Duration) -> Duration {
    time.max(Duration::from_millis(1))
}
