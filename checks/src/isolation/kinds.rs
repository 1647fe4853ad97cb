//! Kinds of state that a call may leave behind, each with a planted guest.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use touchstone::case::{Guests, Input};
use touchstone_executor::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// All kinds, in the order of the tables.
pub static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Kinds {
        kind: Vec<Kind>,
    }
    let kinds: Kinds = toml::from_str(include_str!("kinds.toml")).expect("kinds.toml is valid");
    kinds.kind
});

/// A kind of state, and the calls that find a leak.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Name in filters, findings and tables.
    pub name: String,
    /// Kinds of a group share a column.
    pub group: String,
    /// The kind in a phrase.
    pub what: String,
    guest: String,
    extra_pages: Option<u32>,
    /// The observing call, which changes nothing lasting.
    pub observe: Act,
    clean: Clean,
    pub spoils: Vec<Spoil>,
    /// `true` if a second call on a used instance can see a change. Calls can never see old stack
    /// frames, or how much stack was used.
    #[serde(default = "yes")]
    pub lasting: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "WrittenAct")]
pub struct Act {
    pub export: String,
    pub abi: Abi,
    pub input: Vec<u8>,
}

/// A call in the data file: an export of Substrate's convention without input, or all parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenAct {
    Export(String),
    Call { export: String, abi: Option<Abi>, input: Input },
}

impl TryFrom<WrittenAct> for Act {
    type Error = anyhow::Error;

    fn try_from(written: WrittenAct) -> Result<Self> {
        let (export, abi, input) = match written {
            WrittenAct::Export(export) => (export, None, Vec::new()),
            WrittenAct::Call { export, abi, input } => (export, abi, input.bytes(None)?),
        };
        Ok(Self { export, abi: abi.unwrap_or(Abi::Substrate), input })
    }
}

/// A changing call with its required end.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<Ends, Act>")]
pub struct Spoil {
    pub act: Act,
    pub ends: Ends,
}

impl TryFrom<BTreeMap<Ends, Act>> for Spoil {
    type Error = anyhow::Error;

    fn try_from(written: BTreeMap<Ends, Act>) -> Result<Self> {
        let (ends, act) = written.into_iter().next().context("a call without its end")?;
        Ok(Self { act, ends })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Ends {
    #[serde(rename = "returns")]
    Returning,
    /// Any trap.
    #[serde(rename = "traps")]
    Trapping,
    /// A trap after endless recursion; skipped on engines that do not limit it.
    #[serde(rename = "recurses")]
    Recursing,
    /// At the module's deadline.
    #[serde(rename = "stops")]
    Stopped,
    /// At its interrupt, which the guest's host function makes.
    #[serde(rename = "is_interrupted")]
    Interrupted,
    #[serde(rename = "runs_out_of_fuel")]
    OutOfFuel,
    /// With an error, because a host function panics.
    #[serde(rename = "panics")]
    Panicking,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Clean {
    /// Little-endian numbers of 64 bits.
    Words(Vec<i64>),
    Text(String),
    /// This number of zero bytes.
    Zeros(usize),
}

impl Kind {
    /// The guest. Fails if a built guest is missing or differs from the list.
    pub fn guest(&self, built: &mut Guests) -> Result<GuestModule> {
        if let Some(extra) = self.extra_pages {
            return built.module(&self.guest, HeapPages { extra, ..HeapPages::default() });
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/isolation/guests");
        let path = folder.join(&self.guest).with_extension("wat");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(GuestModule::new(&self.name, &wat::parse_str(text)?, HeapPages::default())?)
    }

    /// The output of [`observe`](Self::observe) on a clean instance.
    pub fn clean(&self) -> Vec<u8> {
        match &self.clean {
            Clean::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Clean::Text(text) => text.clone().into_bytes(),
            Clean::Zeros(length) => vec![0; *length],
        }
    }

    /// `true` if a call must be stopped by a deadline.
    pub fn needs_deadline(&self) -> bool {
        self.has(Ends::Stopped)
    }

    /// `true` if a call ends like that.
    pub fn has(&self, ends: Ends) -> bool {
        self.spoils.iter().any(|spoil| spoil.ends == ends)
    }
}

#[cfg(test)]
mod tests {
    use super::super::KINDS;
    use std::collections::BTreeSet;
    use touchstone::case::Guests;

    #[test]
    fn every_guest_has_what_its_kind_calls() {
        let mut built = Guests::built();
        let mut names = BTreeSet::new();
        for kind in KINDS.iter() {
            assert!(names.insert(&kind.name));
            let guest = kind.guest(&mut built).unwrap();
            let acts = kind.spoils.iter().map(|spoil| &spoil.act).chain([&kind.observe]);
            for act in acts {
                let found = guest.info().exports.iter().any(|export| export.name == act.export);
                assert!(found, "{}: {}", kind.name, act.export);
            }
        }
    }

    #[test]
    fn kinds_of_a_group_stand_together() {
        let mut groups: Vec<_> = KINDS.iter().map(|kind| &kind.group).collect();
        groups.dedup();
        let unique: BTreeSet<_> = groups.iter().collect();
        assert_eq!(unique.len(), groups.len());
    }
}
