//! A linear memory of our own with the means to make it clean.

use super::{Mapping, Plan, Restorer};
use crate::error::Result;

/// A [`Mapping`] and, where there is a plan, what makes it clean again.
#[derive(Debug)]
pub struct Memory {
    // Dropped in this order: a restorer must not outlive the mapping.
    restorer: Option<Restorer>,
    mapping: Mapping,
}

impl Memory {
    /// A clean memory: at least `size` accessible bytes in a reservation of
    /// `reserved`, all zero without a plan, else with the plan's size and content.
    ///
    /// # Errors
    ///
    /// When the system has no memory left.
    pub fn new(plan: Option<&Plan>, size: usize, reserved: usize) -> Result<Self> {
        let Some(plan) = plan else {
            return Ok(Self { restorer: None, mapping: Mapping::new(size, reserved)? });
        };
        let mapping = Mapping::new(plan.size(), reserved)?;
        // SAFETY: the mapping is new, of the plan's size and this value's own. It is
        // dropped after the restorer, and meanwhile what lies below the plan's size
        // is only touched by `reset` and by whoever this value is lent to.
        let restorer = unsafe { plan.install(mapping.base()) }?;
        Ok(Self { restorer: Some(restorer), mapping })
    }

    /// Start of the memory. It never moves.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    /// Bytes that can be read and written.
    #[must_use]
    pub fn accessible(&self) -> usize {
        self.mapping.accessible()
    }

    /// Opens more of the reservation; what is opened is zero.
    ///
    /// # Errors
    ///
    /// When it is larger than the reservation, or the kernel refuses.
    pub fn grow(&mut self, accessible: usize) -> Result<()> {
        self.mapping.resize(accessible.max(self.accessible()))
    }

    /// Closes what lies behind `accessible` bytes and keeps its pages, all of which
    /// have to be zero: opened again, it is as a new memory. For memories that
    /// somebody else makes clean.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn hide(&mut self, accessible: usize) -> Result<()> {
        self.mapping.hide(accessible)
    }

    /// Makes the memory clean and of its first size. Without a plan nothing is
    /// known about that, and nothing is done: `false`.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory must then not be used.
    pub fn reset(&mut self) -> Result<bool> {
        let Some(restorer) = &mut self.restorer else { return Ok(false) };
        let (size, open) = (restorer.plan().size(), self.mapping.accessible());
        // SAFETY: `&mut self` says that nobody uses the memory; all of what is
        // accessible is readable and writable or becomes so by a fault.
        unsafe { restorer.reset_grown(open) }?;
        if open > size {
            self.mapping.hide(size)?;
        }
        Ok(true)
    }

    /// Lets go of all pages that a clean memory keeps resident. For an idle memory:
    /// the next use is as clean, and pays for the pages it writes.
    ///
    /// # Errors
    ///
    /// When the kernel refuses; the memory is then as clean as it was.
    pub fn trim(&mut self) -> Result<()> {
        match &mut self.restorer {
            // SAFETY: `&mut self` says that nobody uses the memory.
            Some(restorer) => unsafe { restorer.trim() },
            None => Ok(()),
        }
    }

    /// What looks after it, where there is a plan.
    pub fn restorer(&mut self) -> Option<&mut Restorer> {
        self.restorer.as_mut()
    }

    /// The memory as bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.mapping.bytes_mut()
    }
}
