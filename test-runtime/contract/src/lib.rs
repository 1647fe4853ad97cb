//! A component whose functions a host offers over HTTP. Its world is `contract`.

#![no_std]

extern crate alloc;

use alloc::{format, string::String};

// The heap and the panic handler of the component.
use contract_support as _;

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({ path: "../wit-app", world: "contract" });
}

use bindings::exports::myapp::app::custom::{Guest, Pair};
use bindings::myapp::app::target;

/// The exports.
struct Contract;

bindings::export!(Contract with_types_in bindings);

impl Guest for Contract {
    fn greet(s: String) -> String {
        format!("Hello, {s}!")
    }

    fn add(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    fn foo(t: Pair) -> u64 {
        target::apply(t.foo.len() as u64 + 1, t.bar.len() as u64 + 2)
    }
}
