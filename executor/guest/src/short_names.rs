//! Short names of imports and exports, for runtimes that find both by their names alone, or give
//! some names a meaning.

use super::info::ModuleInfo;
use super::patch::Patch;
use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use wasm_encoder::{ExportKind, ExportSection, SectionId};

/// A name of one letter and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortName {
    /// An imported function, by its position.
    Import(usize),
    /// An exported function, by the first of its export handles.
    Function(usize),
    /// A global, by its index.
    Global(u32),
    /// A table, by its index.
    Table(u32),
}

impl fmt::Display for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Import(position) => write!(f, "i{position}"),
            Self::Function(handle) => write!(f, "f{handle}"),
            Self::Global(index) => write!(f, "g{index}"),
            Self::Table(index) => write!(f, "t{index}"),
        }
    }
}

impl From<ShortName> for CString {
    fn from(name: ShortName) -> Self {
        // A letter and a number contain no zero.
        Self::new(name.to_string()).unwrap_or_default()
    }
}

impl Patch<'_> {
    /// Replaces all exports by one for each exported function and each mutable global, under short
    /// names. Returns the name of the function behind each export handle: several may be alike.
    pub fn shorten_exports(&mut self, info: &ModuleInfo) -> Vec<CString> {
        let (mut exports, mut functions) = (ExportSection::new(), Vec::new());
        let mut known: HashMap<u32, ShortName> = HashMap::new();
        for (handle, (_, index)) in self.layout().exported_functions().enumerate() {
            let name = *known.entry(index).or_insert_with(|| {
                let name = ShortName::Function(handle);
                exports.export(&name.to_string(), ExportKind::Func, index);
                name
            });
            functions.push(name.into());
        }
        for global in &info.mutable_globals {
            let name = ShortName::Global(global.index).to_string();
            exports.export(&name, ExportKind::Global, global.index);
        }
        self.replace(SectionId::Export, &exports);
        functions
    }
}
