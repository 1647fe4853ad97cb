//! Types and values that are only known at run time.

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::bindings::exports::touchstone::json::reflect::{self, GuestTy, GuestValue};

/// A type.
pub enum Ty {
    /// Text.
    String,
    /// A whole number.
    U32,
    /// Values of these types, in their order.
    Tuple(Vec<Self>),
    /// A value for each name.
    Record(Vec<(String, Self)>),
    /// Any number of values of one type.
    List(Box<Self>),
}

/// A value.
pub enum Value {
    /// Text.
    String(String),
    /// A whole number.
    U32(u32),
    /// Of a tuple, in the order of its types.
    Tuple(Vec<Self>),
    /// Of a record's fields, in the order of their type.
    Record(Vec<Self>),
    /// Of a list.
    List(Vec<Self>),
}

impl GuestTy for Ty {
    fn string() -> reflect::Ty {
        reflect::Ty::new(Self::String)
    }

    fn u32() -> reflect::Ty {
        reflect::Ty::new(Self::U32)
    }

    fn tuple(elements: Vec<reflect::Ty>) -> reflect::Ty {
        let elements = elements.into_iter().map(reflect::Ty::into_inner).collect();
        reflect::Ty::new(Self::Tuple(elements))
    }

    fn record(fields: Vec<(String, reflect::Ty)>) -> reflect::Ty {
        let fields: Vec<(String, Self)> =
            fields.into_iter().map(|(name, ty)| (name, ty.into_inner())).collect();
        for (index, (name, _)) in fields.iter().enumerate() {
            let again = fields[..index].iter().any(|(earlier, _)| earlier == name);
            assert!(!again, "a record has two fields of one name");
        }
        reflect::Ty::new(Self::Record(fields))
    }

    fn list(element: reflect::Ty) -> reflect::Ty {
        reflect::Ty::new(Self::List(Box::new(element.into_inner())))
    }
}

impl GuestValue for Value {
    fn into_string(value: reflect::Value) -> String {
        match value.into_inner() {
            Self::String(text) => text,
            _ => panic!("the value is no string"),
        }
    }

    fn into_u32(value: reflect::Value) -> u32 {
        match value.into_inner() {
            Self::U32(number) => number,
            _ => panic!("the value is no u32"),
        }
    }

    fn into_tuple(value: reflect::Value) -> Vec<reflect::Value> {
        match value.into_inner() {
            Self::Tuple(elements) => handles(elements),
            _ => panic!("the value is no tuple"),
        }
    }

    fn into_record(value: reflect::Value) -> Vec<reflect::Value> {
        match value.into_inner() {
            Self::Record(fields) => handles(fields),
            _ => panic!("the value is no record"),
        }
    }

    fn into_list(value: reflect::Value) -> Vec<reflect::Value> {
        match value.into_inner() {
            Self::List(elements) => handles(elements),
            _ => panic!("the value is no list"),
        }
    }
}

fn handles(values: Vec<Value>) -> Vec<reflect::Value> {
    values.into_iter().map(reflect::Value::new).collect()
}
