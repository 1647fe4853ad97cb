//! The payloads' types and values in the terms of the codec.

use alloc::{string::String, vec, vec::Vec};

use json_payload::{Big, Payload, Signed, Small};

use crate::bindings::touchstone::json::{
    deserializer::from_list,
    reflect::{Ty, Value},
};

/// Decodes the small payload; panics where the codec refuses the text.
pub fn small(json: &[u8]) -> Small {
    let numbers = Ty::tuple(vec![Ty::u32(), Ty::u32(), Ty::u32()]);
    let ty = record(vec![("a", Ty::string()), ("b", Ty::u32()), ("c", numbers)]);
    let [a, b, c] = fields(decode(json, &ty));
    let [first, second, third] = exactly(Value::into_tuple(c)).map(Value::into_u32);
    Small { a: Value::into_string(a), b: Value::into_u32(b), c: (first, second, third) }
}

/// Decodes the big payload; panics where the codec refuses the text.
pub fn big(json: &[u8]) -> Big {
    let payload = texts(&["nonce", "message", "recipient"]);
    let signed = record(vec![
        ("payload", payload),
        ("standard", Ty::string()),
        ("signature", Ty::string()),
        ("public_key", Ty::string()),
    ]);
    let ty = record(vec![("signed", Ty::list(signed))]);
    let [entries] = fields(decode(json, &ty));
    Big { signed: Value::into_list(entries).into_iter().map(signed_message).collect() }
}

fn signed_message(value: Value) -> Signed {
    let [payload, standard, signature, public_key] = fields(value);
    let [nonce, message, recipient] = fields(payload).map(Value::into_string);
    let [standard, signature, public_key] =
        [standard, signature, public_key].map(Value::into_string);
    let payload = Payload { nonce, message, recipient };
    Signed { payload, standard, signature, public_key }
}

fn decode(json: &[u8], ty: &Ty) -> Value {
    match from_list(json, ty) {
        Ok(value) => value,
        Err(error) => panic!("the input is wrong: {error:?}"),
    }
}

fn record(fields: Vec<(&str, Ty)>) -> Ty {
    let fields: Vec<(String, Ty)> =
        fields.into_iter().map(|(name, ty)| (name.into(), ty)).collect();
    Ty::record(fields)
}

/// A record whose fields are all texts.
fn texts(names: &[&str]) -> Ty {
    record(names.iter().map(|name| (*name, Ty::string())).collect())
}

/// The values of a record's fields.
fn fields<const N: usize>(value: Value) -> [Value; N] {
    exactly(Value::into_record(value))
}

fn exactly<const N: usize>(values: Vec<Value>) -> [Value; N] {
    match values.try_into() {
        Ok(values) => values,
        Err(_) => panic!("the codec returned another number of values than the type has"),
    }
}
