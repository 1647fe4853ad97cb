//! The guest `json-module` as a component: it brings serde, serde_json and a heap of
//! its own, decodes its input and compares all of it. Its world is `app`.

#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::hint::black_box;

// The heap and the panic handler of the component.
use contract_support as _;
use json_payload::{Big, Small};

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({
        path: "../wit",
        world: "app",
        with: { "touchstone:json/types@0.1.0": json_payload },
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
        json_payload::decode_small(&input());
    }

    fn run_big() {
        json_payload::decode_big(&input());
    }

    fn run_small_bytes(input: Vec<u8>) {
        json_payload::decode_small(&input);
    }

    fn run_big_bytes(input: Vec<u8>) {
        json_payload::decode_big(&input);
    }

    fn run_small_typed(input: Small) {
        json_payload::check_small(&input);
    }

    fn run_big_typed(input: Big) {
        json_payload::check_big(&input);
    }
}
