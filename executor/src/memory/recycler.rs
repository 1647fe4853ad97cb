//! Memories that are used one after the other by different instances.

use super::{Mapping, Plan};
use crate::error::Result;
use std::sync::{Mutex, PoisonError};

/// Gives out memories of one module and takes them back.
///
/// With a plan, memories come with the plan's content, are reset when they are
/// given back, and are given out again. Without one they are plain zeroed
/// memories, each used once.
#[derive(Debug, Default)]
pub struct Recycler {
    plan: Option<Plan>,
    /// Clean memories, at most `keep` of them.
    idle: Mutex<Vec<Mapping>>,
    keep: usize,
}

impl Recycler {
    /// One that keeps at most `keep` idle memories.
    #[must_use]
    pub fn new(plan: Option<Plan>, keep: usize) -> Self {
        Self { plan, idle: Mutex::default(), keep }
    }

    /// A clean memory: `size` accessible bytes in a reservation of `reserved`.
    /// The same two numbers on every call; with a plan, `size` is the plan's.
    ///
    /// # Errors
    ///
    /// When the system has no memory left.
    pub fn take(&self, size: usize, reserved: usize) -> Result<Mapping> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mapping) = idle {
            return Ok(mapping);
        }
        let mut mapping = Mapping::new(size, reserved)?;
        if let Some(plan) = &self.plan {
            mapping.resize(plan.size().max(size))?;
            // SAFETY: the mapping is new, zero, not smaller than the plan's
            // content, and nobody else knows of it.
            unsafe { plan.install(mapping.base()) }?;
        }
        Ok(mapping)
    }

    /// Takes a memory back that [`take`](Self::take) gave. One that cannot be
    /// reset is unmapped: somebody will get a new one.
    pub fn give_back(&self, mut mapping: Mapping) {
        let Some(plan) = &self.plan else { return };
        if mapping.resize(plan.size()).is_err() {
            return;
        }
        // SAFETY: the mapping is this function's own, and of the plan's size.
        if unsafe { plan.reset(mapping.base()) }.is_err() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.keep {
            idle.push(mapping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InitialMemory, Reset};
    use super::*;

    #[test]
    fn a_memory_comes_back_clean_and_of_its_first_size() {
        let mut clean = vec![0; 65_536];
        clean[5] = 7;
        let plan = Plan::new(InitialMemory::capture(&clean), Reset::Drop).unwrap();
        let recycler = Recycler::new(Some(plan), 1);
        let mut memory = recycler.take(65_536, 4 * 65_536).unwrap();
        let base = memory.base();
        memory.resize(2 * 65_536).unwrap();
        memory.bytes_mut().fill(1);
        recycler.give_back(memory);
        let mut again = recycler.take(65_536, 4 * 65_536).unwrap();
        assert_eq!(again.base(), base);
        assert!(again.bytes_mut() == clean);
    }

    #[test]
    fn without_a_plan_every_memory_is_new() {
        let recycler = Recycler::new(None, 1);
        let mut memory = recycler.take(65_536, 65_536).unwrap();
        memory.bytes_mut().fill(1);
        recycler.give_back(memory);
        assert!(recycler.idle.lock().unwrap().is_empty());
    }
}
