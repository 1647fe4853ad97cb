//! The calling convention: where input comes from and how output is returned.

use alloc::{boxed::Box, vec::Vec};

#[cfg(not(target_arch = "wasm32"))]
use crate::native::address;

/// Packs a place in memory into the form that crosses the boundary.
pub const fn pack(ptr: u32, len: u32) -> u64 {
    ((len as u64) << 32) | ptr as u64
}

/// Splits a packed place into pointer and length.
pub const fn unpack(packed: u64) -> (u32, u32) {
    (packed as u32, (packed >> 32) as u32)
}

/// The input of a call as a slice; an empty input may have any pointer.
///
/// # Safety
///
/// Unless `len` is 0, `ptr` must be the start of `len` initialised bytes that
/// nothing writes to while the slice is in use.
#[cfg(target_arch = "wasm32")]
pub unsafe fn input<'a>(ptr: u32, len: u32) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: promised by the caller; a host never places input at address 0.
    unsafe { core::slice::from_raw_parts(ptr as *const u8, len as usize) }
}

/// The input of a call as a block that may be written to; an empty input may have any
/// pointer.
///
/// # Safety
///
/// Unless `len` is 0, `ptr` must be the start of `len` initialised bytes that nothing
/// else reads or writes while the slice is in use.
#[cfg(target_arch = "wasm32")]
pub unsafe fn block<'a>(ptr: u32, len: u32) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: promised by the caller; a host never places input at address 0.
    unsafe { core::slice::from_raw_parts_mut(ptr as *mut u8, len as usize) }
}

/// The little-endian `u32` at `offset` of the input; panics where it is short.
pub fn u32_at(input: &[u8], offset: usize) -> u32 {
    match input.get(offset..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => panic!("the input is too short"),
    }
}

/// The address of a place in memory.
#[cfg(target_arch = "wasm32")]
#[inline(always)]
pub fn address(place: *const u8) -> u32 {
    place as u32
}

/// Packs the place of an output.
#[cfg(target_arch = "wasm32")]
#[inline(always)]
pub fn place(output: &[u8]) -> u64 {
    pack(address(output.as_ptr()), output.len() as u32)
}

/// The result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output(u64);

impl Output {
    /// No output at all.
    pub const EMPTY: Self = Self(0);

    /// A place in memory that nobody vouches for, for tests of the host.
    pub const fn unchecked(ptr: u32, len: u32) -> Self {
        Self(pack(ptr, len))
    }

    /// The form that crosses the boundary.
    pub const fn packed(self) -> u64 {
        self.0
    }
}

impl From<Vec<u8>> for Output {
    /// Hands the buffer over to the host, which reads it after the call.
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        let bytes = Box::leak(bytes.into_boxed_slice());
        Self(pack(address(bytes.as_ptr()), bytes.len() as u32))
    }
}

impl From<&[u8]> for Output {
    fn from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }
}

impl From<u32> for Output {
    fn from(value: u32) -> Self {
        Self::from(&value.to_le_bytes()[..])
    }
}
