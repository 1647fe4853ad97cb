//! Names and types of the functions of the storage.

use crate::Signature;
use crate::ValueType::{self, I64};
use touchstone_guest::imports::STORAGE;

/// A host function of the storage, in the order of [`STORAGE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `(key) -> value`.
    Get,
    /// `(key, value)`.
    Set,
    /// `(key)`.
    Clear,
    /// `(key) -> key`.
    NextKey,
    /// `() -> digest`.
    Root,
    /// `()`: begins a transaction.
    Start,
    /// `()`: undoes the innermost transaction.
    Rollback,
    /// `()`: keeps the innermost transaction.
    Commit,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::Set,
        Self::Clear,
        Self::NextKey,
        Self::Root,
        Self::Start,
        Self::Rollback,
        Self::Commit,
    ];

    /// The import's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        STORAGE[self as usize]
    }

    /// The import's type.
    #[must_use]
    pub fn signature(self) -> Signature {
        let (params, results): (&[ValueType], &[ValueType]) = match self {
            Self::Get | Self::NextKey => (&[I64], &[I64]),
            Self::Set => (&[I64, I64], &[]),
            Self::Clear => (&[I64], &[]),
            Self::Root => (&[], &[I64]),
            Self::Start | Self::Rollback | Self::Commit => (&[], &[]),
        };
        Signature::new(params, results)
    }

    /// The function of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }
}
