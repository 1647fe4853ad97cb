//! The guests' own code in a library of its own, which `touchstone-native` contains and loads.

use guest_support::native::{Allocator, Export, Guest, Text};
use std::sync::Once;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// All of them: one line each.
static GUESTS: &[Guest] = &[
    guest("test-runtime", test_runtime::EXPORTS),
    guest("large-runtime", large_runtime::EXPORTS),
    guest("core-runtime", core_runtime::EXPORTS),
    guest("json-module", json_module::EXPORTS),
    guest("accounts", accounts::EXPORTS),
    guest("records", records::EXPORTS),
    guest("layouts", layouts::EXPORTS),
    guest("layouts-simd", layouts_simd::EXPORTS),
    guest("verify-schnorr", verify_schnorr::EXPORTS),
    guest("verify-ecdsa", verify_ecdsa::EXPORTS),
    guest("kernels", kernels::EXPORTS),
    guest("pages", pages::EXPORTS),
    // Modules of the same sources in other profiles.
    guest("verify-schnorr-s", verify_schnorr::EXPORTS),
    guest("verify-schnorr-s8", verify_schnorr::EXPORTS),
    guest("verify-ecdsa-s", verify_ecdsa::EXPORTS),
    guest("verify-ecdsa-s8", verify_ecdsa::EXPORTS),
    // Of the same source; the padding is made in the module.
    guest("layouts-padded", layouts::EXPORTS),
];

const fn guest(name: &'static str, exports: &'static [Export]) -> Guest {
    let name = Text::new(name.as_bytes());
    Guest { name, exports: exports.as_ptr(), count: exports.len() }
}

/// The first of the guests, and how many there are.
// SAFETY: no other symbol of the library has this name, or the linker would refuse it.
#[unsafe(no_mangle)]
pub extern "C" fn touchstone_guests(count: &mut usize) -> *const Guest {
    static QUIET: Once = Once::new();
    // A panic is a trap with its message: nothing is printed.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    *count = GUESTS.len();
    GUESTS.as_ptr()
}
