//! A small guest in the shape of a relay chain's runtime: it exports
//! `Core_version` and imports far more host functions than that call needs.

#![no_std]

extern crate alloc;

mod block;
mod import;
mod metadata;
mod version;

guest_support::export! {
    Core_version = version::version,
    Core_execute_block = block::execute,
    Metadata_metadata = metadata::metadata,
}
