//! The part that a memory has grown by: made zero again, or hidden as it is.

use super::super::ages::OFTEN;
use super::super::{host_page, pagemap_scan_available};
use super::gate::Gate;
use super::kept::Used;
use crate::error::Result;

/// The content behind the template's size after a reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// Zeros: they are seen again when the memory grows.
    MadeZero,
    /// Whatever is there: it is made zero when the memory grows.
    Anything,
}

/// The part behind the template's size.
#[derive(Debug, Default)]
pub(super) struct Grown {
    /// End of what nobody can reach but is still resident; 0 where there is none.
    pub(super) hidden: usize,
    /// Resets since a call has grown the memory.
    unused_for: u16,
    pub(super) gate: Gate,
    /// Up to where each fault makes one page writable.
    small_to: usize,
    /// `true` if a part was locked when it was scanned: to open what lies there makes absent pages
    /// writable without a fault.
    is_locked: bool,
}

impl Grown {
    /// The largest size so far that the memory is known to be mapped to.
    #[inline]
    pub(super) fn known_to(&self) -> usize {
        self.hidden.max(self.small_to)
    }

    /// Makes of what lies between the template's size and `open` what it has to be.
    pub(super) fn reset(&mut self, used: &mut Used<'_>, open: usize, behind: Behind) -> Result<()> {
        self.unused_for = 0;
        if behind == Behind::MadeZero && pagemap_scan_available() {
            self.restore(used, open)?;
            self.hidden = self.hidden.max(open);
            return Ok(());
        }
        let limit = match behind {
            Behind::Anything => used.kept.limit * host_page(),
            Behind::MadeZero => 0,
        };
        let keep = open.min(used.size + limit);
        if keep > used.size {
            self.hidden = self.hidden.max(keep);
        }
        used.memory.discard(&(keep..open))
    }

    /// Makes what the memory has grown by zero, by page faults where these tell what was written
    /// there, else by a scan.
    fn restore(&mut self, used: &mut Used<'_>, open: usize) -> Result<()> {
        used.lacks_notes |= !used.knows_threads;
        let range = used.size..open;
        if self.is_locked || !used.knows_threads {
            self.gate.forget();
            return used.restore_scanned(&range, None).map(drop);
        }
        if open > self.small_to {
            // One fault may have made more than a page writable there.
            self.gate.forget();
            used.memory.make_small(&range)?;
            self.small_to = open;
        }
        used.kept.ages.grow(open / host_page());
        if self.gate.restore_known(used, &range)?.is_none() {
            self.gate.scan(used, &range, self.hidden)?;
            self.is_locked |= used.memory.is_locked(&(used.size..self.small_to));
        }
        Ok(())
    }

    /// After a use that has not grown the memory: lets go of what has lain there unused for long.
    pub(super) fn rest(&mut self, used: &mut Used<'_>) -> Result<()> {
        self.unused_for += 1;
        if self.unused_for >= OFTEN { self.drop_all(used) } else { Ok(()) }
    }

    /// Drops all pages behind the template's size.
    pub(super) fn drop_all(&mut self, used: &mut Used<'_>) -> Result<()> {
        used.memory.discard(&(used.size..self.hidden.max(used.size)))?;
        self.hidden = 0;
        self.gate.forget();
        Ok(())
    }
}
