//! The same guests compiled for the host: what stands there for the linear
//! memory, the imports and the traps of a module.
//!
//! The linear memory lies somewhere in the host; its addresses are offsets, and
//! [`memory`](crate::memory) checks each one. Everything else is an ordinary
//! program: what a guest allocates comes from the process's allocator, and a
//! function may answer with bytes of its own. A trap unwinds to [`Call::run`].

use alloc::{string::String, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    ops::Range,
    ptr,
};
use std::{any::Any, boxed::Box, panic, thread::LocalKey};

#[doc(hidden)]
pub use std::thread_local;

use crate::WASM_PAGE;

/// A function behind an export, by what the export takes and returns.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// `(i32, i32) -> i64`: borrows its input from memory, has an output.
    Packed(fn(&[u8]) -> Output),
    /// `(i32, i32) -> i64`: may write to its input, and answers with a part of it or
    /// with other bytes.
    InPlace(fn(&mut [u8]) -> &[u8]),
    /// `() -> ()`: may ask the host for its input.
    Unit(fn()),
    /// `() -> i64`: may ask the host for its input.
    Number(fn() -> u64),
    /// `(i32, i32) -> ()`: takes over a block of the heap with its input.
    Block(fn(&[u8])),
    /// `(i32, i32) -> i64`: takes over a block of the heap with its input.
    Answer(fn(&[u8]) -> u64),
    /// `(i32) -> i32`: gives such a block.
    Alloc,
}

/// An export of a guest.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name.
    pub name: &'static str,
    /// What it does, or why a host cannot have it.
    pub body: Result<Body, &'static str>,
}

/// What a function returns.
#[derive(Debug, PartialEq, Eq)]
pub enum Output {
    /// Bytes that are still to be placed in linear memory; none for no output.
    Bytes(Vec<u8>),
    /// A place in linear memory that nobody vouches for.
    Place {
        /// Where it starts.
        pointer: u32,
        /// Its size in bytes.
        length: u32,
    },
}

impl Output {
    /// No output at all.
    pub const EMPTY: Self = Self::Bytes(Vec::new());

