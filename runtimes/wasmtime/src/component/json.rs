//! JSON texts as values of a component's types.
//!
//! | type | JSON |
//! |---|---|
//! | record | object with exactly its fields; `-` in a field's name is `_` here |
//! | tuple, list | array |
//! | map | array of pairs |
//! | variant | object with one entry, case and content; a case without content is its name |
//! | option | the content, or `null` |
//! | result | object with one entry, `ok` or `err` |
//! | enum, char | string |
//! | flags | array of strings |
//! | float | number, or one of `"nan"`, `"inf"`, `"-inf"` |
//!
//! `json_text.rs` writes the same.

use super::shape::word;
use serde_json::Value;
use touchstone_executor::TrapKind;
use wasmtime::component::{Type, Val};

/// The error is a place in the input and a reason.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;

/// The values of a function's parameters: the text is the value of the only one, or
/// an array of the values of all. Without parameters it may be empty.
pub(crate) fn params(types: &[Type], text: &[u8]) -> Result<Vec<Val>, TrapKind> {
    if types.is_empty() && text.is_empty() {
        return Ok(Vec::new());
    }
    let read = || {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        match types {
            [ty] => Ok(vec![from_json(ty, &value)?]),
            types => all(types, array(&value, types.len(), "parameters")?),
        }
    };
    read().map_err(|reason| TrapKind::BadInput { reason })
}

/// A name as JSON texts have it.
pub(crate) fn json_name(name: &str) -> String {
    name.replace('-', "_")
}

fn from_json(ty: &Type, value: &Value) -> Result<Val> {
    let misfit = || format!("{} expected, {} found", word(ty), kind(value));
    let number = || value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
    macro_rules! integer {
        ($val:path) => {
            number().and_then(|number| number.try_into().ok()).map($val).ok_or_else(misfit)?
        };
    }
    Ok(match ty {
        Type::Bool => Val::Bool(value.as_bool().ok_or_else(misfit)?),
        Type::S8 => integer!(Val::S8),
        Type::U8 => integer!(Val::U8),
        Type::S16 => integer!(Val::S16),
        Type::U16 => integer!(Val::U16),
        Type::S32 => integer!(Val::S32),
        Type::U32 => integer!(Val::U32),
        Type::S64 => integer!(Val::S64),
        Type::U64 => integer!(Val::U64),
        Type::Float32 => {
            let wide = float(value).ok_or_else(misfit)?;
            let narrow = wide as f32;
            // A number is not rounded to infinity.
            let fits = narrow.is_finite() || !wide.is_finite();
            Val::Float32(fits.then_some(narrow).ok_or_else(misfit)?)
        }
        Type::Float64 => Val::Float64(float(value).ok_or_else(misfit)?),
        Type::Char => Val::Char(value.as_str().and_then(only_char).ok_or_else(misfit)?),
        Type::String => Val::String(value.as_str().ok_or_else(misfit)?.to_owned()),
        Type::List(list) => {
            let values = value.as_array().ok_or_else(misfit)?;
            Val::List(each(&list.ty(), values)?)
        }
        Type::FixedLengthList(list) => {
            let values = array(value, list.len() as usize, "entries")?;
            Val::FixedLengthList(each(&list.ty(), values)?)
        }
        Type::Map(map) => {
            let pair = |pair: &Value| {
                let pair = array(pair, 2, "entries, key and value,")?;
                Ok((from_json(&map.key(), &pair[0])?, from_json(&map.value(), &pair[1])?))
            };
            Val::Map(value.as_array().ok_or_else(misfit)?.iter().map(pair).collect::<Result<_>>()?)
        }
        Type::Record(record) => {
            let object = value.as_object().ok_or_else(misfit)?;
            let fields = record
                .fields()
                .map(|field| {
                    let value = object
                        .get(&json_name(field.name))
                        .ok_or_else(|| format!("the field '{}' is missing", field.name))?;
                    let value = from_json(&field.ty, value)
                        .map_err(|reason| format!("{}: {reason}", field.name))?;
                    Ok((field.name.to_owned(), value))
                })
                .collect::<Result<Vec<_>>>()?;
            if fields.len() < object.len() {
                return Err("an object has a field that the record does not have".to_owned());
            }
            Val::Record(fields)
        }
        Type::Tuple(tuple) => {
            let types: Vec<Type> = tuple.types().collect();
            Val::Tuple(all(&types, array(value, types.len(), "entries")?)?)
        }
        Type::Variant(variant) => {
            let (name, content) = named(value).ok_or_else(misfit)?;
            let case = variant
                .cases()
                .find(|case| json_name(case.name) == name)
                .ok_or_else(|| format!("there is no case '{name}'"))?;
            Val::Variant(case.name.to_owned(), payload(case.ty, content)?)
        }
        Type::Enum(names) => {
            let name = value.as_str().ok_or_else(misfit)?;
            let mut names = names.names();
            let found = names.find(|known| json_name(known) == name);
            Val::Enum(found.ok_or_else(|| format!("there is no case '{name}'"))?.to_owned())
        }
        Type::Option(_) if value.is_null() => Val::Option(None),
        Type::Option(option) => Val::Option(Some(Box::new(from_json(&option.ty(), value)?))),
        Type::Result(result) => match named(value).ok_or_else(misfit)? {
            ("ok", content) => Val::Result(Ok(payload(result.ok(), content)?)),
            ("err", content) => Val::Result(Err(payload(result.err(), content)?)),
            (name, _) => return Err(format!("'ok' or 'err' expected, '{name}' found")),
        },
        Type::Flags(flags) => {
            let set = value.as_array().ok_or_else(misfit)?;
            let find = |flag: &Value| {
                let name = flag.as_str().ok_or_else(misfit)?;
                let mut names = flags.names();
                let found = names.find(|known| json_name(known) == name);
                Ok(found.ok_or_else(|| format!("there is no flag '{name}'"))?.to_owned())
            };
            Val::Flags(set.iter().map(find).collect::<Result<_>>()?)
        }
        Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) | Type::ErrorContext => {
            return Err(misfit());
        }
    })
}

