//! What every guest module shares: the imports from the host, the global
//! allocator, the panic handler and the calling convention.
//!
//! An export takes `(ptr: u32, len: u32)`, the place of its input in linear
//! memory, and returns one `u64` with the place of its output: the pointer in
//! the low half and the length in the high half. A guest never writes that by
//! hand; it lists safe functions in [`export!`].

#![no_std]

extern crate alloc;

mod allocator;
mod call;
mod dirty;
pub mod host;

pub use call::{Output, input, pack, u32_at, unpack};
pub use dirty::{HOST_PAGE, WASM_PAGE, dirty_pages, round_up_to_page};

/// Every allocation goes to the host.
#[global_allocator]
static ALLOCATOR: allocator::HostAllocator = allocator::HostAllocator;

/// A panic is a trap: the host sees `unreachable` and nothing else.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Turns safe functions `fn(&[u8]) -> Output` into exports of the module.
///
/// `export! { test_echo = echo }` makes an export `test_echo` that calls
/// `echo` with the input the host placed in memory.
#[macro_export]
macro_rules! export {
    ($($name:ident = $body:path),+ $(,)?) => {
        $(const _: () = {
            /// The raw entry point; the function named beside it does the work.
            // SAFETY: no other symbol of the module has this name, or the
            // linker would refuse the module.
            #[unsafe(no_mangle)]
            extern "C" fn $name(ptr: u32, len: u32) -> u64 {
                // SAFETY: the calling convention has the host place `len` bytes
                // of input at `ptr` and leave them alone until the call returns.
                let input = unsafe { $crate::input(ptr, len) };
                let output: $crate::Output = $body(input);
                output.packed()
            }
        };)+
    };
}
