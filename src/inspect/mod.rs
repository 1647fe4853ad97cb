//! The content of a WebAssembly file, without running it: also of modules that no engine hosts.

mod read;

use serde::Serialize;
use touchstone_executor::Feature;
use touchstone_executor::guest::Error;
use touchstone_executor::guest::{ModuleInfo, PREFIX, unpack};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    pub is_component: bool,
    #[serde(flatten)]
    pub identity: Identity,
    /// The error under all known features; `None` if it is valid.
    pub invalid: Option<String>,
    /// The reason why no engine hosts it; `None` if some may.
    pub refused: Option<String>,
    /// Needed features beyond WebAssembly 2.0.
    pub features: Vec<&'static str>,
    pub imports: Vec<Import>,
    pub exports: Vec<Export>,
    /// Memories, also those of a component's modules.
    pub memories: Vec<Memory>,
    pub functions: u32,
    pub tables: u32,
    pub globals: u32,
    pub core_modules: u32,
    /// `true` if a start function runs at each instantiation.
    pub has_start: bool,
    pub data: Segments,
    pub elements: Segments,
}

/// Identity of a module or a component by its binary form, also if the file is text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Identity {
    pub is_packed: bool,
    /// Number of bytes, compressed ones in a blob.
    pub bytes: usize,
    pub sha256: String,
}

impl Identity {
    pub fn of(binary: &[u8]) -> Self {
        Self {
            is_packed: binary.starts_with(&PREFIX),
            bytes: binary.len(),
            sha256: crate::case::digest(binary),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Module part of the name; empty in a component.
    pub module: String,
    /// Field part of the name.
    pub name: String,
    /// `func`, `memory`, `instance` and so on.
    pub kind: &'static str,
    pub ty: String,
    pub answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    HostFunction,
    /// A definition by Touchstone: a zeroed memory, a table of null entries, a global, a tag.
    Definition,
    Stub,
    Nothing,
    Engine,
}

impl Answer {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::HostFunction => "host function",
            Self::Definition => "definition of Touchstone",
            Self::Stub => "stub that traps when called",
            Self::Nothing => "nothing: the module is refused",
            Self::Engine => "left to the engine",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Export {
    pub name: String,
    /// `func`, `memory`, `instance` and so on.
    pub kind: &'static str,
    pub ty: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Initial size, pages.
    pub minimum: u64,
    pub maximum: Option<u64>,
    /// Size of a page, bytes.
    pub page: u64,
    /// `true` for 64-bit addresses.
    pub is_64: bool,
    pub is_shared: bool,
    pub is_imported: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Segments {
    pub active: u32,
    /// Passive and declared ones.
    pub passive: u32,
    /// Bytes of data in all of them; 0 for elements.
    pub bytes: u64,
}

/// Inspects a file's content. Fails if it is no WebAssembly, or a blob that cannot be unpacked.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Error> {
    let wasm = unpack(bytes)?;
    let mut found = Inspection { identity: Identity::of(bytes), ..Inspection::default() };
    match ModuleInfo::read(&wasm) {
        Ok(info) => found.features = info.features.iter().map(Feature::name).collect(),
        Err(error @ Error::NotAModule { .. }) => return Err(error),
        Err(error @ Error::Invalid { .. }) => found.invalid = Some(error.to_string()),
        Err(error) => {
            found.refused = Some(error.to_string());
            let features = ModuleInfo::read_features(&wasm).unwrap_or_default();
            found.features = features.iter().map(Feature::name).collect();
        }
    }
    // The part before a damaged place is shown.
    read::read(&wasm, &mut found);
    Ok(found)
}
