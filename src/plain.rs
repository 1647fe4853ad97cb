//! Values as texts: those of the plain convention, and JSON for components.

use anyhow::{Context, Result, anyhow, bail, ensure};
use touchstone_executor::text::{name as shown, plural};
use touchstone_executor::{Reference, Value, ValueType};

/// The input of the plain convention: the named parameters, little-endian, one after another.
///
/// Integers are decimal or `0x` and hexadecimal, signed or unsigned, and must fit the type as one
/// of both. Floats are decimal, hexadecimal integers, `inf`, `nan` or `nan:0x` and the payload, as
/// in WebAssembly text. A vector is a shape with its lanes, `i32x4:1,2,3,4`, or an integer of 128
/// bits. A reference is `null`.
///
/// Fails if the number of texts is not that of the parameters, or a text is no value of its type.
pub fn parameters(params: &[ValueType], texts: &[String]) -> Result<Vec<u8>> {
    let (wanted, given) = (params.len(), texts.len());
    let noun = plural("parameter", wanted);
    ensure!(wanted == given, "it takes {wanted} {noun}, and {given} are given");
    let mut input = Vec::new();
    for (index, (ty, text)) in params.iter().zip(texts).enumerate() {
        let read = value(*ty, text).with_context(|| format!("parameter {} is {ty}", index + 1))?;
        read.append_le_bytes(&mut input);
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

/// The bits of a vector.
fn vector(text: &str) -> Result<u128> {
    let wrong = || {
        format!("'{}' is no vector, such as i32x4:1,2,3,4 or an integer of 128 bits", shown(text))
    };
    let Some((shape, lanes)) = text.split_once(':') else {
        let digits = text.strip_prefix("0x").with_context(wrong)?;
        let is_hex = digits.chars().all(|digit| digit.is_ascii_hexdigit());
        let value = u128::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        return value.with_context(wrong);
    };
    type Lane = fn(&str) -> Result<Vec<u8>>;
    let (count, lane): (usize, Lane) = match shape {
        "i8x16" => (16, |text| Ok(vec![integer(text, 8)? as u8])),
        "i16x8" => (8, |text| Ok((integer(text, 16)? as u16).to_le_bytes().to_vec())),
        "i32x4" => (4, |text| number_bytes(ValueType::I32, text)),
        "i64x2" => (2, |text| number_bytes(ValueType::I64, text)),
        "f32x4" => (4, |text| number_bytes(ValueType::F32, text)),
        "f64x2" => (2, |text| number_bytes(ValueType::F64, text)),
        _ => bail!(wrong()),
    };
    let lanes: Vec<&str> = lanes.split(',').map(str::trim).collect();
    ensure!(lanes.len() == count, "{shape} has {count} lanes, and {} are given", lanes.len());
    let bytes: Vec<Vec<u8>> = lanes.into_iter().map(lane).collect::<Result<_>>()?;
    Ok(u128::from_le_bytes(bytes.concat().try_into().map_err(|_| anyhow!(wrong()))?))
}

fn number_bytes(ty: ValueType, text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value(ty, text)?.append_le_bytes(&mut bytes);
    Ok(bytes)
}

/// A value of a type.
fn value(ty: ValueType, text: &str) -> Result<Value> {
    Ok(match ty {
        ValueType::I32 => Value::I32(integer(text, 32)? as i32),
        ValueType::I64 => Value::I64(integer(text, 64)? as i64),
        ValueType::F32 => Value::F32(match nan(text, 8, 23)? {
            Some(bits) => bits as u32,
            None => float(text, |whole| whole as f32, f32::is_infinite)?.to_bits(),
        }),
        ValueType::F64 => Value::F64(match nan(text, 11, 52)? {
            Some(bits) => bits,
            None => float(text, |whole| whole as f64, f64::is_infinite)?.to_bits(),
        }),
        ValueType::V128 => Value::V128(vector(text)?),
        ValueType::FuncRef | ValueType::ExternRef => {
            ensure!(
                text == "null",
                "'{}' is not null, the only reference a host can give",
                shown(text)
            );
            Value::zero(ty)
        }
    })
}

/// The bits of a NaN with a sign or a payload, for these sizes of exponent and fraction; `None` for
/// another text. A NaN without a payload is the canonical one.
fn nan(text: &str, exponent: u32, fraction: u32) -> Result<Option<u64>> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (1, rest),
        None => (0, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = rest.to_ascii_lowercase();
    let payload = match lower.strip_prefix("nan") {
        Some("" | ":canonical") => 1 << (fraction - 1),
        Some(payload) => {
            let value = payload.strip_prefix(':').and_then(whole).flatten();
            let value = value.and_then(|value| u64::try_from(value).ok());
            value.filter(|value| (1..1 << fraction).contains(value)).with_context(|| {
                let most = (1_u64 << fraction) - 1;
                format!(
                    "'{}' is no NaN, such as nan or nan:0x1; the number is the payload, up to \
                         {most:#x}, and not all bits",
                    shown(text)
                )
            })?
        }
        None => return Ok(None),
    };
    let exponents = ((1 << exponent) - 1) << fraction;
    Ok(Some(sign << (exponent + fraction) | exponents | payload))
}

/// An integer of this size, signed or unsigned.
fn integer(text: &str, bits: u32) -> Result<i128> {
    let Some(value) = whole(text) else {
        bail!("'{}' is no integer (decimal, or hexadecimal with 0x)", shown(text));
    };
    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
    let value = value.filter(|value| (least..=most).contains(value));
    value.with_context(|| format!("'{}' is not from {least} to {most}", shown(text)))
}

/// The integer of a text: `None` if it is none, `Some(None)` if it is too large for any type.
fn whole(text: &str) -> Option<Option<i128>> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((digits, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    Some(i128::from_str_radix(digits, radix).ok().map(|value| sign * value))
}

/// A float. Hexadecimal texts are integers.
fn float<F: std::str::FromStr + Copy>(
    text: &str,
    of: fn(i128) -> F,
    is_infinite: fn(F) -> bool,
) -> Result<F> {
    let wrong = || format!("'{}' is no number", shown(text));
    let lower = text.to_ascii_lowercase();
    if lower.contains("0x") {
        return Ok(of(whole(text).flatten().with_context(wrong)?));
    }
    let value: F = text.parse().ok().with_context(wrong)?;
    let is_too_large = is_infinite(value) && !lower.contains("inf");
    ensure!(!is_too_large, "'{}' is too large for the type", shown(text));
    Ok(value)
}

/// The input of the typed convention: each text is the JSON of a parameter, or a string if it is no
/// JSON.
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
        for (text, reason) in [
            ("i32x4:1,2,3", "i32x4 has 4 lanes, and 3 are given"),
            ("i8x16:256,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", "is not from -128 to 255"),
            ("i3x4:1", "is no vector"),
            ("5", "is no vector"),
            ("0x+5", "is no vector"),
        ] {
            let error = format!("{:#}", of(text).unwrap_err());
            assert!(error.contains(reason) && error.contains("parameter 1 is v128"), "{error}");
        }
        let error = parameters(&types[1..], &["1".to_owned()]).unwrap_err();
        assert!(format!("{error:#}").contains("is not null"), "{error:#}");
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
            (I32, "4294967296", "is not from -2147483648 to 4294967295"),
            (I32, "-2147483649", "is not from"),
            (I32, "2.5", "no integer"),
            (I32, "", "no integer"),
            (I32, "0x", "no integer"),
            (I64, "99999999999999999999999999999999999999999999999", "is not from"),
            (F32, "1e39", "too large"),
            (F64, "0xzz", "no number"),
            (F64, "one", "no number"),
            (F64, "nan:0x0", "no NaN"),
            (F32, "nan:0x800000", "no NaN"),
            (F32, "nano", "no NaN"),
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
