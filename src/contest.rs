//! Comparisons between processes: two executors, or two builds of this program. Both processes
//! live at the same time, make rounds in turns, and are then replaced by a fresh pair, because
//! each process has one address layout.

use crate::case::{Case, Guests};
use crate::compare::{Judged, Verdict, judge};
use crate::lab::Refused;
use crate::measure::{Round, RoundPlan, Side, probe, turns};
use crate::plan::{Budget, Random};
use crate::record::{Comparison, Match, Prevailing, Status, estimate};
use crate::run::{Performer, perform_side};
use crate::supervise::{Child, Heard, Parent, Stop};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::{MeasuredEngine, Scratch};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToSide {
    Open {
        of: Box<Match>,
        is_subject: bool,
        /// By which it judges its rounds.
        state: Prevailing,
        /// The private folder in which processes share artifacts.
        artifacts: PathBuf,
    },
    /// Plan rounds that take about this long, µs.
    Plan(u64),
    Round(RoundPlan),
}

/// An answer of a side: what was made, nothing for what was opened; or how it is refused or failed.
pub type FromSide = Result<Answer, (Status, String)>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Answer {
    plan: Option<RoundPlan>,
    round: Option<Round>,
}

/// Serves as one side until the parent closes the connection. Fails if the parent is gone.
pub fn serve_side(
    mut parent: Parent<ToSide, FromSide>,
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    guests: Guests,
) -> Result<()> {
    let mut crew = None;
    while let Some(told) = parent.hear()? {
        let answer = match (told, &mut crew) {
            (ToSide::Open { of, is_subject, state, artifacts }, crew) => {
                probe::calibrated(state);
                let (guests, budget) = (guests.clone(), Budget::full(1));
                Performer::new(cases, engines, guests, budget, 0, &artifacts, 1)
                    .and_then(|mut all| perform_side(&mut all, &of, is_subject))
                    .map(|made| {
                        *crew = Some(made);
                        Answer::default()
                    })
            }
            (_, None) => Err(anyhow::anyhow!("nothing was opened")),
            (ToSide::Plan(sample_us), Some(crew)) => crew
                .plan(Duration::from_micros(sample_us), 0)
                .map(|plan| Answer { plan: Some(plan), ..Answer::default() }),
            (ToSide::Round(plan), Some(crew)) => {
                crew.round(plan).map(|round| Answer { round: Some(round), ..Answer::default() })
            }
        };
        let answer = answer.map_err(|error| {
            let Refused { status, reason } = error.into();
            (status, reason)
        });
        parent.say(&answer)?;
    }
    Ok(())
}

/// A side in a process of its own.
struct Remote {
    child: Child<ToSide, FromSide>,
    name: String,
}

/// Longest time of an order, compilation included.
const PATIENCE: Duration = Duration::from_secs(600);

impl Remote {
    /// Starts a process that opens a side; [`answer`](Self::answer) waits for that.
    fn start(
        contest: &Contest<'_>,
        is_subject: bool,
        state: Prevailing,
        artifacts: &Path,
    ) -> Result<Self> {
        let Contest { of, subject, baseline, .. } = contest;
        let (side, command) =
            if is_subject { (&of.subject, subject) } else { (&of.baseline, baseline) };
        let child = contest.stop.spawn(command()?)?.context("stopped")?;
        let (of, artifacts) = (Box::new(of.clone()), artifacts.to_owned());
        child.send(&ToSide::Open { of, is_subject, state, artifacts });
        Ok(Self { child, name: side.to_string() })
    }

    fn ask(&mut self, order: &ToSide) -> Result<Answer> {
        self.child.send(order);
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer> {
        match self.child.receive(Instant::now() + PATIENCE)? {
            Heard::Message(Ok(answer)) => Ok(answer),
            Heard::Message(Err((status, reason))) => bail!("{} {status}: {reason}", self.name),
            Heard::Ended(death) => bail!("{}: its process {death}", self.name),
            Heard::Silent => bail!("{} did not answer for {} s", self.name, PATIENCE.as_secs()),
        }
    }
}

impl Side for Remote {
    fn plan(&mut self, sample: Duration) -> Result<RoundPlan> {
        self.ask(&ToSide::Plan(sample.as_micros() as u64))?.plan.context("a side made no plan")
    }

    fn round(&mut self, plan: RoundPlan) -> Result<Round> {
        self.ask(&ToSide::Round(plan))?.round.context("a side made no round")
    }
}

pub struct Contest<'a> {
    pub of: Match,
    pub subject: &'a dyn Fn() -> Result<Command>,
    pub baseline: &'a dyn Fn() -> Result<Command>,
    /// Largest number of pairs of processes.
    pub processes: u32,
    /// No pair begins after this time, but for the first few.
    pub longest: Option<Duration>,
    pub budget: Budget,
    /// The smallest difference that counts, as a share.
    pub margin: f64,
    pub stop: Stop,
}

/// Pairs of processes before the first verdict.
const FEWEST_PAIRS: usize = 12;

/// The pairs of processes that were made, and the verdict on them.
#[derive(Debug, Default)]
pub struct Made {
    pub pairs: Vec<Comparison>,
    /// `None` before the first round.
    pub judged: Option<Judged>,
}

/// Times subject and baseline in turns, in pairs of fresh processes, until the interval of the
/// ratio decides. The order of starting is random for each pair, and the order of the sides for
/// each round. `progress` is called when a pair begins.
///
/// The interval is looked at after each pair, so a verdict is wrong more often than one interval
/// would be. That matters only where the true ratio is near an end of the margin.
///
/// A round counts if the machine was in one state while both sides made it, whichever that is.
///
/// `made` becomes what was made, also if this fails: if a side was refused or failed,
/// or its process died, or could not be started.
pub fn contest(
    contest: &Contest<'_>,
    mut progress: impl FnMut(u32),
    made: &mut Made,
) -> Result<()> {
    let Contest { of, budget, .. } = contest;
    let state = probe::Calibration::default().state(probe::CALIBRATION);
    // Removed when the contest is over.
    let artifacts = Scratch::new()?;
    let mut random = Random::new(budget.seed);
    let began = Instant::now();
    for process in 0..contest.processes {
        progress(process);
        let start = |subject| Remote::start(contest, subject, state, artifacts.path());
        let first = random.coin();
        let (mut one, mut other) = (start(first)?, start(!first)?);
        one.answer()?;
        other.answer()?;
        let (mut subject, mut baseline) = if first { (one, other) } else { (other, one) };
        let (rounds, noisy) = turns(&mut subject, &mut baseline, budget, &mut random)?;
        made.pairs.push(Comparison { of: of.clone(), process, rounds, noisy });
        made.judged = judge(&made.pairs, contest.margin);
        let is_decided = made.judged.is_some_and(|own| own.verdict != Verdict::NotEnoughData);
        let is_late = contest.longest.is_some_and(|longest| began.elapsed() >= longest);
        let pairs = made.pairs.len();
        if (is_decided && pairs >= FEWEST_PAIRS) || (is_late && pairs >= estimate::PROCESSES) {
            break;
        }
    }
    made.judged.map(|_| ()).context("no round was made")
}
