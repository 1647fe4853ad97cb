//! The memories of a strategy and their reset.

use crate::module::SharedModule;
use touchstone_executor::adapter::{MappingKind, mapping_kind};
use touchstone_executor::memory::{Image, InitialContent, MemoryTemplate, ResetMethod};
use touchstone_executor::{EffectiveConfig, Error, Result, Strategy};

/// The memories of a strategy and their reset.
pub(crate) struct Recipe {
    strategy: Strategy,
    reset: ResetMethod,
    /// The clean memory, if the module's bytes determine it. All instances then share one image.
    pub(crate) template: Option<MemoryTemplate>,
}

impl Recipe {
    pub(crate) fn new(shared: &SharedModule, strategy: Strategy) -> Result<Self> {
        let reset = strategy.memory.reset_method();
        let info = shared.info();
        let template = match info.memory {
            Some(_) if info.image_refusal().is_none() => {
                Some(MemoryTemplate::new(shared.guest.guest.initial_content()?, reset)?)
            }
            _ => None,
        };
        Ok(Self { strategy, reset, template })
    }

    /// A template for a memory whose content is clean now.
    pub(crate) fn capture(&self, memory: &[u8]) -> Result<MemoryTemplate> {
        Ok(MemoryTemplate::new(InitialContent::capture(memory), self.reset)?)
    }

    /// Checks the memory of an instance, if all instances share a template.
    pub(crate) fn probe(&self, shared: &SharedModule, memory: &[u8]) -> Result<()> {
        self.template.as_ref().map_or(Ok(()), |template| self.check(shared, template, memory))
    }

    /// Refuses a memory that is not mapped as the strategy's name says.
    pub(crate) fn check(
        &self,
        shared: &SharedModule,
        template: &MemoryTemplate,
        memory: &[u8],
    ) -> Result<()> {
        let offset = template.image().map_or(0, Image::start);
        let found = mapping_kind(memory.as_ptr() as usize + offset);
        let fits = match (&found, template.image()) {
            (Some(MappingKind::PrivateFile(name)), Some(_)) => name.contains("touchstone-image"),
            (Some(MappingKind::Anonymous), None) => true,
            // A memory without pages is not accessible.
            (_, None) => template.size() == 0,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Error::WrongMode {
            engine: shared.program.engine,
            strategy: self.strategy,
            reason: format!("under its data lies {found:?}"),
        })
    }

    /// Adds the effective settings.
    pub(crate) fn describe(
        &self,
        shared: &SharedModule,
        effective: EffectiveConfig,
    ) -> EffectiveConfig {
        let info = shared.info();
        let Some(limits) = info.memory else {
            return effective.with("memory", "none");
        };
        let content = match (&self.template, self.reset) {
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
        let grown = if info.grows_memory {
            "memory.grow is a call to the host; the grown part is made zero and stays mapped"
        } else {
            "grown only by the host; the grown part is made zero and stays mapped"
        };
        let addresses = (limits.largest() as usize) >> 4;
        effective
            .with(
                "memory",
                format!("ours in the place of Wasm3's, {addresses} MiB of addresses; {content}"),
            )
            .with("reset", self.reset.to_string())
            .with("grown memory", grown)
    }
}
