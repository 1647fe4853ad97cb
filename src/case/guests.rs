//! The built guests and their digests.

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// The file of a guest, checked against its listed digest.
#[derive(Debug, Clone)]
pub struct GuestFile {
    /// The bytes.
    pub bytes: Arc<[u8]>,
    /// Their SHA-256, hexadecimal.
    pub sha256: String,
}

/// Reads guests on demand, each once.
#[derive(Debug, Clone)]
pub struct Guests {
    folder: PathBuf,
    files: HashMap<String, GuestFile>,
    modules: HashMap<(String, HeapPages), GuestModule>,
    counting: bool,
}

impl Guests {
    /// The guests in a folder with `*.wasm` and `SHA256SUMS`.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            files: HashMap::new(),
            modules: HashMap::new(),
            counting: false,
        }
    }

    /// The same guests, rewritten so that they count the operators they execute.
    #[must_use]
    pub fn counting(self) -> Self {
        Self { counting: true, ..self }
    }

    /// The checked-in guests.
    #[must_use]
    pub fn built() -> Self {
        Self::in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("test-runtime/built"))
    }

    /// A guest's file.
    ///
    /// # Errors
    ///
    /// When it is missing, or its digest differs from the listed one: benchmarks must time
    /// the same bytes on every machine.
    pub fn file(&mut self, name: &str) -> Result<&GuestFile> {
        if !self.files.contains_key(name) {
            let file = self.read(name)?;
            self.files.insert(name.to_owned(), file);
        }
        Ok(&self.files[name])
    }

    fn read(&self, name: &str) -> Result<GuestFile> {
        let path = self.folder.join(format!("{name}.wasm"));
        let bytes = std::fs::read(&path).with_context(|| {
            format!("there is no guest {}; `make guests` builds it", path.display())
        })?;
        let sha256 = digest(&bytes);
        let list = self.folder.join("SHA256SUMS");
        let listed = std::fs::read_to_string(&list)
            .with_context(|| format!("cannot read the digests in {}", list.display()))?;
        let file_name = format!("{name}.wasm");
        let expected = listed.lines().find_map(|line| {
            let (digest, file) = line.split_once(char::is_whitespace)?;
            (file.trim_start_matches([' ', '*']) == file_name).then_some(digest)
        });
        match expected {
            Some(expected) if expected == sha256 => {}
            Some(_) => bail!(
                "{} is not the module that {} lists; `make guests` builds it again",
                path.display(),
                list.display()
            ),
            None => bail!("{} does not list {file_name}", list.display()),
        }
        Ok(GuestFile { bytes: bytes.into(), sha256 })
    }

    /// A guest prepared for all backends.
    ///
    /// # Errors
    ///
    /// Those of [`file`](Self::file), and when the module cannot be hosted.
    pub fn module(&mut self, name: &str, heap: HeapPages) -> Result<GuestModule> {
        let key = (name.to_owned(), heap);
        if let Some(module) = self.modules.get(&key) {
            return Ok(module.clone());
        }
        let file = self.file(name)?;
        let module = GuestModule::new(name, &file.bytes, heap)?;
        let module = if self.counting { module.counting()? } else { module };
        self.modules.insert(key, module.clone());
        Ok(module)
    }
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
