//! How long a clean call takes that writes so many pages, under each strategy.
//!
//! The declaration names the guest and selects the points. All executors of an engine are
//! timed at a point in turns, in one process; each point is measured in several processes.

mod selection;
mod writer;

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Terms, Workload};
use crate::lab::{Lab, Opened, Refused, config_for};
use crate::measure::{Crew, Round, RoundPlan, Side, in_turns};
use crate::plan::{Budget, Cell, Filter, Plan, Random, cores, crowded, shuffled};
use crate::record::{Executor, Line, Place, Samples, Setup, Status};
use crate::run::setup;
use anyhow::{Context, Result};
use selection::{Selection, preferred_engine, threads};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use writer::{Order, Writer};

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let selection = Selection::of(&host.experiment)?;
        let points = selection.points(&host.experiment, asked)?;
        let (points, crowd): (Vec<Place>, Vec<Place>) =
            points.into_iter().partition(|point| threads(point) <= cores());
        // Which executors there are does not depend on the point.
        let first = points.iter().chain(&crowd).next().context("no point is selected")?;
        let case = selection.case(&first.clone().with("threads", 1_u64));
        let plan = Plan::new(&[case], &host.engines, &mut host.guests)?;
        let groups = groups(host, &plan, asked)?;
        let mut random = Random::new(asked.terms.seed);
        let mut questions = Vec::new();
        // In as many passes as there are processes for each point, each in random order.
        for process in 0..asked.processes.max(1) {
            let all = points.iter().flat_map(|point| {
                groups.iter().map(move |group| Question {
                    place: point.clone().with("engine", &*group[0].engine),
                    process: Some(process),
                    executors: group.clone(),
                    filter: None,
                })
            });
            questions.extend(shuffled(all.collect(), &mut random));
        }
        let skipped = crowd.iter().flat_map(|point| {
            groups.iter().map(|group| {
                let place = point.clone().with("engine", &*group[0].engine);
                let reason = crowded(threads(point));
                Line::Point(Box::new(host.point(place, 0).refused(Status::Skipped, reason)))
            })
        });
        Ok(Planned { works: plan.works.clone(), questions, refused: skipped.collect() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { mut host, question, terms } = ask;
        let selection = Selection::of(&host.experiment)?;
        let case = selection.case(&question.place);
        let plan = Plan::new(&[case], &host.engines, &mut host.guests)?;
        let is_asked = |cell: &&Cell| question.executors.contains(&cell.key.executor());
        let cells: Vec<Cell> = plan.cells.iter().filter(is_asked).cloned().collect();
        measure(&host, question, terms, selection.order(&question.place), cells, say)
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(300)
    }
}

fn groups(host: &Host, plan: &Plan, asked: &Asked) -> Result<Vec<Vec<Executor>>> {
    // Where the code comes from makes no difference to a call.
    let cells: Vec<Cell> =
        plan.cells.iter().filter(|cell| !cell.key.strategy.is_precompiled()).cloned().collect();
    let preferred = preferred_engine(&host.engines, &cells);
    let is_meant = |cell: &&Cell| match asked.filter {
        Filter::All => Some(cell.key.engine.as_str()) == preferred,
        _ => true,
    };
    let name = |cell: &&Cell| cell.key.executor().to_string();
    let meant = asked.filter.select("no executor", cells.iter().filter(is_meant), name)?;
    let executors: Vec<Executor> = meant.iter().map(|cell| cell.key.executor()).collect();
    let groups = executors.chunk_by(|a, b| a.engine == b.engine).map(<[Executor]>::to_vec);
    Ok(groups.collect())
}

struct Ready {
    executor: Executor,
    setup: Setup,
    crew: Crew,
}

fn measure(
    host: &Host,
    question: &Question,
    terms: &Terms,
    order: Order,
    cells: Vec<Cell>,
    say: &mut Say<'_>,
) -> Result<(), Refused> {
    let (place, process) = (&question.place, question.number());
    let budget = Budget { rounds: terms.rounds, ..Budget::full(terms.seed) };
    let pages = place.number("pages").unwrap_or(0);
    let mut random =
        Random::new(budget.seed ^ u64::from(process).wrapping_mul(0x9e37_79b9) ^ pages);
    let config = config_for(threads(place));
    let mut lab = Lab::new(host.guests.clone(), config).sharing_artifacts(&terms.artifacts)?;
    let looks = Arc::new(AtomicBool::new(false));
    let mut ready = Vec::new();
    let at = |executor: &Executor| host.point(place.at(executor), process);
    for cell in shuffled(cells, &mut random) {
        let executor = cell.key.executor();
        say(Said::Opens(Some(executor.clone())));
        // Every executor has a module of its own, which its instances keep.
        lab.unload();
        let opened = lab.open(&cell).and_then(|opened| {
            let crew = start(&opened, order, threads(place), &looks)?;
            Ok(Ready { executor: executor.clone(), setup: setup(&cell, &opened), crew })
        });
        match opened {
            Ok(opened) => ready.push(opened),
            Err(Refused { status, reason }) => {
                say(Said::point(at(&executor).refused(status, reason)));
            }
        }
    }
    lab.unload();
    say(Said::Opens(None));
    let mut sides: Vec<&mut dyn Side> =
        ready.iter_mut().map(|ready| &mut ready.crew as &mut dyn Side).collect();
    let rounds = in_turns(&mut sides, &budget, &mut random).map_err(|failed| failed.error)?;
    // Once more on the instances that were timed: what the last calls wrote must be gone.
    looks.store(true, Ordering::Relaxed);
    for (side, Ready { executor, setup, mut crew }) in ready.into_iter().enumerate() {
        let point = match crew.round(RoundPlan::ONE_CALL) {
            Err(error) => {
                let Refused { status, reason } = error.into();
                at(&executor).refused(status, format!("after the timed calls: {reason}"))
            }
            Ok(_) => {
                say(Said::Found(Box::new(Line::Setup(setup))));
                let call = rounds.iter().map(|round| Round::sample(&round[side])).collect();
                at(&executor).samples("call", Samples(call))
            }
        };
        say(Said::point(point));
    }
    Ok(())
}

/// The threads that make the calls of an executor.
fn start(opened: &Opened, order: Order, threads: usize, looks: &Arc<AtomicBool>) -> Result<Crew> {
    let (opened, looks) = (opened.clone(), Arc::clone(looks));
    Crew::start(threads, move || Writer::new(&opened, order, &looks))
}
