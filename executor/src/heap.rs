//! The host's allocator inside a guest's memory: a bump allocator with free
//! lists per size class, from `__heap_base` upwards.
//!
//! Substrate's guests do not allocate by themselves: they call `ext_allocator_malloc_version_1`,
//! and the host places its inputs by the same allocator. Layout and limits are Substrate's, so that
//! addresses and dirtied pages are comparable: 8 bytes of header before each allocation, sizes
//! rounded up to powers of two from 8 bytes to 32 MiB. A header holds the size class and the
//! occupied bit while in use, otherwise the next free header. The guest can write the headers, so
//! their content is never trusted.

use touchstone_guest::WASM_PAGE;
/// Bytes before each allocation.
pub const HEADER: u32 = 8;
/// Smallest size class, bytes.
const SMALLEST: u32 = 8;
/// Size classes: 8 bytes shifted by 0 … 22.
const CLASSES: usize = 23;
/// Largest allocation, bytes.
pub const LARGEST: u32 = SMALLEST << (CLASSES - 1);
/// Marks a header in use; the low half then holds the class.
pub const OCCUPIED: u64 = 1 << 32;
/// End of a free list.
const NONE: u32 = u32::MAX;

/// The allocator's state. A clean instance starts with [`Heap::new`].
#[derive(Debug, Clone)]
pub struct Heap {
    /// First free header of each class.
    free: [u32; CLASSES],
    /// Where the next new header goes.
    bump: u32,
    /// Set after a corrupt header was seen: nothing is handed out any more.
    poisoned: bool,
}

/// Why an allocation or a release was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell what the fields are")]
pub enum HeapError {
    /// More than [`LARGEST`] was requested.
    #[error("{size} bytes were requested; the largest allocation has {LARGEST}")]
    TooLarge { size: u32 },
    /// The memory is too small by these pages of 64 KiB: grow it and call again.
    #[error("the guest's memory is full ({pages} more pages needed)")]
    NeedsMemory { pages: u32 },
    /// The end of a 32-bit memory is reached.
    #[error("the guest's address space is full")]
    AddressSpace,
    /// The pointer is not an allocation of this allocator, or is free already.
    #[error("{pointer:#x} is not an allocation in use")]
    NotAllocated { pointer: u32 },
    /// The guest overwrote the allocator's headers.
    #[error("the allocator's header at {header:#x} was overwritten by the guest")]
    Corrupt { header: u32 },
    /// An earlier call saw a corrupt header.
    #[error("the allocator stopped after a corrupt header")]
    Poisoned,
}

impl Heap {
    /// An empty heap from `heap_base` upwards, aligned to 8 bytes.
    pub fn new(heap_base: u32) -> Self {
        Self {
            free: [NONE; CLASSES],
            bump: heap_base.checked_next_multiple_of(SMALLEST).unwrap_or(NONE - 7),
            poisoned: false,
        }
    }

    /// Allocates `size` bytes (at least 8), 8-byte aligned, inside `memory`.
    /// [`HeapError::NeedsMemory`] requests that the caller grow the memory and call again; other
    /// errors are final.
    pub fn allocate(&mut self, memory: &mut [u8], size: u32) -> Result<u32, HeapError> {
        if self.poisoned {
            return Err(HeapError::Poisoned);
        }
        if size > LARGEST {
            return Err(HeapError::TooLarge { size });
        }
        let class = class_of(size);
        let header = match self.free[class] {
            NONE => self.extend(memory.len(), SMALLEST << class)?,
            header => {
                // A free header names the next free one; the guest may have written anything there.
                let next = self.read(memory, header)?;
                if next & !u64::from(u32::MAX) != 0 {
                    return self.corrupt(header);
                }
                self.free[class] = next as u32;
                if header as usize + HEADER as usize + ((SMALLEST as usize) << class) > memory.len()
                {
                    return self.corrupt(header);
                }
                header
            }
        };
        write(memory, header, OCCUPIED | class as u64);
        Ok(header + HEADER)
    }

    /// Frees an allocation of [`allocate`](Self::allocate). Fails when the pointer is not in use,
    /// or its header was overwritten.
    pub fn free(&mut self, memory: &mut [u8], pointer: u32) -> Result<(), HeapError> {
        if self.poisoned {
            return Err(HeapError::Poisoned);
        }
        let header = pointer.checked_sub(HEADER).filter(|_| pointer <= self.bump);
        let header = header.ok_or(HeapError::NotAllocated { pointer })?;
        let content = self.read(memory, header)?;
        if content & !u64::from(u32::MAX) != OCCUPIED {
            return Err(HeapError::NotAllocated { pointer });
        }
        let class = content as u32 as usize;
        if class >= CLASSES {
            return self.corrupt(header);
        }
        write(memory, header, u64::from(self.free[class]));
        self.free[class] = header;
        Ok(())
    }

