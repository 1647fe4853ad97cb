//! The host functions that the calling conventions need. Every other import becomes a stub
//! that traps with the import's name.
//!
//! A host function whose system call writes to the guest's memory (`read(2)`, `recv(2)`) must
//! call [`memory::writable`](crate::memory::writable) first. Otherwise a write to a page of a
//! tracked memory that was not written before fails with `EFAULT` or ends early.

mod answer;
mod clock;

pub use answer::{Answer, Parameters, parameters};
pub use clock::Clock;

use crate::ValueType::{I32, I64};
use crate::heap::{Heap, HeapError};
use crate::outcome::{Trap, TrapKind};
use crate::storage::{self, Storage};
use crate::wasi;
use crate::{Signature, ValueType};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use touchstone_guest::imports;

/// Takes a guest's log line: level (0 error … 4 trace), target, message.
pub type LogSink = dyn Fn(u32, &str, &str) + Send + Sync;

/// A standard stream of WASI that guests write to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Takes a copy of what a guest writes to a standard stream, in any convention and also in a start
/// function.
pub type StreamSink = dyn Fn(Stream, &[u8]) + Send + Sync;

/// A host function: of the import module `env`, or of WASI preview 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostFunction {
    /// `(size) -> pointer`: the host's allocator.
    Malloc,
    /// `(pointer)`: returns memory to the host's allocator.
    Free,
    /// `() -> level`: highest level that is logged, 0 off … 5 trace.
    MaxLogLevel,
    /// `(level, target, message)`: both texts as packed pointer and length.
    Log,
    /// `() -> length` of the input that the host keeps.
    InputLength,
    /// `(pointer)`: copies the input there.
    Input,
    /// A function of WASI preview 1.
    Wasi(wasi::Function),
    /// A function of the storage.
    Storage(storage::Function),
}

impl HostFunction {
    /// Those of the import module `env` that need nothing in the configuration.
    pub const OWN: [Self; 6] =
        [Self::Malloc, Self::Free, Self::MaxLogLevel, Self::Log, Self::InputLength, Self::Input];

    /// The import's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malloc => imports::MALLOC,
            Self::Free => imports::FREE,
            Self::MaxLogLevel => "ext_logging_max_level_version_1",
            Self::Log => "ext_logging_log_version_1",
            Self::InputLength => "input_len",
            Self::Input => "input",
            Self::Wasi(function) => function.name(),
            Self::Storage(function) => function.name(),
        }
    }

    /// The module that it is imported from.
    #[must_use]
    pub const fn module(self) -> &'static str {
        match self {
            Self::Wasi(_) => wasi::MODULE,
            _ => "env",
        }
    }

    /// The import's type.
    #[must_use]
    pub fn signature(self) -> Signature {
        let (params, results): (&[ValueType], &[ValueType]) = match self {
            Self::Malloc => (&[I32], &[I32]),
            Self::Free => (&[I32], &[]),
            Self::MaxLogLevel => (&[], &[I32]),
            Self::Log => (&[I32, I64, I64], &[]),
            Self::InputLength => (&[], &[I64]),
            Self::Input => (&[I64], &[]),
            Self::Wasi(function) => return function.signature(),
            Self::Storage(function) => return function.signature(),
        };
        Signature::new(params, results)
    }

    /// The host function of an import, if name and type fit. An import of the right name
    /// with another type gets a stub, like an unknown one.
    #[must_use]
    pub fn find(module: &str, name: &str, signature: &Signature) -> Option<Self> {
        let named = |function: &Self| function.module() == module && function.name() == name;
        let found = match module {
            wasi::MODULE => wasi::Function::named(name).map(Self::Wasi),
            _ => {
                let stored = || storage::Function::named(name).map(Self::Storage);
                Self::OWN.into_iter().find(named).or_else(|| stored().filter(named))
            }
        };
        found.filter(|function| function.signature() == *signature)
    }

    /// The trap when the memory cannot be grown for the answer.
    #[must_use]
    pub fn full(self, pages: u32) -> Trap {
        self.refuse(HeapError::NeedsMemory { pages })
    }

    /// The trap for refused arguments.
    #[must_use]
    pub fn refuse(self, reason: impl std::fmt::Display) -> Trap {
        TrapKind::HostFunction { name: self.name(), reason: reason.to_string() }.into()
    }
}

