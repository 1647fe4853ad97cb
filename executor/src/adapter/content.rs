//! The content of clean memories.

use super::{LoadedGuest, mapping_in_words};
use crate::guest::{GuestModule, ModuleInfo};
use crate::memory::{InitialContent, MemoryTemplate, Region, ResetMethod};
use crate::probe::mapping_kind;
use crate::{Config, EffectiveConfig, Error, InstanceFrom, MemoryFrom, Result, Strategy};
use std::sync::Arc;

/// Origin of a memory's content: strategies of one class share an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryClass {
    /// The runtime copies data segments in at instantiation.
    Segments,
    /// Touchstone's memory has its content before instantiation; segments are left out.
    OwnImage,
    /// Touchstone's memory is reset in place; segments are left out where the content is known.
    Resettable,
}

impl MemoryClass {
    /// The class of a strategy on a runtime that takes Touchstone's memories.
    pub const fn of(strategy: Strategy) -> Self {
        match (strategy.instance, strategy.memory) {
            (InstanceFrom::Reuse, _) => Self::Resettable,
            (_, MemoryFrom::Segments) => Self::Segments,
            _ => Self::OwnImage,
        }
    }

    /// `true` if the memory is Touchstone's.
    #[must_use]
    pub const fn is_own(self) -> bool {
        !matches!(self, Self::Segments)
    }

    /// Its name, as that of a [class of artifacts](crate::Engine::artifact_class).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Segments => "segment-initialised memories",
            Self::OwnImage => "pre-initialised memories",
            Self::Resettable => "memories reset in place",
        }
    }
}

/// Changes of a guest for a runtime whose own memory Touchstone's replaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// The host grows the memory.
    pub growth: bool,
    /// The host looks at the clock.
    pub clock: bool,
    /// The memory is declared empty, and the content of data segments is left out.
    pub empty_memory: bool,
}

impl Changes {
    /// Those that a strategy and a configuration need.
    #[must_use]
    pub fn of(info: &ModuleInfo, strategy: Strategy, config: &Config) -> Self {
        let is_own = MemoryClass::of(strategy).is_own();
        Self {
            growth: is_own && info.grows_memory,
            clock: config.is_interruptible(),
            // Where its `CleanContent` is known.
            empty_memory: is_own && info.memory.is_some() && info.image_refusal().is_none(),
        }
    }
}

/// The content of a guest's clean memories, and how they get it back.
#[derive(Clone)]
pub struct CleanContent {
    /// `None` where only an instance has it, after its start function.
    known: Option<MemoryTemplate>,
    reset: ResetMethod,
}

impl CleanContent {
    /// The content for a strategy, taken from the module's bytes where they have it. Nothing is
    /// known of memories that the runtime initialises. Fails when a data segment does not fit, or
    /// there is no place for an image.
    pub fn of(guest: &GuestModule, strategy: Strategy) -> Result<Self> {
        let unknown = Self::unknown(strategy);
        let is_own = MemoryClass::of(strategy).is_own();
        if !is_own || guest.info().memory.is_none() || guest.info().image_refusal().is_some() {
            return Ok(unknown);
        }
        let known = MemoryTemplate::new(guest.initial_content()?, unknown.reset)?;
        Ok(Self { known: Some(known), ..unknown })
    }

    /// The content for a strategy, of which nothing is known before there is an instance.
    pub fn unknown(strategy: Strategy) -> Self {
        Self { known: None, reset: strategy.memory.reset_method() }
    }

    /// The same with a region mapped into each memory, if there is one. Fails with
    /// [`guest::Error::Unhostable`](crate::guest::Error) where the content is not known, or the
    /// region does not fit.
    pub fn sharing(self, guest: &GuestModule, region: Option<&Arc<Region>>) -> Result<Self> {
        let Some(region) = region else { return Ok(self) };
        let Some(template) = self.known else {
            let reason = guest.info().image_refusal();
            let reason = reason.as_deref().unwrap_or("it has no memory that is Touchstone's");
            return Err(Error::no_region(reason));
        };
        let known = template.sharing(Some(Arc::clone(region)))?;
        Ok(Self { known: Some(known), ..self })
    }

    /// The template that all memories share, where the module's bytes say it.
    pub fn known(&self) -> Option<&MemoryTemplate> {
        self.known.as_ref()
    }

    /// How memories are reset.
    pub fn reset(&self) -> ResetMethod {
        self.reset
    }

    /// Refuses the memory of a new instance, from `base` on, that is not mapped as the strategy's
    /// name says. A template that all instances share is probed with the module: this looks only
    /// where the instance has one of its own. Fails with [`Error::WrongMode`].
    pub fn check(&self, guest: &LoadedGuest, own: &MemoryTemplate, base: usize) -> Result<()> {
        if let (None, Some(image)) = (&self.known, own.image()) {
            let seen = mapping_kind(base + image.start());
            mapping_in_words(guest.engine, guest.strategy, seen)?;
        }
        Ok(())
    }

    /// Adds what is known of a guest's memories to the effective configuration.
    #[must_use]
    pub fn describe(&self, info: &ModuleInfo, effective: EffectiveConfig) -> EffectiveConfig {
        let Some(limits) = info.memory else { return effective.with("memory", "none") };
        let content = match (&self.known, self.reset) {
            (None, ResetMethod::Segments) => "captured after the start function, copied in",
            (None, _) => "captured after the start function, mapped copy-on-write",
            (Some(known), _) if known.image().is_some() => "image mapped copy-on-write",
            (Some(_), ResetMethod::Segments) => "segments copied in",
            _ => "all zero, nothing to map",
        };
        effective
            .with("memory", "not probed")
            .with("addresses", format!("{} MiB", (limits.largest() as usize) >> 4))
            .with("content", content)
            .with("reset", self.reset.to_string())
    }

    /// The template for the memory of a new instance, whose start function has run. Fails when the
    /// memory has another size than the module says, or there is no place for an image.
    pub fn template(&self, engine: &'static str, memory: &[u8]) -> Result<MemoryTemplate> {
        let Some(template) = &self.known else {
            return Ok(MemoryTemplate::new(InitialContent::capture(memory), self.reset)?);
        };
        if template.whole_size() != memory.len() {
            return Err(Error::runtime(engine, "lay out the memory")(format!(
                "it has {} bytes instead of {}",
                memory.len(),
                template.whole_size()
            )));
        }
        Ok(template.clone())
    }
}
