//! The four functions that every host provides, as safe functions where the
//! signature allows it.

use crate::pack;

#[cfg(target_arch = "wasm32")]
mod import {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        pub safe fn ext_allocator_malloc_version_1(size: i32) -> i32;
        pub fn ext_allocator_free_version_1(ptr: i32);
        pub fn ext_logging_log_version_1(level: i32, target: i64, message: i64);
        pub safe fn ext_logging_max_level_version_1() -> i32;
    }
}

/// How important a log message is, numbered as the host numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum LogLevel {
    /// Something failed.
    Error = 0,
    /// Something is odd.
    Warn = 1,
    /// Something of interest happened.
    Info = 2,
    /// Something that helps to find a fault.
    Debug = 3,
    /// Everything else.
    Trace = 4,
}

/// A new block of `size` bytes, aligned to 8.
pub fn malloc(size: usize) -> *mut u8 {
    #[cfg(target_arch = "wasm32")]
    return import::ext_allocator_malloc_version_1(size as i32) as u32 as *mut u8;
    #[cfg(not(target_arch = "wasm32"))]
    crate::native::malloc(size)
}

/// Gives a block back.
///
/// # Safety
///
/// `ptr` must come from [`malloc`] and must not be used afterwards.
pub unsafe fn free(ptr: *mut u8) {
    #[cfg(not(target_arch = "wasm32"))]
    crate::native::free(ptr);
    // SAFETY: promised by the caller.
    #[cfg(target_arch = "wasm32")]
    unsafe {
        import::ext_allocator_free_version_1(ptr as i32)
    }
}

/// The host's filter: 0 is off, 1 lets errors through, up to 5 for everything.
pub fn max_level() -> u32 {
    #[cfg(target_arch = "wasm32")]
    return import::ext_logging_max_level_version_1() as u32;
    #[cfg(not(target_arch = "wasm32"))]
    crate::native::max_level()
}

/// Logs `message` if the host's filter lets `level` through.
pub fn log(level: LogLevel, target: &str, message: &[u8]) {
    if (level as u32) < max_level() {
        #[cfg(not(target_arch = "wasm32"))]
        crate::native::log(level as u32, target.as_bytes(), message);
        // SAFETY: both places are live, initialised memory during the call, and
        // the host only reads them.
        #[cfg(target_arch = "wasm32")]
        unsafe {
            import::ext_logging_log_version_1(
                level as i32,
                packed(target.as_bytes()),
                packed(message),
            );
        }
    }
}

/// The place of a slice in the form that host functions take. Compiled for the
/// host it is of no use, and no import looks at it there.
pub fn packed(bytes: &[u8]) -> i64 {
    pack(bytes.as_ptr() as u32, bytes.len() as u32) as i64
}
