//! Parameters and results: JSON texts on one side, lists of typed values on the other.

use super::Refusal;
use serde_json::Value;
use std::fmt::Write;
use touchstone_executor::guest::{DataType, FunctionType};

/// The input of a typed call: the only parameter, or the list of them. Fails unless the list has as
/// many parameters as the function.
pub(super) fn arguments(json: &str, ty: &FunctionType) -> Result<Vec<u8>, Refusal> {
    let expected = ty.params.len();
    let wrong = |found: &str| {
        let of = if expected == 1 { "1 parameter" } else { &format!("{expected} parameters") };
        Refusal::Body(format!("a list of {of} expected, {found} found"))
    };
    let value: Value =
        serde_json::from_str(json).map_err(|error| Refusal::Body(error.to_string()))?;
    let Value::Array(values) = value else { return Err(wrong("another value")) };
    if values.len() != expected {
        return Err(wrong(&format!("a list of {}", values.len())));
    }
    Ok(match <[Value; 1]>::try_from(values) {
        Ok([value]) => value.to_string().into_bytes(),
        Err(values) if values.is_empty() => Vec::new(),
        Err(values) => Value::Array(values).to_string().into_bytes(),
    })
}

/// The list of typed results: `[U64(8)]`. Fails if the output is not of the type.
pub(super) fn results(output: &[u8], ty: &FunctionType) -> Result<String, Refusal> {
    let Some(ty) = &ty.result else { return Ok("[]".to_owned()) };
    let written = || {
        let value: Value = serde_json::from_slice(output).ok()?;
        let mut text = String::from("[");
        write(&mut text, ty, &value)?;
        text.push(']');
        Some(text)
    };
    written().ok_or_else(|| Refusal::Failed(format!("the result is no {ty}")))
}

/// The same list in JSON.
pub(super) fn in_json(output: Vec<u8>, ty: &FunctionType) -> Vec<u8> {
    let mut list = vec![b'['];
    if ty.result.is_some() {
        list.extend(output);
    }
    list.push(b']');
    list
}

fn json_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Appends a value; `None` if it is not of the type.
fn write(text: &mut String, ty: &DataType, value: &Value) -> Option<()> {
    match ty {
        DataType::Primitive(name) => primitive(text, name, value)?,
        DataType::Handle(_) => return None,
        DataType::List(element) => {
            list(text, "List([", value.as_array()?, |text, value| write(text, element, value))?;
        }
        DataType::FixedList(element, _) => {
            let values = value.as_array()?;
            list(text, "FixedLengthList([", values, |text, value| write(text, element, value))?;
        }
        DataType::Map(key, own) => list(text, "Map([", value.as_array()?, |text, pair| {
            let [first, second] = pair.as_array()?.as_slice() else { return None };
            text.push('(');
            write(text, key, first)?;
            text.push_str(", ");
            write(text, own, second)?;
            text.push(')');
            Some(())
        })?,
        DataType::Tuple(types) => {
            let values = value.as_array().filter(|values| values.len() == types.len())?;
            let pairs: Vec<_> = types.iter().zip(values).collect();
            list(text, "Tuple([", &pairs, |text, (ty, value)| write(text, ty, value))?;
        }
        DataType::Record(fields) => {
            let object = value.as_object()?;
            list(text, "Record([", fields, |text, (name, ty)| {
                let _ = write!(text, "({name:?}, ");
                write(text, ty, object.get(&json_name(name))?)?;
                text.push(')');
                Some(())
            })?;
        }
        DataType::Variant(cases) => {
            let (found, content) = named(value)?;
            let (name, ty) = cases.iter().find(|(name, _)| json_name(name) == found)?;
            let _ = write!(text, "Variant({name:?}, ");
            optional(text, ty.as_ref(), content)?;
            text.push(')');
        }
        DataType::Enum(names) => {
            let found = value.as_str()?;
            let name = names.iter().find(|name| json_name(name) == found)?;
            let _ = write!(text, "Enum({name:?})");
        }
        DataType::Flags(names) => list(text, "Flags([", value.as_array()?, |text, flag| {
            let name = names.iter().find(|name| Some(&*json_name(name)) == flag.as_str())?;
            let _ = write!(text, "{name:?}");
            Some(())
        })?,
        DataType::Option(_) if value.is_null() => text.push_str("Option(None"),
        DataType::Option(content) => {
            text.push_str("Option(Some(");
            write(text, content, value)?;
            text.push(')');
        }
        DataType::Result(ok, err) => {
            let (case, content) = named(value)?;
            let (name, ty) = if case == "ok" { ("Ok", ok) } else { ("Err", err) };
            let _ = write!(text, "Result({name}(");
            optional(text, ty.as_deref(), content)?;
            text.push(')');
        }
    }
    if !matches!(ty, DataType::Primitive(_) | DataType::Variant(_) | DataType::Enum(_)) {
        text.push_str(match ty {
            DataType::Option(_) | DataType::Result(..) => ")",
            _ => "])",
        });
    }
    Some(())
}

/// Appends items with commas between them.
fn list<T>(
    text: &mut String,
    begin: &str,
    values: &[T],
    mut write: impl FnMut(&mut String, &T) -> Option<()>,
) -> Option<()> {
    text.push_str(begin);
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write(text, value)?;
    }
    Some(())
}

