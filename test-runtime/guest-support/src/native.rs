//! The same guests compiled for the host: what stands there for the linear memory, the
//! imports and the traps of a module.
//!
//! The guests become a library of their own, with an optimisation profile and an allocator
//! that the host's program does not have. What crosses its boundary is laid out as in C.
//! The linear memory is the host's; its addresses are offsets, and [`memory`](crate::memory)
//! checks each one. Blocks of the heap lie in it, as in a module. A trap unwinds to [`run`].

use alloc::string::String;
use core::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    ffi::c_void,
    ptr, slice,
};
use std::{alloc::System, any::Any, boxed::Box, panic};

use crate::{WASM_PAGE, allocator::HostAllocator};

/// Bytes that somebody else owns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    /// No bytes.
    pub const EMPTY: Self = Self::new(&[]);

    /// The place of these bytes.
    #[must_use]
    pub const fn new(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// They must still be there, and nobody may write to them meanwhile.
    #[must_use]
    pub const unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: `new` had them as a slice, and the caller promises that they are there.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

/// The raw function of an export: it takes and returns what the module's takes and returns,
/// and ignores or zeroes the numbers that the module's does not have.
pub type Entry = unsafe extern "C" fn(call: &Call, first: u32, second: u32) -> u64;

/// An export of a guest.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Export {
    /// Its name.
    pub name: Text,
    /// Its function, if a host can have it.
    pub entry: Option<Entry>,
    /// Why a host cannot.
    pub reason: Text,
}

// SAFETY: its texts are constants of the library.
unsafe impl Sync for Export {}

/// A guest.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Guest {
    /// Its name.
    pub name: Text,
    /// The first of its exports.
    pub exports: *const Export,
    /// How many it has.
    pub count: usize,
}

// SAFETY: it names constants of the library.
unsafe impl Sync for Guest {}

/// Why a call stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Stop {
    /// `unreachable` would have been executed, or a panic, with its message.
    Unreachable,
    /// An address outside linear memory.
    MemoryOutOfBounds,
    /// A write to the input by its address, or a read where the function may write to
    /// it: it is borrowed during a call.
    TouchesInput,
    /// An import that no host has was called: its name.
    MissingImport,
}

/// The host's functions for a guest during a call.
#[derive(Debug)]
#[repr(C)]
pub struct Host {
    /// Makes linear memory larger by so many pages and sets the call's size, if it can.
    pub grow: extern "C" fn(&Call, u32) -> bool,
    /// A block of the host's allocator; 0 where it refuses, which stops the call in the end.
    pub allocate: extern "C" fn(&Call, u32) -> u32,
    /// Takes such a block back.
    pub free: extern "C" fn(&Call, u32),
    /// The host's filter of log messages.
    pub max_level: extern "C" fn(&Call) -> u32,
    /// Takes a log message: level, target and text.
    pub log: extern "C" fn(&Call, u32, Text, Text),
    /// The input that it keeps for guests that ask for it.
    pub input: extern "C" fn(&Call) -> Text,
}

/// A linear memory and a host, for one call.
#[derive(Debug)]
#[repr(C)]
pub struct Call {
    /// Start of the memory.
    pub base: *mut u8,
    /// Its size, bytes.
    pub size: Cell<usize>,
    /// The first address above everything that the module places in memory.
    pub heap_base: u32,
    /// `true` if the call stopped.
    pub stopped: Cell<bool>,
    /// Why it did.
    pub stop: Cell<Stop>,
    /// The detail: bytes of the library or of the memory.
    pub detail: Cell<Text>,
    /// The host.
    pub host: *const Host,
    /// The host's own data.
    pub context: *mut c_void,
}

/// A trap on its way to [`run`].
struct Trap {
    stop: Stop,
    detail: &'static str,
}

/// Stops the call.
#[cold]
fn stop(stop: Stop, detail: &'static str) -> ! {
    // Unlike a panic, it says nothing on the terminal.
    panic::resume_unwind(Box::new(Trap { stop, detail }))
}

