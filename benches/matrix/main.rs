//! `cargo bench`: the matrix, timed by criterion and recorded cell by cell.

mod arguments;
mod sampler;

use anyhow::{Context, Result};
use arguments::{Arguments, Mode};
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use touchstone::guests::Guests;
use touchstone::matrix::{self, Cell};
use touchstone::measure::{PairPlan, ROUND};
use touchstone::pairs::{self, Pair};
use touchstone::plan::Plan;
use touchstone::record::{self, Record, RecordFile, Status};
use touchstone::run::{Runner, Tally, finished_by_last_run};
use touchstone::session::{Refused, Session, config_for, cores, refused_beforehand};
use touchstone::{case, provenance};

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
    Run::new(&arguments, &cells, &pairs)?.go()
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

struct Run<'a> {
    arguments: &'a Arguments,
    cells: Vec<&'a Cell>,
    pairs: Vec<&'a Pair>,
    plan: Plan,
    session: Session,
    records: Option<RecordFile>,
    provenance: record::Provenance,
    progress: Progress,
    pairs_timed: usize,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments, cells: &'a [Cell], pairs: &'a [Pair]) -> Result<Self> {
        let cores = cores();
        let most = cells.iter().map(|cell| cell.key.threads).max().unwrap_or(0);
        if most > cores {
            println!("rows of more than {cores} threads are skipped: there are {cores} processors");
        }
        let mut session = Session::new(Guests::built(), config_for(most.min(cores)));
        let runnable =
            cells.iter().filter(|cell| refused_beforehand(cell, cores).is_none()).count();
        let plan = arguments.plan(runnable + pairs.len());
        let mut provenance = provenance::of_this_run(plan.sampling());
        let mut done = HashSet::new();
        let records = if arguments.mode == Mode::Measure {
            let path = record::default_path();
            if arguments.resume {
                let loaded = record::load(&path)?;
                let name_of = |key: &str| {
                    cells.iter().find(|cell| cell.key.guest == key).map(|cell| cell.guest.clone())
                };
                let last = finished_by_last_run(&loaded.records, &provenance, |key| {
                    name_of(key).map(|name| session.digest(&name))
                });
                if let Some((run, finished)) = last {
                    println!("going on with the run {run}: {} cells are done", finished.len());
                    provenance.run = run;
                    done.extend(finished);
                } else {
                    println!("there is no run of this build on this machine to go on with");
                }
            }
            Some(RecordFile::append_to(&path)?)
        } else {
            None
        };
        let cells: Vec<&Cell> =
            cells.iter().filter(|cell| !done.contains(&cell.key.id())).collect();
        let pairs: Vec<&Pair> = pairs.iter().filter(|pair| !done.contains(&pair.id())).collect();
        let todo = cells.iter().filter(|cell| refused_beforehand(cell, cores).is_none()).count();
        let progress = Progress::new(todo + pairs.len());
        Ok(Self {
            arguments,
            cells,
            pairs,
            plan,
            session,
            records,
            provenance,
            progress,
            pairs_timed: 0,
        })
    }

    fn go(mut self) -> Result<usize> {
        if self.records.is_some() {
            keep_what_is_done()?;
        }
        let (tally, failed_pairs) = self.backends()?;
        if self.records.is_some() {
            println!(
                "{} cells and {} pairs timed, {} cells left out with the reason, {} failed; \
                 records: {}",
                tally.timed,
                self.pairs_timed,
                tally.left_out,
                tally.failed + failed_pairs,
                record::default_path().display()
            );
        }
        Ok(tally.failed + failed_pairs)
    }

    /// Backend by backend, pairs before cells and the smaller guest before the
    /// larger. A process ages: after a compiler has been through a large module,
    /// runtimes that allocate much for an instance took up to twice as long.
    fn backends(&mut self) -> Result<(Tally, usize)> {
        let mut criterion = criterion::Criterion::default()
            .warm_up_time(at_least(self.plan.warm_up))
            .measurement_time(at_least(self.plan.measurement))
            // Enough for the second digit of an interval's ends, at a tenth of
            // the time of criterion's default.
            .nresamples(10_000)
            .configure_from_args();
        let mut backends: Vec<String> = Vec::new();
        let names = self.pairs.iter().map(|pair| &pair.cell.key.backend);
        for name in self.cells.iter().map(|cell| &cell.key.backend).chain(names) {
            if !backends.contains(name) {
                backends.push(name.clone());
            }
        }
        let mut tally = Tally::default();
        let mut failed_pairs = 0;
        for backend in &backends {
            if self.arguments.mode == Mode::Measure {
                failed_pairs += self.time_pairs(backend)?;
            }
            tally = self.cells(backend, &mut criterion, tally)?;
        }
        if !self.cells.is_empty() {
            criterion.final_summary();
        }
        Ok((tally, failed_pairs))
    }

    fn cells(
        &mut self,
        backend: &str,
        criterion: &mut criterion::Criterion,
        tally: Tally,
    ) -> Result<Tally> {
        let mut cells: Vec<&Cell> =
            self.cells.iter().copied().filter(|cell| cell.key.backend == backend).collect();
        cells.sort_by_key(|cell| cell.case.guests.iter().position(|guest| *guest == cell.guest));
        let mut runner = Runner {
            session: &mut self.session,
            records: self.records.as_mut(),
            provenance: self.provenance.clone(),
            plan: self.plan.clone(),
            tally,
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
        Ok(runner.tally)
    }

    /// Pairs have no place in criterion: what counts is their ratio.
    fn time_pairs(&mut self, backend: &str) -> Result<usize> {
        let plan = PairPlan {
            rounds: self.plan.pair_rounds,
            round: ROUND,
            at_most: (self.plan.measurement * 4)
                .clamp(Duration::from_millis(300), Duration::from_secs(4)),
        };
        let mut failed = 0;
        for pair in self.pairs.iter().filter(|pair| pair.cell.key.backend == backend) {
            self.progress.next(&pair.id());
            match pairs::measure(&mut self.session, pair, plan, &self.provenance) {
                Ok(record) => {
                    println!(
                        "{:<80} {:.3} [{:.3} – {:.3}] times {} ({:.0} ns against {:.0} ns)",
                        pair.id(),
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
                    self.pairs_timed += 1;
                }
                // Told by the cells of the executor, with the reason.
                Err(error) if is_unsupported(&error) => {}
                Err(error) => {
                    failed += 1;
                    println!("{}: failed: {error:#}", pair.id());
                }
            }
        }
        Ok(failed)
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

/// On Ctrl-C: every finished cell is on the disk already, so the process may
/// end at once; what is left to do is to say so.
fn keep_what_is_done() -> Result<()> {
    ctrlc::set_handler(|| {
        println!(
            "\nstopped; all finished cells are recorded. Go on with: cargo bench … -- --resume"
        );
        std::process::exit(130);
    })
    .context("cannot watch for Ctrl-C")
}

/// What is left, on a terminal after every cell, elsewhere now and then.
struct Progress {
    total: usize,
    done: usize,
    started: Instant,
    terminal: bool,
    last_line: Instant,
}

impl Progress {
    fn new(total: usize) -> Self {
        let now = Instant::now();
        Self {
            total,
            done: 0,
            started: now,
            terminal: std::io::stderr().is_terminal(),
            last_line: now,
        }
    }

    fn next(&mut self, name: &str) {
        let quiet = Duration::from_secs(if self.terminal { 0 } else { 30 });
        if self.last_line.elapsed() >= quiet && self.total > 1 {
            let left = if self.done == 0 {
                String::new()
            } else {
                let each = self.started.elapsed() / self.done as u32;
                let seconds = (each * (self.total - self.done) as u32).as_secs();
                format!(", about {}:{:02} min left", seconds / 60, seconds % 60)
            };
            // Failing to tell is no reason to stop.
            let _ = writeln!(std::io::stderr(), "[{}/{}{left}] {name}", self.done + 1, self.total);
            self.last_line = Instant::now();
        }
        self.done += 1;
    }
}
