//! What a file of WebAssembly contains, without running it: also of modules that no engine
//! hosts.

mod read;

use serde::Serialize;
use touchstone_executor::guest::{ModuleInfo, PREFIX, unpack};
use touchstone_executor::Feature;
use touchstone_executor::guest::Error;

/// What was found in a module or a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Whether it is a component.
    pub is_component: bool,
    /// The bytes themselves.
    #[serde(flatten)]
    pub identity: Identity,
    /// What is wrong with it under all known features; `None` if it is valid.
    pub invalid: Option<String>,
    /// Why Touchstone hosts it on no engine; `None` if it does.
    pub refused: Option<String>,
    /// The features beyond WebAssembly 2.0 that it needs.
    pub features: Vec<&'static str>,
    /// Imports.
    pub imports: Vec<Import>,
    /// Exports.
    pub exports: Vec<Export>,
    /// Memories, also those of the modules in a component.
    pub memories: Vec<Memory>,
    /// Number of functions that it defines.
    pub functions: u32,
    /// Number of tables that it defines.
    pub tables: u32,
    /// Number of globals that it defines.
    pub globals: u32,
    /// Core modules in a component.
    pub core_modules: u32,
    /// Whether a start function runs at each instantiation.
    pub has_start: bool,
    /// Data segments.
    pub data: Segments,
    /// Element segments.
    pub elements: Segments,
}

/// The identity of a module or a component: of its binary form, also where the file is text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// `true` for a compressed blob.
    pub is_packed: bool,
    /// Number of bytes, compressed ones in a blob.
    pub bytes: usize,
    /// SHA-256 of these bytes.
    pub sha256: String,
}

impl Identity {
    /// That of a binary form.
    #[must_use]
    pub fn of(binary: &[u8]) -> Self {
        Self {
            is_packed: binary.starts_with(&PREFIX),
            bytes: binary.len(),
            sha256: crate::case::digest(binary),
        }
    }
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// Module part of the name; empty in a component.
    pub module: String,
    /// Field part of the name.
    pub name: String,
    /// `func`, `memory`, `instance` and so on.
    pub kind: &'static str,
    /// The type, in words.
    pub ty: String,
    /// What a run gives the module for it.
    pub answer: Answer,
}

/// What answers an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A host function of Touchstone.
    HostFunction,
    /// A definition of Touchstone's: a zeroed memory, a table of null entries, a global, a tag.
    Definition,
    /// A stub that traps when it is called.
    Stub,
    /// Nothing: the module is refused.
    Nothing,
    /// The engine decides, for a component.
    Engine,
}

impl Answer {
    /// The answer in words.
    #[must_use]
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

/// An export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// `func`, `memory`, `instance` and so on.
    pub kind: &'static str,
    /// The type of a function, in words.
    pub ty: String,
}

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Initial size, pages.
    pub minimum: u64,
    /// Largest size, pages, if the module gives one.
    pub maximum: Option<u64>,
    /// Size of a page, bytes.
    pub page: u64,
    /// Whether addresses have 64 bits.
    pub is_64: bool,
    /// Whether threads share it.
    pub is_shared: bool,
    /// Whether it is imported.
    pub is_imported: bool,
}

/// Segments of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Segments {
    /// Active ones.
    pub active: u32,
    /// Passive and declared ones.
    pub passive: u32,
    /// Bytes of data in all of them; 0 for elements.
    pub bytes: u64,
}

/// Inspects a file's content.
///
/// # Errors
///
/// When it is no WebAssembly, or a compressed blob that cannot be unpacked.
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
    // What comes before a damaged place is shown.
    read::read(&wasm, &mut found);
    Ok(found)
}