/// Executes `unreachable`.
#[cold]
pub(crate) fn unreachable() -> ! {
    stop(Stop::Unreachable, "")
}

/// Calls an import that no host has.
#[cold]
pub fn missing(name: &'static str) -> ! {
    stop(Stop::MissingImport, name)
}

/// A call that runs.
struct Running<'a> {
    call: &'a Call,
    /// Borrowed by the function: not to be written by address.
    input: Cell<(usize, usize)>,
    /// `true` if the function may write to it; otherwise it must not be read by address.
    writable: Cell<bool>,
    /// Allocates blocks of the memory.
    heap: &'static dyn GlobalAlloc,
    /// `true` if a block could not be allocated.
    exhausted: Cell<bool>,
}

std::thread_local! {
    /// The call that runs on this thread; null where none does.
    static CURRENT: Cell<*const Running<'static>> = const { Cell::new(ptr::null()) };
}

/// Ends a call's being the current one, however it ends.
struct Leave(*const Running<'static>);

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs the body of an export whose heap is the host's, as in [`export!`](crate::export).
pub fn run(call: &Call, body: impl FnOnce() -> u64) -> u64 {
    run_with(call, &HostAllocator, body)
}

/// Runs the body of an export: its allocations come from `heap`, which returns blocks of the
/// memory. They are gone when the host makes the memory clean.
pub fn run_with(call: &Call, heap: &'static dyn GlobalAlloc, body: impl FnOnce() -> u64) -> u64 {
    let running = Running {
        call,
        input: Cell::new((0, 0)),
        writable: Cell::new(false),
        heap,
        exhausted: Cell::new(false),
    };
    let current = ptr::from_ref(&running).cast::<Running<'static>>();
    let _leave = Leave(CURRENT.replace(current));
    // What the function leaves half done is linear memory, which the host makes clean
    // after every call.
    let (stop, detail) = match panic::catch_unwind(panic::AssertUnwindSafe(body)) {
        Ok(_) if running.exhausted.get() => (Stop::Unreachable, "the guest's memory is full"),
        Ok(value) => return value,
        Err(payload) => reason(payload),
    };
    call.stopped.set(true);
    call.stop.set(stop);
    call.detail.set(Text::new(detail.as_bytes()));
    0
}

/// The payload of an unwinding. Messages stay where they are, in the guest's memory.
fn reason(payload: Box<dyn Any + Send>) -> (Stop, &'static str) {
    match payload.downcast::<Trap>() {
        Ok(trap) => (trap.stop, trap.detail),
        Err(payload) => match payload.downcast::<String>() {
            Ok(message) => (Stop::Unreachable, message.leak()),
            Err(payload) => {
                (Stop::Unreachable, payload.downcast_ref::<&str>().copied().unwrap_or_default())
            }
        },
    }
}

/// Asks the call that runs on this thread.
#[inline]
fn current<T>(ask: impl FnOnce(&Running<'_>) -> T) -> T {
    let current = CURRENT.get();
    assert!(!current.is_null(), "guests' functions are called through `run` only");
    // SAFETY: not null, so it is that of a `run_with` further up on this thread's stack,
    // whose `Leave` takes it away before it goes.
    ask(unsafe { &*current })
}

impl Running<'_> {
    fn host(&self) -> &Host {
        // SAFETY: the host outlives the call.
        unsafe { &*self.call.host }
    }

    /// The offset of a place in memory, if it is one.
    fn offset(&self, place: *const u8) -> Option<usize> {
        let offset = place.addr().wrapping_sub(self.call.base.addr());
        (offset < self.call.size.get()).then_some(offset)
    }

    /// The start of a block, all of which lies in memory.
    fn block(&self, start: usize, length: usize) -> *mut u8 {
        if start + length > self.call.size.get() {
            stop(Stop::MemoryOutOfBounds, "");
        }
        // SAFETY: in bounds.
        unsafe { self.call.base.add(start) }
    }

    /// Borrows a block for the function.
    fn borrow(&self, pointer: u32, length: u32, writable: bool) -> *mut u8 {
        let (start, length) = (pointer as usize, length as usize);
        let block = self.block(start, length);
        self.input.set((start, start + length));
        self.writable.set(writable);
        block
    }

    /// An address to be looked at, which is in bounds and no borrowed input.
    #[inline]
    fn place(&self, address: u32, borrowed: bool) -> *mut u8 {
        let address = address as usize;
        if address >= self.call.size.get() {
            stop(Stop::MemoryOutOfBounds, "");
        }
        let (start, end) = self.input.get();
        if borrowed && (start..end).contains(&address) {
            stop(Stop::TouchesInput, "");
        }
        // SAFETY: in bounds.
        unsafe { self.call.base.add(address) }
    }
}

/// The input of a call as a slice; an empty input may have any pointer.
///
/// # Safety
///
/// Unless `length` is 0, nothing may write to the place while the slice is in use.
pub unsafe fn input<'a>(pointer: u32, length: u32) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    let start = current(|running| running.borrow(pointer, length, false));
    // SAFETY: `borrow` found it in memory, all of which is initialised and nobody else's
    // during the call; `memory::write` leaves this range alone.
    unsafe { slice::from_raw_parts(start, length as usize) }
}

