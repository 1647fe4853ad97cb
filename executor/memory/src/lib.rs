//! Linear memories that are reset to their initial content between uses.
//!
//! An [`InitialContent`] becomes a [`MemoryTemplate`], which holds the content as a file in memory
//! and a [`ResetMethod`]. A [`Memory`] of the template is mapped from that file; a [`MemoryPool`]
//! lends such memories and resets them when they are given back. Hosts whose runtime makes the
//! memory [install](MemoryTemplate::install) the template themselves and get a [`Resetter`].
//!
//! ```
//! use touchstone_memory::{InitialContent, KEEP_RESIDENT, Memory, MemoryTemplate, ResetMethod};
//!
//! # fn main() -> touchstone_memory::Result<()> {
//! let size = 1 << 20;
//! let content = InitialContent::from_segments(size, [(4096, &b"clean"[..])])?;
//! let limit = KEEP_RESIDENT;
//! // The best method that this machine supports.
//! let methods = [ResetMethod::Tracked { limit }, ResetMethod::Gated { limit }, ResetMethod::Drop];
//! let method = methods.into_iter().find(|method| method.refusal().is_none()).unwrap();
//! let template = MemoryTemplate::new(content, method)?;
//! let mut memory = Memory::new(Some(&template), size, size)?;
//! for _ in 0..3 {
//!     memory.bytes_mut()[4096..4101].copy_from_slice(b"dirty");
//!     memory.reset()?;
//!     assert_eq!(&memory.bytes_mut()[4096..4101], b"clean");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Dropping pages makes a clean instance expensive: every page that is touched again costs a fault,
//! and on a second thread each drop costs a flush of the other processor's address cache and the
//! process's memory lock. The other methods therefore find out which pages were written and restore
//! those in place.
//!
//! | module | content |
//! |---|---|
//! | `image`, `template`, `region` | the clean content, shared by all memories of a module |
//! | `addresses` | a mapping that one value owns |
//! | `mapping`, `memory`, `pool` | a linear memory, one with its resetter, many in turns |
//! | `keys`, `growth` | opening what a memory grows by without system calls |
//! | `exclusive`, `compare` | the proof that nobody else uses a memory; restoring its pages |
//! | `method`, `resetter` | the kinds of reset, and the state of one memory |
//! | `ages`, `rule` | how long pages are kept |
//! | `pagemap`, `faults`, `fault_log`, `process` | asking the kernel what was written |
//! | `tracked`, `signals`, `open_pages`, `registry` | noticing the first write to a page |
//! | `mappings` | a limit on the mappings of the process |

mod addresses;
mod ages;
mod compare;
mod error;
mod exclusive;
mod fault_log;
mod faults;
mod growth;
mod image;
mod keys;
mod mapping;
mod mappings;
mod memory;
mod method;
mod open_pages;
mod padded;
mod pagemap;
mod pool;
mod process;
mod region;
mod registry;
mod resetter;
mod rule;
mod shelf;
mod signals;
mod sync;
mod template;
mod tracked;

pub use error::{Error, Result};
pub use faults::{UsedOn, are_logged as faults_are_logged, note_foreign_writes};
pub use growth::GrowthSteps;
pub use image::{Image, InitialContent};
pub use keys::{Rights, protection_keys};
pub use mapping::{HeldMappings, Mapping};
pub use memory::{Memory, writable};
pub use method::{KEEP_RESIDENT, ResetMethod};
pub use padded::Padded;
pub use pagemap::is_available as pagemap_scan_available;
pub use pool::{MemoryPool, PooledMemory};
pub use region::Region;
pub use resetter::{Resetter, ResetterMut};
pub use shelf::Shelf;
pub use signals::reinstall_signal_handler;
pub use template::MemoryTemplate;
pub use tracked::{TRACKED_AT_ONCE, is_available as tracking_available, tracks_any};

use std::sync::LazyLock;

/// Bytes of a page of the host. The mappings here are made of these.
#[inline]
pub fn host_page() -> usize {
    static ASKED: LazyLock<usize> = LazyLock::new(rustix::param::page_size);
    // A constant on x86-64, because every reset reads it.
    if cfg!(target_arch = "x86_64") { 4096 } else { *ASKED }
}

#[cfg(test)]
mod tests {
    use super::*;

    mod defect_tests;
    mod fault_tests;
    mod grown_tests;
    mod kind_tests;
    mod mapping_tests;
    mod model;
    mod region_tests;
    mod reset_tests;
    pub(super) mod test_support;
    pub(super) mod way_back_tests;
}
