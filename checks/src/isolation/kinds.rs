//! The kinds of state that a call may leave behind, each with a guest that changes it and
//! one that looks.

use anyhow::Result;
use touchstone::case::Guests;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// A kind of state, and how a leak of it is found.
pub struct Kind {
    /// Its name: in filters, findings and tables.
    pub name: &'static str,
    /// Kinds that share a column.
    pub group: &'static str,
    /// What it is, in a phrase.
    pub what: &'static str,
    /// The guest that does all that.
    pub(super) planted: Planted,
    /// Looks at the state without changing it for good: a call on a clean instance.
    pub observe: Act,
    pub(super) clean: Clean,
    /// Each of them changes the state.
    pub spoils: &'static [Spoil],
    /// Whether a change can be seen by a second call on the same used instance. Only what no
    /// call can see by the language's own rules is not: what was in a frame before, and how
    /// much of a stack was used.
    pub lasting: bool,
}

/// Where a guest comes from.
pub(super) enum Planted {
    /// Text of this part's own.
    Text(&'static str),
    /// A built guest by its name, with so many pages of heap.
    Built(&'static str, u32),
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// The export.
    pub export: &'static str,
    /// Its convention.
    pub abi: Abi,
    /// Its input.
    pub input: &'static [u8],
}

/// A call that changes the state, and how it has to end.
#[derive(Debug, Clone, Copy)]
pub struct Spoil {
    /// The call.
    pub act: Act,
    /// How it ends.
    pub ends: Ends,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// It returns.
    Returning,
    /// By a trap of any kind.
    Trapping,
    /// It is stopped by its deadline.
    Stopped,
}

/// What is seen on a clean instance.
pub(super) enum Clean {
    /// Numbers of 64 bits, little-endian.
    Words(&'static [u64]),
    /// These bytes.
    Bytes(&'static [u8]),
    /// So many zeros.
    Zeros(usize),
}

impl Kind {
    /// The guest.
    ///
    /// # Errors
    ///
    /// When a built guest is missing or is another one than listed, or the text is no module.
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

    /// The output of [`observe`](Self::observe) on a clean instance, told from the guest's
    /// text.
    #[must_use]
    pub fn clean(&self) -> Vec<u8> {
        match self.clean {
            Clean::Words(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Clean::Bytes(bytes) => bytes.to_vec(),
            Clean::Zeros(length) => vec![0; length],
        }
    }

    /// Whether a call of it has to be stopped.
    #[must_use]
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