/// The input of a call as a block that may be written to; an empty input may have any
/// pointer.
///
/// # Safety
///
/// Unless `length` is 0, nothing else may read or write the place while the slice is in use.
pub unsafe fn block<'a>(pointer: u32, length: u32) -> &'a mut [u8] {
    if length == 0 {
        return &mut [];
    }
    let start = current(|running| running.borrow(pointer, length, true));
    // SAFETY: as in `input`; `memory::read` leaves this range alone as well.
    unsafe { slice::from_raw_parts_mut(start, length as usize) }
}

/// The address of a block in memory; stops the call where it is none.
#[must_use]
pub fn address(block: *const u8) -> u32 {
    match current(|running| running.offset(block)) {
        Some(offset) => offset as u32,
        None => stop(Stop::Unreachable, "the guest's memory is full"),
    }
}

/// The block at an address, all of which lies in memory.
#[must_use]
pub fn at(address: u32, length: usize) -> *mut u8 {
    current(|running| running.block(address as usize, length))
}

/// Packs the place of an output, which is copied into memory if it is a constant.
#[must_use]
pub fn place(output: &[u8]) -> u64 {
    let inside = current(|running| running.offset(output.as_ptr()).is_some());
    let output = if inside || output.is_empty() { output } else { output.to_vec().leak() };
    match output {
        [] => 0,
        _ => crate::pack(address(output.as_ptr()), output.len() as u32),
    }
}

/// Addresses of linear memory; the module's counterpart has no checks because
/// the executor makes them.
pub(crate) mod memory {
    use super::{Stop, WASM_PAGE, current, stop};

    #[inline]
    pub fn read(address: u32) -> u8 {
        current(|running| {
            // SAFETY: in bounds of the memory, and not part of a range that is borrowed to
            // be written.
            unsafe { running.place(address, running.writable.get()).read_volatile() }
        })
    }

    pub fn read_word(address: u32) -> u32 {
        let byte = |offset| u32::from(read(address.saturating_add(offset)));
        byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24
    }

    #[inline]
    pub fn write(address: u32, value: u8) {
        current(|running| {
            // SAFETY: in bounds of the memory, and not part of the range that is borrowed.
            unsafe { running.place(address, true).write_volatile(value) }
        });
    }

    pub fn fill(address: u32, length: u32, value: u8) {
        current(|running| {
            let (start, length) = (address as usize, length as usize);
            let block = running.block(start, length);
            let (from, to) = running.input.get();
            if start < to && from < start + length {
                stop(Stop::TouchesInput, "");
            }
            // SAFETY: all of the block is in bounds of the memory, and no part of it is in the
            // range that is borrowed.
            unsafe { block.write_bytes(value, length) }
        });
    }

    pub fn size() -> usize {
        current(|running| running.call.size.get()) / WASM_PAGE as usize
    }

