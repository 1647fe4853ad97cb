//! Which functions of a component fit which calling convention.

use touchstone_executor::{Abi, Error, Result, wasi};
use wasmtime::component::Type;
use wasmtime::component::types::ComponentFunc;

/// A function's type, as far as calls go without a look at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `func()`.
    Nothing,
    /// `func(list<u8>)`.
    Bytes,
    /// Other parameters, all of them data, and no result.
    Data,
    /// Parameters that are data, and a result that is.
    Answer,
    /// Anything else: nobody here can call it.
    Other,
}

impl Shape {
    pub(crate) fn of(ty: &ComponentFunc) -> Self {
        if ty.async_() {
            return Self::Other;
        }
        let params: Vec<Type> = ty.params().map(|(_, ty)| ty).collect();
        if ty.results().len() > 0 {
            let is_data = params.iter().all(is_data) && ty.results().all(|ty| is_data(&ty));
            return if is_data { Self::Answer } else { Self::Other };
        }
        match &params[..] {
            [] => Self::Nothing,
            [Type::List(list)] if list.ty() == Type::U8 => Self::Bytes,
            params if params.iter().all(is_data) => Self::Data,
            _ => Self::Other,
        }
    }

    /// `true` if a convention can call it.
    fn fits(self, name: &str, abi: Abi, ty: &ComponentFunc) -> bool {
        match abi {
            Abi::Substrate | Abi::Wapc => false,
            Abi::Wasi => wasi::is_command(name) && self == Self::Answer && ty.params().len() == 0,
            Abi::Plain | Abi::Input => self == Self::Nothing,
            Abi::Bytes => self == Self::Bytes,
            Abi::Typed => self != Self::Other,
            Abi::Codec => !matches!(self, Self::Other | Self::Answer) && ty.params().len() == 1,
        }
    }
}

/// Checks an export's type against a convention.
pub(crate) fn check(name: &str, shape: Shape, ty: &ComponentFunc, abi: Abi) -> Result<()> {
    if shape.fits(name, abi, ty) {
        return Ok(());
    }
    let expected = match abi {
        Abi::Wapc => "a core module",
        Abi::Substrate if shape == Shape::Other => "a core module",
        Abi::Substrate => "a core module; the typed convention (--abi typed) can call it",
        Abi::Wasi => "run: func() -> result of wasi:cli/run@0.2, or _start of a core module",
        Abi::Plain | Abi::Input if shape == Shape::Other => "func()",
        Abi::Plain | Abi::Input => "func(); the typed convention (--abi typed) can call it",
        Abi::Bytes if shape == Shape::Other => "func(list<u8>)",
        Abi::Bytes => "func(list<u8>); the typed convention (--abi typed) can call it",
        Abi::Typed => "parameters and a result that are data, and not resources or streams",
        Abi::Codec => "one parameter that is data, and no result",
    };
    Err(Error::WrongSignature { name: name.to_owned(), abi, expected, found: words(ty) })
}

/// `true` if values of the type have a JSON text.
fn is_data(ty: &Type) -> bool {
    match ty {
        Type::List(list) => is_data(&list.ty()),
        Type::Map(map) => is_data(&map.key()) && is_data(&map.value()),
        Type::FixedLengthList(list) => is_data(&list.ty()),
        Type::Record(record) => record.fields().all(|field| is_data(&field.ty)),
        Type::Tuple(tuple) => tuple.types().all(|ty| is_data(&ty)),
        Type::Variant(variant) => variant.cases().all(|case| case.ty.as_ref().is_none_or(is_data)),
        Type::Option(option) => is_data(&option.ty()),
        Type::Result(result) => [result.ok(), result.err()].iter().flatten().all(is_data),
        Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) => false,
        Type::ErrorContext => false,
        _ => true,
    }
}

/// A function's type, in WIT's words.
fn words(ty: &ComponentFunc) -> String {
    let params: Vec<&str> = ty.params().map(|(_, ty)| word(&ty)).collect();
    let results: Vec<&str> = ty.results().map(|ty| word(&ty)).collect();
    let start = if ty.async_() { "async func" } else { "func" };
    match &results[..] {
        [] => format!("{start}({})", params.join(", ")),
        results => format!("{start}({}) -> {}", params.join(", "), results.join(", ")),
    }
}

/// A type's name, and of a list's also what is in it.
pub(crate) fn word(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::S8 => "s8",
        Type::U8 => "u8",
        Type::S16 => "s16",
        Type::U16 => "u16",
        Type::S32 => "s32",
        Type::U32 => "u32",
        Type::S64 => "s64",
        Type::U64 => "u64",
        Type::Float32 => "f32",
        Type::Float64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::List(list) if list.ty() == Type::U8 => "list<u8>",
        Type::List(_) | Type::FixedLengthList(_) => "list",
        Type::Map(_) => "map",
        Type::Record(_) => "record",
        Type::Tuple(_) => "tuple",
        Type::Variant(_) => "variant",
        Type::Enum(_) => "enum",
        Type::Option(_) => "option",
        Type::Result(_) => "result",
        Type::Flags(_) => "flags",
        Type::Own(_) => "resource",
        Type::Borrow(_) => "borrow",
        Type::Future(_) => "future",
        Type::Stream(_) => "stream",
        Type::ErrorContext => "error-context",
    }
}
