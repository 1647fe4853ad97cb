//! A codec of a host: it reads a TOML value, such as `[{ a = 1 }]`, and writes it as JSON. Times
//! become strings, and numbers that JSON does not have `"nan"`, `"inf"` and `"-inf"`. Its world
//! is `codec`.

#![no_std]

extern crate alloc;

use alloc::string::{String, ToString};
use core::ops::Range;

// The heap and the panic handler of the component.
use contract_support as _;
use serde_json::Value as Json;
use toml::Value;
use toml::de::{Error, ValueDeserializer};

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
        match read(&text) {
            Ok(value) => Ok(json(value).to_string()),
            Err(error) => {
                let (line, column) = place(&text, error.span());
                Err(Refusal { message: error.message().into(), line, column })
            }
        }
    }
}

/// The value that the text is. The white space around it is no part of a TOML value.
fn read(text: &str) -> Result<Value, Error> {
    use serde_core::Deserialize;
    Value::deserialize(ValueDeserializer::parse(text)?)
}

fn json(value: Value) -> Json {
    match value {
        Value::String(text) => Json::String(text),
        Value::Integer(number) => number.into(),
        Value::Float(number) if number.is_nan() => "nan".into(),
        Value::Float(number) if number.is_infinite() && number > 0.0 => "inf".into(),
        Value::Float(number) if number.is_infinite() => "-inf".into(),
        Value::Float(number) => number.into(),
        Value::Boolean(is_true) => is_true.into(),
        Value::Datetime(time) => time.to_string().into(),
        Value::Array(values) => values.into_iter().map(json).collect(),
        Value::Table(table) => table.into_iter().map(|(key, own)| (key, json(own))).collect(),
    }
}

/// Line and column at which an error begins.
fn place(text: &str, span: Option<Range<usize>>) -> (u32, u32) {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else { return (1, 0) };
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().len() + 1;
    (line as u32, column as u32)
}