    pub fn grow(pages: usize) -> usize {
        let before = size();
        let pages = u32::try_from(pages).ok();
        let grown = pages
            .is_some_and(|pages| current(|running| (running.host().grow)(running.call, pages)));
        if grown { before } else { usize::MAX }
    }

    pub fn heap_base() -> u32 {
        current(|running| running.call.heap_base)
    }
}

/// The host's filter of log messages.
pub(crate) fn max_level() -> u32 {
    current(|running| (running.host().max_level)(running.call))
}

/// Hands a log message to the host.
pub(crate) fn log(level: u32, target: &[u8], message: &[u8]) {
    current(|running| {
        (running.host().log)(running.call, level, Text::new(target), Text::new(message));
    });
}

/// The input that the host keeps.
#[must_use]
pub fn kept_input<'a>() -> &'a [u8] {
    // SAFETY: the host leaves it alone until the call ends.
    current(|running| unsafe { (running.host().input)(running.call).bytes() })
}

/// A new block of the host's allocator; null where it refuses.
pub(crate) fn malloc(size: usize) -> *mut u8 {
    current(|running| {
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        match (running.host().allocate)(running.call, size) {
            0 => ptr::null_mut(),
            // SAFETY: the host returns places in memory only.
            address => unsafe { running.call.base.add(address as usize) },
        }
    })
}

/// Gives a block of [`malloc`] back.
pub(crate) fn free(block: *mut u8) {
    current(|running| {
        if let Some(offset) = running.offset(block) {
            (running.host().free)(running.call, offset as u32);
        }
    });
}

/// The library's allocator: the heap of the call that runs on the thread, else the process's.
///
/// A call that finds its memory full goes on with blocks of the process, because an
/// allocator must not unwind, and traps when its function returns.
pub struct Allocator;

impl Allocator {
    fn running<'a>() -> Option<&'a Running<'a>> {
        // SAFETY: null or that of a `run_with` further up on this thread's stack.
        unsafe { CURRENT.get().as_ref() }
    }

    /// The call in whose memory a block lies.
    fn owner<'a>(block: *const u8) -> Option<&'a Running<'a>> {
        Self::running().filter(|running| running.offset(block).is_some())
    }

    /// A block of the call's heap, or of the process where there is none.
    fn give(
        heap: impl FnOnce(&dyn GlobalAlloc) -> *mut u8,
        system: impl FnOnce() -> *mut u8,
    ) -> *mut u8 {
        if let Some(running) = Self::running() {
            let block = heap(running.heap);
            if !block.is_null() {
                return block;
            }
            running.exhausted.set(true);
        }
        system()
    }
}

// SAFETY: both allocators behind it keep the contract, and a block goes back to the one
// that it came from: those in the memory of the running call to the call's heap. No block
// of a call is used after it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        Self::give(|heap| unsafe { heap.alloc(layout) }, || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::give(
            // SAFETY: promised by the caller.
            |heap| unsafe { heap.alloc_zeroed(layout) },
            // SAFETY: promised by the caller.
            || unsafe { System.alloc_zeroed(layout) },
        )
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match Self::owner(block) {
            // SAFETY: promised by the caller; it is a block of this heap.
            Some(running) => unsafe { running.heap.dealloc(block, layout) },
            // SAFETY: promised by the caller; it is a block of no heap of a call.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(running) = Self::owner(block) else {
            // SAFETY: promised by the caller; it is a block of no heap of a call.
            return unsafe { System.realloc(block, layout, size) };
        };
        // SAFETY: promised by the caller; it is a block of this heap.
        let larger = unsafe { running.heap.realloc(block, layout, size) };
        if !larger.is_null() {
            return larger;
        }
        running.exhausted.set(true);
        // SAFETY: the caller promises a size that fits the alignment; both blocks have the
        // smaller of the two sizes, and the old one is given back to its heap.
        unsafe {
            let new = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                running.heap.dealloc(block, layout);
            }
            new
        }
    }
}
