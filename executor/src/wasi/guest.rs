//! The guest's memory, with every address checked, and error codes of WASI preview 1.

use rustix::io::Errno as System;

/// Most buffers of one call, as on Linux.
const MOST_BUFFERS: u32 = 1024;
/// Bytes of a path with the zero behind it (`PATH_MAX`).
const LONGEST_PATH: u32 = 4096;

/// The linear memory of a guest; empty if there is none.
pub(super) struct Guest<'a>(pub(super) &'a mut [u8]);

/// A buffer of the guest: address and length.
pub(super) type Buffer = (u32, u32);

impl Guest<'_> {
    pub(super) fn bytes(&self, (pointer, length): Buffer) -> Answer<&[u8]> {
        let (start, length) = (pointer as usize, length as usize);
        self.0.get(start..).and_then(|rest| rest.get(..length)).ok_or(Errno::Fault)
    }

    pub(super) fn bytes_mut(&mut self, (pointer, length): Buffer) -> Answer<&mut [u8]> {
        let (start, length) = (pointer as usize, length as usize);
        self.0.get_mut(start..).and_then(|rest| rest.get_mut(..length)).ok_or(Errno::Fault)
    }

    /// Bytes as a path, not longer than Linux takes one: who opens it makes a copy.
    pub(super) fn path(&self, place: Buffer) -> Answer<&str> {
        if place.1 >= LONGEST_PATH {
            return Err(Errno::NameTooLong);
        }
        std::str::from_utf8(self.bytes(place)?).map_err(|_| Errno::IllegalBytes)
    }

    pub(super) fn write(&mut self, pointer: u32, bytes: &[u8]) -> Answer<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::Overflow)?;
        self.bytes_mut((pointer, length))?.copy_from_slice(bytes);
        Ok(())
    }

    pub(super) fn write_u32(&mut self, pointer: u32, value: u32) -> Answer<()> {
        self.write(pointer, &value.to_le_bytes())
    }

    pub(super) fn write_u64(&mut self, pointer: u32, value: u64) -> Answer<()> {
        self.write(pointer, &value.to_le_bytes())
    }

    fn array<const N: usize>(&self, pointer: u32) -> Answer<[u8; N]> {
        let bytes = self.bytes((pointer, N as u32))?;
        bytes.try_into().map_err(|_| Errno::Fault)
    }

    pub(super) fn u16(&self, pointer: u32) -> Answer<u16> {
        self.array(pointer).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, pointer: u32) -> Answer<u32> {
        self.array(pointer).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, pointer: u32) -> Answer<u64> {
        self.array(pointer).map(u64::from_le_bytes)
    }

    /// The buffers of a scattered read or write, all inside the memory. Their lengths together
    /// fit a result of 32 bits.
    pub(super) fn buffers(&self, pointer: u32, count: u32) -> Answer<Vec<Buffer>> {
        if count > MOST_BUFFERS {
            return Err(Errno::Invalid);
        }
        let mut total = 0_u32;
        let mut buffers = Vec::with_capacity(count as usize);
        for index in 0..count {
            let at = offset(pointer, index * 8)?;
            let buffer = (self.u32(at)?, self.u32(offset(at, 4)?)?);
            self.bytes(buffer)?;
            total = total.checked_add(buffer.1).ok_or(Errno::Invalid)?;
            buffers.push(buffer);
        }
        Ok(buffers)
    }
}

/// An address behind another one.
pub(super) fn offset(pointer: u32, distance: u32) -> Answer<u32> {
    pointer.checked_add(distance).ok_or(Errno::Fault)
}

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
