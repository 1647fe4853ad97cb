//! Shared by every guest module: the imports from the host, the global allocator, the
//! panic handler and the calling convention.
//!
//! An export takes `(ptr: u32, len: u32)`, the place of its input in linear memory, and
//! returns one `u64` with the place of its output: the pointer in the low half and the
//! length in the high half. A guest never writes that by hand; it lists safe functions
//! in [`export!`].
//!
//! The guests' sources also compile for the host, where `native` replaces the executor.
//! Only this crate distinguishes the two, except for parts that a guest leaves out
//! there.

#![no_std]

extern crate alloc;
#[cfg(not(target_arch = "wasm32"))]
extern crate std;

mod allocator;
mod call;
mod dirty;
pub mod host;
pub mod memory;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;

pub use call::{Output, pack, u32_at, unpack};
#[cfg(target_arch = "wasm32")]
pub use call::{address, block, input, place};
pub use dirty::{HOST_PAGE, WASM_PAGE, dirty, round_up_to_page};
#[cfg(not(target_arch = "wasm32"))]
pub use native::{address, block, input, place};

/// Every allocation goes to the host.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: allocator::HostAllocator = allocator::HostAllocator;

/// A panic is a trap: the host sees `unreachable` and nothing else.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// Executes `unreachable`.
#[inline(always)]
pub fn unreachable() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    native::unreachable()
}

/// Turns safe functions `fn(&[u8]) -> Output` into exports of the module.
///
/// `export! { test_echo = echo }` makes an export `test_echo` that calls
/// `echo` with the input the host placed in memory. With `[module only: "…"]`
/// after it, the function is not called where the guest is compiled for the
/// host, for the reason that is given there.
///
/// `[in place]` is for functions `fn(&mut [u8]) -> &[u8]`: they may write to the block
/// that the host placed the input in, and answer with a part of it.
#[macro_export]
macro_rules! export {
    ($($name:ident = $body:path $([in $place:ident])? $([module only: $why:literal])?),+
        $(,)?) => {
        $(#[cfg(target_arch = "wasm32")]
        const _: () = {
            /// The raw entry point; the function named beside it does the work.
            // SAFETY: no other symbol of the module has this name, or the
            // linker would refuse the module.
            #[unsafe(no_mangle)]
            extern "C" fn $name(ptr: u32, len: u32) -> u64 {
                $crate::module_body!(ptr, len, $body $(, in $place)?)
            }
        };)+

        /// The exports of the guest, compiled for the host.
        #[cfg(not(target_arch = "wasm32"))]
        pub static EXPORTS: &[$crate::native::Export] = &[$(
            $crate::native_export!($name, $body $(, in $place)? $(, $why)?),
        )+];
    };
}

/// The code of an export between its raw arguments and its raw result.
#[doc(hidden)]
#[macro_export]
macro_rules! module_body {
    ($ptr:ident, $len:ident, $body:path) => {{
        // SAFETY: the calling convention has the host place `len` bytes
        // of input at `ptr` and leave them alone until the call returns.
        let input = unsafe { $crate::input($ptr, $len) };
        let output: $crate::Output = $body(input);
        output.packed()
    }};
    ($ptr:ident, $len:ident, $body:path, in place) => {{
        // SAFETY: the calling convention has the host place `len` bytes of input at
        // `ptr`, in a block of its allocator's that nothing else of the module has,
        // and leave them alone until the call returns.
        let block = unsafe { $crate::block($ptr, $len) };
        let output: &[u8] = $body(block);
        $crate::place(output)
    }};
}

/// An export compiled for the host: its raw entry point, or why the host cannot have it.
#[doc(hidden)]
#[macro_export]
macro_rules! native_export {
    ($name:ident, $body:path, $why:literal) => {{
        // Named, so that it is compiled and not said to be unused.
        const _: fn(&[u8]) -> $crate::Output = $body;
        $crate::native::Export {
            name: $crate::native::Text::new(stringify!($name).as_bytes()),
            entry: None,
            reason: $crate::native::Text::new($why.as_bytes()),
        }
    }};
    ($name:ident, $body:path $(, in $place:ident)?) => {{
        unsafe extern "C" fn entry(call: &$crate::native::Call, ptr: u32, len: u32) -> u64 {
            $crate::native::run(call, || $crate::module_body!(ptr, len, $body $(, in $place)?))
        }
        $crate::native::Export {
            name: $crate::native::Text::new(stringify!($name).as_bytes()),
            entry: Some(entry),
            reason: $crate::native::Text::EMPTY,
        }
    }};
}

/// Declares functions of the import module `env` that no host needs to have.
/// Compiled for the host, a guest that calls one traps by its name.
#[macro_export]
macro_rules! imports {
    ($($functions:tt)*) => {
        #[cfg(target_arch = "wasm32")]
        #[link(wasm_import_module = "env")]
        unsafe extern "C" {
            $($functions)*
        }

        #[cfg(not(target_arch = "wasm32"))]
        $crate::native_imports! { $($functions)* }
    };
}

/// The functions of [`imports!`], one after the other.
#[doc(hidden)]
#[macro_export]
macro_rules! native_imports {
    () => {};
    ($(#[$meta:meta])* pub safe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)?;
        $($rest:tt)*) => {
        $(#[$meta])*
        pub fn $name($(_: $ty),*) $(-> $out)? {
            $crate::native::missing(stringify!($name))
        }
        $crate::native_imports! { $($rest)* }
    };
    ($(#[$meta:meta])* pub fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $out:ty)?;
        $($rest:tt)*) => {
        $(#[$meta])*
        pub unsafe fn $name($(_: $ty),*) $(-> $out)? {
            $crate::native::missing(stringify!($name))
        }
        $crate::native_imports! { $($rest)* }
    };
}
