//! What guests in the shape of a deployed contract share: a heap of their own,
//! a panic that is a trap, and the two ways in which such a guest gets its input.
//!
//! * It asks the host: `env.input_len` and `env.input`, as on NEAR. See [`input`].
//! * The host asks it for a block, by its export `alloc`, puts the input there and
//!   hands the block over with the call.
//!
//! A guest lists safe functions in [`export!`]. Compiled for the host, they become
//! functions that [`guest_support::native`] calls.

#![no_std]

extern crate alloc;

#[cfg(target_arch = "wasm32")]
mod module;

#[cfg(not(target_arch = "wasm32"))]
pub use guest_support::native;
#[cfg(target_arch = "wasm32")]
pub use module::{Block, input};
#[cfg(not(target_arch = "wasm32"))]
pub use native::input;

/// Turns safe functions into exports of the module, and adds the export `alloc`.
///
/// * `noop: fn() = path` is `() -> ()`,
/// * `sum: fn() -> u64 = path` is `() -> i64`,
/// * `take: fn(&[u8]) = path` is `(i32, i32) -> ()`: a block that `alloc` gave and its
///   length, which the call takes over and frees.
#[macro_export]
macro_rules! export {
    ($($name:ident: fn($($input:ty)?) $(-> $output:ty)? = $body:path),+ $(,)?) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            /// A block of the guest's heap, aligned to 8, for the host to fill.
            // SAFETY: no other symbol of the module has this name, or the
            // linker would refuse the module.
            #[unsafe(no_mangle)]
            extern "C" fn alloc(length: u32) -> u32 {
                $crate::Block::allocate(length)
            }
        };
        $($crate::module_export! { $name ($($input)?) ($($output)?) $body })+

        /// What the guest exports, where it is compiled for the host.
        #[cfg(not(target_arch = "wasm32"))]
        pub static EXPORTS: &[$crate::native::Export] = &[
            $crate::native::Export { name: "alloc", body: Ok($crate::native::Body::Alloc) },
            $($crate::native::Export {
                name: stringify!($name),
                body: Ok($crate::native_body! { ($($input)?) ($($output)?) $body }),
            },)+
        ];
    };
}

/// One export of a module. The entry point is in a block of its own, because it
/// hides every other function of its name there.
#[doc(hidden)]
#[macro_export]
macro_rules! module_export {
    ($name:ident () ($($output:ty)?) $body:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const BODY: fn() $(-> $output)? = $body;
            const _: () = {
                // SAFETY: no other symbol of the module has this name, or the
                // linker would refuse the module.
                #[unsafe(no_mangle)]
                extern "C" fn $name() $(-> $output)? {
                    BODY()
                }
            };
        };
    };
    ($name:ident ($input:ty) () $body:path) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const BODY: fn($input) = $body;
            const _: () = {
                // SAFETY: no other symbol of the module has this name, or the
                // linker would refuse the module.
                #[unsafe(no_mangle)]
                extern "C" fn $name(address: u32, length: u32) {
                    // SAFETY: the calling convention has the host pass a block that
                    // `alloc` gave for this length, filled, and forget it.
                    let block = unsafe { $crate::Block::from_address(address, length) };
                    BODY(&block);
                }
            };
        };
    };
}

/// The same export, compiled for the host.
#[doc(hidden)]
#[macro_export]
macro_rules! native_body {
    (() () $body:path) => {
        $crate::native::Body::Unit($body)
    };
    (() ($output:ty) $body:path) => {
        $crate::native::Body::Number($body)
    };
    (($input:ty) () $body:path) => {
        $crate::native::Body::Block($body)
    };
}
