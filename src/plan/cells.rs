//! Cells, and the reasons for cells that are left out.

use crate::case::init::InitError;
use crate::case::{Case, GuestName, Guests, Without};
use crate::plan::{Filter, cores};
use crate::record::{CellKey, InitFacts, Refusal, Status, Sweep, WorkFacts, hex, preference};
use anyhow::Result;
use std::collections::HashMap;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{MemoryFrom, Owner, Strategy, Support};

/// One cell: a case on a guest, an engine, a strategy and a number of threads.
#[derive(Clone)]
pub struct Cell {
    pub key: CellKey,
    pub case: Arc<Case>,
    pub guest: String,
    pub engine: Arc<dyn MeasuredEngine>,
}

impl Cell {
    /// A cell; `guest` is the case's name for it.
    pub fn new(
        case: &Arc<Case>,
        guest: &str,
        engine: &Arc<dyn MeasuredEngine>,
        strategy: Strategy,
        threads: usize,
    ) -> Self {
        Self {
            key: CellKey {
                case: case.name.clone(),
                guest: GuestName::new(guest).to_string(),
                engine: engine.id().to_owned(),
                strategy,
                threads,
            },
            case: Arc::clone(case),
            guest: guest.to_owned(),
            engine: Arc::clone(engine),
        }
    }

    pub fn name(&self) -> String {
        self.key.name(self.case.title(&self.guest))
    }

    /// `true` if a filter selects the cell by its name, or by that without a title.
    pub fn is_selected(&self, filter: &Filter) -> bool {
        filter.matches(&self.name()) || filter.matches(&self.key.name(None))
    }
}

/// The cells and refusals of cases and engines on this machine.
#[derive(Clone, Default)]
pub struct Plan {
    pub cells: Vec<Cell>,
    /// Cells on more threads than processors, which are refused unless someone asks for them.
    pub crowded: Vec<Cell>,
    /// Refusals that are known without running anything.
    pub refusals: Vec<Refusal>,
    pub works: Vec<WorkFacts>,
}

impl Plan {
    /// The cells that a filter selects. Fails with similar names if it selects none.
    pub fn select(&self, filter: &Filter) -> Result<Vec<&Cell>> {
        let all = self.cells.iter();
        let selected: Vec<&Cell> = all.filter(|cell| cell.is_selected(filter)).collect();
        match selected.is_empty() {
            true => filter.select("no cell", &self.cells, |cell| cell.name()),
            false => Ok(selected),
        }
    }

