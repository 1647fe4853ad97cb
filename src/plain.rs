//! Values as texts: those of the plain convention, and JSON for components.

use anyhow::{Context, Result, ensure};
use touchstone_executor::guest::text::{name as shown, plural};
use touchstone_executor::{Reference, Value, ValueType};
use wast::core::V128Const;
use wast::parser::{self, Parse, ParseBuffer};
use wast::token::{F32, F64};

/// The input of the plain convention: the named parameters, little-endian, one after another.
///
/// Numbers are those of WebAssembly text. A vector is a shape with its lanes, `i32x4:1,2,3,4`, or
/// an integer of 128 bits. A reference is `null`.
///
/// Fails if the number of texts is not that of the parameters, or a text is no value of its type.
pub fn parameters(params: &[ValueType], texts: &[String]) -> Result<Vec<u8>> {
    let (wanted, given) = (params.len(), texts.len());
    let noun = plural("parameter", wanted);
    ensure!(wanted == given, "it takes {wanted} {noun}, and {given} are given");
    let mut input = Vec::new();
    for (index, (ty, text)) in params.iter().zip(texts).enumerate() {
        let read = value(*ty, text).with_context(|| format!("parameter {} is {ty}", index + 1))?;
        input.extend_from_slice(&read.to_le_bytes()[..ty.size()]);
    }
    Ok(input)
}

/// Values in words, from their little-endian bytes; `None` if the types differ.
pub fn words(types: &[ValueType], bytes: &[u8]) -> Option<Vec<String>> {
    let mut rest = bytes;
    let mut words = Vec::new();
    for ty in types {
        let (bytes, tail) = rest.split_at_checked(ty.size())?;
        rest = tail;
        words.push(format!("{}: {ty}", in_words(Value::from_le_bytes(*ty, bytes)?)));
    }
    rest.is_empty().then_some(words)
}

/// A value. NaNs show their bits, because engines may differ in them.
fn in_words(value: Value) -> String {
    match value {
        Value::I32(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::F32(bits) if f32::from_bits(bits).is_nan() => format!("NaN ({bits:#010x})"),
        Value::F64(bits) if f64::from_bits(bits).is_nan() => format!("NaN ({bits:#018x})"),
        Value::F32(bits) => format!("{:?}", f32::from_bits(bits)),
        Value::F64(bits) => format!("{:?}", f64::from_bits(bits)),
        Value::V128(bits) => {
            let lanes = [0, 32, 64, 96].map(|shift| format!("{:#010x}", (bits >> shift) as u32));
            format!("i32x4:{}", lanes.join(","))
        }
        Value::FuncRef(Reference::Null) | Value::ExternRef(Reference::Null) => "null".to_owned(),
        Value::FuncRef(Reference::Opaque) | Value::ExternRef(Reference::Opaque) => {
            "not null".to_owned()
        }
    }
}

fn value(ty: ValueType, text: &str) -> Result<Value> {
    let lower = text.to_ascii_lowercase();
    let value = match ty {
        ValueType::I32 => parsed(&lower).map(Value::I32),
        ValueType::I64 => parsed(&lower).map(Value::I64),
        ValueType::F32 => parsed::<F32>(&lower).map(|float| Value::F32(float.bits)),
        ValueType::F64 => parsed::<F64>(&lower).map(|float| Value::F64(float.bits)),
        ValueType::V128 => vector(&lower).map(Value::V128),
        ValueType::FuncRef | ValueType::ExternRef => (text == "null").then(|| Value::zero(ty)),
    };
    let wanted = match ty {
        ValueType::I32 => "an integer from -2147483648 to 4294967295, decimal or with 0x",
        ValueType::I64 => "an integer from -2^63 to 2^64 - 1, decimal or with 0x",
        ValueType::F32 | ValueType::F64 => {
            "a number of the type, such as 2.5, 0x10, inf, nan or nan:0x1 with the payload"
        }
        ValueType::V128 => "a vector, such as i32x4:1,2,3,4 or 128 bits with 0x",
        ValueType::FuncRef | ValueType::ExternRef => "null, the only reference a host can give",
    };
    value.with_context(|| format!("'{}' is not {wanted}", shown(text)))
}

/// A number as WebAssembly text has it.
fn parsed<T: for<'a> Parse<'a>>(text: &str) -> Option<T> {
    parser::parse(&ParseBuffer::new(text).ok()?).ok()
}

fn vector(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => {
            let lanes = parsed::<V128Const>(&text.replacen(':', " ", 1).replace(',', " "))?;
            Some(u128::from_le_bytes(lanes.to_le_bytes()))
        }
    }
}

