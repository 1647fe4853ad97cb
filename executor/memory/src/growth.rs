//! Opening the part that a memory grows by, and closing it again after the call.
//!
//! For code that checks no bounds, the kernel has to deny access behind the memory: two calls of
//! `mprotect` for a guest that grows in each call. If it grows in the same steps, each step has a
//! [protection key](super::keys) from the third time on, and is opened and closed by the thread's
//! rights alone. The closed part is zero, which speculative reads may see.

use super::HeldMappings;
use super::keys::{self, MOST, Rights};
use crate::error::{Error, Result};
use rustix::mm::MprotectFlags;

/// Sizes that a memory had one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Path {
    ends: [usize; MOST],
    /// How many there were; more than there is room for, where this is larger.
    count: usize,
}

impl Path {
    fn push(&mut self, end: usize) {
        if let Some(place) = self.ends.get_mut(self.count) {
            *place = end;
        }
        self.count += 1;
    }

    fn ends(&self) -> &[usize] {
        &self.ends[..self.count.min(MOST)]
    }

    /// `true` if all of it is known and as many keys are there.
    fn has_keys(&self) -> bool {
        (1..=MOST.min(keys::protection_keys())).contains(&self.count)
    }

    /// `true` if it is the start of another one.
    fn starts(&self, other: &Self) -> bool {
        self.count <= other.count && other.ends[..self.count.min(MOST)] == *self.ends()
    }
}

/// The part behind the first size of a memory that grows in place.
///
/// All sizes are multiples of the host's page, and those of a memory of one address: what this
/// type has set up belongs to it.
#[derive(Debug, Default)]
pub struct GrowthSteps {
    /// The first size.
    size: usize,
    /// The steps of this use so far.
    now: Path,
    /// Those of the last use in which there were any, or those that have keys.
    last: Path,
    /// `true` if each step of `last` has a key.
    locked: bool,
    /// A mapping for each of these steps.
    held: Option<HeldMappings>,
    /// `true` if the kernel has done a part of what was asked, so that nobody knows what is open.
    broken: bool,
}

const READ_WRITE: MprotectFlags = MprotectFlags::READ.union(MprotectFlags::WRITE);
const BROKEN: Error = Error::Misuse("an earlier growth has failed: the memory must not be used");

impl GrowthSteps {
    /// Rights to what this use has opened, for as long as the guest runs or somebody accesses
    /// its memory. They also give the thread back what a trap of the guest takes from it.
    #[inline]
    pub fn rights(&self) -> Rights {
        if self.locked { Rights::to(self.now.count) } else { Rights::unchanged() }
    }

    /// Opens what lies between the memory's size and a larger one. Fails when the kernel refuses;
    /// the size is then as before.
    ///
    /// # Safety
    ///
    /// `base` must be that of the memory, `from` its size, and what lies behind, up to `to`,
    /// mapped and its own. This thread must have the [`rights`](Self::rights).
    pub unsafe fn open(&mut self, base: *mut u8, from: usize, to: usize) -> Result<()> {
        self.check()?;
        let before = self.now;
        self.now.push(to);
        if self.locked {
            if self.now.starts(&self.last) {
                keys::allow(self.now.count);
                return Ok(());
            }
            self.now = before;
            // SAFETY: the caller's promise.
            unsafe { self.unlock(base) }?;
            self.now.push(to);
        }
        // SAFETY: the caller's promise.
        let protect =
            |rights| unsafe { rustix::mm::mprotect(base.add(from).cast(), to - from, rights) };
        protect(READ_WRITE).map_err(|error| {
            self.now = before;
            // It may be several ranges to the kernel, of which it has changed the first.
            self.broken = protect(MprotectFlags::empty()).is_err();
            failed(error.into())
        })
    }

    /// Notes that somebody else has opened what lies between the memory's size and a larger one,
    /// after [`unlock`](Self::unlock).
    ///
    /// # Safety
    ///
    /// As for [`open`](Self::open): [`close`](Self::close) closes up to `to`.
    pub unsafe fn note(&mut self, to: usize) {
        self.now.push(to);
    }

    /// Fails if the memory must not be used: the kernel has refused what nobody could undo.
    pub fn check(&self) -> Result<()> {
        if self.broken { Err(BROKEN) } else { Ok(()) }
    }

    /// Closes what this use has opened behind the first size. It must be all zero, and is when it
    /// is opened again. Fails when the kernel refuses; the memory must then not be used.
    ///
    /// # Safety
    ///
    /// `base` must be that of the memory, `size` its first size, the same in each call, and
    /// `grown` the present one; nobody may access what lies between the two.
    pub unsafe fn close(&mut self, base: *mut u8, size: usize, grown: usize) -> Result<()> {
        self.check()?;
        self.size = size;
        let now = std::mem::take(&mut self.now);
        if self.locked {
            // The rights of threads end by themselves.
            return Ok(());
        }
        let again = std::mem::replace(&mut self.last, now) == now;
        let (length, none) = (grown - size, MprotectFlags::empty());
        // SAFETY: the caller's promise.
        let closed = unsafe {
            self.held =
                if again && now.has_keys() { HeldMappings::new(now.count).ok() } else { None };
            let with_keys = if self.held.is_some() { self.lock(base) } else { 0 };
            self.locked = with_keys > 0 && with_keys == now.count;
            self.held = self.held.take().filter(|_| self.locked);
            let behind = base.add(size);
            match with_keys {
                _ if self.locked => Ok(()),
                0 => rustix::mm::mprotect(behind.cast(), length, none).map_err(Into::into),
                _ => keys::protect(behind, length, none, None),
            }
        };
        closed.map_err(failed)
    }

