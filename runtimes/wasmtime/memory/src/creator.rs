//! Memories for engines of others.

use crate::parts::{Room, Shrinking};
use std::sync::Arc;
use wasmtime::{Config, LinearMemory, MemoryCreator, MemoryType};

/// Sets up a configuration for instances that are reset in place: memories come from this crate,
/// and are initialised by their data segments instead of an image of Wasmtime's. Do not set an
/// allocation strategy or another host memory.
///
/// All other settings are the embedder's. Wasmtime's default reservation of 4 GiB for each memory
/// is the best one here, too.
pub fn configure(config: &mut Config) {
    config.memory_init_cow(false).with_host_memory(Arc::new(Memories));
}

/// Creates plain memories, which start to be reset with a snapshot.
struct Memories;

// SAFETY: `new_memory` returns memories of `minimum` accessible bytes, all zero, that never move.
// The reservation has the guard behind the largest size that a memory can grow to (see `Room::of`).
// All of it but the memory is inaccessible.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let room = Room::of(minimum, maximum, reserved_size_in_bytes, guard_size_in_bytes);
        let memory = Shrinking::plain(minimum, room).map_err(|error| error.to_string())?;
        Ok(Box::new(memory))
    }
}