/// The result of the embedder's code, which must not unwind through a runtime; `None` if it panics.
fn unless_it_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    // What was thrown may panic again when it is dropped.
    catch_unwind(AssertUnwindSafe(work)).map_err(std::mem::forget).ok()
}

/// Bytes of the input's buffer that are kept from call to call.
const KEPT_INPUT: usize = 1 << 20;
/// Bytes of a text that are logged at most.
const LONGEST_TEXT: usize = 64 << 10;

/// The log of a guest: where its lines go, up to which level.
#[derive(Clone)]
pub(crate) struct Log {
    max_level: u32,
    sink: Option<Arc<LogSink>>,
    streams: Option<Arc<StreamSink>>,
}

impl Log {
    /// `true` if a message is logged. Levels of messages count from 0 (error), the highest level
    /// that is logged counts from 1, because 0 there means off.
    pub(crate) fn logs(&self, level: u32) -> bool {
        self.sink.is_some() && level < self.max_level
    }

    /// Copies what is written to a stream. A panic of the sink is caught and loses the bytes.
    pub(crate) fn copy(&self, stream: Stream, bytes: &[u8]) {
        if let Some(sink) = &self.streams {
            let _ = unless_it_panics(|| sink(stream, bytes));
        }
    }

    /// Logs the first 64 KiB of texts. A panic of the sink is caught and loses the message, because
    /// it must not unwind through a runtime.
    pub(crate) fn texts(&self, level: u32, target: &[u8], message: &[u8]) {
        if let Some(sink) = &self.sink
            && self.logs(level)
        {
            let [target, message] = [target, message]
                .map(|text| String::from_utf8_lossy(&text[..text.len().min(LONGEST_TEXT)]));
            // A panic loses the line.
            let _ = unless_it_panics(|| sink(level, &target, &message));
        }
    }
}

/// State of the host for one instance, without its memory.
pub struct HostState {
    heap: Heap,
    heap_base: Option<u32>,
    input: Vec<u8>,
    log: Log,
    settings: Option<Arc<wasi::Settings>>,
    /// Not a part of the instance: no reset changes it.
    storage: Option<Arc<dyn Storage>>,
    /// Bytes at the end of the memory that can only be read.
    shared: usize,
    /// Made by the first call of a WASI function.
    wasi: Option<Box<wasi::State>>,
    extension: Option<Box<dyn Any + Send>>,
}

/// The host's state of a clean instance, whose start function may have used host functions.
pub struct CleanHost {
    heap: Heap,
    wasi: Option<Box<wasi::State>>,
}

impl HostState {
    /// The state of a clean instance. Without a heap base, every allocation is refused,
    /// because the host cannot know which memory is free.
    #[must_use]
    pub fn new(heap_base: Option<u32>, config: &crate::Config) -> Self {
        Self {
            heap: Heap::new(heap_base.unwrap_or(u32::MAX)),
            heap_base,
            input: Vec::new(),
            log: Log {
                max_level: config.max_log_level,
                sink: config.log.clone(),
                streams: config.streams.clone(),
            },
            settings: config.wasi.clone(),
            storage: config.storage.clone(),
            shared: config.region.as_ref().map_or(0, |region| region.length()),
            wasi: None,
            extension: None,
        }
    }

    /// State that a backend keeps for this instance, made when it is first asked for. A reset
    /// drops it.
    pub fn extension<T: Any + Send>(&mut self, make: impl FnOnce(&Self) -> T) -> &mut T {
        if !self.extension.as_ref().is_some_and(|kept| kept.is::<T>()) {
            self.extension = Some(Box::new(make(self)));
        }
        let kept = self.extension.as_mut().and_then(|kept| kept.downcast_mut());
        kept.expect("a value of this type was put there")
    }

