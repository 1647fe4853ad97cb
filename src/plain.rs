//! Parameters as texts: numbers of the plain convention, and JSON for components.

use anyhow::{Context, Result, bail, ensure};
use touchstone_executor::text::{name as shown, plural};
use touchstone_executor::{Signature, Value, ValueType};

/// The input of the plain convention: the parameters that the texts name, little-endian, one
/// after the other.
///
/// Integers are decimal or `0x` and hexadecimal, with a sign or without. They have to fit the
/// type as signed or as unsigned numbers. Floats are decimal, hexadecimal integers, `inf` or
/// `nan`.
///
/// # Errors
///
/// When there is not one text for each parameter, or a text is no number of its type.
pub fn parameters(signature: &Signature, texts: &[String]) -> Result<Vec<u8>> {
    let (wanted, given) = (signature.params.len(), texts.len());
    let noun = plural("parameter", wanted);
    ensure!(wanted == given, "it takes {wanted} {noun}, and {given} are given");
    let mut input = Vec::new();
    for (index, (ty, text)) in signature.params.iter().zip(texts).enumerate() {
        let value = number(*ty, text);
        let value = value.with_context(|| format!("parameter {} is {ty}", index + 1))?;
        value.append_le_bytes(&mut input);
    }
    Ok(input)
}

/// A number of a type.
fn number(ty: ValueType, text: &str) -> Result<Value> {
    Ok(match ty {
        ValueType::I32 => Value::I32(integer(text, 32)? as i32),
        ValueType::I64 => Value::I64(integer(text, 64)? as i64),
        ValueType::F32 => {
            Value::F32(float(text, |whole| whole as f32, f32::is_infinite)?.to_bits())
        }
        ValueType::F64 => {
            Value::F64(float(text, |whole| whole as f64, f64::is_infinite)?.to_bits())
        }
        ValueType::V128 => bail!("vectors cannot be given"),
        ValueType::FuncRef | ValueType::ExternRef => {
            ensure!(text == "null", "'{}' is not null", shown(text));
            Value::zero(ty)
        }
    })
}

/// An integer of so many bits, as a signed or an unsigned number.
fn integer(text: &str, bits: u32) -> Result<i128> {
    let Some(value) = whole(text) else {
        bail!("'{}' is no integer (decimal, or hexadecimal with 0x)", shown(text));
    };
    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
    let value = value.filter(|value| (least..=most).contains(value));
    value.with_context(|| format!("'{}' is not from {least} to {most}", shown(text)))
}

/// The integer of a text: `None` if it is none, `Some(None)` if it is too large for anything.
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

/// The input of the typed convention: each text is the JSON of a parameter, or a string if it is
/// no JSON.
#[must_use]
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
    use ValueType::{F32, F64, I32, I64};

    fn bytes(ty: ValueType, text: &str) -> Result<Vec<u8>> {
        parameters(&Signature::new(&[ty], &[]), &[text.to_owned()])
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
        assert!(f64::from_le_bytes(bytes(F64, "nan").unwrap().try_into().unwrap()).is_nan());
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
        ] {
            let error = format!("{:#}", bytes(ty, text).unwrap_err());
            assert!(error.contains(reason) && error.contains("parameter 1 is"), "{error}");
        }
        let two = Signature::new(&[I32, F64], &[]);
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
