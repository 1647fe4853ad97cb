//! A reserved range of addresses with an accessible front: a linear memory.

use super::addresses::Addresses;
use super::exclusive::Exclusive;
use super::host_page;
use super::mappings;
use crate::error::{Error, Result};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ops::Range;

/// A linear memory of our own: `reserved` bytes of addresses, of which the
/// first `accessible` can be read and written; the rest faults. It never moves.
#[derive(Debug)]
pub struct Mapping {
    reserved: Addresses,
    accessible: usize,
    /// End of what the kernel lets everybody read and write: that of what is accessible, or
    /// more where users [check bounds](Self::stay_open).
    open: usize,
    stays_open: bool,
    /// End of what was set apart behind the first size, see [`hide`](Self::hide).
    apart: usize,
    /// `true` if the kernel has refused what nobody could undo: what lies behind the end may be
    /// open, or not zero.
    broken: bool,
    /// For what is accessible, the rest, and what else it is split into.
    held: HeldMappings,
}

/// The mappings of a memory, as long as this value lives. Those of memories that a runtime has made
/// count with those of Touchstone's memories.
#[derive(Debug)]
pub struct HeldMappings {
    count: isize,
    /// `true` if one of them is for what the memory has grown by.
    has_grown: bool,
}

impl HeldMappings {
    /// Those of a new memory or of a part of one. Fails when too few would be left to the rest of
    /// the process.
    pub fn new(mappings: usize) -> Result<Self> {
        let mut held = Self { count: 0, has_grown: false };
        held.take(mappings as isize, 16)?;
        Ok(held)
    }

    /// One more if it is the first time that the memory grows. Whether enough are left to others.
    pub fn grow(&mut self) -> bool {
        self.has_grown = self.has_grown || self.take(1, 32).is_ok();
        self.has_grown
    }

    fn take(&mut self, mappings: isize, part: isize) -> Result<()> {
        if !mappings::hold(mappings, part) {
            mappings::hold(-mappings, part);
            return Err(too_many());
        }
        self.count += mappings;
        Ok(())
    }
}

impl Drop for HeldMappings {
    fn drop(&mut self) {
        mappings::hold(-self.count, 1);
    }
}

#[cold]
fn too_many() -> Error {
    Error::system(
        "cannot make another memory or grow one: this process has nearly as many mappings as \
         vm.max_map_count allows",
    )(std::io::ErrorKind::OutOfMemory)
}

fn too_large() -> Error {
    Error::system("cannot make a memory so large")(std::io::ErrorKind::OutOfMemory)
}

/// A size in whole host pages.
fn whole_pages(size: usize) -> Result<usize> {
    size.checked_next_multiple_of(host_page()).ok_or_else(too_large)
}

const BROKEN: Error = Error::Misuse("a change of its size has failed: the memory must not be used");

impl Mapping {
    /// Reserves `reserved` bytes and opens the first `accessible`, all zero. Both are rounded up to
    /// host pages. Fails when the system has not so many addresses left.
    pub fn new(accessible: usize, reserved: usize) -> Result<Self> {
        let accessible = whole_pages(accessible)?;
        let reserved = whole_pages(reserved)?.max(accessible).max(host_page());
        let held = HeldMappings::new(2)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let reserved = Addresses::new(reserved, ProtFlags::empty(), flags, None)
            .map_err(Error::system("cannot reserve addresses for a memory"))?;
        let mut mapping = Self {
            reserved,
            accessible: 0,
            open: 0,
            stays_open: false,
            apart: 0,
            broken: false,
            held,
        };
        mapping.resize(accessible)?;
        Ok(mapping)
    }

    /// Says that a part of what is accessible is to get a protection or flags of its own. Fails
    /// when too few mappings would be left to the rest of the process.
    pub fn split(&mut self) -> Result<()> {
        self.held.take(1, 16)
    }

    /// From now on, [`hide`](Self::hide) lets the kernel's protection be as it is, see
    /// [`Memory::staying_open`](super::Memory::staying_open).
    pub fn stay_open(&mut self) {
        self.stays_open = true;
    }

    /// Start of the memory.
    pub fn base(&self) -> *mut u8 {
        self.reserved.start()
    }

    /// Bytes that can be read and written.
    pub fn accessible(&self) -> usize {
        self.accessible
    }

