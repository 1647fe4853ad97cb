//! Memories that are used one after the other by different instances.

use super::{Memory, MemoryTemplate, ResetMethod, Resetter, ResetterMut};
use crate::error::{Error, Result};
use crate::padded::Padded;
use crate::shelf::Shelf;
use parking_lot::Mutex;
use std::sync::Arc;

/// Sizes that memories of one module have grown to and that have a pool each.
const SIZES: usize = 8;
/// Pages that are exchanged at most when a memory moves to one of those: beyond that,
/// opening pages is as quick.
const MOVED: usize = 32;
/// Resets of a lease without growth between two looks at sizes that nobody needs.
const LOOK: u32 = 1024;

/// Lends memories of one module and takes them back.
///
/// With a template, memories come with the template's content, are reset when they are given back,
/// and are given out again. Without one they are plain zeroed memories, each used once.
#[derive(Debug)]
pub struct MemoryPool {
    template: Option<MemoryTemplate>,
    /// Clean memories. In boxes, because they are large and change hands several times in each use
    /// that grows.
    idle: Shelf<Box<Padded<Memory>>>,
    stays_open: bool,
    /// The same for memories that have grown.
    larger: Mutex<Larger>,
}

/// Memories of a module that have grown.
#[derive(Debug, Default)]
struct Larger {
    sizes: Vec<Size>,
    /// Looks at what is unused so far.
    looks: usize,
}

#[derive(Debug)]
struct Size {
    bytes: usize,
    memories: Arc<MemoryPool>,
    /// Looks there had been when a lease grew to this size last.
    used: usize,
}

impl MemoryPool {
    /// One that keeps at most `keep` idle memories, and one for each thread. Those that nobody has
    /// needed for long let go of their pages.
    pub fn new(template: Option<MemoryTemplate>, keep: usize) -> Self {
        Self { template, idle: Shelf::new(keep), stays_open: false, larger: Mutex::default() }
    }

    /// Makes memories that [stay open](Memory::staying_open), if that is asked for.
    #[must_use]
    pub fn staying_open(self, stays_open: bool) -> Self {
        Self { stays_open, ..self }
    }

    /// A clean memory: `size` accessible bytes in a reservation of `reserved`. The same two numbers
    /// on every call; with a template, `size` is the template's. Fails when the system has no
    /// memory left.
    pub fn take(&self, size: usize, reserved: usize) -> Result<Box<Padded<Memory>>> {
        // One that could not be trimmed while it was idle is not used.
        while let Some(memory) = self.idle.take() {
            if memory.is_usable() {
                return Ok(memory);
            }
        }
        let memory = Memory::new(self.template.as_ref(), size, reserved)?;
        Ok(Box::new(Padded(if self.stays_open { memory.staying_open() } else { memory })))
    }

    /// Clean memories of the same content and a larger size, where memories can move
    /// to such a one: where it is known which pages were written.
    fn larger(&self, size: usize) -> Option<Arc<Self>> {
        let template = self.template.as_ref()?;
        let is_tracked = matches!(template.reset, ResetMethod::Tracked { .. });
        if !is_tracked || template.region.is_some() {
            return None;
        }
        let mut larger = self.larger.lock();
        let used = larger.looks;
        if let Some(known) = larger.sizes.iter_mut().find(|known| known.bytes == size) {
            known.used = used;
            return Some(Arc::clone(&known.memories));
        }
        if larger.sizes.len() == SIZES {
            return None;
        }
        let memories = Self::new(Some(template.grown(size)?), self.idle.capacity());
        let memories = Arc::new(memories.staying_open(self.stays_open));
        larger.sizes.push(Size { bytes: size, memories: Arc::clone(&memories), used });
        Some(memories)
    }

    /// Lets go of the memories of sizes to which nothing has grown for as many looks as
    /// `leases` may have had one each. Their pages and mappings would stay for ever:
    /// nothing is given back there that others could be found unused at.
    #[cold]
    fn forget_unused(&self, leases: usize) {
        let mut larger = self.larger.lock();
        larger.looks += 1;
        let now = larger.looks;
        let unused: Vec<Size> =
            larger.sizes.extract_if(.., |size| now - size.used > leases).collect();
        drop(larger);
        // Not under the lock: many memories may be unmapped.
        drop(unused);
    }

    /// Takes a memory back that [`take`](Self::take) gave. One that cannot be
    /// reset is unmapped: somebody will get a new one.
    pub fn give_back(&self, mut memory: Box<Padded<Memory>>) {
        if memory.reset().unwrap_or(false) {
            self.put(memory);
        }
    }

    /// Keeps a memory that is clean, if it is usable.
    fn put(&self, mut memory: Box<Padded<Memory>>) {
        if memory.is_usable() {
            memory.resetter.iter_mut().for_each(Resetter::forget_owner);
            // Of one that cannot shrink nobody knows what it is: `take` leaves it out.
            self.idle.put(memory, |unused| drop(unused.trim()));
        }
    }
}

