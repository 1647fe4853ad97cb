//! The writes of a call: the same to a memory and to the model of it.

use crate::host_page;
use proptest::prelude::*;

/// Bytes that one thread writes to before the other one's begin.
const CHUNK: usize = 512;

/// Places count from the start, and over again where the memory ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Writing {
    Byte {
        at: usize,
        value: u8,
    },
    Bytes {
        at: usize,
        length: usize,
        value: u8,
    },
    /// All of so many pages.
    Pages {
        first: usize,
        count: usize,
        value: u8,
    },
    /// A byte in every second page.
    EverySecond {
        first: usize,
        count: usize,
        value: u8,
    },
    /// In every page the value that is there.
    Same {
        first: usize,
        count: usize,
    },
}

const ANYWHERE: std::ops::Range<usize> = 0..1 << 24;

impl Writing {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        // Zeros as often as all else: over data they are as good as any other value.
        let value = || prop_oneof![Just(0), any::<u8>()];
        let count = || prop_oneof![4 => 1_usize..6, 2 => 1_usize..80, 1 => 1_usize..700];
        prop_oneof![
            4 => (ANYWHERE, value()).prop_map(|(at, value)| Self::Byte { at, value }),
            4 => (ANYWHERE, 1_usize..9000, value())
                .prop_map(|(at, length, value)| Self::Bytes { at, length, value }),
            2 => (ANYWHERE, count(), value())
                .prop_map(|(first, count, value)| Self::Pages { first, count, value }),
            2 => (ANYWHERE, count(), value())
                .prop_map(|(first, count, value)| Self::EverySecond { first, count, value }),
            2 => (ANYWHERE, count()).prop_map(|(first, count)| Self::Same { first, count }),
        ]
    }

    /// Writes to a memory.
    pub(super) fn write(self, bytes: &mut [u8]) {
        let (page, size) = (host_page(), bytes.len());
        let pages = size / page;
        match self {
            Self::Byte { at, value } => set(bytes, at % size, |_| value),
            Self::Bytes { at, length, value } => {
                let at = at % size;
                bytes[at..(at + length).min(size)].fill(value);
            }
            Self::Pages { first, count, value } => {
                let first = first % pages;
                bytes[first * page..(first + count).min(pages) * page].fill(value);
            }
            Self::EverySecond { first, count, value } => {
                for index in (first % pages..pages).step_by(2).take(count) {
                    set(bytes, index * page + index % page, |_| value);
                }
            }
            Self::Same { first, count } => {
                for index in (first % pages..pages).take(count) {
                    set(bytes, index * page, |value| value);
                }
            }
        }
    }

    /// The same so many pages further on.
    pub(super) fn moved(self, pages: usize) -> Self {
        match self {
            Self::Byte { at, value } => Self::Byte { at: at + pages * host_page(), value },
            Self::Bytes { at, length, value } => {
                Self::Bytes { at: at + pages * host_page(), length, value }
            }
            Self::Pages { first, count, value } => {
                Self::Pages { first: first + pages, count, value }
            }
            Self::EverySecond { first, count, value } => {
                Self::EverySecond { first: first + pages, count, value }
            }
            Self::Same { first, count } => Self::Same { first: first + pages, count },
        }
    }
}

/// Stores to a byte, also the value that is there.
fn set(bytes: &mut [u8], at: usize, value: impl Fn(u8) -> u8) {
    let byte = &raw mut bytes[at];
    // SAFETY: a byte of the slice. Volatile, so that the compiler leaves no store out.
    unsafe { byte.write_volatile(value(byte.read_volatile())) };
}

/// Writes of two threads at once: each to every second piece of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared {
    at: usize,
    chunks: usize,
    value: u8,
}

impl Shared {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        (ANYWHERE, 1_usize..600, any::<u8>()).prop_map(|(at, chunks, value)| Self {
            at,
            chunks,
            value,
        })
    }

    /// The pieces, of the two threads in turns.
    fn pieces<'a>(&self, bytes: &'a mut [u8]) -> impl Iterator<Item = &'a mut [u8]> {
        let at = self.at % bytes.len();
        bytes[at..].chunks_mut(CHUNK).take(self.chunks)
    }

    fn write_piece(&self, piece: &mut [u8], thread: usize) {
        set(piece, 0, |_| self.value.wrapping_add(thread as u8));
    }

    /// One thread writes all of it.
    pub(super) fn write(&self, bytes: &mut [u8]) {
        for (index, piece) in self.pieces(bytes).enumerate() {
            self.write_piece(piece, index % 2);
        }
    }

    /// Two threads do.
    pub(super) fn write_at_once(&self, bytes: &mut [u8]) {
        let mut parts: [Vec<&mut [u8]>; 2] = Default::default();
        for (index, piece) in self.pieces(bytes).enumerate() {
            parts[index % 2].push(piece);
        }
        let start = std::sync::Barrier::new(parts.len());
        std::thread::scope(|scope| {
            for (thread, part) in parts.into_iter().enumerate() {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    part.into_iter().for_each(|piece| self.write_piece(piece, thread));
                });
            }
        });
    }
}