    /// Settings of WASI programs.
    #[must_use]
    pub fn program_settings(&self) -> wasi::Settings {
        self.settings.as_deref().cloned().unwrap_or_default()
    }

    /// Standard error of a program of WASI, for a backend with functions of its own.
    #[must_use]
    pub fn error_lines(&self) -> wasi::Lines {
        wasi::Lines::new(&self.log)
    }

    /// Receiver of what a backend with functions of its own writes to standard output.
    #[must_use]
    pub fn stream_sink(&self) -> Option<Arc<StreamSink>> {
        let log = self.log.clone();
        let is_wanted = log.streams.is_some();
        is_wanted.then(|| Arc::new(move |stream, bytes: &[u8]| log.copy(stream, bytes)) as _)
    }

    /// Resets the state to that of a clean instance, keeping buffers of moderate size.
    pub fn reset(&mut self) {
        self.extension = None;
        self.heap = Heap::new(self.heap_base.unwrap_or(u32::MAX));
        self.drop_input();
        if let Some(wasi) = &mut self.wasi {
            wasi.reset();
        }
    }

    /// Saves the state of a clean instance.
    #[must_use]
    pub fn save(&mut self) -> CleanHost {
        if let Some(wasi) = &mut self.wasi {
            // What the start function logged is not logged again.
            wasi.end_line();
        }
        CleanHost { heap: self.heap.clone(), wasi: self.wasi.clone() }
    }

    /// Resets the state to that of a clean instance.
    #[inline]
    pub fn reset_to(&mut self, clean: &CleanHost) {
        self.heap.clone_from(&clean.heap);
        self.drop_input();
        if self.wasi.is_some() {
            self.reset_wasi_to(clean);
        }
    }

    #[cold]
    fn reset_wasi_to(&mut self, clean: &CleanHost) {
        match (&mut self.wasi, &clean.wasi) {
            (Some(wasi), None) => wasi.reset(),
            (wasi, clean) => wasi.clone_from(clean),
        }
    }

    /// Answers a function of WASI with its error code.
    pub(crate) fn wasi(
        &mut self,
        function: wasi::Function,
        memory: &mut [u8],
        parameters: &Parameters,
    ) -> Result<u32, Trap> {
        let Self { settings, log, input, wasi, .. } = self;
        let state = wasi.get_or_insert_with(|| Box::new(wasi::State::new(settings.clone(), log)));
        wasi::answer(state, input, memory, function, parameters)
    }

    /// Begins a program of WASI: sets its standard input. Of its standard output there is what was
    /// written before, in this use, and no program has given: by a start function, or by calls in
    /// other conventions.
    pub(crate) fn begin_program(&mut self, input: &[u8]) {
        self.set_input(input);
        if let Some(wasi) = &mut self.wasi {
            wasi.begin();
        }
    }

    /// Ends a program of WASI: logs what is left of its standard error, and gives its standard
    /// output.
    pub(crate) fn end_program(&mut self) -> &[u8] {
        match &mut self.wasi {
            Some(wasi) => wasi.end(),
            None => &[],
        }
    }

