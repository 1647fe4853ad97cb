//! What every guest module shares: the imports from the host, the global
//! allocator, the panic handler and the calling convention.
//!
//! An export takes `(ptr: u32, len: u32)`, the place of its input in linear
//! memory, and returns one `u64` with the place of its output: the pointer in
//! the low half and the length in the high half. A guest never writes that by
//! hand; it lists safe functions in [`export!`].
//!
//! The guests' sources also compile for the host, where `native` stands for
//! the executor. Only this crate tells the two apart, but for what
//! a guest leaves out there.

#![no_std]

extern crate alloc;
#[cfg(not(target_arch = "wasm32"))]
extern crate std;

#[cfg(target_arch = "wasm32")]
mod allocator;
mod call;
mod dirty;
pub mod host;
pub mod memory;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;

#[cfg(target_arch = "wasm32")]
pub use call::{Output, block, input};
pub use call::{pack, u32_at, unpack};
pub use dirty::{HOST_PAGE, WASM_PAGE, dirty, round_up_to_page};
#[cfg(not(target_arch = "wasm32"))]
pub use native::Output;

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
    native::stop(native::Trap::Unreachable)
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

        /// What the guest exports, where it is compiled for the host.
        #[cfg(not(target_arch = "wasm32"))]
        pub static EXPORTS: &[$crate::native::Export] = &[$(
            $crate::native::Export {
                name: stringify!($name),
                body: $crate::native_body!($body $(, in $place)? $(, $why)?),
            },
        )+];
    };
}

/// What an export of a module does between its raw arguments and its raw result.
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
        $crate::pack(output.as_ptr() as u32, output.len() as u32)
    }};
}

/// The function of an export, or why the host cannot have it.
#[doc(hidden)]
#[macro_export]
macro_rules! native_body {
    ($body:path) => {
        Ok($crate::native::Body::Packed($body))
    };
    ($body:path, in place) => {
        Ok($crate::native::Body::InPlace($body))
    };
    ($body:path, $why:literal) => {{
        // Named, so that it is compiled and not said to be unused.
        const _: $crate::native::Body = $crate::native::Body::Packed($body);
        Err($why)
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
