//! `touchstone swap`.

use super::Ended;
use touchstone::terminal::{Style, complain, near, print, short};
use touchstone::terminal::progress::Progress;
use super::show::swap_table;
use anyhow::{Result, bail};
use std::sync::Arc;
use std::time::Duration;
use touchstone::guests::Guests;
use touchstone::matrix::Filter;
use touchstone::record::{self, Provenance, Record, RecordFile, SwapFound, SwapRecord};
use touchstone::session::cores;
use touchstone::swap::{self, Kind, LadderPlan, LoadPlan, Problem, Step, SwapPlan};
use touchstone::{case, provenance};
use touchstone_executor::{Config, Engine};

/// Replaces modules while messages arrive, and says what a swap costs.
///
/// Messages of two kinds come in random order (benches/swap.toml), each answered by a
/// module of its own. The rungs are ways to have the right one at hand: recompile,
/// load_artifact, instantiate, two_live_instances, pool. Those of an engine are timed
/// in turns, on the random order and on the same messages by kind.
///
/// With --under-load, threads call while another one replaces the module; with --swaps,
/// a rung swaps for long and the resident memory is looked at on the way. Every answer
/// is compared. Exits with 1 when a call failed or an answer was wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Swap {
    /// Regular expression over `<engine>/<rung>`; with --under-load, the rung is called
    /// under_load
    filter: Option<String>,
    /// Replace the module while threads call, as many threads as there are processors
    #[arg(long, conflicts_with = "swaps")]
    under_load: bool,
    /// Swap so many times, looking at the resident memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(20..))]
    swaps: Option<u64>,
    /// Rounds of a ladder; 6 are the fewest for an interval
    #[arg(long, value_name = "N", default_value_t = 11)]
    rounds: usize,
    /// Time that a rung takes part in further rounds for
    #[arg(long, value_name = "SECONDS", default_value = "12", value_parser = super::run::seconds)]
    rung_time: Duration,
    /// Print the results and store no record of them
    #[arg(long)]
    no_record: bool,
}

/// Time of a rung on one order in one round.
const PASS: Duration = Duration::from_millis(300);

/// The name of what --under-load does, in filters.
const UNDER_LOAD: &str = "under_load";

impl Swap {
    pub(super) fn execute(self) -> Result<Ended> {
        let cases = case::load_all(&case::default_folder())?;
        let plan = swap::load(&swap::default_path(), &cases)?;
        let kinds = swap::kinds(&plan.kinds, &mut Guests::built())?;
        let mut engines = touchstone_runtimes::engines();
        engines.retain(|engine| !plan.without.iter().any(|name| name == engine.id()));
        let jobs = self.jobs(&engines)?;

        let path = record::default_path();
        let mut records = if self.no_record { None } else { Some(RecordFile::append_to(&path)?) };
        let mut work = Work {
            swap: &self,
            plan: &plan,
            kinds: &kinds,
            config: Config::default(),
            provenance: provenance::of_this_run(swap::sampling(self.rung_time)),
            progress: Progress::new(self.steps(&jobs), true),
            found: Vec::new(),
            problems: Vec::new(),
        };
        for (engine, steps) in &jobs {
            let before = work.found.len();
            work.engine(engine, steps);
            if let Some(records) = &mut records {
                for found in &work.found[before..] {
                    records.append(&Record::Swap(Box::new(found.clone())))?;
                }
            }
        }
        work.tell(records.is_some().then(|| short(&path)))
    }

    /// Engines and their rungs that the filter means.
    fn jobs(&self, engines: &[Arc<dyn Engine>]) -> Result<Vec<Job>> {
        let filter = Filter::new(self.filter.as_deref());
        let name = |engine: &Arc<dyn Engine>, step: Step| match self.under_load {
            true => format!("{}/{UNDER_LOAD}", engine.id()),
            false => format!("{}/{step}", engine.id()),
        };
        let all: &[Step] = if self.under_load { &[Step::LoadArtifact] } else { &Step::ALL };
        let wanted = |engine: &Arc<dyn Engine>| -> Vec<Step> {
            all.iter().copied().filter(|step| filter.matches(&name(engine, *step))).collect()
        };
        let jobs: Vec<_> = engines
            .iter()
            .map(|engine| (Arc::clone(engine), wanted(engine)))
            .filter(|(_, steps)| !steps.is_empty())
            .collect();
        if let (Some(text), true) = (&self.filter, jobs.is_empty()) {
            let names: Vec<String> = engines
                .iter()
                .flat_map(|engine| all.iter().map(|step| name(engine, *step)))
                .collect();
            bail!("no rung matches '{text}'{}", near(text, &names));
        }
        Ok(jobs)
    }

