//! Driving a run: cell by cell, each one opened, timed and recorded before the
//! next. Knows no benchmark library: who takes the samples is a [`Sampler`].

use crate::matrix::Cell;
use crate::measure::{Beside, LONG, Side, phases, throughput, until_quiet, warm, watched};
use crate::plan::Plan;
use crate::provenance;
use crate::record::{
    self, CellKey, CellRecord, Ended, Interval, PEERS, Phases, Provenance, Record, Sink, Status,
};
use crate::session::{Opened, Refused, Session, cores, too_many_threads};
use crate::stats::{ENOUGH, estimate, undisturbed};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::{Duration, Instant};
use touchstone_executor::Support;

/// Takes the latency samples of one cell.
pub trait Sampler {
    /// Calls `sample` with numbers of calls; it returns the time they took
    /// together. Gives back the samples of the measurement proper (calls, ns),
    /// warm-up left out; none when nothing was measured, for instance because
    /// the cells are only tried out.
    fn sample(
        &mut self,
        key: &CellKey,
        samples: usize,
        sample: &mut dyn FnMut(u64) -> Duration,
    ) -> Vec<(u64, u64)>;
}

/// What happened to the cells of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Timed and recorded.
    pub timed: usize,
    /// Run, but not measured: nothing was recorded.
    pub tried: usize,
    /// Unsupported, and recorded so; or skipped for having more threads than
    /// there are processors.
    pub left_out: usize,
    /// Wrong, trapped or failed, and recorded so.
    pub failed: usize,
}

/// A run over cells.
pub struct Runner<'a> {
    /// Opens the cells.
    pub session: &'a mut Session,
    /// Where records go; `None` when nothing is to be recorded.
    pub records: Option<&'a mut dyn Sink>,
    /// Stands in every record.
    pub provenance: Provenance,
    /// How long to sample.
    pub plan: Plan,
    /// What happened so far.
    pub tally: Tally,
    /// Names of the cells that something else disturbed for too long.
    pub disturbed: Vec<String>,
    /// Whether the cells are timed again because they were disturbed. What is disturbed
    /// again, or fails, is not recorded: of the earlier record more may have been quiet.
    pub again: bool,
}

