//! The conventions by which a host calls a guest.

use crate::error::{Error, Result};
use crate::{Signature, ValueType};
use std::fmt;
use std::str::FromStr;

/// A calling convention.
///
/// "One after the other" are numbers little-endian, vectors of 16 bytes with the first lane first,
/// and references of one byte, which is 0 for null: see [`Reference`](crate::Reference).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Abi {
    /// Substrate's, `(i32, i32) -> (i64)`: the host's allocator places the input, given as pointer
    /// and length. The low half of the result is the pointer to the output, the high half its
    /// length.
    Substrate,
    /// `() -> values`, of a component `func()`: the guest fetches the input, which the host keeps,
    /// through `env.input_len` and `env.input`, or `input: func() -> list<u8>`. The output is the
    /// results, one after the other.
    Input,
    /// `(i32, i32) -> values`, of a component `func(list<u8>)`: a module gets pointer and length of
    /// a buffer from its own `alloc: (i32) -> (i32)`, which the guest takes over.
    Bytes,
    /// Any of [values](ValueType): the input is the parameters, one after the other.
    Plain,
    /// `() -> ()` of a program's `_start`, of a component `run` of `wasi:cli/run`: standard input
    /// and output of WASI preview 1, of a component 2. The output includes what was written before
    /// an exit or a trap.
    Wasi,
    /// `(i32, i32) -> (i32)` of waPC's `__guest_call`: the first line of the input is the
    /// operation, the rest is the message. The output is the guest's response. See
    /// [`wapc`](crate::wapc).
    Wapc,
    /// Of a component with any parameters: the input is JSON, turned into the parameters' values
    /// once for calls with the same input. The output is the result as JSON.
    Typed,
    /// Of a component with one parameter: a codec component turns JSON into the parameter's value
    /// for each call. There is no output.
    Codec,
}

/// Name of the export that [`Abi::Bytes`] takes buffers from.
pub const ALLOCATOR: &str = "alloc";

impl Abi {
    /// Checks an export's signature; `None` stands for one that no host can call.
    pub(crate) fn check(self, name: &str, signature: Option<&Signature>) -> Result<()> {
        use ValueType::{I32, I64};
        let takes = |params: &[_]| signature.is_some_and(|found| found.params == params);
        let gives = |results: &[_]| signature.is_some_and(|found| found.results == results);
        let (fits, expected) = match self {
            Self::Substrate => (takes(&[I32; 2]) && gives(&[I64]), "(i32, i32) -> (i64)"),
            Self::Input => (takes(&[]), "() -> () or () -> (values)"),
            Self::Bytes => (takes(&[I32; 2]), "(i32, i32) -> () or (i32, i32) -> (values)"),
            Self::Plain => {
                (signature.is_some(), "numbers, vectors, and references of funcref and externref")
            }
            Self::Wasi => (takes(&[]) && gives(&[]), "() -> ()"),
            Self::Wapc => (takes(&[I32; 2]) && gives(&[I32]), "(i32, i32) -> (i32)"),
            Self::Typed | Self::Codec => (false, "a function of a component"),
        };
        if fits { Ok(()) } else { Err(self.misfit(name, signature, expected)) }
    }

    pub(crate) fn check_allocator(self, signature: Option<&Signature>) -> Result<()> {
        let expected = Signature::new(&[ValueType::I32], &[ValueType::I32]);
        if signature == Some(&expected) {
            return Ok(());
        }
        Err(self.misfit(ALLOCATOR, signature, "(i32) -> (i32)"))
    }

    fn misfit(self, name: &str, found: Option<&Signature>, expected: &'static str) -> Error {
        Error::WrongSignature { name: name.to_owned(), abi: self, expected, found: in_words(found) }
    }

    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Substrate,
        Self::Input,
        Self::Bytes,
        Self::Plain,
        Self::Wasi,
        Self::Wapc,
        Self::Typed,
        Self::Codec,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Substrate => "substrate",
            Self::Input => "input",
            Self::Bytes => "bytes",
            Self::Plain => "plain",
            Self::Wasi => "wasi",
            Self::Wapc => "wapc",
            Self::Typed => "typed",
            Self::Codec => "codec",
        }
    }
}

/// A type in a message; `None` stands for one that no host can call.
pub(crate) fn in_words(signature: Option<&Signature>) -> String {
    let unknown = || "with references of types that no host can pass".to_owned();
    signature.map_or_else(unknown, ToString::to_string)
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Abi {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|abi| abi.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("'{name}' is none of {names}")
        })
    }
}