/// A memory of a [`MemoryPool`], given back when it is dropped.
///
/// It grows by moving, where it may: the few pages that were written so far are exchanged with
/// those of a clean memory of the new size. To open pages and to close them after the call are two
/// system calls, which change the process's mappings and shoot down addresses; together they took
/// longer than all else of a call that parses a small JSON text.
#[derive(Debug)]
pub struct PooledMemory {
    /// `None` between [`release`](Self::release) and [`renew`](Self::renew).
    memory: Option<Box<Padded<Memory>>>,
    moved: Option<Moved>,
    /// Where memories of the first size come from, and that size.
    first: Arc<MemoryPool>,
    size: usize,
    reserved: usize,
    moves: bool,
    /// Resets so far; the number wraps.
    resets: u32,
}

/// State of a lease whose memory has moved to a larger one.
#[derive(Debug)]
struct Moved {
    /// Where the larger memory goes back to.
    home: Arc<MemoryPool>,
    /// The memory of the first size. It is clean if it is usable.
    first: Box<Padded<Memory>>,
}

impl PooledMemory {
    /// A clean memory, as [`MemoryPool::take`] gives it. With `moves`, growing it may change its
    /// address. Fails as [`MemoryPool::take`] does.
    pub fn new(home: &Arc<MemoryPool>, size: usize, reserved: usize, moves: bool) -> Result<Self> {
        let memory = Some(home.take(size, reserved)?);
        Ok(Self { memory, moved: None, first: Arc::clone(home), size, reserved, moves, resets: 0 })
    }

    /// `true` if its memories come from there.
    #[inline]
    pub fn is_from(&self, home: &Arc<MemoryPool>) -> bool {
        Arc::ptr_eq(&self.first, home)
    }

    /// Gives the memory back, as dropping the lease does.
    pub fn release(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        match self.moved.take() {
            Some(Moved { home, first }) => {
                home.give_back(memory);
                self.first.put(first);
            }
            None => self.first.give_back(memory),
        }
    }

    /// Takes a clean memory again, where the last one was given back. Fails as [`MemoryPool::take`]
    /// does.
    #[inline]
    pub fn renew(&mut self) -> Result<()> {
        if self.memory.is_none() {
            self.memory = Some(self.first.take(self.size, self.reserved)?);
        }
        Ok(())
    }

    /// Start of the memory; null where it has none.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), |memory| memory.base())
    }

    /// Makes the memory larger; what is new is zero. Fails when it is larger than the reservation,
    /// or the kernel refuses.
    pub fn grow(&mut self, size: usize) -> Result<()> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        if size <= memory.accessible() {
            return Ok(());
        }
        if self.moves
            && size <= self.reserved
            && let Some(larger) = self.first.larger(size)
            // If another memory cannot be made, this one may still grow.
            && let Ok(mut next) = larger.take(size, self.reserved)
        {
            if memory.move_written(&mut next, MOVED) {
                let before = std::mem::replace(memory, next);
                match &mut self.moved {
                    Some(moved) => std::mem::replace(&mut moved.home, larger).put(before),
                    None => self.moved = Some(Moved { home: larger, first: before }),
                }
                return Ok(());
            }
            larger.put(next);
        }
        memory.grow(size)
    }

    /// Makes the memory clean and of its first size, as a new lease would be. Returns `true` if the
    /// owner has to look at it again: its size or address is another one than before, or its
    /// [threads should be noted](super::UsedOn::follow). Fails when the kernel refuses, or the pool
    /// has no template to do it by; the memory must then not be used.
    #[inline]
    pub fn reset(&mut self) -> Result<bool> {
        self.resets = self.resets.wrapping_add(1);
        if self.resets.is_multiple_of(LOOK) && self.moves {
            self.first.forget_unused(Arc::strong_count(&self.first));
        }
        if let Some(Moved { home, first }) = self.moved.take() {
            if let Some(larger) = self.memory.take() {
                home.give_back(larger);
            }
            self.memory = first.is_usable().then_some(first);
            return self.renew().map(|()| true);
        }
        let Some(memory) = &mut self.memory else { return Ok(false) };
        let before = memory.accessible();
        if !memory.reset()? {
            return Err(Error::Misuse("a memory without a template cannot be made clean"));
        }
        let lacks_notes = memory.resetter.as_ref().is_some_and(Resetter::lacks_notes);
        Ok(memory.accessible() != before || lacks_notes)
    }

    /// The resetter of the memory, if there is a template.
    #[inline]
    pub fn resetter(&mut self) -> Option<ResetterMut<'_>> {
        self.memory.as_mut()?.resetter()
    }

    /// Lets go of all pages that a clean memory keeps resident. Fails as [`Memory::trim`] does.
    pub fn trim(&mut self) -> Result<()> {
        self.memory.as_mut().map_or(Ok(()), |memory| memory.trim())
    }
}

impl Drop for PooledMemory {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests;
