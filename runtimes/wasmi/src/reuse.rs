//! `instance_reuse…`: one instance, reset in place, in a memory of Touchstone's.

use crate::code::SharedCode;
use crate::home::Home;
use crate::module::SharedModule;
use crate::running::{Buffers, Running};
use crate::snapshot::Snapshot;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::adapter::{Resident, Reused};
use touchstone_executor::guest::MemoryLimits;
use touchstone_executor::memory::{
    Image, InitialContent, MemoryTemplate, ResetMethod, ResetterMut,
};
use touchstone_executor::probe::{MappingKind, mapping_kind};
use touchstone_executor::{EffectiveConfig, Error, ExportId, Instance, Module, Result, Strategy};

/// A module whose instances are reset in place.
pub(crate) struct ReuseModule(Arc<Recipe>);

/// The parts of instances and their reset.
struct Recipe {
    shared: Arc<SharedModule>,
    strategy: Strategy,
    reset: ResetMethod,
    /// The clean memory, if the module's bytes determine it. All instances then share one image.
    template: Option<MemoryTemplate>,
}

impl ReuseModule {
    pub(crate) fn new(shared: Arc<SharedModule>, strategy: Strategy) -> Result<Self> {
        let reset = strategy.memory.reset_method();
        let info = shared.info();
        let template = match info.memory {
            Some(_) if info.image_refusal().is_none() => {
                Some(MemoryTemplate::new(shared.guest().initial_content()?, reset)?)
            }
            _ => None,
        };
        Ok(Self(Arc::new(Recipe { shared, strategy, reset, template })))
    }
}

/// Refuses a memory that is not mapped as the strategy's name says.
fn check_mapping(shared: &SharedModule, strategy: Strategy, home: &Home) -> Result<()> {
    let (Some(base), Some(template)) = (home.address(), home.template()) else {
        return Ok(());
    };
    let found = mapping_kind(base + template.image().map_or(0, Image::start));
    let fits = match (&found, template.image()) {
        (Some(MappingKind::PrivateFile(name)), Some(_)) => name.contains("touchstone-image"),
        (Some(MappingKind::Anonymous), None) => true,
        // A memory that can have no pages is not accessible.
        (None, None) => template.size() == 0,
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
        self.0.shared.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok(Box::new(Reused::<ResetInstance>::new(&self.0)))
    }

    /// Probes the mapping of an empty memory, instead of each instance's: reading the list of
    /// mappings costs more than making an instance.
    fn probe(&mut self) -> Result<()> {
        let (Some(limits), Some(template)) = (self.0.shared.info().memory, &self.0.template) else {
            return Ok(());
        };
        let mut home = Home::new(&self.0.shared.codes.first().engine, self.0.shared.host());
        home.lend(self.0.shared.engine, MemoryLimits { minimum: 0, ..limits })?;
        check_mapping(&self.0.shared, self.0.strategy, &home.install(template)?)
    }

    fn effective(&self) -> EffectiveConfig {
        let info = self.0.shared.info();
        let mut effective = self.0.shared.effective().with(
            "instance",
            format!(
                "one, reset in place: {} globals, {} tables",
                info.mutable_globals.len(),
                if info.writes_tables { info.tables.len() } else { 0 }
            ),
        );
        effective = effective.with(
            "engine",
            "one for each thread that makes instances, because the instances of one engine share a \
             lock in every call. Each further thread translates the module again for its first one",
        );
        let effective = effective.with("grown table", "the instance is replaced by a new one");
        let Some(limits) = info.memory else {
            return effective.with("memory", "none");
        };
        let content = match (&self.0.template, self.0.reset) {
            (None, ResetMethod::Segments) => "captured after the start function, copied in",
            (None, _) => "captured after the start function, mapped copy-on-write",
            (Some(template), ResetMethod::Segments) if template.image().is_none() => {
                "segments copied in"
            }
            (Some(template), _) if template.image().is_some() => {
                "image mapped copy-on-write (probed)"
            }
            _ => "all zero, nothing to map",
        };
        let effective = effective.with(
            "memory",
            format!("ours, {} MiB of addresses; {content}", (limits.largest() as usize) >> 4),
        );
        effective
            .with("reset", self.0.reset.to_string())
            .with("grown memory", "the first size is restored; wasmi zeroes pages that it opens")
    }
}

/// An instance with its clean state.
struct ResetInstance {
    engine: &'static str,
    running: Running,
    snapshot: Snapshot,
    /// The code of `running`, counted until this is dropped, after that.
    _code: SharedCode,
}

impl Resident for ResetInstance {
    type Shared = Recipe;
    type Live = Running;

    fn new(recipe: &Arc<Recipe>) -> Result<Self> {
        let shared = &recipe.shared;
        let code = shared.codes.take()?;
        let mut home = Home::new(&code.engine, shared.host());
        if let Some(limits) = shared.info().memory {
            home.lend(shared.engine, limits)?;
        }
        let mut running = Running::instantiate(shared, &code.module, home, Buffers::default())?;
        let snapshot = Snapshot::take(shared.engine, &mut running, shared.info())?;
        let template = match running.bytes() {
            None => None,
            Some(clean) => {
                let template = match &recipe.template {
                    Some(template) => template.clone(),
                    None => MemoryTemplate::new(InitialContent::capture(clean), recipe.reset)?,
                };
                if template.size() != clean.len() {
                    return Err(Error::runtime(shared.engine, "lay out the memory")(format!(
                        "it has {} bytes instead of {}",
                        clean.len(),
                        template.size()
                    )));
                }
                Some(template)
            }
        };
        if let Some(template) = template {
            running = running.install(&template)?;
            // A shared template was probed with the module.
            if recipe.template.is_none() {
                check_mapping(shared, recipe.strategy, &running.home)?;
            }
        }
        Ok(Self { engine: shared.engine, running, snapshot, _code: code })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.running.home.resetter().map(work)
    }

    fn reset(&mut self) -> Result<bool> {
        let Self { running, snapshot, .. } = self;
        if !snapshot.sizes_are_kept(running) {
            return Ok(false);
        }
        running.home.reset()?;
        snapshot.restore(self.engine, running)?;
        Ok(true)
    }
}