/// A number, or what JSON has no numbers for.
fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("nan") => Some(f64::NAN),
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => value.as_f64(),
    }
}

fn each(ty: &Type, values: &[Value]) -> Result<Vec<Val>> {
    values
        .iter()
        .enumerate()
        .map(|(at, value)| from_json(ty, value).map_err(|reason| format!("entry {at}: {reason}")))
        .collect()
}

fn all(types: &[Type], values: &[Value]) -> Result<Vec<Val>> {
    types.iter().zip(values).map(|(ty, value)| from_json(ty, value)).collect()
}

/// An array of exactly so many entries.
fn array<'a>(value: &'a Value, length: usize, what: &str) -> Result<&'a [Value]> {
    let found = value.as_array().map(Vec::as_slice).filter(|values| values.len() == length);
    found.ok_or_else(|| format!("an array of {length} {what} expected, {} found", kind(value)))
}

/// A case by its name, with its content if it has one.
fn named(value: &Value) -> Option<(&str, Option<&Value>)> {
    match value {
        Value::String(name) => Some((name, None)),
        Value::Object(object) if object.len() == 1 => {
            object.iter().next().map(|(name, content)| (name.as_str(), Some(content)))
        }
        _ => None,
    }
}

fn payload(ty: Option<Type>, content: Option<&Value>) -> Result<Option<Box<Val>>> {
    match (ty, content) {
        (None, None) => Ok(None),
        (Some(ty), Some(content)) => Ok(Some(Box::new(from_json(&ty, content)?))),
        (None, Some(_)) => Err("a case has a payload that its type does not have".to_owned()),
        (Some(_), None) => Err("a case lacks its content".to_owned()),
    }
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a bool".to_owned(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(values) => format!("an array of {}", values.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
