//! Results of a guest's call. A trap is a result of the guest; a failure of the host is an
//! [`Error`](crate::Error).

use crate::text;
use std::fmt;
use touchstone_guest::SegmentTrap;

/// How a call on a guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a guest may have trapped"]
pub enum Outcome {
    /// The export returned; its output is in the caller's buffer.
    Returned,
    /// The guest trapped. There is no output, except what a program of
    /// [`Abi::Wasi`](crate::Abi::Wasi) wrote before.
    Trapped(Trap),
}

impl Outcome {
    /// The trap, if there was one.
    #[must_use]
    pub fn trap(&self) -> Option<&Trap> {
        match self {
            Self::Returned => None,
            Self::Trapped(trap) => Some(trap),
        }
    }
}

/// A trap of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The kind, the same for every backend.
    pub kind: TrapKind,
    /// The runtime's message; empty if it adds nothing to the kind.
    pub detail: String,
}

/// Kinds of traps, the same on every backend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrapKind {
    /// `unreachable` was executed, in Rust usually a panic.
    #[error("unreachable executed")]
    Unreachable,
    /// A load, a store or a bulk operation outside the memory.
    #[error("memory access out of bounds")]
    MemoryOutOfBounds,
    /// A table access outside the table.
    #[error("table access out of bounds")]
    TableOutOfBounds,
    /// An indirect call through a null entry or with another signature.
    #[error("indirect call to null or with another signature")]
    BadIndirectCall,
    /// Integer division by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// Integer overflow in a division or conversion, or a NaN converted.
    #[error("integer overflow or bad conversion")]
    BadArithmetic,
    /// The guest's call stack is exhausted.
    #[error("call stack exhausted")]
    StackOverflow,
    /// The call's deadline has passed.
    #[error("deadline exceeded")]
    DeadlineExceeded,
    /// The host interrupted the call.
    #[error("interrupted by the host")]
    Interrupted,
    /// The guest executed as many operators as the call's limit of fuel allows.
    #[error("out of fuel")]
    OutOfFuel,
    /// A host function panicked. A call ends with
    /// [`Error::HostPanicked`](crate::Error::HostPanicked) instead, the instantiation of a module
    /// with this trap.
    #[error("{0}")]
    HostPanic(Box<HostPanic>),
    /// The guest called an import without a host function.
    #[error(
        "called the import {}.{}, which this host does not have",
        text::name(module),
        text::name(name)
    )]
    MissingImport {
        /// Module part of the import's name.
        module: String,
        /// Field part of the import's name.
        name: String,
    },
    /// A host function refused its arguments.
    #[error("host function {}: {reason}", text::name(name))]
    HostFunction {
        /// The host function.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The guest ended itself (`proc_exit` of WASI). With code 0, a program of
    /// [`Abi::Wasi`](crate::Abi::Wasi) returns instead.
    #[error("exited with code {code}")]
    Exit {
        /// The exit code.
        code: i32,
    },
    /// The guest gave an error in place of a result, by [`Abi::Wapc`](crate::Abi::Wapc).
    #[error("the guest's error: {}", text::harmless(message))]
    GuestError {
        /// The guest's text, at most 64 KiB of it.
        message: String,
    },
    /// The export returned a pointer and a length outside its memory.
    #[error("{}", outside(*claim))]
    BadResult {
        /// The returned values; `None` if the runtime does not report them.
        claim: Option<Claim>,
    },
    /// The input does not fit: the host's allocator could not place it, or its size is not
    /// that of the export's parameters.
    #[error("input refused: {reason}")]
    BadInput {
        /// The reason.
        reason: String,
    },
    /// Another trap; the detail has the runtime's message.
    #[error("trap")]
    Other,
}

fn outside(claim: Option<Claim>) -> String {
    let Some(Claim { pointer, length, memory }) = claim else {
        return "result lies outside the memory".to_owned();
    };
    format!("result of {length} bytes at {pointer:#x} lies outside the memory of {memory} bytes")
}

/// A panic of a host function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the host function {}.{} panicked: {}",
    text::name(module),
    text::name(name),
    text::name(message)
)]
pub struct HostPanic {
    /// Module part of the function's name.
    pub module: String,
    /// The function's name.
    pub name: String,
    /// The panic's message, if it was a text.
    pub message: String,
}

/// An output outside the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// Start of the claimed output.
    pub pointer: u32,
    /// Length of the claimed output, bytes.
    pub length: u32,
    /// Size of the memory, bytes.
    pub memory: usize,
}

impl Trap {
    /// A trap without a message.
    pub const fn new(kind: TrapKind) -> Self {
        Self { kind, detail: String::new() }
    }

    /// A trap with the runtime's message.
    pub fn with_detail(kind: TrapKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl From<SegmentTrap> for TrapKind {
    fn from(trap: SegmentTrap) -> Self {
        match trap {
            SegmentTrap::Memory => Self::MemoryOutOfBounds,
            SegmentTrap::Table => Self::TableOutOfBounds,
        }
    }
}

impl From<TrapKind> for Trap {
    fn from(kind: TrapKind) -> Self {
        Self::new(kind)
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, self.detail.as_str()) {
            (kind, "") => kind.fmt(f),
            (TrapKind::Other, detail) => f.write_str(detail),
            (kind, detail) => write!(f, "{kind} ({detail})"),
        }
    }
}

/// Lets a trap pass through a runtime's own error type.
impl std::error::Error for Trap {}
