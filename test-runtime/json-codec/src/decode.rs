//! Decoding that a type drives: each part of the text is asked to be what its part of
//! the type says.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde_core::Deserialize;
use serde_core::de::{
    self, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::error::Category;

use crate::bindings::exports::touchstone::json::deserializer::{Error, Reason};
use crate::reflection::{Ty, Value};

/// The value that all of a JSON text says, if it is one of the type.
pub fn decode(json: &[u8], ty: &Ty) -> Result<Value, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = ty.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    value.map_err(describe)
}

fn describe(error: serde_json::Error) -> Error {
    let reason = match error.classify() {
        Category::Eof => Reason::Truncated,
        Category::Data => Reason::Mismatch,
        Category::Syntax | Category::Io => Reason::Syntax,
    };
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    let message = text.strip_suffix(&place).unwrap_or(&text).into();
    Error { reason, message, line: line as u32, column: column as u32 }
}

impl<'de> DeserializeSeed<'de> for &Ty {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Ty::String => String::deserialize(deserializer).map(Value::String),
            Ty::U32 => u32::deserialize(deserializer).map(Value::U32),
            Ty::Tuple(types) => {
                deserializer.deserialize_tuple(types.len(), Tuple(types)).map(Value::Tuple)
            }
            Ty::Record(fields) => deserializer.deserialize_map(Record(fields)).map(Value::Record),
            Ty::List(ty) => deserializer.deserialize_seq(List(ty)).map(Value::List),
        }
    }
}

/// Takes as many values as there are types. What is left over is the deserializer's
/// to refuse.
struct Tuple<'a>(&'a [Ty]);

impl<'de> Visitor<'de> for Tuple<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} values", self.0.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<Value>, A::Error> {
        let mut values = Vec::with_capacity(self.0.len());
        for ty in self.0 {
            match access.next_element_seed(ty)? {
                Some(value) => values.push(value),
                None => return Err(A::Error::invalid_length(values.len(), &self)),
            }
        }
        Ok(values)
    }
}

/// Takes all values there are.
struct List<'a>(&'a Ty);

impl<'de> Visitor<'de> for List<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Vec<Value>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = access.next_element_seed(self.0)? {
            values.push(value);
        }
        Ok(values)
    }
}

/// Takes a value for each field, in whatever order they come.
struct Record<'a>(&'a [(String, Ty)]);

impl<'de> Visitor<'de> for Record<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map of {} fields", self.0.len())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Vec<Value>, A::Error> {
        let mut values: Vec<Option<Value>> = self.0.iter().map(|_| None).collect();
        while let Some(index) = access.next_key_seed(Name(self.0))? {
            let (name, ty) = &self.0[index];
            if values[index].is_some() {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            values[index] = Some(access.next_value_seed(ty)?);
        }
        let fields = self.0.iter().zip(values);
        fields
            .map(|((name, _), value)| {
                value.ok_or_else(|| A::Error::custom(format_args!("missing field `{name}`")))
            })
            .collect()
    }
}

/// Takes the name of a field and gives its index.
struct Name<'a>(&'a [(String, Ty)]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: de::Error>(self, found: &str) -> Result<usize, E> {
        let index = self.0.iter().position(|(name, _)| name == found);
        index.ok_or_else(|| E::custom(format_args!("unknown field `{found}`")))
    }
}
