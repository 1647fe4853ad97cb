//! Calls that succeed and leave nothing behind but what they say.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use guest_support::{
    Output, dirty,
    host::{self, LogLevel},
};

/// A counter whose initial value comes from a data segment.
static IN_DATA: AtomicU32 = AtomicU32::new(41);

/// A counter whose initial value is only that memory starts out as zero.
static IN_BSS: AtomicU32 = AtomicU32::new(0);

/// Does nothing, so that a call costs only what the executor adds.
pub fn empty_return(_: &[u8]) -> Output {
    Output::EMPTY
}

/// Writes zeros, what the pages hold on a clean instance. See [`dirty`].
pub fn dirty_plenty_memory(input: &[u8]) -> Output {
    dirty(input, 0)
}

/// Writes ones. See [`dirty`].
pub fn dirty_with_ones(input: &[u8]) -> Output {
    dirty(input, 1)
}

/// Returns a copy of the input.
pub fn echo(input: &[u8]) -> Output {
    input.into()
}

/// Increments both counters and returns them: 42 and 1 on a clean instance.
pub fn count(_: &[u8]) -> Output {
    let next = |counter: &AtomicU32| counter.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let mut output = Vec::with_capacity(8);
    output.extend_from_slice(&next(&IN_DATA).to_le_bytes());
    output.extend_from_slice(&next(&IN_BSS).to_le_bytes());
    output.into()
}

/// Logs the input at level info, unless the host filters that out.
pub fn log(input: &[u8]) -> Output {
    host::log(LogLevel::Info, "test", input);
    Output::EMPTY
}

/// Returns the host's log filter as `u32`.
pub fn max_level(_: &[u8]) -> Output {
    host::max_level().into()
}