/// Appends the content of a case.
fn optional(text: &mut String, ty: Option<&DataType>, value: Option<&Value>) -> Option<()> {
    let (Some(ty), Some(value)) = (ty, value) else {
        text.push_str("None");
        return Some(());
    };
    text.push_str("Some(");
    write(text, ty, value)?;
    text.push(')');
    Some(())
}

/// A case by its name, with its content if it has one.
fn named(value: &Value) -> Option<(&str, Option<&Value>)> {
    match value {
        Value::String(name) => Some((name, None)),
        Value::Object(object) => {
            object.iter().next().map(|(name, content)| (name.as_str(), Some(content)))
        }
        _ => None,
    }
}

fn primitive(text: &mut String, name: &str, value: &Value) -> Option<()> {
    // Writing to a string cannot fail.
    let _ = match name {
        "bool" => write!(text, "Bool({:?})", value.as_bool()?),
        "string" => write!(text, "String({:?})", value.as_str()?),
        "char" => write!(text, "Char({:?})", value.as_str()?.chars().next()?),
        "f32" | "f64" => {
            let name = if name == "f32" { "Float32" } else { "Float64" };
            match value.as_str() {
                Some("nan") => write!(text, "{name}(NaN)"),
                Some(words) => write!(text, "{name}({words})"),
                None => write!(text, "{name}({:?})", value.as_f64()?),
            }
        }
        integer if value.is_i64() || value.is_u64() => {
            write!(text, "{}({value})", integer.to_uppercase())
        }
        _ => return None,
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn primitive(name: &'static str) -> DataType {
        DataType::Primitive(name)
    }

    #[test]
    fn results_are_lists_of_typed_values() {
        let boxed = |name| Box::new(primitive(name));
        let named = |name: &str| name.to_owned();
        for (ty, output, expected) in [
            (primitive("u64"), "42", "[U64(42)]"),
            (primitive("string"), "\"a\\\"b\"", "[String(\"a\\\"b\")]"),
            (primitive("f32"), "\"-inf\"", "[Float32(-inf)]"),
            (primitive("char"), "\"x\"", "[Char('x')]"),
            (DataType::List(boxed("u8")), "[1,2]", "[List([U8(1), U8(2)])]"),
            (DataType::Tuple(vec![primitive("bool")]), "[true]", "[Tuple([Bool(true)])]"),
            (
                DataType::Record(vec![(named("a-b"), primitive("s8"))]),
                "{\"a_b\":-1}",
                "[Record([(\"a-b\", S8(-1))])]",
            ),
            (
                DataType::Variant(vec![(named("a"), None), (named("b"), Some(primitive("u8")))]),
                "{\"b\":1}",
                "[Variant(\"b\", Some(U8(1)))]",
            ),
            (DataType::Variant(vec![(named("a"), None)]), "\"a\"", "[Variant(\"a\", None)]"),
            (DataType::Enum(vec![named("x-y")]), "\"x_y\"", "[Enum(\"x-y\")]"),
            (DataType::Flags(vec![named("r")]), "[\"r\"]", "[Flags([\"r\"])]"),
            (DataType::Option(boxed("u8")), "null", "[Option(None)]"),
            (DataType::Option(boxed("u8")), "1", "[Option(Some(U8(1)))]"),
            (DataType::Result(None, Some(boxed("u8"))), "\"ok\"", "[Result(Ok(None))]"),
            (
                DataType::Result(None, Some(boxed("u8"))),
                "{\"err\":1}",
                "[Result(Err(Some(U8(1))))]",
            ),
        ] {
            let ty = FunctionType { params: Vec::new(), result: Some(ty) };
            assert_eq!(results(output.as_bytes(), &ty).unwrap(), expected);
        }
        let nothing = FunctionType { params: Vec::new(), result: None };
        assert_eq!(results(b"", &nothing).unwrap(), "[]");
        assert_eq!(in_json(Vec::new(), &nothing), b"[]");
        let number = FunctionType { result: Some(primitive("u8")), ..nothing };
        assert_eq!(results(b"\"x\"", &number).unwrap_err().status(), 500);
        assert_eq!(in_json(b"7".to_vec(), &number), b"[7]");
    }

    #[test]
    fn a_body_is_a_list_of_all_parameters() {
        let param = |name: &str| (name.to_owned(), primitive("u8"));
        let of = |names: &[&str]| FunctionType {
            params: names.iter().map(|name| param(name)).collect(),
            result: None,
        };
        assert_eq!(arguments("[1]", &of(&["a"])).unwrap(), b"1");
        assert_eq!(arguments("[1, 2]", &of(&["a", "b"])).unwrap(), b"[1,2]");
        assert_eq!(arguments("[]", &of(&[])).unwrap(), b"");
        for (text, ty, says) in [
            ("1", of(&["a"]), "a list of 1 parameter expected, another value found"),
            ("[1]", of(&["a", "b"]), "a list of 2 parameters expected, a list of 1 found"),
        ] {
            let refusal = arguments(text, &ty).unwrap_err();
            assert!(refusal.to_string().ends_with(says), "{refusal}");
        }
    }
}
