//! The module of a backend.

use super::{Disposable, Fresh, LoadedGuest, Resident, Reused};
use crate::abi::Abi;
use crate::config::EffectiveConfig;
use crate::contract::{ExportId, Exports, Instance, Module};
use crate::error::{Error, Result};
use crate::probe::{MappingKind, mapping_kind};
use crate::strategy::{InstanceFrom, MemoryFrom, Strategy};
use std::sync::Arc;

/// A module whose instances have `S` in common.
pub struct LoadedModule<S> {
    engine: &'static str,
    strategy: Strategy,
    exports: Exports,
    /// A place in memory that is part of any image of it.
    data: Option<u32>,
    probes: bool,
    /// Why the probe fails.
    wrong_mode: Option<&'static str>,
    /// Why an export cannot be called.
    refusal: fn(&S, u32) -> Option<&'static str>,
    shared: Arc<S>,
    make: fn(&Arc<S>, &Exports) -> Box<dyn Instance>,
    effective: EffectiveConfig,
}

impl<S: Send + Sync + 'static> LoadedModule<S> {
    /// A module with a new instance for each call.
    pub fn fresh<I>(guest: &LoadedGuest, shared: &Arc<S>, effective: EffectiveConfig) -> Self
    where
        I: Disposable<Shared = S> + 'static,
        I::Kept: 'static,
    {
        Self::new(guest, shared, effective, |shared, exports| {
            Box::new(Fresh::<I>::new(shared, exports))
        })
    }

    /// A module with one instance `R`, reset in place, if that is the guest's strategy, and else
    /// with a new instance `F` for each call.
    pub fn by_strategy<F, R>(
        guest: &LoadedGuest,
        shared: &Arc<S>,
        effective: EffectiveConfig,
    ) -> Self
    where
        F: Disposable<Shared = S> + 'static,
        F::Kept: 'static,
        R: Resident<Shared = S> + 'static,
    {
        if guest.strategy.instance != InstanceFrom::Reuse {
            return Self::fresh::<F>(guest, shared, effective);
        }
        Self::new(guest, shared, effective, |shared, exports| {
            Box::new(Reused::<R>::new(shared, exports))
        })
    }

    fn new(
        guest: &LoadedGuest,
        shared: &Arc<S>,
        effective: EffectiveConfig,
        make: fn(&Arc<S>, &Exports) -> Box<dyn Instance>,
    ) -> Self {
        Self {
            engine: guest.engine,
            strategy: guest.strategy,
            exports: guest.exports.clone(),
            data: guest.guest.first_data_byte(),
            probes: false,
            wrong_mode: None,
            refusal: |_, _| None,
            shared: Arc::clone(shared),
            make,
            effective,
        }
    }

    /// The same, where the probe looks at the memory of a live instance: it has to be mapped as
    /// the strategy's name says.
    #[must_use]
    pub fn probing_memory(self) -> Self {
        Self { probes: true, ..self }
    }

    /// The same, where the mode in force is another one than the strategy's name or the engine
    /// says, for this reason: the probe fails.
    #[must_use]
    pub fn in_wrong_mode(self, reason: Option<&'static str>) -> Self {
        Self { wrong_mode: reason, ..self }
    }

    /// The same, where some exports cannot be called: for the reasons by their positions.
    #[must_use]
    pub fn refusing(self, refusal: fn(&S, u32) -> Option<&'static str>) -> Self {
        Self { refusal, ..self }
    }

    fn probe_memory(&self) -> Result<&'static str> {
        let Some(offset) = self.data else {
            return Ok("not probed: the module has no data at a known place");
        };
        let mut instance = self.new_instance()?;
        instance.prepare()?;
        let address = instance.memory().map(|memory| memory.as_ptr() as usize + offset as usize);
        let seen = address.and_then(mapping_kind);
        instance.finish()?;
        Ok(mapping_in_words(self.engine, self.strategy, seen)?.unwrap_or(NO_ANSWER))
    }
}

impl<S: Send + Sync + 'static> Module for LoadedModule<S> {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        let export = self.exports.find(name, abi)?;
        let Some(reason) = (self.refusal)(&self.shared, export.index()) else { return Ok(export) };
        let (engine, name, reason) = (self.engine, name.to_owned(), reason.to_owned());
        Err(Error::ExportUnsupported { engine, name, reason })
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        Ok((self.make)(&self.shared, &self.exports))
    }

    fn probe(&mut self) -> Result<()> {
        if let Some(reason) = self.wrong_mode {
            let (engine, strategy, reason) = (self.engine, self.strategy, reason.to_owned());
            return Err(Error::WrongMode { engine, strategy, reason });
        }
        if self.probes {
            let memory = self.probe_memory()?;
            self.effective = std::mem::take(&mut self.effective).with("memory", memory);
        }
        Ok(())
    }

    fn effective(&self) -> EffectiveConfig {
        self.effective.clone()
    }
}

/// Said where the kernel does not tell how a memory is mapped.
pub const NO_ANSWER: &str = "not probed: /proc/self/maps has no answer";

/// How a memory was seen to be mapped; `None` where the kernel does not tell. Fails with
/// [`Error::WrongMode`] when it is not what the strategy's name says.
pub fn mapping_in_words(
    engine: &'static str,
    strategy: Strategy,
    seen: Option<MappingKind>,
) -> Result<Option<&'static str>> {
    let wants_image = strategy.memory != MemoryFrom::Segments;
    Ok(Some(match seen {
        Some(MappingKind::PrivateFile(name)) if wants_image && name.contains("memfd:") => {
            "copy-on-write image of a file in memory"
        }
        Some(MappingKind::PrivateFile(_)) if wants_image => {
            "copy-on-write image of the precompiled file"
        }
        Some(MappingKind::Anonymous) if !wants_image => "anonymous",
        Some(other) => {
            let reason = format!("its memory is mapped as {other:?}");
            return Err(Error::WrongMode { engine, strategy, reason });
        }
        None => return Ok(None),
    }))
}