    /// Room for a header and `size` bytes at the end.
    fn extend(&mut self, memory: usize, size: u32) -> Result<u32, HeapError> {
        let header = self.bump;
        let end = header
            .checked_add(HEADER)
            .and_then(|start| start.checked_add(size))
            .ok_or(HeapError::AddressSpace)?;
        let missing = (end as usize).saturating_sub(memory);
        if missing > 0 {
            return Err(HeapError::NeedsMemory { pages: missing.div_ceil(WASM_PAGE) as u32 });
        }
        self.bump = end;
        Ok(header)
    }

    fn read(&mut self, memory: &[u8], header: u32) -> Result<u64, HeapError> {
        match memory.get(header as usize..).and_then(|tail| tail.first_chunk()) {
            Some(bytes) => Ok(u64::from_le_bytes(*bytes)),
            None => self.corrupt(header),
        }
    }

    fn corrupt<T>(&mut self, header: u32) -> Result<T, HeapError> {
        self.poisoned = true;
        Err(HeapError::Corrupt { header })
    }
}

/// The header lies in memory: every caller has checked it by reading it or by
/// extending the heap over it.
fn write(memory: &mut [u8], header: u32, content: u64) {
    memory[header as usize..][..HEADER as usize].copy_from_slice(&content.to_le_bytes());
}

/// Class of a size of at most [`LARGEST`].
fn class_of(size: u32) -> usize {
    let rounded = size.max(SMALLEST).next_power_of_two();
    (rounded.trailing_zeros() - SMALLEST.trailing_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_input_costs_one_header_and_eight_bytes() {
        let mut memory = vec![0; WASM_PAGE];
        let mut heap = Heap::new(1001);
        assert_eq!(heap.allocate(&mut memory, 0), Ok(1008 + 8));
        assert_eq!(heap.allocate(&mut memory, 9), Ok(1008 + 8 + 8 + 8));
        assert_eq!(heap.allocate(&mut memory, 1), Ok(1008 + 8 + 8 + 8 + 16 + 8));
    }

    #[test]
    fn freed_memory_is_given_out_again() {
        let mut memory = vec![0; WASM_PAGE];
        let mut heap = Heap::new(0);
        let first = heap.allocate(&mut memory, 100).unwrap();
        heap.free(&mut memory, first).unwrap();
        assert_eq!(heap.free(&mut memory, first), Err(HeapError::NotAllocated { pointer: first }));
        assert_eq!(heap.allocate(&mut memory, 128), Ok(first));
    }

    #[test]
    fn it_asks_for_the_pages_it_lacks() {
        let mut memory = vec![0; WASM_PAGE];
        let mut heap = Heap::new(0);
        assert_eq!(
            heap.allocate(&mut memory, 2 * WASM_PAGE as u32),
            Err(HeapError::NeedsMemory { pages: 2 })
        );
        memory.resize(3 * WASM_PAGE, 0);
        assert_eq!(heap.allocate(&mut memory, 2 * WASM_PAGE as u32), Ok(8));
        assert!(matches!(heap.allocate(&mut memory, LARGEST + 1), Err(HeapError::TooLarge { .. })));
        let mut top = Heap::new(u32::MAX);
        assert_eq!(top.allocate(&mut memory, 1), Err(HeapError::AddressSpace));
    }

    #[test]
    fn an_overwritten_header_stops_the_allocator_and_harms_nothing() {
        let mut memory = vec![0; WASM_PAGE];
        let mut heap = Heap::new(0);
        let pointer = heap.allocate(&mut memory, 8).unwrap();
        heap.free(&mut memory, pointer).unwrap();
        memory[..8].copy_from_slice(&0x0000_0000_ffff_fff0_u64.to_le_bytes());
        assert_eq!(heap.allocate(&mut memory, 8), Ok(8));
        assert!(matches!(heap.allocate(&mut memory, 8), Err(HeapError::Corrupt { .. })));
        assert_eq!(heap.allocate(&mut memory, 8), Err(HeapError::Poisoned));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]
        /// Whatever is asked for and freed, allocations in use lie in memory and do not overlap.
        #[test]
        fn allocations_never_overlap(
            steps in prop::collection::vec((0_u32..5000, any::<prop::sample::Index>(), any::<bool>()), 1..if cfg!(miri) { 20 } else { 200 })
        ) {
            let mut memory = vec![0; 4 * WASM_PAGE];
            let mut heap = Heap::new(77);
            let mut live: Vec<(u32, u32)> = Vec::new();
            for (size, which, release) in steps {
                if release && !live.is_empty() {
                    let (pointer, _) = live.swap_remove(which.index(live.len()));
                    heap.free(&mut memory, pointer).unwrap();
                } else if let Ok(pointer) = heap.allocate(&mut memory, size) {
                    prop_assert!((pointer + size) as usize <= memory.len());
                    for &(other, length) in &live {
                        prop_assert!(pointer + size.max(1) <= other || other + length.max(1) <= pointer);
                    }
                    memory[pointer as usize..][..size as usize].fill(0xff);
                    live.push((pointer, size));
                }
            }
        }
    }
}
