//! Linear memories of this project's own: an image of the clean content,
//! mappings of it, and resets that bring a used mapping back to it.
//!
//! Dropping pages is what makes a clean instance dear: every page that is
//! touched again costs a fault, and on a second thread each drop costs a
//! shoot-down of the other processor's address cache and the process's memory
//! lock. [`Reset::Resident`] therefore asks the kernel which pages were written
//! and restores those in place.

mod image;
mod mapping;
mod pagemap;
mod recycler;
mod reset;

pub use image::{Image, InitialMemory};
pub use mapping::Mapping;
pub use pagemap::is_available as pagemap_scan_available;
pub use recycler::Recycler;
pub use reset::{KEEP_RESIDENT, Plan, Reset};

/// Bytes of a page of the host. The mappings here are made of these.
#[must_use]
pub fn host_page() -> usize {
    rustix::param::page_size()
}
