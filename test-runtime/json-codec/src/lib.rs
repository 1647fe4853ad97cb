//! A codec: it decodes JSON into values of types that its user describes. Its world
//! is `codec`.

#![no_std]

extern crate alloc;

mod decode;
mod reflection;

use alloc::vec::Vec;

// The heap and the panic handler of the component.
use contract_support as _;

mod bindings {
    #![allow(missing_docs)]

    wit_bindgen::generate!({ path: "../wit", world: "codec" });
}

use bindings::exports::touchstone::json::{
    deserializer::{Error, Guest, TyBorrow, Value},
    reflect,
};

/// The exports.
struct Codec;

bindings::export!(Codec with_types_in bindings);

impl reflect::Guest for Codec {
    type Ty = reflection::Ty;
    type Value = reflection::Value;
}

impl Guest for Codec {
    fn from_list(bytes: Vec<u8>, ty: TyBorrow<'_>) -> Result<Value, Error> {
        decode::decode(&bytes, ty.get::<reflection::Ty>()).map(Value::new)
    }
}
