//! The guest `json-component` without a decoder: it decodes with the codec that it is
//! composed with. Its world is `app-with-codec`.

#![no_std]

extern crate alloc;

mod decode;

use alloc::vec::Vec;
use core::hint::black_box;

// The heap and the panic handler of the component.
use contract_support as _;
use json_payload::{Big, Small};

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({
        path: "../wit",
        world: "app-with-codec",
        with: { "touchstone:json/types@0.1.0": json_payload },
        generate_all,
    });
}

use bindings::{Guest, input};

/// The exports.
struct App;

bindings::export!(App with_types_in bindings);

impl Guest for App {
    fn noop() {}

    fn take_input() {
        black_box(input());
    }

    fn run_small() {
        json_payload::check_small(&decode::small(&input()));
    }

    fn run_big() {
        json_payload::check_big(&decode::big(&input()));
    }

    fn run_small_bytes(input: Vec<u8>) {
        json_payload::check_small(&decode::small(&input));
    }

    fn run_big_bytes(input: Vec<u8>) {
        json_payload::check_big(&decode::big(&input));
    }

    fn run_small_typed(input: Small) {
        json_payload::check_small(&input);
    }

    fn run_big_typed(input: Big) {
        json_payload::check_big(&input);
    }
}