impl Runner<'_> {
    /// One cell, from opening to its record. A cell that cannot be timed
    /// becomes a record with its reason and is not an error; it comes back, to
    /// be told to people.
    ///
    /// # Errors
    ///
    /// When the record cannot be written.
    pub fn cell(&mut self, cell: &Cell, sampler: &mut dyn Sampler) -> Result<Option<Refused>> {
        let id = cell.key.id();
        if let Some(records) = &mut self.records {
            records.begin(&id)?;
        }
        let (how, refused) = self.timed(cell, sampler)?;
        self.tally.count(how);
        if let Some(records) = &mut self.records {
            records.end(&id, how)?;
        }
        Ok(refused)
    }

    fn timed(
        &mut self,
        cell: &Cell,
        sampler: &mut dyn Sampler,
    ) -> Result<(Ended, Option<Refused>)> {
        // Nothing is known about such a cell, here or elsewhere, and the other
        // machine's reader has other numbers of threads: no record.
        if let Some(refused) = too_many_threads(cell, cores()) {
            return Ok((Ended::LeftOut, Some(refused)));
        }
        let mut record = self.blank(cell);
        let measured = match self.session.open(cell) {
            Ok(opened) => {
                describe(&mut record, &opened);
                self.measure(cell, &opened, sampler, &mut record)
            }
            Err(refused) => Err(refused),
        };
        let (how, refused) = match measured {
            Ok(true) => {
                if record.is_disturbed() {
                    self.disturbed.push(cell.key.id());
                }
                (Ended::Timed, None)
            }
            Ok(false) => return Ok((Ended::Tried, None)),
            Err(refused) => {
                let how = match refused.status {
                    Status::Unsupported | Status::Skipped => Ended::LeftOut,
                    _ => Ended::Failed,
                };
                // What was measured before it failed must not be published.
                let CellRecord { effective, support, .. } = record;
                record = CellRecord { effective, support, ..self.blank(cell) };
                record.status = refused.status;
                record.reason = Some(refused.reason.clone());
                (how, Some(refused))
            }
        };
        if self.again && (how != Ended::Timed || record.is_disturbed()) {
            return Ok((how, refused));
        }
        record.provenance.recorded_at = provenance::now();
        if let Some(records) = &mut self.records {
            records.append(&Record::Cell(Box::new(record)))?;
        }
        Ok((how, refused))
    }

    fn blank(&mut self, cell: &Cell) -> CellRecord {
        blank(cell, self.session.digest(&cell.guest), &self.provenance)
    }

    /// Latency beside the other threads, then throughput, then phases. `false`
    /// when the sampler measured nothing.
    fn measure(
        &self,
        cell: &Cell,
        opened: &Opened,
        sampler: &mut dyn Sampler,
        record: &mut CellRecord,
    ) -> Result<bool, Refused> {
        let failed =
            |error: anyhow::Error| Refused { status: Status::Failed, reason: format!("{error:#}") };
        let mut side = match cell.key.threads {
            1 => Beside::alone(opened),
            several => Beside::start(opened, several),
        }
        .map_err(failed)?;
        let mut broken = None;
        let call_ns = opened.estimate_ns * cell.key.threads.min(2) as u64;
        let settle = Duration::from_nanos(opened.estimate_ns) < LONG;
        // A sample that was disturbed is taken again, but not for ever.
        let (began, mut patience) = (Instant::now(), self.plan.measurement);
        // What had been done before and after each sample, and whether it was quiet.
        let mut done = vec![side.done().clone()];
        let mut quiet = Vec::new();
        let samples = sampler.sample(&cell.key, self.plan.samples_for(call_ns), &mut |calls| {
            // What is returned after a failure is never published, and nothing
            // is called any more: the number of calls asked for may be absurd.
            let mut in_warm_up = Duration::ZERO;
            let patience = match began.elapsed() < self.plan.warm_up {
                true => &mut in_warm_up,
                false => &mut patience,
            };
            let took = broken
                .is_none()
                .then(|| until_quiet(patience, || side.time_watched(calls, settle)));
            done.push(side.done().clone());
            quiet.push(matches!(took, Some(Ok((_, true)))));
            match took {
                Some(Ok((took, _))) => took,
                Some(Err(error)) => {
                    broken = Some(error);
                    Duration::from_nanos(calls.max(1))
                }
                None => Duration::from_nanos(calls.max(1)),
            }
        });
        // Its instance is for the throughput to use.
        side.stop().map_err(failed)?;
        let before = &done[done.len().saturating_sub(1 + samples.len())];
        let measured = done[done.len() - 1].since(before);
        if let Some(error) = broken {
            return Err(failed(error));
        }
        if samples.is_empty() {
            return match self.records {
                None => Ok(false),
                Some(_) => Err(failed(anyhow::anyhow!("no samples were taken"))),
            };
        }
        measured.others_kept_up().map_err(failed)?;
        record.other_threads_calls = measured.meanwhile;
        let quiet = &quiet[quiet.len() - samples.len()..];
        let disturbed: Vec<usize> = (0..samples.len()).filter(|place| !quiet[*place]).collect();
        let per_call: Vec<f64> =
            samples.iter().map(|(calls, ns)| *ns as f64 / (*calls).max(1) as f64).collect();
        let latency = estimate(&undisturbed(&per_call, &disturbed, ENOUGH));
        record.disturbed = Some(disturbed);
        record.median_ns = latency.map(|latency| latency.median);
        (record.low_ns, record.high_ns) = latency.and_then(|latency| latency.interval).unzip();
        record.samples = samples;

        let together =
            throughput(opened, cell.key.threads, self.plan.throughput).map_err(failed)?;
        let rates = together.per_second();
        record.throughput_per_s = estimate(&rates).map(|rate| rate.median);
        record.throughput_low_per_s = rates.iter().copied().min_by(f64::total_cmp);
        record.throughput_high_per_s = rates.iter().copied().max_by(f64::total_cmp);
        record.throughput_rounds = together.rounds;
        record.throughput_disturbed = together.disturbed;

        // With other threads beside it, a phase of one call says little.
        if cell.key.threads > 1 {
            return Ok(true);
        }
        let time = self.plan.throughput / 4;
        let mut patience = self.plan.measurement;
        let (parts, parts_quiet) =
            until_quiet(&mut patience, || watched(|| phases(opened, time))).map_err(failed)?;
        // What these are compared with was sampled for longer.
        let mut patience = self.plan.measurement * 4;
        let used =
            cell.case.warm.then(|| until_quiet(&mut patience, || watched(|| warm(opened, time))));
        let used = used.transpose().map_err(failed)?;
        let disturbed = !parts_quiet || used.is_some_and(|(_, quiet)| !quiet);
        let used = used.map(|(used, _)| used);
        record.phases = Some(Phases {
            compile_ns: opened.compile_ns,
            load_ns: opened.load_ns,
            first_call_ns: opened.first_call_ns,
            prepare_ns: parts.prepare_ns,
            invoke_ns: parts.invoke_ns,
            finish_ns: parts.finish_ns,
            page_faults_per_call: parts.page_faults_per_call,
            artifact_bytes: opened.artifact_bytes,
            warm: used.map(|used| used.call.into()),
            warm_take: used.and_then(|used| used.take).map(Interval::from),
            disturbed,
        });
        Ok(true)
    }
}

