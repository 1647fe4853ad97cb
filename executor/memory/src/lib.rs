//! Linear memories of this project's own: an image of the clean content,
//! mappings of it, and resets that bring a used mapping back to it.
//!
//! Dropping pages is what makes a clean instance dear: every page that is
//! touched again costs a fault, and on a second thread each drop costs a
//! shoot-down of the other processor's address cache and the process's memory
//! lock. Other kinds of [`ResetMethod`] therefore find out which pages were written and restore
//! those in place: [`Resident`](ResetMethod::Resident) asks the kernel on every reset,
//! [`Gated`](ResetMethod::Gated) only when the thread's page faults since the last one do not tell,
//! [`Tracked`](ResetMethod::Tracked) keeps a list that grows by a write fault when a page is
//! written that was not in it yet.
//!
//! | module | idea |
//! |---|---|
//! | `image` | what a clean memory contains, as a file to be mapped |
//! | `mapping` | addresses with an accessible front |
//! | `keys`, `growth` | opening what a memory grows by without system calls |
//! | `exclusive` | the proof that nobody else uses a memory, and what is done to its pages |
//! | `compare` | storing only what differs |
//! | `ages` | how long a page is kept that nobody writes |
//! | `rule` | when keeping pages pays |
//! | `pagemap` | asking the kernel which pages were written |
//! | `faults`, `fault_log` | whether there is a reason to ask |
//! | `process` | telling a child of a fork from its parent |
//! | `tracked`, `signals` | noticing the first write to a page |
//! | `open_pages`, `registry` | which pages were written, of which memory |
//! | `sync` | the atomics and the lock of both |
//! | `mappings` | how many mappings all of that takes |
//! | `method`, `template`, `resetter` | the kinds of reset, and one memory's own |
//! | `memory`, `pool` | a memory with its reset, and many in turns |
//! | `region` | a state that many memories have at their ends, read-only |

mod ages;
mod compare;
#[cfg(test)]
mod defect_tests;
mod error;
mod exclusive;
mod fault_log;
#[cfg(test)]
mod fault_tests;
mod faults;
#[cfg(test)]
mod grown_tests;
mod growth;
mod image;
mod keys;
#[cfg(test)]
mod kind_tests;
mod mapping;
#[cfg(test)]
mod mapping_tests;
mod mappings;
mod memory;
mod method;
#[cfg(test)]
mod model;
mod open_pages;
mod padded;
mod pagemap;
mod pool;
mod process;
mod region;
#[cfg(test)]
mod region_tests;
mod registry;
mod resetter;
mod rule;
mod shelf;
mod signals;
mod sync;
mod template;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
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
#[must_use]
pub fn host_page() -> usize {
    static ASKED: LazyLock<usize> = LazyLock::new(rustix::param::page_size);
    // It is part of every reset. This processor has no other one.
    if cfg!(target_arch = "x86_64") { 4096 } else { *ASKED }
}