    /// Gives each step its key, until the kernel refuses. How many have one.
    ///
    /// # Safety
    ///
    /// As for [`close`](Self::close).
    unsafe fn lock(&self, base: *mut u8) -> usize {
        let starts = std::iter::once(&self.size).chain(self.last.ends());
        let steps = starts.zip(self.last.ends()).enumerate();
        // SAFETY: the caller's promise: what was opened is the memory's own.
        let locked = steps.take_while(|(key, (start, end))| unsafe {
            keys::protect(base.add(**start), **end - **start, READ_WRITE, Some(*key)).is_ok()
        });
        locked.count()
    }

    /// Does without keys: what this use has opened is open to all threads, the rest is closed.
    /// Fails when the kernel refuses; the memory must then not be used after this use.
    ///
    /// # Safety
    ///
    /// As for [`open`](Self::open).
    pub unsafe fn unlock(&mut self, base: *mut u8) -> Result<()> {
        self.check()?;
        if !self.locked {
            return Ok(());
        }
        // Each range may be several to the kernel, of which it changes one after the other.
        self.broken = true;
        let open = self.now.ends().last().copied().unwrap_or(self.size);
        let end = self.last.ends().last().copied().unwrap_or(self.size);
        for (from, to, rights) in
            [(self.size, open, READ_WRITE), (open, end, MprotectFlags::empty())]
        {
            if from < to {
                // SAFETY: the caller's promise: all of it was opened before.
                unsafe { keys::protect(base.add(from), to - from, rights, None) }
                    .map_err(failed)?;
            }
        }
        (self.locked, self.broken, self.held) = (false, false, None);
        Ok(())
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::system("cannot open or close what a memory grows by")(error)
}

#[cfg(test)]
mod tests {
    use super::super::Mapping;
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsRawFd;

    const PAGE: usize = 65_536;

    /// A memory of one page whose owner grows it in place.
    struct Growing {
        mapping: Mapping,
        steps: GrowthSteps,
        size: usize,
    }

    impl Growing {
        fn new() -> Self {
            let mapping = Mapping::new(PAGE, 32 * PAGE).unwrap();
            Self { mapping, steps: GrowthSteps::default(), size: PAGE }
        }

        /// One whose steps have keys; `None` where there are none.
        fn locked(path: &[usize]) -> Option<Self> {
            let mut memory = Self::new();
            (0..3).for_each(|_| memory.one_use(path));
            memory.steps.locked.then_some(memory)
        }

        /// Grows to this many pages.
        fn grow(&mut self, pages: usize) {
            let (from, to) = (self.size, pages * PAGE);
            // SAFETY: addresses of the mapping, which nobody else uses.
            unsafe { self.steps.open(self.mapping.base(), from, to) }.unwrap();
            self.size = to;
        }

        fn close(&mut self) {
            if self.size > PAGE {
                // SAFETY: as above.
                unsafe { self.steps.close(self.mapping.base(), PAGE, self.size) }.unwrap();
            }
            self.size = PAGE;
        }

        fn one_use(&mut self, path: &[usize]) {
            let rights = self.steps.rights();
            path.iter().for_each(|pages| self.grow(*pages));
            assert_eq!(self.readable(), self.size / PAGE);
            drop(rights);
            self.close();
            assert_eq!(self.readable(), 1, "{path:?}");
        }

        /// Pages that this thread can read, none behind one that it cannot.
        fn readable(&self) -> usize {
            let can: Vec<bool> =
                (0..32).map(|page| can_read(self.mapping.base() as usize + page * PAGE)).collect();
            let count = can.iter().position(|can| !can).unwrap_or(can.len());
            assert!(!can[count..].contains(&true), "{can:?}");
            count
        }
    }