    /// The allocator.
    pub fn heap(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// Empties the input. An idle instance keeps no large buffer.
    #[inline]
    fn drop_input(&mut self) {
        self.input.clear();
        self.input.shrink_to(KEPT_INPUT);
    }

    /// Stores the input for guests that fetch it.
    pub fn set_input(&mut self, input: &[u8]) {
        self.input.clear();
        self.input.extend_from_slice(input);
    }

    /// The stored input.
    #[must_use]
    pub fn input_bytes(&self) -> &[u8] {
        &self.input
    }

    /// [`HostFunction::Malloc`]. On [`HeapError::NeedsMemory`] the backend
    /// grows the memory and calls again.
    ///
    /// # Errors
    ///
    /// Those of the heap.
    pub fn malloc(&mut self, memory: &mut [u8], size: u32) -> Result<u32, HeapError> {
        let memory = self.own(memory);
        self.heap.allocate(memory, size)
    }

    /// The part of a guest's memory that the host may write: without a shared region.
    #[inline]
    pub(crate) fn own<'a>(&self, memory: &'a mut [u8]) -> &'a mut [u8] {
        let end = self.own_size(memory);
        &mut memory[..end]
    }

    /// Its size: what the host may read, too.
    #[inline]
    fn own_size(&self, memory: &[u8]) -> usize {
        memory.len().saturating_sub(self.shared)
    }

    /// [`HostFunction::Free`].
    ///
    /// # Errors
    ///
    /// When the pointer is not in use.
    pub fn free(&mut self, memory: &mut [u8], pointer: u32) -> Result<(), Trap> {
        let memory = self.own(memory);
        self.heap.free(memory, pointer).map_err(|error| HostFunction::Free.refuse(error))
    }

    /// [`HostFunction::MaxLogLevel`].
    #[must_use]
    pub fn max_log_level(&self) -> u32 {
        self.log.max_level
    }

    /// [`HostFunction::Log`].
    ///
    /// # Errors
    ///
    /// When a text lies outside the memory.
    pub fn log(&self, memory: &[u8], level: u32, target: u64, message: u64) -> Result<(), Trap> {
        if !self.logs(level) {
            return Ok(());
        }
        let memory = &memory[..self.own_size(memory)];
        let text = |packed: u64| {
            let (pointer, length) = (packed as u32 as usize, (packed >> 32) as usize);
            memory
                .get(pointer..pointer + length)
                .ok_or_else(|| HostFunction::Log.refuse("a text lies outside the memory"))
        };
        self.log.texts(level, text(target)?, text(message)?);
        Ok(())
    }

    /// Logs texts that are outside the guest's memory.
    ///
    /// A panic of the sink is caught and loses the message.
    pub fn log_texts(&self, level: u32, target: &[u8], message: &[u8]) {
        self.log.texts(level, target, message);
    }

    /// `true` if a message is logged, by its level from 0 (error).
    #[must_use]
    pub fn logs(&self, level: u32) -> bool {
        self.log.logs(level)
    }

    /// [`HostFunction::InputLength`].
    #[must_use]
    pub fn input_len(&self) -> u64 {
        self.input.len() as u64
    }

    /// [`HostFunction::Input`].
    ///
    /// # Errors
    ///
    /// When the input does not fit there.
    pub fn input(&self, memory: &mut [u8], pointer: u64) -> Result<(), Trap> {
        let memory = self.own(memory);
        usize::try_from(pointer)
            .ok()
            .and_then(|start| memory.get_mut(start..)?.get_mut(..self.input.len()))
            .map(|place| place.copy_from_slice(&self.input))
            .ok_or_else(|| {
                HostFunction::Input.refuse(format!(
                    "{} bytes at {pointer:#x} do not fit the memory",
                    self.input.len()
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_log_sink_ends_there() {
        let config = crate::Config {
            max_log_level: 5,
            log: Some(std::sync::Arc::new(|_, _, message| panic!("{message}"))),
            ..crate::Config::default()
        };
        let host = HostState::new(None, &config);
        host.log_texts(0, b"target", b"a message that the sink does not like");
        assert_eq!(host.log(b"ab", 0, 1 << 32, 1 << 32 | 1), Ok(()));
    }

    #[test]
    fn a_reset_keeps_no_large_input() {
        let mut host = HostState::new(None, &crate::Config::default());
        let clean = host.save();
        let resets: [&dyn Fn(&mut HostState); 2] =
            [&HostState::reset, &|host| host.reset_to(&clean)];
        for reset in resets {
            host.set_input(&vec![1; 4 * KEPT_INPUT]);
            reset(&mut host);
            assert!(host.input_bytes().is_empty());
            assert!(host.input.capacity() <= KEPT_INPUT, "{}", host.input.capacity());
            host.set_input(b"short");
            let capacity = host.input.capacity();
            reset(&mut host);
            assert_eq!(host.input.capacity(), capacity);
        }
    }
}
