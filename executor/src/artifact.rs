//! A compiled guest, between `compile` and `load`.

use crate::folder::ArtifactKey;
use crate::guest::GuestModule;
use crate::{ArtifactFolder, CodeFrom, Config, Engine, Error, Result, Strategy};
use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

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
    /// staged is staged by `load`. Fails when the code cannot be stored.
    pub fn stage(&self, strategy: Strategy) -> Result<()> {
        match &self.code {
            Some(code) if strategy.code == CodeFrom::Precompiled => code.stage().map(drop),
            _ => Ok(()),
        }
    }

    /// Saves the code for other processes of the run, which
    /// [restore](crate::adapter::MeasuredEngine::restore) it. Returns `false`, and writes nothing,
    /// if the engine does not support that. Fails when the file cannot be written.
    pub fn save(&self, folder: &ArtifactFolder) -> Result<bool> {
        let (Some(key), Some(code)) = (&self.key, &self.code) else { return Ok(false) };
        folder.write(key, code).map(|()| true)
    }

    /// Size in bytes, 0 if the runtime does not report the size.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Opens the content to load the guest under a strategy. Signatures, offsets and sizes are
    /// taken from the guest: with the code of another one they would be wrong, and unsafe. Fails
    /// with [`Error::BadArtifact`] if it was made by another engine, from another guest, for
    /// strategies of another class, or with another answer to [`Config::is_interruptible`].
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

    /// The compiled code that `engine` stored; `None` if it stored none. Fails when another engine
    /// made the artifact.
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

/// Bytes that are compared at once: they stay in the processor's cache.
const CHUNK: usize = 64 * 1024;

/// Compiled code, protected against changes: in memory by Rust, in the file by a comparison
/// before each use.
///
/// A runtime runs any code that it maps. None of the runtimes here detects a changed byte of
/// machine code.
#[derive(Debug)]
pub struct CompiledCode {
    bytes: Vec<u8>,
    /// The same bytes as a file without a name, made when first asked for. It goes with
    /// the process, however that ends.
    file: OnceLock<File>,
}

impl CompiledCode {
    /// Code of a compiler, or of an [`ArtifactFolder`](crate::ArtifactFolder) from another
    /// process of the run.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, file: OnceLock::new() }
    }

    /// The code in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the code to its file, once. Load the file through [`staged`](Self::staged). Fails
    /// when the file cannot be written.
    pub fn stage(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let write = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.bytes)?;
            Ok(file)
        };
        let file = write().map_err(Error::system("cannot write the precompiled code"))?;
        // Another thread may have been faster; its file serves as well.
        Ok(self.file.get_or_init(|| file))
    }

    /// The file, after a check that it holds exactly the compiled code. Fails with
    /// [`Error::BadArtifact`] when the file has other content; when it cannot be read.
    pub fn staged(&self, engine: &'static str) -> Result<&File> {
        let file = self.stage()?;
        let failed = || Error::system("cannot read the precompiled code");
        let bad = |reason| Err(Error::BadArtifact { engine, reason });
        let length = file.metadata().map_err(failed())?.len();
        if length != self.bytes.len() as u64 {
            let staged = self.bytes.len();
            return bad(format!("its file has {length} bytes, {staged} were staged"));
        }
        let mut found = [0; CHUNK];
        let mut at = 0;
        for staged in self.bytes.chunks(CHUNK) {
            let found = &mut found[..staged.len()];
            file.read_exact_at(found, at).map_err(failed())?;
            if *found != *staged {
                let first = staged.iter().zip(&*found).position(|(staged, found)| staged != found);
                let first = at + first.unwrap_or(0) as u64;
                return bad(format!("its file is not what was staged, from byte {first} on"));
            }
            at += staged.len() as u64;
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &CompiledCode) -> String {
        match code.staged("some") {
            Err(Error::BadArtifact { engine: "some", reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "makes a file without a name")]
    fn only_the_bytes_that_were_staged_are_given_out() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 17).map(|at| at as u8).collect();
        let code = CompiledCode::new(bytes.clone());
        let file = code.staged("some").unwrap();
        for at in [0, CHUNK - 1, CHUNK, bytes.len() - 1] {
            file.write_all_at(&[bytes[at] ^ 4], at as u64).unwrap();
            assert_eq!(
                refused(&code),
                format!("its file is not what was staged, from byte {at} on")
            );
            file.write_all_at(&[bytes[at]], at as u64).unwrap();
            code.staged("some").unwrap();
        }
        for length in [0, bytes.len() - 1, bytes.len() + 1] {
            file.set_len(length as u64).unwrap();
            assert!(refused(&code).contains("bytes"), "{length}");
        }
    }
}