/// The input of the typed convention: each text as JSON of a parameter, or as a string.
pub fn json(texts: &[String]) -> String {
    let value = |text: &String| {
        serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::from(text.as_str()))
    };
    match texts {
        [only] => value(only).to_string(),
        all => serde_json::Value::Array(all.iter().map(value).collect()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValueType::{ExternRef, F32, F64, I32, I64, V128};

    fn bytes(ty: ValueType, text: &str) -> Result<Vec<u8>> {
        parameters(&[ty], &[text.to_owned()])
    }

    #[test]
    fn numbers_are_read_in_every_notation() {
        for (ty, text, expected) in [
            (I32, "1", 1_i32.to_le_bytes().to_vec()),
            (I32, "-1", (-1_i32).to_le_bytes().to_vec()),
            (I32, "4294967295", u32::MAX.to_le_bytes().to_vec()),
            (I32, "0xff", 255_i32.to_le_bytes().to_vec()),
            (I64, "-0x8000000000000000", i64::MIN.to_le_bytes().to_vec()),
            (I64, "18446744073709551615", u64::MAX.to_le_bytes().to_vec()),
            (F32, "2.5", 2.5_f32.to_le_bytes().to_vec()),
            (F32, "-inf", f32::NEG_INFINITY.to_le_bytes().to_vec()),
            (F64, "0x10", 16_f64.to_le_bytes().to_vec()),
            (F64, "1e300", 1e300_f64.to_le_bytes().to_vec()),
        ] {
            assert_eq!(bytes(ty, text).unwrap(), expected, "{text}");
        }
        for (text, bits) in [
            ("nan", 0x7ff8_0000_0000_0000_u64),
            ("-nan", 0xfff8_0000_0000_0000),
            ("nan:0x1", 0x7ff0_0000_0000_0001),
            ("-NaN:0x760ffffffffff", 0xfff7_60ff_ffff_ffff),
        ] {
            assert_eq!(bytes(F64, text).unwrap(), bits.to_le_bytes(), "{text}");
        }
        assert_eq!(bytes(F32, "-nan:0x600000").unwrap(), 0xffe0_0000_u32.to_le_bytes());
    }

    #[test]
    fn vectors_and_null_are_values() {
        let types = [V128, ExternRef];
        let of = |text: &str| parameters(&types, &[text.to_owned(), "null".to_owned()]);
        let four = [1_u32, 2, 3, u32::MAX].map(u32::to_le_bytes).concat();
        let given = [&four[..], &[0]].concat();
        assert_eq!(of("i32x4:1,2, 3,-1").unwrap(), given);
        assert_eq!(of("0xffffffff000000030000000200000001").unwrap(), given);
        assert_eq!(of("i8x16:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255").unwrap()[15], 255);
        assert_eq!(of("f64x2:1,nan").unwrap()[8..16], 0x7ff8_0000_0000_0000_u64.to_le_bytes());
        for text in
            ["i32x4:1,2,3", "i8x16:256,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "i3x4:1", "5", "0x+5"]
        {
            let error = format!("{:#}", of(text).unwrap_err());
            let reason = format!("parameter 1 is v128: '{text}' is not a vector");
            assert!(error.contains(&reason), "{error}");
        }
        let error = parameters(&types[1..], &["1".to_owned()]).unwrap_err();
        assert!(format!("{error:#}").contains("is not null,"), "{error:#}");
        let results = [&four[..], &[1]].concat();
        let expected = ["i32x4:0x00000001,0x00000002,0x00000003,0xffffffff: v128"];
        assert_eq!(words(&types, &results).unwrap()[..1], expected);
        assert_eq!(words(&types, &results).unwrap()[1], "not null: externref");
        let nan = words(&[F64], &0xffff_60ff_ffff_ffff_u64.to_le_bytes());
        assert_eq!(nan.unwrap(), ["NaN (0xffff60ffffffffff): f64"]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (ty, text, reason) in [
            (I32, "4294967296", "not an integer from -2147483648 to 4294967295"),
            (I32, "-2147483649", "not an integer"),
            (I32, "2.5", "not an integer"),
            (I32, "", "not an integer"),
            (I32, "0x", "not an integer"),
            (I64, "99999999999999999999999999999999999999999999999", "not an integer"),
            (F32, "1e39", "not a number"),
            (F64, "0xzz", "not a number"),
            (F64, "one", "not a number"),
            (F64, "nan:0x0", "not a number"),
            (F32, "nan:0x800000", "not a number"),
            (F32, "nano", "not a number"),
        ] {
            let error = format!("{:#}", bytes(ty, text).unwrap_err());
            assert!(error.contains(reason) && error.contains("parameter 1 is"), "{error}");
        }
        let two = [I32, F64];
        let error = parameters(&two, &["1".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "it takes 2 parameters, and 1 are given");
    }

    #[test]
    fn texts_become_json() {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(json(&texts(&["[1, 2]"])), "[1,2]");
        assert_eq!(json(&texts(&["1", "a b"])), r#"[1,"a b"]"#);
    }
}
