//! `instance_reuse…`: one instance, reset in place, in a memory of ours.

use crate::home::Home;
use crate::module::Shared;
use crate::running::{Buffers, Running};
use crate::snapshot::Snapshot;
use std::sync::Arc;
use touchstone_executor::abi::{self, Abi};
use touchstone_executor::guest::MemoryLimits;
use touchstone_executor::memory::{InitialMemory, Plan, Reset};
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{
    CallState, EffectiveConfig, Error, ExportId, Instance, Module, Outcome, Result, Strategy,
};

/// A module whose instances are reset in place.
pub(crate) struct ReuseModule {
    shared: Arc<Shared>,
    recipe: Arc<Recipe>,
}

/// How instances are made and made clean.
struct Recipe {
    strategy: Strategy,
    reset: Reset,
    /// What a clean memory is, where that can be told from the module's bytes;
    /// all instances then share one image.
    plan: Option<Plan>,
}

impl ReuseModule {
    pub(crate) fn new(shared: Arc<Shared>, strategy: Strategy) -> Result<Self> {
        let reset = Reset::of(strategy.memory);
        let info = shared.info();
        let plan = match info.memory {
            Some(_) if info.image_refusal().is_none() => {
                Some(Plan::new(InitialMemory::of(shared.guest())?, reset)?)
            }
            _ => None,
        };
        Ok(Self { recipe: Arc::new(Recipe { strategy, reset, plan }), shared })
    }
}

/// Whether the memory is what the strategy's name says.
fn check_mapping(shared: &Shared, strategy: Strategy, home: &Home) -> Result<()> {
    let (Some(base), Some(plan)) = (home.address(), home.plan()) else {
        return Ok(());
    };
    let found = mapping_kind(base + shared.guest().first_data_byte().unwrap_or(0) as usize);
    let fits = match (&found, plan.image()) {
        (Some(MappingKind::PrivateFile(name)), Some(_)) => name.contains("touchstone-image"),
        (Some(MappingKind::Anonymous), None) => true,
        // Nothing is accessible in a memory that can have no pages.
        (None, None) => plan.size() == 0,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let reason = format!("under its data lies {found:?}");
    Err(Error::WrongMode { engine: shared.engine, strategy, reason })
}

impl Module for ReuseModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.shared.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        let mut instance = ReuseInstance {
            shared: Arc::clone(&self.shared),
            recipe: Arc::clone(&self.recipe),
            live: None,
            state: CallState::Idle,
        };
        instance.build()?;
        Ok(Box::new(instance))
    }

    /// Lends a memory that is empty to wasmi, which costs nothing, and looks at
    /// what lies under it. Each instance is looked at again when it is made.
    fn probe(&mut self) -> Result<()> {
        let (Some(limits), Some(plan)) = (self.shared.info().memory, &self.recipe.plan) else {
            return Ok(());
        };
        let mut home = Home::new(&self.shared.wasmi, self.shared.host());
        home.lend(self.shared.engine, MemoryLimits { minimum: 0, ..limits })?;
        check_mapping(&self.shared, self.recipe.strategy, &home.install(plan.clone())?)
    }

    fn effective(&self) -> EffectiveConfig {
        let info = self.shared.info();
        let mut effective = self.shared.effective().with(
            "instance",
            format!(
                "one, reset in place: {} globals, {} tables",
                info.mutable_globals.len(),
                if info.writes_tables { info.tables.len() } else { 0 }
            ),
        );
        let grown = "the instance is replaced after a call that grew its memory or a table";
        let Some(limits) = info.memory else {
            return effective.with("memory", "none").with("grown memory", grown);
        };
        let content = match (&self.recipe.plan, self.recipe.reset) {
            (None, Reset::Segments) => "captured after the start function, copied in",
            (None, _) => "captured after the start function, mapped copy-on-write",
            (Some(plan), Reset::Segments) if plan.image().is_none() => "segments copied in",
            (Some(plan), _) if plan.image().is_some() => "image mapped copy-on-write (probed)",
            _ => "all zero, nothing to map",
        };
        effective = effective.with(
            "memory",
            format!("ours, {} MiB of addresses; {content}", (limits.largest() as usize) >> 4),
        );
        let reset = match self.recipe.reset {
            Reset::Segments => "all pages dropped, content written again".to_owned(),
            Reset::Drop => "written pages dropped".to_owned(),
            Reset::Resident { limit } => format!(
                "written pages found by PAGEMAP_SCAN and restored, up to {} MiB; the rest dropped",
                limit >> 20
            ),
        };
        effective.with("reset", reset).with("grown memory", grown)
    }
}

struct ReuseInstance {
    shared: Arc<Shared>,
    recipe: Arc<Recipe>,
    /// Clean whenever the state is idle; `None` after a call that cannot be
    /// undone in place.
    live: Option<(Running, Snapshot)>,
    state: CallState,
}

impl ReuseInstance {
    fn build(&mut self) -> Result<()> {
        let (shared, recipe) = (&self.shared, &*self.recipe);
        let mut home = Home::new(&shared.wasmi, shared.host());
        if let Some(limits) = shared.info().memory {
            home.lend(shared.engine, limits)?;
        }
        let mut running = Running::new(shared, home, Buffers::default())?;
        let snapshot = Snapshot::take(shared.engine, &mut running, shared.info())?;
        let plan = match running.bytes() {
            None => None,
            Some(clean) => {
                let plan = match &recipe.plan {
                    Some(plan) => plan.clone(),
                    None => Plan::new(InitialMemory::capture(clean), recipe.reset)?,
                };
                if plan.size() != clean.len() {
                    return Err(Error::runtime(shared.engine, "lay out the memory")(format!(
                        "it has {} bytes instead of {}",
                        clean.len(),
                        plan.size()
                    )));
                }
                Some(plan)
            }
        };
        if let Some(plan) = plan {
            running = running.install(plan)?;
            check_mapping(shared, recipe.strategy, &running.home)?;
        }
        self.live = Some((running, snapshot));
        Ok(())
    }

    /// Resets in place, or drops what cannot be reset: the next `prepare` makes
    /// another one.
    fn reset(&mut self) -> Result<()> {
        let Some((running, snapshot)) = &mut self.live else {
            return Ok(());
        };
        let kept = snapshot.sizes_are_kept(running);
        let done = if kept {
            running.home.reset().and_then(|()| snapshot.restore(self.shared.engine, running))
        } else {
            Ok(())
        };
        if !kept || done.is_err() {
            self.live = None;
        }
        done
    }
}

impl Instance for ReuseInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        if self.live.is_none() {
            self.build()?;
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        let Some((running, _)) = self.live.as_mut().filter(|_| self.state != CallState::Idle)
        else {
            return Err(Error::Misuse("invoke without prepare"));
        };
        self.state = CallState::Used;
        abi::invoke(running, export, input, output)
    }

    fn finish(&mut self) -> Result<()> {
        match std::mem::take(&mut self.state) {
            CallState::Used => self.reset(),
            CallState::Idle | CallState::Prepared => Ok(()),
        }
    }

    fn memory(&mut self) -> Option<&[u8]> {
        if self.state == CallState::Idle {
            return None;
        }
        self.live.as_mut()?.0.bytes()
    }
}
