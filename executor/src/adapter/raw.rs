//! The frame of a raw reference: all but the runtime's own calls.

use crate::error::{Error, Result};
use crate::guest::GuestModule;
use crate::heap::{HEADER, OCCUPIED};
use crate::measured::{RawCall, RawCaller};

/// A call in Substrate's convention, with its input at the heap base behind a header.
pub struct RawFrame {
    /// The export to be called, with [`pointer`](Self::pointer) and [`length`](Self::length).
    pub export: String,
    header: [u8; HEADER as usize],
    base: u32,
    input: Vec<u8>,
}

impl RawFrame {
    /// The frame of a call; `None` for a guest without memory or heap base.
    pub fn of(guest: &GuestModule, call: &RawCall<'_>) -> Option<Self> {
        let heap_base = guest.info().heap_base.filter(|_| guest.info().memory.is_some())?;
        Some(Self {
            export: call.export.to_owned(),
            header: OCCUPIED.to_le_bytes(),
            base: heap_base.next_multiple_of(8),
            input: call.input.to_vec(),
        })
    }

    /// Header and input, each with its address.
    pub fn parts(&self) -> [(u32, &[u8]); 2] {
        [(self.base, &self.header), (self.pointer(), &self.input)]
    }

    /// Copies header and input into a memory; `None` if they do not fit.
    #[inline]
    #[must_use]
    pub fn place(&self, memory: &mut [u8]) -> Option<()> {
        for (address, bytes) in self.parts() {
            memory.get_mut(address as usize..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        }
        Some(())
    }

    /// Address of the input.
    pub fn pointer(&self) -> u32 {
        self.base + HEADER
    }

    /// Bytes of the input.
    pub fn length(&self) -> u32 {
        self.input.len() as u32
    }

    /// The raw reference that makes this call. `call` puts the output into the buffer, which is
    /// not empty.
    pub fn caller<E: std::fmt::Display>(
        self,
        engine: &'static str,
        mut call: impl FnMut(&Self, &mut Vec<u8>) -> Result<(), E> + Send + 'static,
    ) -> RawCaller {
        Box::new(move |output| {
            call(&self, output)
                .map_err(Error::runtime(engine, "call the guest through its raw interface"))
        })
    }
}

/// Address and length of an output, from the result of the export.
#[inline]
pub fn unpack(packed: u64) -> (usize, usize) {
    (packed as u32 as usize, (packed >> 32) as usize)
}

/// Copies an output from a memory into the buffer; `None` if it lies outside.
#[inline]
#[must_use]
pub fn copy_output(memory: &[u8], packed: u64, output: &mut Vec<u8>) -> Option<()> {
    let (start, length) = unpack(packed);
    output.clear();
    output.extend_from_slice(memory.get(start..)?.get(..length)?);
    Some(())
}