impl Tally {
    /// One cell more.
    pub fn count(&mut self, how: Ended) {
        match how {
            Ended::Timed => self.timed += 1,
            Ended::Tried => self.tried += 1,
            Ended::LeftOut => self.left_out += 1,
            Ended::Failed => self.failed += 1,
        }
    }
}

/// The record of a cell of which nothing is measured yet.
#[must_use]
pub fn blank(cell: &Cell, guest_sha256: String, provenance: &Provenance) -> CellRecord {
    CellRecord {
        key: cell.key.clone(),
        provenance: provenance.clone(),
        status: Status::Ok,
        reason: None,
        support: None,
        guest_sha256,
        runtime_version: cell.engine.version().to_owned(),
        effective: Default::default(),
        median_ns: None,
        low_ns: None,
        high_ns: None,
        samples: Vec::new(),
        disturbed: None,
        other_threads_calls: Vec::new(),
        throughput_per_s: None,
        throughput_low_per_s: None,
        throughput_high_per_s: None,
        throughput_rounds: Vec::new(),
        throughput_disturbed: Vec::new(),
        phases: None,
    }
}

/// What is known once a cell is open.
fn describe(record: &mut CellRecord, opened: &Opened) {
    record.effective = opened.effective.clone().into();
    match &opened.support {
        Support::Native => record.support = Some("native".to_owned()),
        Support::Emulated { how } => {
            record.support = Some("emulated".to_owned());
            record.reason = Some((*how).to_owned());
        }
        // An unsupported cell is never opened.
        Support::Unsupported { .. } => {}
    }
}

/// On Ctrl-C, SIGTERM and SIGHUP the process says a sentence and ends with 130: every
/// finished cell is on the disk already.
///
/// # Errors
///
/// When there is a handler already.
pub fn end_in_order(say: &'static str) -> Result<()> {
    ctrlc::set_handler(move || {
        if !say.is_empty() {
            println!("{say}");
        }
        std::process::exit(130);
    })
    .context("cannot watch for Ctrl-C")
}

/// Makes `now` the provenance of the last run in a file that it can go on with, and gives
/// the names of what that run has finished; `None` where there is no such run.
///
/// # Errors
///
/// When the file cannot be read.
pub fn go_on(
    path: &Path,
    now: &mut Provenance,
    cells: &[Cell],
    session: &mut Session,
) -> Result<Option<Vec<String>>> {
    let loaded = record::load(path)?;
    let digest = |key: &str| {
        let cell = cells.iter().find(|cell| cell.key.guest == key)?;
        Some(session.digest(&cell.guest))
    };
    Ok(finished_by_last_run(&loaded.records, now, digest).map(|(run, finished)| {
        now.run = run;
        finished
    }))
}

/// The cells that a run broken off had finished, and its name, so that a later
/// one can go on: those of the last run in the file, as far as they were made
/// on this machine, by this build and from these guests.
#[must_use]
pub fn finished_by_last_run(
    records: &[Record],
    now: &Provenance,
    mut digest: impl FnMut(&str) -> Option<String>,
) -> Option<(String, Vec<String>)> {
    // Rows of peers and swaps belong to no run over the matrix.
    let of_the_matrix = |record: &&Record| match record {
        Record::Cell(_) => true,
        Record::Pair(pair) => pair.group != PEERS,
        Record::Swap(_) => false,
    };
    let last = records.iter().rev().find(of_the_matrix)?.provenance();
    if last.machine != now.machine
        || last.tools.binary.is_empty()
        || last.tools.binary != now.tools.binary
        || last.sampling.name != now.sampling.name
    {
        return None;
    }
    let finished = records
        .iter()
        .filter(|record| record.provenance().run == last.run)
        .filter_map(|record| match record {
            // What went wrong may have been the machine's fault: try again.
            Record::Cell(cell)
                if matches!(cell.status, Status::Failed | Status::Trapped | Status::Wrong) =>
            {
                None
            }
            Record::Cell(cell) => (digest(&cell.key.guest).as_ref() == Some(&cell.guest_sha256))
                .then(|| cell.key.id()),
            Record::Pair(pair) => Some(pair.id()),
            Record::Swap(_) => None,
        })
        .collect();
    Some((last.run.clone(), finished))
}
