//! Memories that are used one after the other by different instances.

use super::{Memory, Plan};
use crate::error::Result;
use crate::shelf::Shelf;

/// Gives out memories of one module and takes them back.
///
/// With a plan, memories come with the plan's content, are reset when they are
/// given back, and are given out again. Without one they are plain zeroed
/// memories, each used once.
#[derive(Debug)]
pub struct Recycler {
    plan: Option<Plan>,
    /// Clean memories.
    idle: Shelf<Memory>,
}

impl Recycler {
    /// One that keeps at most `keep` idle memories, and one for each thread. Those that nobody has needed for
    /// long let go of their pages.
    #[must_use]
    pub fn new(plan: Option<Plan>, keep: usize) -> Self {
        Self { plan, idle: Shelf::new(keep) }
    }

    /// A clean memory: `size` accessible bytes in a reservation of `reserved`.
    /// The same two numbers on every call; with a plan, `size` is the plan's.
    ///
    /// # Errors
    ///
    /// When the system has no memory left.
    pub fn take(&self, size: usize, reserved: usize) -> Result<Memory> {
        match self.idle.take() {
            Some(memory) => Ok(memory),
            None => Memory::new(self.plan.as_ref(), size, reserved),
        }
    }

    /// Takes a memory back that [`take`](Self::take) gave. One that cannot be
    /// reset is unmapped: somebody will get a new one.
    pub fn give_back(&self, mut memory: Memory) {
        if !memory.reset().unwrap_or(false) {
            return;
        }
        // One that cannot shrink stays as it is: clean.
        self.idle.put(memory, |unused| drop(unused.trim()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InitialMemory, KEEP_RESIDENT, Reset};
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_memory_comes_back_clean_and_of_its_first_size() {
        let mut clean = vec![0; 65_536];
        clean[5] = 7;
        for reset in [
            Reset::Drop,
            Reset::Resident { limit: KEEP_RESIDENT },
            Reset::Tracked { limit: KEEP_RESIDENT },
        ] {
            let plan = Plan::new(InitialMemory::capture(&clean), reset).unwrap();
            let recycler = Recycler::new(Some(plan), 1);
            let mut base = None;
            for round in 0..30 {
                let mut memory = recycler.take(65_536, 4 * 65_536).unwrap();
                assert_eq!(*base.get_or_insert(memory.base()), memory.base());
                assert!(memory.bytes_mut() == clean, "{reset:?}, round {round}");
                // Growth, sometimes, over what an earlier round has written.
                if round % 8 < 2 {
                    memory.grow((2 + round % 3) * 65_536).unwrap();
                    assert!(memory.bytes_mut()[65_536..].iter().all(|byte| *byte == 0));
                }
                memory.bytes_mut().fill(1);
                recycler.give_back(memory);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn without_a_plan_every_memory_is_new() {
        let recycler = Recycler::new(None, 1);
        let mut memory = recycler.take(65_536, 65_536).unwrap();
        memory.bytes_mut().fill(1);
        recycler.give_back(memory);
        assert!(recycler.idle.len() == 0);
    }
}