    /// Bytes of addresses behind [`base`](Self::base).
    pub fn reserved(&self) -> usize {
        self.reserved.length()
    }

    /// Opens more of the reservation, or closes and drops what lies beyond. What is opened is zero.
    /// Fails when it is larger than the reservation, or the kernel refuses.
    pub fn resize(&mut self, accessible: usize) -> Result<()> {
        let accessible = whole_pages(accessible)?;
        if accessible > self.reserved() {
            return Err(too_large());
        }
        self.check()?;
        if accessible > self.accessible && self.accessible > 0 && !self.held.grow() {
            return Err(too_many());
        }
        if self.apart > 0 && accessible > self.apart {
            // Before it is opened: two ranges that were each written alone stay two, and where
            // memory is locked, opening is as good as writing. A memory that grows further each
            // time would take ever more.
            self.set_apart(self.apart, accessible);
        }
        if accessible <= self.accessible {
            let closed = accessible..self.open;
            self.close(accessible)?;
            return self.exclusive().discard(&closed).inspect_err(|_| self.broken = true);
        }
        let opened = self.open..accessible;
        if let Err(error) = self.protect(&opened, MprotectFlags::READ | MprotectFlags::WRITE) {
            // It may be several ranges to the kernel, of which it has changed the first.
            self.broken = self.protect(&opened, MprotectFlags::empty()).is_err();
            return Err(error);
        }
        (self.accessible, self.open) = (accessible, self.open.max(accessible));
        Ok(())
    }

    /// Denies everybody what lies beyond `accessible` bytes.
    fn close(&mut self, accessible: usize) -> Result<()> {
        let closed = self.protect(&(accessible..self.open), MprotectFlags::empty());
        (self.accessible, self.open) = (accessible, accessible);
        self.broken = closed.is_err();
        closed
    }

    fn protect(&mut self, range: &Range<usize>, protection: MprotectFlags) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: the range lies in the mapping that this value owns, and `&mut self` says that
        // nobody reads or writes it meanwhile.
        unsafe {
            rustix::mm::mprotect(self.base().add(range.start).cast(), range.len(), protection)
        }
        .map_err(Error::system("cannot change the size of a memory"))
    }

    /// `true` if pages may be open that were to be closed, so that the memory must not be used any
    /// more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Fails if the memory must not be used any more.
    fn check(&self) -> Result<()> {
        if self.broken { Err(BROKEN) } else { Ok(()) }
    }

    /// Gives a range a flag, by which it stays a range of its own to the kernel. Otherwise it
    /// merges it with its neighbours and splits it off again each time, which takes longer than all
    /// the rest. Only that is meant, so nothing is lost where it is refused. Huge pages are not for
    /// it either: what is reset by the faults of a thread does without them, and would be another
    /// range.
    fn set_apart(&mut self, from: usize, end: usize) {
        for advice in [Advice::LinuxDontDump, Advice::LinuxNoHugepage] {
            // SAFETY: the range lies in the mapping that this value owns; its content and
            // protection stay the same.
            let _ =
                unsafe { rustix::mm::madvise(self.base().add(from).cast(), end - from, advice) };
        }
        self.apart = end;
    }

    /// Closes what lies beyond `accessible` bytes without dropping its pages. What was written
    /// there must have been made zero: opened again, it is as it was. Fails when the kernel
    /// refuses.
    #[inline]
    pub fn hide(&mut self, accessible: usize) -> Result<()> {
        self.check()?;
        let accessible = whole_pages(accessible)?;
        if accessible >= self.accessible {
            return Ok(());
        }
        if self.stays_open {
            self.accessible = accessible;
            return Ok(());
        }
        if self.accessible > self.apart {
            self.set_apart(accessible, self.accessible);
        }
        self.close(accessible)
    }

    /// The memory, which nobody else uses.
    pub(super) fn exclusive(&mut self) -> Exclusive<'_> {
        // SAFETY: the mapping is this value's own, and borrowed mutably.
        unsafe { Exclusive::new(self.base(), self.accessible, self.reserved()) }
    }

    /// The memory as bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_before(0)
    }

    pub(super) fn bytes_before(&mut self, last: usize) -> &mut [u8] {
        // SAFETY: the first `accessible` bytes are readable and writable, are
        // initialised by the kernel, and belong to this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.base(), self.accessible - last) }
    }
}
