//! Values of a component as JSON texts, as `json.rs` reads them. The same value always gives the
//! same text: without spaces, fields in the order of their type.

use super::json::json_name;
use wasmtime::component::Val;

pub(crate) fn write(value: &Val, text: &mut Vec<u8>) {
    match value {
        Val::Bool(value) => scalar(value, text),
        Val::S8(value) => scalar(value, text),
        Val::U8(value) => scalar(value, text),
        Val::S16(value) => scalar(value, text),
        Val::U16(value) => scalar(value, text),
        Val::S32(value) => scalar(value, text),
        Val::U32(value) => scalar(value, text),
        Val::S64(value) => scalar(value, text),
        Val::U64(value) => scalar(value, text),
        Val::Float32(value) if value.is_finite() => scalar(value, text),
        Val::Float32(value) => no_number(f64::from(*value), text),
        Val::Float64(value) if value.is_finite() => scalar(value, text),
        Val::Float64(value) => no_number(*value, text),
        Val::Char(value) => scalar(value, text),
        Val::String(value) => scalar(value, text),
        Val::List(values) | Val::FixedLengthList(values) | Val::Tuple(values) => {
            list(values, text, write);
        }
        Val::Map(pairs) => list(pairs, text, |(key, value), text| {
            list(&[key, value], text, |value, text| write(value, text));
        }),
        Val::Record(fields) => {
            text.push(b'{');
            for (at, (name, value)) in fields.iter().enumerate() {
                text.extend((at > 0).then_some(b','));
                scalar(&json_name(name), text);
                text.push(b':');
                write(value, text);
            }
            text.push(b'}');
        }
        Val::Variant(name, content) => case(&json_name(name), content.as_deref(), text),
        Val::Enum(name) => scalar(&json_name(name), text),
        Val::Option(None) => text.extend(b"null"),
        Val::Option(Some(content)) => write(content, text),
        Val::Result(Ok(content)) => case("ok", content.as_deref(), text),
        Val::Result(Err(content)) => case("err", content.as_deref(), text),
        Val::Flags(names) => list(names, text, |name, text| scalar(&json_name(name), text)),
        // A function that returns one of these does not fit the convention (`shape.rs`).
        Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => {
            text.extend(b"null");
        }
    }
}

fn scalar(value: &(impl serde::Serialize + ?Sized), text: &mut Vec<u8>) {
    // Writing a scalar to memory cannot fail.
    let _ = serde_json::to_writer(text, value);
}

fn no_number(value: f64, text: &mut Vec<u8>) {
    let word = match (value.is_nan(), value > 0.0) {
        (true, _) => "nan",
        (false, true) => "inf",
        (false, false) => "-inf",
    };
    scalar(word, text);
}

fn list<T>(values: &[T], text: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    text.push(b'[');
    for (at, value) in values.iter().enumerate() {
        text.extend((at > 0).then_some(b','));
        write(value, text);
    }
    text.push(b']');
}

/// A case with content is an object with one entry, one without content its name.
fn case(name: &str, content: Option<&Val>, text: &mut Vec<u8>) {
    let Some(content) = content else { return scalar(name, text) };
    text.push(b'{');
    scalar(name, text);
    text.push(b':');
    write(content, text);
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_are_read() {
        let some = |value| Val::Option(Some(Box::new(value)));
        let text = |text: &str| Val::String(text.to_owned());
        let name = |name: &str| name.to_owned();
        for (value, expected) in [
            (Val::Bool(true), "true"),
            (Val::U64(u64::MAX), "18446744073709551615"),
            (Val::S8(-5), "-5"),
            (Val::Float32(0.1), "0.1"),
            (Val::Float64(f64::NAN), "\"nan\""),
            (Val::Float32(f32::NEG_INFINITY), "\"-inf\""),
            (Val::Char('"'), "\"\\\"\""),
            (text("a\u{1}ü"), "\"a\\u0001ü\""),
            (Val::List(vec![]), "[]"),
            (Val::Tuple(vec![Val::U8(1), text("x")]), "[1,\"x\"]"),
            (Val::Map(vec![(text("k"), Val::U8(1))]), "[[\"k\",1]]"),
            (
                Val::Record(vec![(name("the-text"), text("x")), (name("a"), Val::U8(1))]),
                "{\"the_text\":\"x\",\"a\":1}",
            ),
            (Val::Variant(name("some-case"), None), "\"some_case\""),
            (Val::Variant(name("b"), Some(Box::new(Val::U8(1)))), "{\"b\":1}"),
            (Val::Enum(name("light-red")), "\"light_red\""),
            (some(Val::U8(1)), "1"),
            (Val::Option(None), "null"),
            (Val::Result(Ok(None)), "\"ok\""),
            (Val::Result(Err(Some(Box::new(text("no"))))), "{\"err\":\"no\"}"),
            (Val::Flags(vec![name("read"), name("write")]), "[\"read\",\"write\"]"),
        ] {
            let mut written = Vec::new();
            write(&value, &mut written);
            assert_eq!(String::from_utf8(written).unwrap(), expected, "{value:?}");
        }
    }
}
