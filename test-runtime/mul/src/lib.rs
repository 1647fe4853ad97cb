//! A target of the guest `contract`: it multiplies. Its world is `operation`.

#![no_std]

extern crate alloc;

// The heap and the panic handler of the component.
use contract_support as _;

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({ path: "../wit-app", world: "operation" });
}

use bindings::exports::myapp::app::target::Guest;

/// The exports.
struct Mul;

bindings::export!(Mul with_types_in bindings);

impl Guest for Mul {
    fn apply(a: u64, b: u64) -> u64 {
        a.wrapping_mul(b)
    }
}
