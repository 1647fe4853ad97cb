//! A compiled guest, between `compile` and `load`.

use crate::code::CompiledCode;
use crate::config::Config;
use crate::contract::Engine;
use crate::error::{Error, Result};
use crate::folder::{ArtifactFolder, ArtifactKey};
use crate::guest::GuestModule;
use crate::strategy::{CodeFrom, Strategy};
use std::any::Any;
use std::sync::Arc;

/// A compiled guest, between `compile` and `load`.
#[derive(Clone)]
pub struct Artifact {
    engine: &'static str,
    guest: GuestModule,
    class: &'static str,
    interruptible: bool,
    size: usize,
    code: Option<Arc<CompiledCode>>,
    /// Key of the code in an artifact folder; `None` if the code cannot be shared.
    key: Option<ArtifactKey>,
    content: Arc<dyn Any + Send + Sync>,
}

impl Artifact {
    /// Wraps what an engine made of a guest, for the strategies of one
    /// [class](Engine::artifact_class).
    pub fn new<T: Any + Send + Sync>(
        engine: &dyn Engine,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        content: T,
    ) -> Self {
        Self {
            engine: engine.id(),
            guest: guest.clone(),
            class: engine.artifact_class(strategy),
            interruptible: config.is_interruptible(),
            size: 0,
            code: None,
            key: None,
            content: Arc::new(content),
        }
    }

    /// Adds the size in bytes, of an artifact without [code](Self::of_code).
    #[must_use]
    pub fn sized(self, size: usize) -> Self {
        Self { size, ..self }
    }

    /// Adds the code that some strategies load from a file.
    #[must_use]
    pub fn of_code(self, code: impl Into<Arc<CompiledCode>>) -> Self {
        let code = code.into();
        Self { size: code.bytes().len(), code: Some(code), ..self }
    }

    /// Adds the key of the code, by which other processes of the run can restore it.
    #[must_use]
    pub fn keyed(self, key: Option<ArtifactKey>) -> Self {
        Self { key, ..self }
    }

    /// Stages the code for [`Engine::load`] under the strategy, in a file for strategies that load
    /// it from one. Staging happens ahead of time and is not part of loading; code that was not
    /// staged is staged by `load`.
    ///
    /// # Errors
    ///
    /// When the code cannot be stored.
    pub fn stage(&self, strategy: Strategy) -> Result<()> {
        match &self.code {
            Some(code) if strategy.code == CodeFrom::Precompiled => code.stage().map(drop),
            _ => Ok(()),
        }
    }

    /// Saves the code for other processes of the run, which
    /// [restore](crate::adapter::MeasuredEngine::restore) it. Returns `false`, and writes
    /// nothing, if the engine does not support that.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, folder: &ArtifactFolder) -> Result<bool> {
        let (Some(key), Some(code)) = (&self.key, &self.code) else { return Ok(false) };
        folder.write(key, code).map(|()| true)
    }

    /// Size in bytes, 0 if the runtime does not report the size.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Opens the content to load the guest under a strategy. Signatures, offsets and sizes are
    /// taken from the guest: with the code of another one they would be wrong, and unsafe.
    ///
    /// # Errors
    ///
    /// [`Error::BadArtifact`] if it was made by another engine, from another guest, for strategies
    /// of another class, or with another answer to [`Config::is_interruptible`].
    /// [`Error::Unsupported`] if calls have to be interruptible and the engine cannot stop one.
    pub fn open<T: Any>(
        &self,
        engine: &dyn Engine,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<&T> {
        self.check(engine.id())?;
        if config.is_interruptible() && !engine.capabilities().deadline {
            let reason =
                "it cannot stop a call; it runs without deadlines and interrupts only".to_owned();
            return Err(Error::Unsupported { engine: engine.id(), strategy, reason });
        }
        let class = engine.artifact_class(strategy);
        let reason = if !self.guest.is_same(guest) {
            format!("it was made from another guest, {}", self.guest.name())
        } else if self.class != class {
            format!("it was made for '{}', {strategy} needs '{class}'", self.class)
        } else if self.interruptible != config.is_interruptible() {
            "only one of the configurations that it was compiled and is loaded with has a deadline or \
             `interruptible: true`"
                .to_owned()
        } else {
            let other = "its content is of another type";
            return self.content.downcast_ref().ok_or_else(|| self.bad(other.to_owned()));
        };
        Err(self.bad(reason))
    }

    /// The compiled code that `engine` stored; `None` if it stored none.
    ///
    /// # Errors
    ///
    /// When another engine made the artifact.
    pub fn code(&self, engine: &'static str) -> Result<Option<&CompiledCode>> {
        self.check(engine).map(|()| self.code.as_deref())
    }

    fn check(&self, engine: &'static str) -> Result<()> {
        if self.engine == engine {
            return Ok(());
        }
        Err(Error::BadArtifact { engine, reason: format!("it was made by {}", self.engine) })
    }

    fn bad(&self, reason: String) -> Error {
        Error::BadArtifact { engine: self.engine, reason }
    }
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact")
            .field("engine", &self.engine)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