    /// Steps of the progress.
    fn steps(&self, jobs: &[Job]) -> usize {
        let rungs: usize = jobs.iter().map(|(_, steps)| steps.len()).sum();
        match (self.swaps, self.under_load) {
            (None, false) => rungs * (self.rounds.max(2) + 1),
            _ => rungs,
        }
    }
}

/// An engine and its rungs.
type Job = (Arc<dyn Engine>, Vec<Step>);

/// What is done, and what came of it.
struct Work<'a> {
    swap: &'a Swap,
    plan: &'a SwapPlan,
    kinds: &'a [Kind; 2],
    config: Config,
    provenance: Provenance,
    progress: Progress,
    found: Vec<SwapRecord>,
    /// By the names of the rungs.
    problems: Vec<(String, Problem)>,
}

impl Work<'_> {
    fn engine(&mut self, engine: &Arc<dyn Engine>, steps: &[Step]) {
        if self.swap.under_load {
            let found = self.load(engine);
            self.note(format!("{}/{UNDER_LOAD}", engine.id()), found);
        } else if let Some(swaps) = self.swap.swaps {
            for step in steps {
                let found = self.soak(engine, *step, swaps);
                self.note(format!("{}/{step}", engine.id()), found);
            }
        } else {
            self.ladder(engine, steps);
        }
    }

    fn note(&mut self, name: String, found: Result<SwapRecord, Problem>) {
        match found {
            Ok(record) => self.found.push(record),
            Err(problem) => self.problems.push((name, problem)),
        }
    }

    fn ladder(&mut self, engine: &Arc<dyn Engine>, steps: &[Step]) {
        let plan = LadderPlan {
            rounds: self.swap.rounds,
            pass: PASS,
            rung: self.swap.rung_time,
            sees_execution: true,
        };
        let order = swap::random_order(self.plan.seed, self.plan.messages);
        let (kinds, progress) = (self.kinds, &self.progress);
        let ladder = swap::ladder(
            engine,
            kinds,
            &order,
            &self.config,
            plan,
            |step| steps.contains(&step),
            |step| progress.next(format!("{}/{step}", engine.id())),
        );
        for (step, measured) in ladder {
            let found = measured.map(|measured| {
                swap::of_ladder(&**engine, kinds, step, &measured, &self.provenance)
            });
            self.note(format!("{}/{step}", engine.id()), found);
        }
    }

    fn soak(
        &self,
        engine: &Arc<dyn Engine>,
        step: Step,
        swaps: u64,
    ) -> Result<SwapRecord, Problem> {
        self.progress.next(format!("{}/{step}", engine.id()));
        let progress = |made, resident| {
            complain(&format!("{}/{step}: {made} swaps, {resident} KiB resident", engine.id()));
        };
        let seen = swap::soak(step, engine, self.kinds, &self.config, swaps, progress)?;
        Ok(swap::of_soak(&**engine, self.kinds, step, &seen, &self.provenance))
    }

    fn load(&self, engine: &Arc<dyn Engine>) -> Result<SwapRecord, Problem> {
        self.progress.next(format!("{}/{UNDER_LOAD}", engine.id()));
        let threads = cores();
        let plan =
            LoadPlan { threads, replacements: self.plan.replacements, pause: self.plan.pause };
        let seen = swap::under_load(engine, self.kinds, &self.config, plan)?;
        if let Some(problem) = &seen.first_problem {
            complain(&format!("{}/{UNDER_LOAD}: {problem}", engine.id()));
        }
        Ok(swap::of_load(&**engine, self.kinds, threads, &seen, &self.provenance))
    }

    /// The table, what was left out, and how it ended.
    fn tell(self, records: Option<String>) -> Result<Ended> {
        drop(self.progress);
        let found: Vec<&SwapRecord> = self.found.iter().collect();
        if !found.is_empty() {
            print(&swap_table(&found, Style::of_stdout()))?;
        }
        let mut failed = found.iter().filter(|record| has_failed(&record.found)).count();
        for (name, problem) in self.problems {
            if let Problem::LeftOut { reason } = problem {
                complain(&format!("left out: {name}: {reason}"));
            } else {
                failed += 1;
                complain(&format!("failed: {:#}", anyhow::Error::new(problem)));
            }
        }
        if let Some(records) = records {
            complain(&format!("{} records: {records}", found.len()));
        }
        Ok(if failed == 0 { Ended::Well } else { Ended::Badly })
    }
}

/// Whether a call failed or an answer was wrong.
fn has_failed(found: &SwapFound) -> bool {
    matches!(found, SwapFound::UnderLoad { failed, wrong, .. } if failed + wrong > 0)
}
