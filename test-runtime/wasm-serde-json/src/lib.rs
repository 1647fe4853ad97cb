//! A codec of a host: it reads JSON and writes it without spaces. Its world is `codec`.

#![no_std]

extern crate alloc;

use alloc::string::{String, ToString};

// The heap and the panic handler of the component.
use contract_support as _;
use serde_json::{Error, Value};

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({ path: "../wit-serde", world: "codec" });
}

use bindings::{Guest, Refusal};

/// The exports.
struct Codec;

bindings::export!(Codec with_types_in bindings);

impl Guest for Codec {
    fn to_json(text: String) -> Result<String, Refusal> {
        let value: Result<Value, Error> = serde_json::from_str(&text);
        value.map(|value| value.to_string()).map_err(|error| {
            let (line, column) = (error.line() as u32, error.column() as u32);
            let words = error.to_string();
            let place = alloc::format!(" at line {line} column {column}");
            let message = words.strip_suffix(&place).unwrap_or(&words).into();
            Refusal { message, line, column }
        })
    }
}
