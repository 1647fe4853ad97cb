//! Putting back the size of a memory that has grown.
//!
//! WasmEdge's memories only grow: the number of pages lies in the limits of the memory's
//! type, and no function lowers it. The interpreter's bounds checks, `memory.size`,
//! `memory.grow` and the C interface read it from there alone; compiled code checks no
//! bounds and faults at pages without access. Between calls nothing of the guest runs that
//! could remember another size. So a memory whose pages behind its first size are closed,
//! and whose number of pages is put back, is in size the memory that it was. When it grows
//! again, WasmEdge maps new pages, all zero, over the closed ones.
//!
//! The interface gives out the address of the limits. Where in them the number lies is
//! transcribed from `ast/type.h` of WasmEdge 0.17 and compared with limits of our own before
//! it is used: where it lies elsewhere, nothing shrinks.

use crate::api::{Limits, Memory};
use std::sync::OnceLock;
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::{Error, Result};
use wasmedge_sys::ffi;

/// `WasmEdge::AST::Limit`.
#[repr(C)]
struct Known {
    kind: u8,
    minimum: u64,
    maximum: u64,
}

/// Whether this is how the linked library lays out limits.
fn is_known() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| {
        let (minimum, maximum, other) = (0x0123_4567, 0x89ab_cdef, 0x0246_8ace);
        // SAFETY: makes limits of our own, which `Limits` deletes.
        let made = unsafe {
            Limits::own(ffi::WasmEdge_LimitCreateWithMax(minimum, maximum, false, false))
        };
        let Some(made) = made else { return false };
        let known = made.as_ptr().cast::<Known>();
        // SAFETY: the limits are ours and live; an object of C++ that holds two numbers of 64
        // bits and a smaller one has at least this size. The number is written only where it
        // was found.
        unsafe {
            let found = (*known).minimum == minimum && (*known).maximum == maximum;
            if found {
                (*known).minimum = other;
            }
            found
                && ffi::WasmEdge_LimitGetMin(made.as_ptr()) == other
                && ffi::WasmEdge_LimitGetMax(made.as_ptr()) == maximum
                && ffi::WasmEdge_LimitHasMax(made.as_ptr())
        }
    })
}

/// Number of pages that a memory has.
///
/// # Safety
///
/// The memory must be of a live instance.
unsafe fn pages(memory: Memory) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { ffi::WasmEdge_MemoryInstanceGetPageSize(memory.as_ptr()) }
}

/// Makes a memory that may have grown have `size` bytes again; `false` where that cannot be
/// done, and the memory is not to be used any more.
///
/// # Safety
///
/// The memory must be of a live instance of which nothing runs, no slice of it may be alive,
/// and it must have had that size.
///
/// # Errors
///
/// When the kernel refuses; the memory is not to be used then.
pub(crate) unsafe fn put_back(memory: Memory, size: usize) -> Result<bool> {
    let first = (size / WASM_PAGE) as u64;
    // SAFETY: the caller's promise, here and below.
    let grown = unsafe { pages(memory) };
    if grown == first {
        return Ok(true);
    }
    if grown < first || !is_known() {
        return Ok(false);
    }
    // SAFETY: asks for addresses of a live memory, of which zero bytes are looked at.
    let (base, limits) = unsafe {
        let ty = ffi::WasmEdge_MemoryInstanceGetMemoryType(memory.as_ptr());
        (
            ffi::WasmEdge_MemoryInstanceGetPointer(memory.as_ptr(), 0, 0),
            ffi::WasmEdge_MemoryTypeGetLimit(ty),
        )
    };
    // SAFETY: the limits are the live memory's.
    if limits.is_null() || base.is_null() || unsafe { ffi::WasmEdge_LimitGetMin(limits) } != grown {
        return Ok(false);
    }
    // SAFETY: the range lies in the addresses that WasmEdge has reserved for this memory and
    // has made accessible, and nobody reads or writes it meanwhile. Before the memory grew, the
    // range was mapped without access, too.
    let closed = unsafe {
        libc::mmap(
            base.add(size).cast(),
            (grown - first) as usize * WASM_PAGE,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if closed == libc::MAP_FAILED {
        return Err(Error::system("cannot close the grown part of a memory")(
            std::io::Error::last_os_error(),
        ));
    }
    // SAFETY: the limits are a part, which is not constant, of the live memory, and laid out as
    // was found; nobody else uses the memory.
    unsafe { (*limits.cast_mut().cast::<Known>()).minimum = first };
    // SAFETY: as above.
    Ok(unsafe { pages(memory) } == first)
}