    /// A place in memory that nobody vouches for, for tests of the host.
    pub const fn unchecked(pointer: u32, length: u32) -> Self {
        Self::Place { pointer, length }
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// Why a call stopped.
#[derive(Debug)]
pub enum Trap {
    /// `unreachable` would have been executed.
    Unreachable,
    /// A panic, which is `unreachable` in a module, with its message.
    Panic(String),
    /// An address outside linear memory.
    MemoryOutOfBounds,
    /// A write to the input by its address, or a read where the function may write to
    /// it: it is borrowed during a call.
    TouchesInput,
    /// An import that no host has was called.
    MissingImport {
        /// Module part of its name.
        module: &'static str,
        /// Field part of its name.
        name: &'static str,
    },
    /// A part of the guest that hosts do not have was called.
    Absent {
        /// The part.
        name: &'static str,
        /// Why they do not.
        reason: &'static str,
    },
}

/// Stops the call.
#[cold]
pub fn stop(trap: Trap) -> ! {
    // Unlike a panic, it says nothing on the terminal.
    panic::resume_unwind(Box::new(trap))
}

/// Calls a part of the guest that hosts do not have.
#[cold]
pub fn absent(name: &'static str, reason: &'static str) -> ! {
    stop(Trap::Absent { name, reason })
}

/// Calls an import that no host has.
#[cold]
pub fn missing(name: &'static str) -> ! {
    stop(Trap::MissingImport { module: "env", name })
}

/// What a guest asks of its host during a call.
pub trait Host {
    /// Makes linear memory larger by so many pages and returns its new size in
    /// bytes; nothing when that is refused.
    fn grow(&self, pages: u32) -> Option<usize>;

    /// The host's filter of log messages.
    fn max_level(&self) -> u32;

    /// Takes a log message.
    fn log(&self, level: u32, target: &[u8], message: &[u8]);

    /// The input that it keeps for guests that ask for it.
    fn input(&self) -> &[u8];
}

/// A linear memory and a host, for one call.
pub struct Call<'a> {
    base: *mut u8,
    size: Cell<usize>,
    heap_base: u32,
    /// Borrowed by the function while it runs: not to be written by address.
    input: Range<usize>,
    /// Borrowed so that the function may write to it: not to be read by address either.
    writable: Range<usize>,
    host: &'a dyn Host,
}

thread_local! {
    /// The call that runs on this thread; null where none does.
    static CURRENT: Cell<*const Call<'static>> = const { Cell::new(ptr::null()) };
}

/// Ends a call's being the current one, however it ends.
struct Leave(*const Call<'static>);

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl<'a> Call<'a> {
    /// A call on a memory.
    ///
    /// # Safety
    ///
    /// Until the value is dropped, `size` bytes at `base` must be readable,
    /// writable and initialised, and nobody else may access them. The same goes
    /// for as many bytes as `host` says after it made the memory larger.
    pub unsafe fn new(base: *mut u8, size: usize, heap_base: u32, host: &'a dyn Host) -> Self {
        Self { base, size: Cell::new(size), heap_base, input: 0..0, writable: 0..0, host }
    }

    /// Calls a function with the input at a place in memory.
    ///
    /// # Errors
    ///
    /// When the function traps, or the input does not lie in memory.
    pub fn run<T>(
        mut self,
        body: impl FnOnce(&[u8]) -> T,
        pointer: u32,
        length: u32,
    ) -> Result<T, Trap> {
        self.input = self.place(pointer, length)?;
        let input: &[u8] = if length == 0 {
            &[]
        } else {
            // SAFETY: `place` found it in memory; `new`'s caller promised readable,
            // initialised bytes that nobody else accesses; `write` below leaves this
            // range alone.
            unsafe { core::slice::from_raw_parts(self.base.add(self.input.start), length as usize) }
        };
        self.enter(|| body(input))
    }

    /// Calls a function that may write to the input at a place in memory.
    ///
    /// # Errors
    ///
    /// As those of [`run`](Self::run).
    pub fn run_in_place(
        mut self,
        body: fn(&mut [u8]) -> &[u8],
        pointer: u32,
        length: u32,
    ) -> Result<Output, Trap> {
        self.input = self.place(pointer, length)?;
        self.writable = self.input.clone();
        let input = self.input.clone();
        let block: &mut [u8] = if length == 0 {
            &mut []
        } else {
            // SAFETY: as in `run`, and the bytes are writable; `read` and `write` below
            // leave this range alone.
            unsafe { core::slice::from_raw_parts_mut(self.base.add(input.start), length as usize) }
        };
        let start = block.as_ptr() as usize;
        self.enter(|| {
            let output = body(block);
            let offset = (output.as_ptr() as usize).wrapping_sub(start);
            if offset.saturating_add(output.len()) <= input.len() {
                let pointer = (input.start + offset) as u32;
                Output::Place { pointer, length: output.len() as u32 }
            } else {
                Output::Bytes(output.to_vec())
            }
        })
    }

    /// A place in memory as a range of offsets; an empty one may have any pointer.
    fn place(&self, pointer: u32, length: u32) -> Result<Range<usize>, Trap> {
        let start = pointer as usize;
        let end = start + length as usize;
        if length == 0 {
            return Ok(0..0);
        }
        if end <= self.size.get() { Ok(start..end) } else { Err(Trap::MemoryOutOfBounds) }
    }

    /// Runs as the thread's current call.
    fn enter<T>(self, body: impl FnOnce() -> T) -> Result<T, Trap> {
        let current = ptr::from_ref(&self).cast::<Call<'static>>();
        let _leave = Leave(CURRENT.replace(current));
        // What the function leaves half done is linear memory, which the host
        // makes clean after every call.
        panic::catch_unwind(panic::AssertUnwindSafe(body)).map_err(trap)
    }
}

/// The trap in what was unwound with.
fn trap(payload: Box<dyn Any + Send>) -> Trap {
    match payload.downcast::<Trap>() {
        Ok(trap) => *trap,
        Err(payload) => Trap::Panic(match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or_default().into(),
        }),
    }
}

/// Asks the call that runs on this thread.
#[inline]
fn current<T>(ask: impl FnOnce(&Call<'_>) -> T) -> T {
    let call = CURRENT.get();
    assert!(!call.is_null(), "guests' functions are called through `Call::run` only");
    // SAFETY: not null, so it is the `self` of an `enter` further up on this
    // thread's stack, whose `Leave` takes it away before it goes.
    ask(unsafe { &*call })
}

/// Addresses of linear memory; the module's counterpart has no checks because
/// the executor makes them.
pub(crate) mod memory {
    use super::{Trap, WASM_PAGE, current, stop};

    #[inline]
    pub fn read(address: u32) -> u8 {
        current(|call| {
            let address = address as usize;
            if address >= call.size.get() {
                stop(Trap::MemoryOutOfBounds);
            }
            if call.writable.contains(&address) {
                stop(Trap::TouchesInput);
            }
            // SAFETY: in bounds of the memory that `Call::new` was given, and not part
            // of a range that is borrowed to be written.
            unsafe { call.base.add(address).read_volatile() }
        })
    }

    pub fn read_word(address: u32) -> u32 {
        let byte = |offset| u32::from(read(address.saturating_add(offset)));
        byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24
    }

    #[inline]
    pub fn write(address: u32, value: u8) {
        current(|call| {
            let address = address as usize;
            if address >= call.size.get() {
                stop(Trap::MemoryOutOfBounds);
            }
            if call.input.contains(&address) {
                stop(Trap::TouchesInput);
            }
            // SAFETY: in bounds of the memory that `Call::new` was given, and
            // not part of the only range that is borrowed.
            unsafe { call.base.add(address).write_volatile(value) }
        });
    }

    pub fn size() -> usize {
        current(|call| call.size.get()) / WASM_PAGE as usize
    }

    pub fn grow(pages: usize) -> usize {
        let before = size();
        let grown = u32::try_from(pages).ok().and_then(|pages| {
            current(|call| call.host.grow(pages).map(|size| call.size.set(size)))
        });
        grown.map_or(usize::MAX, |()| before)
    }

    pub fn heap_base() -> u32 {
        current(|call| call.heap_base)
    }
}

/// The host's filter of log messages.
pub(crate) fn max_level() -> u32 {
    current(|call| call.host.max_level())
}

/// Hands a log message to the host.
pub(crate) fn log(level: u32, target: &[u8], message: &[u8]) {
    current(|call| call.host.log(level, target, message));
}

/// A copy of the input that the host keeps.
pub fn input() -> Vec<u8> {
    current(|call| call.host.input().to_vec())
}

/// A value of a thread, made when it is first asked for.
pub struct Kept<T: 'static>(&'static LocalKey<RefCell<T>>);

impl<T> Kept<T> {
    /// The value under a key.
    #[must_use]
    pub const fn new(key: &'static LocalKey<RefCell<T>>) -> Self {
        Self(key)
    }

    /// Lends the value; panics where it is lent already.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        self.0.with_borrow_mut(body)
    }
}