    /// Crosses cases with engines. Fails if a guest is missing, differs from its listed digest, or
    /// cannot be pre-initialised as its case says.
    pub fn new(
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
        guests: &mut Guests,
    ) -> Result<Self> {
        let mut plan = Self::default();
        for engine in engines {
            for strategy in Strategy::all() {
                if let Support::Unsupported { reason } = engine.support(strategy) {
                    let all = refusal(&**engine, Status::Unsupported, reason);
                    plan.refusals.push(Refusal { strategy: Some(strategy), ..all });
                }
            }
        }
        // Cases share guests, and some engines read all of a guest for an answer.
        let mut known = HashMap::new();
        for case in cases {
            let case = Arc::new(case.clone());
            for guest in &case.guests {
                let guest_sha256 = guests.linked(&case, guest)?.sha256.clone();
                let module = match guests.of_case(&case, guest) {
                    Ok(module) => module,
                    Err(error) if error.downcast_ref() == Some(&InitError::NotBuilt) => {
                        let reason = InitError::NotBuilt.to_string();
                        plan.refusals.extend(engines.iter().map(|engine| Refusal {
                            case: Some(case.name.clone()),
                            guest: Some(guest.to_string()),
                            ..refusal(&**engine, Status::Unsupported, reason.clone())
                        }));
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let sha256 = || hex(&module.sha256());
                let init = case.init.clone().map(|export| InitFacts { export, sha256: sha256() });
                plan.works.push(WorkFacts {
                    case: case.name.clone(),
                    guest: GuestName::new(guest).to_string(),
                    guest_sha256,
                    init,
                    title: case.title(guest).map(str::to_owned),
                    role: case.role,
                    sweep: case.sweep,
                    place: plan.works.len(),
                });
                for engine in engines {
                    plan.cross(&case, &module, engine, engines, &mut |strategy| {
                        let guest = (module.name().to_owned(), module.sha256(), case.heap);
                        let known = known.entry((engine.id(), strategy, guest));
                        known.or_insert_with(|| engine.support_for(strategy, &module)).clone()
                    });
                }
            }
        }
        plan.refusals.sort();
        plan.refusals.dedup();
        Ok(plan)
    }

    fn cross(
        &mut self,
        case: &Arc<Case>,
        guest: &GuestModule,
        engine: &Arc<dyn MeasuredEngine>,
        engines: &[Arc<dyn MeasuredEngine>],
        support: &mut dyn FnMut(Strategy) -> Support,
    ) {
        let not_asked = |reason| Refusal {
            case: Some(case.name.clone()),
            ..refusal(&**engine, Status::NotAsked, reason)
        };
        let without = case.without.iter().find(|without| without.engine == engine.id());
        if let Some(Without { reason, .. }) = without {
            self.refusals.push(not_asked(reason.clone()));
            return;
        }
        let mut strategies = Vec::new();
        for strategy in Strategy::all() {
            let is_named = case.strategies.is_empty() || case.strategies.contains(&strategy);
            let is_asked = is_named && is_asked(case, strategy);
            if !is_asked || !engine.support(strategy).is_supported() {
                continue;
            }
            match support(strategy) {
                Support::Unsupported { reason } => self.refusals.push(Refusal {
                    strategy: Some(strategy),
                    guest: Some(GuestName::new(guest.name()).to_string()),
                    ..refusal(&**engine, Status::Unsupported, reason)
                }),
                _ => strategies.push(strategy),
            }
        }
        if case.sweep == Sweep::Preferred {
            let like = engine.executes_like();
            if let Some(like) = like.filter(|like| engines.iter().any(|e| e.id() == *like)) {
                let reason = format!(
                    "it executes guest code as {like} does, and the case is about that code"
                );
                self.refusals.push(not_asked(reason));
                return;
            }
            let preferred = strategies.iter().copied().min_by_key(|strategy| preference(*strategy));
            strategies = preferred.into_iter().collect();
        }
        for &threads in &case.threads {
            let cell =
                |strategy: &Strategy| Cell::new(case, guest.name(), engine, *strategy, threads);
            let asked = strategies.iter().filter(|strategy| {
                // The source of Touchstone's own code is varied on one thread only.
                threads == 1 || !strategy.is_precompiled() || strategy.owner() == Owner::Runtime
            });
            if threads > cores() {
                self.refusals.push(Refusal {
                    threads: Some(threads),
                    ..refusal(&**engine, Status::Skipped, crowded(threads))
                });
                self.crowded.extend(asked.map(cell));
            } else {
                self.cells.extend(asked.map(cell));
            }
        }
    }
}

/// A refusal of every cell of an engine on a case.
fn refusal(engine: &dyn MeasuredEngine, status: Status, reason: String) -> Refusal {
    Refusal {
        engine: engine.id().to_owned(),
        strategy: None,
        guest: None,
        case: None,
        threads: None,
        status,
        reason,
    }
}

/// The reason for leaving out more threads than processors.
pub fn crowded(threads: usize) -> String {
    format!("{threads} threads on {} processors would time the scheduler", cores())
}

/// `true` if the sweep of a case includes a strategy.
///
/// Precompiled variants and Touchstone's pools cost the same per call as another strategy. Gated
/// memories differ from tracked ones in how they find written pages, which only cases with a
/// role compare.
fn is_asked(case: &Case, strategy: Strategy) -> bool {
    let is_distinct = !strategy.is_precompiled() && !strategy.pooled;
    match (case.sweep, strategy.memory) {
        (Sweep::All, MemoryFrom::Gated) => is_distinct && case.role.is_some(),
        (Sweep::Distinct, MemoryFrom::Gated) => false,
        (Sweep::All, _) => true,
        (Sweep::Distinct | Sweep::Preferred, _) => is_distinct,
    }
}