    /// The kernel reads with the rights of the thread that calls it.
    fn can_read(address: usize) -> bool {
        let (_read, write) = std::io::pipe().unwrap();
        // SAFETY: the kernel looks at the address, whatever lies there.
        unsafe { libc::write(write.as_raw_fd(), address as *const _, 8) == 8 }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn the_third_use_of_the_same_growth_needs_no_system_call() {
        let mut memory = Growing::new();
        for round in 0..6 {
            memory.one_use(&[3, 4]);
            let has_keys = keys::protection_keys() >= 2;
            assert_eq!(memory.steps.locked, has_keys && round > 0, "{round}");
        }
        // A part of the steps is opened by keys, too.
        memory.one_use(&[3]);
        assert_eq!(memory.steps.locked, keys::protection_keys() >= 2);
        for other in [&[2][..], &[4], &[3, 5], &[3, 4, 5], &[2, 3, 4, 5, 6], &[2, 3, 4, 5, 6]] {
            memory.one_use(&[3, 4]);
            memory.one_use(&[3, 4]);
            memory.one_use(other);
            assert!(!memory.steps.locked, "{other:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn others_have_no_rights_until_it_is_unlocked() {
        let Some(mut memory) = Growing::locked(&[3, 4]) else { return };
        let at = memory.mapping.base() as usize + PAGE;
        let elsewhere =
            |at| std::thread::scope(|scope| scope.spawn(move || can_read(at)).join().unwrap());
        let other = Growing::locked(&[3]).unwrap();
        let rights = memory.steps.rights();
        memory.grow(3);
        // The other memory's guest is called meanwhile.
        let inner = other.steps.rights();
        assert!(!can_read(at) && other.readable() == 1);
        drop(inner);
        assert!(can_read(at) && !can_read(at + 2 * PAGE));
        drop(rights);
        assert!(!can_read(at) && !elsewhere(at));
        // SAFETY: its memory, which nobody else uses.
        unsafe { memory.steps.unlock(memory.mapping.base()) }.unwrap();
        assert!(can_read(at) && elsewhere(at) && memory.readable() == 3);
        memory.grow(4);
        memory.close();
        assert_eq!((memory.readable(), memory.steps.locked), (1, true));
    }

    /// A host function calls a guest that grows nothing, and that traps: its signal handler jumps
    /// away.
    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn a_trap_of_an_inner_guest_takes_no_rights_of_an_outer_one() {
        let Some(mut memory) = Growing::locked(&[3, 4]) else {
            println!("skipped: this machine has no protection keys");
            return;
        };
        let at = memory.mapping.base() as usize + PAGE;
        let rights = memory.steps.rights();
        memory.grow(3);
        let inner = Growing::new().steps.rights();
        keys::tests::deny_all();
        assert!(!can_read(at));
        drop(inner);
        assert!(can_read(at) && !can_read(at + 2 * PAGE));
        drop(rights);
        assert!(!can_read(at));
        memory.close();
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn a_memory_that_the_kernel_has_changed_in_part_is_not_used() {
        let Some(mut memory) = Growing::locked(&[3, 4]) else { return };
        let base = memory.mapping.base();
        let rights = memory.steps.rights();
        memory.grow(3);
        // Nobody may write to a file that was opened for reading.
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        let (flags, start) = (libc::MAP_SHARED | libc::MAP_FIXED, base.wrapping_add(PAGE).cast());
        // SAFETY: addresses of the mapping, which nobody else uses.
        let mapped =
            unsafe { libc::mmap(start, PAGE, libc::PROT_READ, flags, file.as_raw_fd(), 0) };
        assert_eq!(mapped, start);
        // SAFETY: as above.
        unsafe {
            assert!(memory.steps.unlock(base).is_err());
            assert!(memory.steps.open(base, 3 * PAGE, 4 * PAGE).is_err());
            drop(rights);
            assert!(memory.steps.close(base, PAGE, 3 * PAGE).is_err());
        }
        assert!(memory.steps.check().is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn a_memory_that_grows_to_its_end_is_closed_again() {
        let mut memory = Growing::new();
        (0..4).for_each(|_| memory.one_use(&[3, 32]));
        (0..4).for_each(|_| memory.one_use(&[8, 16, 24, 31, 32]));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
    fn what_somebody_else_has_opened_is_closed_too() {
        let mut memory = Growing::new();
        let base = memory.mapping.base();
        for _ in 0..5 {
            let rights = memory.steps.rights();
            memory.grow(3);
            // SAFETY: its memory, which nobody else uses.
            unsafe {
                memory.steps.unlock(base).unwrap();
                rustix::mm::mprotect(base.add(3 * PAGE).cast(), 2 * PAGE, READ_WRITE).unwrap();
                memory.steps.note(5 * PAGE);
            }
            memory.size = 5 * PAGE;
            assert_eq!(memory.readable(), 5);
            drop(rights);
            memory.close();
            assert_eq!(memory.readable(), 1);
        }
    }

    proptest! {
        /// Uses that mostly grow as the one before.
        #[test]
        #[cfg_attr(miri, ignore = "needs mprotect and system calls that look at memory")]
        fn what_is_open_is_what_was_grown(
            paths in prop::collection::vec((prop::collection::vec(1..6_usize, 0..6), 1..5_usize, any::<bool>()), 1..8),
        ) {
            let mut memory = Growing::new();
            for (path, times, is_shown) in paths {
                let ends = path.iter().scan(1, |end, more| { *end += more; Some(*end) });
                let ends: Vec<usize> = ends.collect();
                for _ in 0..times {
                    memory.one_use(&ends);
                }
                if is_shown {
                    // SAFETY: its memory, which nobody else uses.
                    unsafe { memory.steps.unlock(memory.mapping.base()) }.unwrap();
                    prop_assert_eq!(memory.readable(), 1);
                }
            }
        }
    }
}
