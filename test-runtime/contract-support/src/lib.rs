//! Shared by guests in the shape of a deployed contract: a heap of their own,
//! a panic that is a trap, and the two ways in which such a guest gets its input.
//!
//! * It asks the host: `env.input_len` and `env.input`, as on NEAR. See [`input`].
//! * The host asks it for a block, by its export `alloc`, puts the input there and
//! passes the block with the call.
//!
//! A guest lists safe functions in [`export!`]. Compiled for the host, they become
//! functions of the same arguments and results, called with the memory that they work on.

#![no_std]

extern crate alloc;

#[cfg(target_arch = "wasm32")]
mod kept;
mod module;
#[cfg(not(target_arch = "wasm32"))]
mod native;

#[doc(hidden)]
#[cfg(not(target_arch = "wasm32"))]
pub use guest_support;
#[cfg(target_arch = "wasm32")]
pub use kept::Kept;
pub use module::Block;
#[cfg(target_arch = "wasm32")]
pub use module::input;
#[cfg(not(target_arch = "wasm32"))]
pub use native::{Kept, input, run};

/// Turns safe functions into exports of the module, and adds the export `alloc`.
///
/// * `noop: fn() = function` is `() -> ()`,
/// * `sum: fn() -> u64 = function` is `() -> i64`,
/// * `take: fn(&[u8]) = function` is `(i32, i32) -> ()`: a block that `alloc` gave and its
///   length, which the call takes over and frees,
/// * `sum_of: fn(&[u8]) -> u64 = function` is `(i32, i32) -> i64`, and takes over a block
///   as well.
#[macro_export]
macro_rules! export {
    ($($name:ident: fn($($input:ty)?) $(-> $output:ty)? = $body:expr),+ $(,)?) => {
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

        /// The exports of the guest, compiled for the host.
        #[cfg(not(target_arch = "wasm32"))]
        pub static EXPORTS: &[$crate::guest_support::native::Export] = &[
            $crate::native_export! { alloc, length, _unused, $crate::Block::allocate(length) },
            $($crate::native_export! { $name ($($input)?) ($($output)?) $body },)+
        ];
    };
}

/// Declares a value that outlives a call: `kept! { NAME: Type }` is made by the type's
/// default when `NAME.with(|value| …)` first asks for it. It is the instance's, and what
/// makes an instance clean makes it new.
#[macro_export]
macro_rules! kept {
    ($name:ident: $type:ty) => {
        static $name: $crate::Kept<$type> = $crate::Kept::new();
    };
}

/// One export of a module. The entry point is in a block of its own, because it
/// hides every other function of its name there.
#[doc(hidden)]
#[macro_export]
macro_rules! module_export {
    ($name:ident () ($($output:ty)?) $body:expr) => {
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
    ($name:ident ($input:ty) ($($output:ty)?) $body:expr) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const BODY: fn($input) $(-> $output)? = $body;
            const _: () = {
                // SAFETY: no other symbol of the module has this name, or the
                // linker would refuse the module.
                #[unsafe(no_mangle)]
                extern "C" fn $name(address: u32, length: u32) $(-> $output)? {
                    // SAFETY: the calling convention has the host pass a block that
                    // `alloc` gave for this length, filled, and forget it.
                    let block = unsafe { $crate::Block::from_address(address, length) };
                    BODY(&block)
                }
            };
        };
    };
}

/// The same export, compiled for the host.
#[doc(hidden)]
#[macro_export]
macro_rules! native_export {
    ($name:ident () () $body:expr) => {
        $crate::native_export! { $name, _unused, _unused_too, { ($body)(); 0_u64 } }
    };
    ($name:ident () ($output:ty) $body:expr) => {
        $crate::native_export! { $name, _unused, _unused_too, ($body)() }
    };
    ($name:ident ($input:ty) ($($output:ty)?) $body:expr) => {
        $crate::native_export! { $name, address, length, {
            const BODY: fn($input) $(-> $output)? = $body;
            // SAFETY: the calling convention has the host pass a block that `alloc` gave
            // for this length, filled, and forget it.
            let block = unsafe { $crate::Block::from_address(address, length) };
            let result = BODY(&block);
            $crate::native_result!(result $(, $output)?)
        } }
    };
    ($name:ident, $first:ident, $second:ident, $body:expr) => {{
        unsafe extern "C" fn entry(
            call: &$crate::guest_support::native::Call,
            $first: u32,
            $second: u32,
        ) -> u64 {
            $crate::run(call, || u64::from($body))
        }
        $crate::guest_support::native::Export {
            name: $crate::guest_support::native::Text::new(stringify!($name).as_bytes()),
            entry: Some(entry),
            reason: $crate::guest_support::native::Text::EMPTY,
        }
    }};
}

/// The number that an export returns.
#[doc(hidden)]
#[macro_export]
macro_rules! native_result {
    ($result:ident) => {{
        let () = $result;
        0_u64
    }};
    ($result:ident, $output:ty) => {
        $result
    };
}
