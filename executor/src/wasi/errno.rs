//! Error codes of WASI preview 1.

use rustix::io::Errno as System;

/// An error code that a guest gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Errno {
    TooBig = 1,
    Access = 2,
    Again = 6,
    BadFile = 8,
    Fault = 21,
    FileTooLarge = 22,
    IllegalBytes = 25,
    Invalid = 28,
    Io = 29,
    IsDirectory = 31,
    Loop = 32,
    TooManyFiles = 33,
    NameTooLong = 37,
    NoEntry = 44,
    NoMemory = 48,
    NoSystemCall = 52,
    NotDirectory = 54,
    NotSocket = 57,
    NotSupported = 58,
    Overflow = 61,
    Permission = 63,
    ReadOnly = 69,
    NotSeekable = 70,
    NotCapable = 76,
}

pub(crate) type Answer<T> = Result<T, Errno>;

impl From<System> for Errno {
    fn from(error: System) -> Self {
        match error {
            System::ACCESS => Self::Access,
            System::AGAIN => Self::Again,
            System::INVAL => Self::Invalid,
            System::ISDIR => Self::IsDirectory,
            System::LOOP => Self::Loop,
            System::MFILE | System::NFILE => Self::TooManyFiles,
            System::NAMETOOLONG => Self::NameTooLong,
            System::NOENT => Self::NoEntry,
            System::NOMEM => Self::NoMemory,
            System::NOSYS => Self::NoSystemCall,
            System::NOTDIR => Self::NotDirectory,
            System::OVERFLOW => Self::Overflow,
            System::PERM => Self::Permission,
            // A path that leaves the directory.
            System::XDEV => Self::NotCapable,
            _ => Self::Io,
        }
    }
}
