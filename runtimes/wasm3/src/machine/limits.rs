//! Limits of growth in a call.
//!
//! Growth of a memory of Touchstone's passes through the host. A memory of Wasm3's own and tables
//! are held to a lower maximum, which Wasm3 checks, for the time of the call.

use super::Machine;
use touchstone_executor::{Error, Result};

/// `d_m3MaxSaneTableSize`: entries of a table without a maximum, which Wasm3 keeps as 0.
const LARGEST_TABLE: u32 = 10_000_000;

impl Machine {
    /// Sets the limits of the running call.
    pub(super) fn limit_growth(&mut self) -> Result<()> {
        let state = self.state();
        let (largest, entries) = (state.largest(), state.host.limits().table_entries);
        // A lent memory has its size as its maximum.
        let is_own = state.lent.is_none();
        // SAFETY: the runtime is alive and idle, and its module has so many tables.
        unsafe {
            if is_own {
                (*self.handle.runtime).memory.max_pages = largest;
            }
            let Some(entries) = entries else { return Ok(()) };
            let (tables, count) = ((*self.handle.module).tables, (*self.handle.module).num_tables);
            let sizes = (0..count as usize).map(|index| (*tables.add(index)).size);
            if entries == 0 && sizes.min() == Some(0) {
                let remedy = ": Wasm3 takes a maximum of 0 for none, and a table is empty";
                return Err(Error::LimitUnsupported { limit: "table entries", remedy });
            }
            for index in 0..count as usize {
                let most = &mut (*tables.add(index)).max_size;
                self.largest_tables.push(*most);
                let own = if *most == 0 { LARGEST_TABLE } else { *most };
                // A table with entries does not grow beyond one.
                *most = own.min(entries).max(1);
            }
        }
        Ok(())
    }

    /// Ends the limits of the call.
    pub(super) fn end_limits_of_growth(&mut self) {
        if self.state().lent.is_none() {
            let largest = self.program().largest;
            // SAFETY: the runtime is alive and idle.
            unsafe { (*self.handle.runtime).memory.max_pages = largest };
        }
        for (index, most) in self.largest_tables.drain(..).enumerate() {
            // SAFETY: the module has a table for each saved maximum.
            unsafe { (*(*self.handle.module).tables.add(index)).max_size = most };
        }
    }
}
