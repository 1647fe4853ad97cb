//! Kinds of state that a call may leave behind, each with a planted guest.

use anyhow::Result;
use touchstone::case::Guests;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// A kind of state, and the calls that find a leak.
pub struct Kind {
    /// Name in filters, findings and tables.
    pub name: &'static str,
    /// Kinds of a group share a column.
    pub group: &'static str,
    /// The kind in a phrase.
    pub what: &'static str,
    /// The planted guest.
    pub(super) planted: Planted,
    /// The observing call, which changes nothing lasting.
    pub observe: Act,
    pub(super) clean: Clean,
    /// Calls that change the state.
    pub spoils: &'static [Spoil],
    /// `true` if a second call on a used instance can see a change. Calls can never see old stack
    /// frames, or how much stack was used.
    pub lasting: bool,
}

/// The source of a guest.
pub(super) enum Planted {
    /// A module in text form.
    Text(&'static str),
    /// A built guest by name, with this number of heap pages.
    Built(&'static str, u32),
}

/// A call.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    pub export: &'static str,
    pub abi: Abi,
    pub input: &'static [u8],
}

/// A changing call with its required end.
#[derive(Debug, Clone, Copy)]
pub struct Spoil {
    pub act: Act,
    pub ends: Ends,
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Returning,
    /// Any trap.
    Trapping,
    /// A trap after endless recursion; skipped on engines that do not limit it.
    Recursing,
    Stopped,
}

/// The observation on a clean instance.
pub(super) enum Clean {
    /// Little-endian numbers of 64 bits.
    Words(&'static [u64]),
    Bytes(&'static [u8]),
    /// This number of zero bytes.
    Zeros(usize),
}

impl Kind {
    /// The guest. Fails if a built guest is missing or differs from the list.
    pub fn guest(&self, built: &mut Guests) -> Result<GuestModule> {
        match self.planted {
            Planted::Text(text) => {
                Ok(GuestModule::new(self.name, &wat::parse_str(text)?, HeapPages::default())?)
            }
            Planted::Built(name, extra) => {
                built.module(name, HeapPages { extra, ..HeapPages::default() })
            }
        }
    }

    /// The output of [`observe`](Self::observe) on a clean instance.
    pub fn clean(&self) -> Vec<u8> {
        match self.clean {
            Clean::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Clean::Bytes(bytes) => bytes.to_vec(),
            Clean::Zeros(length) => vec![0; length],
        }
    }

    /// `true` if a call must be stopped by a deadline.
    pub fn needs_deadline(&self) -> bool {
        self.spoils.iter().any(|spoil| spoil.ends == Ends::Stopped)
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
        for kind in KINDS {
            assert!(names.insert(kind.name));
            let guest = kind.guest(&mut built).unwrap();
            let acts = kind.spoils.iter().map(|spoil| spoil.act).chain([kind.observe]);
            for act in acts {
                let found = guest.info().exports.iter().any(|export| export.name == act.export);
                assert!(found, "{}: {}", kind.name, act.export);
            }
        }
    }

    #[test]
    fn kinds_of_a_group_stand_together() {
        let mut groups: Vec<_> = KINDS.iter().map(|kind| kind.group).collect();
        groups.dedup();
        let unique: BTreeSet<_> = groups.iter().collect();
        assert_eq!(unique.len(), groups.len());
    }
}
