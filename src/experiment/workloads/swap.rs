//! Messages of two kinds by each swap method: in random order against the same ones sorted by
//! kind, and against recompiling.
//!
//! Half of the messages in random order change the kind. For sorted messages no change is timed. A
//! swap therefore takes twice the difference between the two times per message.

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::lab::{Lab, Refused, config_for};
use crate::measure::{Crew, Side, Work, in_turns};
use crate::plan::{Budget, Filter, Plan, Random, cores, shuffled};
use crate::record::{Line, Place, Samples, Status};
use crate::swap::{self, Kind, Messages, Method, Ready, random_order};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;

/// Number of messages after which the order begins again.
const MESSAGES: usize = 1024;
/// Number of messages of a block, half of which change the kind. A call of a crew is a block,
/// so that every round has as many changes as other messages.
const BLOCK: u64 = 4;

/// Baselines of a method.
const SORTED: &str = "sorted";
const RECOMPILE: &str = "recompile";

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let plan = swap::load(&swap::file(asked.terms.file.as_deref()), &host.cases)?;
        let cases = plan.kinds.map(Arc::unwrap_or_clone);
        let works = Plan::new(&cases, &host.engines, &mut host.guests)?.works;
        let refused = swap::engines(&host.engines).1.into_iter().map(|(engine, reason)| {
            let place = Place::default().with("engine", engine.id());
            Line::Point(Box::new(host.point(place, 0).refused(Status::NotAsked, reason)))
        });
        let ways = swap::ways(&host.engines, &asked.filter)?;
        let mut engines: Vec<&str> =
            ways.iter().filter(|(_, way)| way.is_some()).map(|(engine, _)| engine.id()).collect();
        engines.dedup();
        let mut random = Random::new(asked.terms.seed);
        let question = |engine, process| Question {
            place: Place::default().with("engine", engine),
            process: Some(process),
            filter: asked.filter.text(),
            ..Question::default()
        };
        let questions = (0..asked.processes.max(1)).flat_map(|process| {
            shuffled(engines.clone(), &mut random)
                .into_iter()
                .map(move |engine| question(engine, process))
        });
        Ok(Planned { works, questions: questions.collect(), refused: refused.collect() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { mut host, question, terms } = ask;
        let name = question.place.text("engine").unwrap_or_default();
        let engine = Arc::clone(host.engine(name)?);
        let plan = swap::load(&swap::file(terms.file.as_deref()), &host.cases)?;
        let kinds = swap::kinds(plan.kinds.each_ref(), &mut host.guests)?;
        let lab = Lab::new(host.guests.clone(), config_for(cores()));
        let mut lab = lab.sharing_artifacts(&terms.artifacts)?;
        let filter = Filter::new(question.filter.as_deref())?;
        let process = question.number();
        let mut random = Random::new(terms.seed ^ u64::from(process).wrapping_mul(0x9e37_79b9));
        let budget = if terms.small { Budget::quick } else { Budget::full }(terms.seed);
        let budget = Budget { rounds: terms.rounds, ..budget };
        let order: Arc<[usize]> = random_order(&mut random, MESSAGES).into();
        let wanted = |method: Method| filter.matches(&format!("{name}/{method}"));
        let mut sides = BTreeMap::new();
        for method in shuffled(Method::ALL.to_vec(), &mut random) {
            if wanted(method) || method == Method::Recompile {
                let place = question.place.clone().with("method", &*method.to_string());
                say(Said::Step(place.to_string()));
                for is_sorted in [false, true].into_iter().filter(|own| wanted(method) || !own) {
                    let crew = side(method, is_sorted, &engine, &kinds, &order, &mut lab);
                    sides.insert((method, is_sorted), crew);
                }
            }
        }
        let mut gone = Vec::new();
        // Recompiling takes seconds, so that it has few rounds, and so do others beside it.
        let mut time = |chosen: fn(&(Method, bool)) -> bool| {
            let rounds = loop {
                let (ids, mut crews): (Vec<_>, Vec<&mut dyn Side>) = sides
                    .iter_mut()
                    .filter(|(id, _)| chosen(id))
                    .filter_map(|(id, crew)| Some((*id, crew.as_mut().ok()? as &mut dyn Side)))
                    .unzip();
                match in_turns(&mut crews, &budget, &mut random) {
                    Ok(rounds) => break rounds,
                    // The others are timed again without it. Its thread may be stuck: it is waited
                    // for when all is said.
                    Err(failed) => {
                        gone.push(sides.insert(ids[failed.side], Err(failed.error.into())));
                    }
                }
            };
            let mut place = 0..;
            let mut samples = || {
                let place = place.next().unwrap_or_default();
                Samples(rounds.iter().map(|round| round[place].sample()).collect())
            };
            let timed = sides.iter().filter(|(id, _)| chosen(id));
            timed
                .map(|(id, crew)| (*id, crew.as_ref().map(|_| samples()).map_err(Clone::clone)))
                .collect()
        };
        type Timed = BTreeMap<(Method, bool), Result<Samples, Refused>>;
        let quick: Timed = time(|(method, _)| *method != Method::Recompile);
        let slow: Timed = time(|(method, is_sorted)| *method == Method::Recompile || !is_sorted);
        for method in Method::ALL.into_iter().filter(|method| wanted(*method)) {
            let mut place = question.place.clone().with("method", &*method.to_string());
            if let Ok(strategy) = method.strategy(&*engine, &kinds) {
                place = place.with("strategy", &*strategy.to_string());
            }
            let own = if method == Method::Recompile { &slow } else { &quick };
            let recompile = (Method::Recompile, false);
            for (against, timed, baseline) in
                [(SORTED, own, (method, true)), (RECOMPILE, &slow, recompile)]
            {
                if baseline == (method, false) {
                    continue;
                }
                let point = host.point(place.clone().with("against", against), process);
                say(Said::point(match (&timed[&(method, false)], &timed[&baseline]) {
                    (Ok(message), Ok(baseline)) => point
                        .samples("message", message.clone())
                        .samples("baseline", baseline.clone()),
                    (Err(refused), _) | (_, Err(refused)) => {
                        point.refused(refused.status, refused.reason.clone())
                    }
                }));
            }
        }
        Ok(())
    }

    fn files(&self, asked: &Asked) -> Vec<PathBuf> {
        vec![swap::file(asked.terms.file.as_deref())]
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

/// The messages by a method, in random order or sorted by kind. The time of a call is that of one
/// message, the mean of a block. Fails if the engine does not support the method, or an answer is
/// wrong.
fn side(
    method: Method,
    is_sorted: bool,
    engine: &Arc<dyn MeasuredEngine>,
    kinds: &Arc<[Kind; 2]>,
    order: &Arc<[usize]>,
    lab: &mut Lab,
) -> Result<Crew, Refused> {
    let ready = Ready::new(method, engine, kinds, lab)?;
    let order = Arc::clone(order);
    Ok(Crew::start(1, move || {
        let messages = Messages::new(ready.clone())?;
        Ok(Timed { messages, order: Arc::clone(&order), is_sorted })
    })?)
}

/// The work of a side: messages in a fixed order.
struct Timed {
    messages: Messages,
    order: Arc<[usize]>,
    is_sorted: bool,
}

impl Timed {
    /// Sends a message of a kind, and then others, which are timed.
    fn after(&mut self, kind: usize, others: impl Iterator<Item = usize>) -> Result<Duration> {
        self.messages.send(kind)?;
        let started = Instant::now();
        for other in others {
            self.messages.send(other)?;
        }
        Ok(started.elapsed())
    }
}

impl Work for Timed {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let order = Arc::clone(&self.order);
        let Some((&first, rest)) = order.split_first() else { return Ok(Duration::ZERO) };
        let count = usize::try_from(calls.saturating_mul(BLOCK)).unwrap_or(usize::MAX);
        let kinds = rest.iter().copied().cycle().take(count);
        let took = if self.is_sorted {
            let of = |kind| kinds.clone().filter(move |other| *other == kind);
            self.after(first, of(first))? + self.after(1 - first, of(1 - first))?
        } else {
            self.after(first, kinds)?
        };
        Ok(took / BLOCK as u32)
    }
}
