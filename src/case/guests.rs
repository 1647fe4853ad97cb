//! The built guests and their digests.

use super::{Case, Library, built_in, init, load_all};
use crate::files::{self, FilePath, read_text, read_whole};
use crate::record::hex;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use touchstone_executor::guest::{GuestModule, HeapPages, link, text};

/// A guest's bytes: the file, checked against its digest, or that linked or pre-initialised.
#[derive(Debug, Clone)]
pub struct GuestFile {
    pub bytes: Arc<[u8]>,
    /// Their SHA-256, hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Source {
    name: String,
    link: Vec<Library>,
    init: Option<String>,
}

/// Reads guests on demand, and pre-initialises them, each once.
#[derive(Debug, Clone)]
pub struct Guests {
    folder: FilePath,
    /// Digests of `SHA256SUMS` by file name, once read.
    listed: Option<HashMap<String, String>>,
    files: HashMap<Source, GuestFile>,
    modules: HashMap<(Source, HeapPages), GuestModule>,
    counting: bool,
}

impl Guests {
    /// The guests in a folder with `*.wasm` and `SHA256SUMS`.
    pub fn in_folder(folder: impl Into<FilePath>) -> Self {
        let (files, modules) = (HashMap::new(), HashMap::new());
        Self { folder: folder.into(), listed: None, files, modules, counting: false }
    }

    /// The same guests, rewritten to count the operators that they execute.
    pub fn counting(self) -> Self {
        Self { counting: true, ..self }
    }

    pub fn built() -> Self {
        Self::in_folder(files::project("test-runtime/built"))
    }

    /// The list of the guests' digests. Fails if it cannot be read.
    pub fn list(&self) -> Result<String> {
        let list = self.folder.join("SHA256SUMS");
        read_text(&list).with_context(|| format!("cannot read the digests in {list}"))
    }

    /// A guest's file. Fails if it is missing or differs from its listed digest: benchmarks must
    /// time the same bytes on every machine.
    pub fn file(&mut self, name: &str) -> Result<&GuestFile> {
        self.made(&Source { name: name.to_owned(), ..Source::default() })
    }

    /// A guest pre-initialised by an export; see [`init::initialized`].
    pub fn initialized(&mut self, name: &str, export: &str) -> Result<&GuestFile> {
        let (name, init) = (name.to_owned(), Some(export.to_owned()));
        self.made(&Source { name, init, ..Source::default() })
    }

    /// A guest of a case with its libraries, before it is pre-initialised.
    pub fn linked(&mut self, case: &Case, name: &str) -> Result<&GuestFile> {
        self.made(&Source { name: name.to_owned(), link: case.link.clone(), init: None })
    }

    /// Reads, links and pre-initialises a guest, each once.
    fn made(&mut self, source: &Source) -> Result<&GuestFile> {
        if !self.files.contains_key(source) {
            let file = match source {
                Source { init: Some(export), name, .. } => {
                    let before = self.made(&Source { init: None, ..source.clone() })?;
                    let bytes = init::initialized(&before.bytes, export)
                        .with_context(|| format!("cannot pre-initialise the guest {name}"))?;
                    GuestFile::of(bytes)
                }
                Source { link: libraries, name, .. } if !libraries.is_empty() => {
                    let main = self.file(name)?.bytes.clone();
                    let mut file = |of: &Library| anyhow::Ok(self.file(&of.file)?.bytes.clone());
                    let bytes = libraries.iter().map(&mut file).collect::<Result<Vec<_>>>()?;
                    let names = libraries.iter().map(|library| &*library.name);
                    let linked: Vec<_> = names.zip(bytes.iter().map(|bytes| &**bytes)).collect();
                    let linked = link(&main, &linked)
                        .with_context(|| format!("cannot link the guest {name}"))?;
                    GuestFile::of(linked)
                }
                Source { name, .. } => self.read(name)?,
            };
            self.files.insert(source.clone(), file);
        }
        Ok(&self.files[source])
    }

    fn read(&mut self, name: &str) -> Result<GuestFile> {
        let file_name = format!("{name}.wasm");
        let (place, list) = (self.folder.join(&file_name), self.folder.join("SHA256SUMS"));
        let remedy = match self.folder.is_confined() {
            true => "put it there, and run `sha256sum *.wasm > SHA256SUMS` in its folder",
            false => "`make guests` builds it",
        };
        let bytes = read_whole(&place)
            .with_context(|| format!("cannot read the guest {place}; {remedy}"))?;
        let sha256 = digest(&bytes);
        if self.listed.is_none() {
            let text = self.list()?;
            let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
            let name = |file: &str| file.trim_start_matches([' ', '*']).to_owned();
            // The first line of a file counts.
            let lines = lines.rev().map(|(digest, file)| (name(file), digest.to_owned()));
            self.listed = Some(lines.collect());
        }
        match self.listed.as_ref().and_then(|listed| listed.get(&file_name)) {
            Some(expected) if *expected == sha256 => {}
            Some(_) => bail!("{place} is not the module that {list} lists; {remedy}"),
            None => bail!("{list} does not list {file_name}; {remedy}"),
        }
        Ok(GuestFile { bytes: bytes.into(), sha256 })
    }

    /// A guest for all backends, without pre-initialisation. Fails if it cannot be hosted.
    pub fn module(&mut self, name: &str, heap: HeapPages) -> Result<GuestModule> {
        self.prepared(Source { name: name.to_owned(), ..Source::default() }, heap)
    }

    /// A guest of a case for all backends, linked and pre-initialised as the case says.
    pub fn of_case(&mut self, case: &Case, name: &str) -> Result<GuestModule> {
        let (link, init) = (case.link.clone(), case.init.clone());
        self.prepared(Source { name: name.to_owned(), link, init }, case.heap)
    }

    fn prepared(&mut self, source: Source, heap: HeapPages) -> Result<GuestModule> {
        let key = (source, heap);
        if let Some(module) = self.modules.get(&key) {
            return Ok(module.clone());
        }
        let name = &key.0.name;
        let file = self.made(&key.0)?;
        let module = GuestModule::new(name, &file.bytes, heap)
            .with_context(|| format!("cannot use the guest {}", text::name(name)))?;
        let module = if self.counting { module.counting()? } else { module };
        self.modules.insert(key, module.clone());
        Ok(module)
    }
}

#[derive(Debug, Clone)]
pub enum Suite {
    BuiltIn,
    /// A user's folder with `*.toml`, `*.wasm` and `SHA256SUMS`, which no path in its files leaves.
    Folder(FilePath),
}

impl Suite {
    /// The suite of a folder, or the project's own. Fails if there is no such folder.
    pub fn of(folder: Option<&Path>) -> Result<Self> {
        folder.map_or(Ok(Self::BuiltIn), |folder| FilePath::within(folder).map(Self::Folder))
    }

    pub fn cases(&self) -> Result<Vec<Case>> {
        match self {
            Self::BuiltIn => built_in(),
            Self::Folder(folder) => load_all(folder),
        }
    }

    pub fn guests(&self) -> Guests {
        match self {
            Self::BuiltIn => Guests::built(),
            Self::Folder(folder) => Guests::in_folder(folder),
        }
    }
}

impl GuestFile {
    fn of(bytes: Vec<u8>) -> Self {
        let sha256 = digest(&bytes);
        Self { bytes: bytes.into(), sha256 }
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
