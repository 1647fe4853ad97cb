//! The host's state of an instance: allocator, input, log, streams, and the states of its host
//! functions.

use crate::call::{CallOptions, Context, InterruptHandle, Limits};
use crate::functions::States;
use crate::heap::{Heap, HeapError};
use crate::outcome::{Trap, TrapKind};
use crate::wasi::{self, Streams};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// The result of the embedder's code, which must not unwind through a runtime; `None` if it panics.
fn unless_it_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    // What was thrown may panic again when it is dropped.
    catch_unwind(AssertUnwindSafe(work)).map_err(std::mem::forget).ok()
}

/// Bytes of the input's buffer that are kept from call to call.
const KEPT_INPUT: usize = 1 << 20;
/// Bytes of a text that are logged at most.
pub(crate) const LONGEST_TEXT: usize = 64 << 10;

/// The part of a text that is kept.
pub(crate) fn first(text: &[u8]) -> Vec<u8> {
    text[..text.len().min(LONGEST_TEXT)].to_vec()
}

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
            let _ = unless_it_panics(|| sink(level, &target, &message));
        }
    }
}

/// State of the host for one instance, without its memory.
pub struct HostState {
    heap: Heap,
    heap_base: Option<u32>,
    pub(crate) input: Vec<u8>,
    pub(crate) log: Log,
    pub(crate) settings: Option<Arc<wasi::Settings>>,
    /// Bytes at the end of the memory that can only be read.
    shared: usize,
    /// Made by the first use of a standard stream.
    pub(crate) streams: Option<Box<Streams>>,
    pub(crate) states: States,
    extension: Option<Box<dyn Any + Send>>,
    call: RunningCall,
}

/// The options of the running call.
#[derive(Default)]
struct RunningCall {
    /// The deadline of calls that have none of their own.
    default_deadline: Option<Duration>,
    limits: Limits,
    interrupt: Option<InterruptHandle>,
    context: Option<LentContext>,
}

/// A context while its call runs.
struct LentContext(Context<'static>);

// SAFETY: it exists between `HostState::enter` and `leave`, that is, while a call runs. The state
// stays on the thread of the call until then.
unsafe impl Send for LentContext {}

/// The host's state of a clean instance, whose start function may have used host functions.
pub struct CleanHost {
    heap: Heap,
    streams: Option<Box<Streams>>,
    states: States,
}

impl HostState {
    /// The state of a clean instance. Without a heap base, every allocation is refused,
    /// because the host cannot know which memory is free.
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
            shared: config.region.as_ref().map_or(0, |region| region.length()),
            streams: None,
            states: States::default(),
            extension: None,
            call: RunningCall { default_deadline: config.deadline, ..RunningCall::default() },
        }
    }

    /// Where the first allocation of a clean instance lies, as an offset into the memory.
    pub(crate) fn heap_start(&self) -> usize {
        self.heap_base.unwrap_or_default() as usize
    }

    /// Begins a call with options, for backends that do not use
    /// [`adapter::invoke`](crate::adapter::invoke).
    ///
    /// # Safety
    ///
    /// [`leave`](Self::leave) must follow on this thread, before the options' lifetime ends.
    pub unsafe fn enter(&mut self, options: CallOptions<'_>) {
        let CallOptions { context, limits, interrupt } = options;
        // SAFETY: `leave` drops it while the value is lent.
        self.call.context = context.map(|context| LentContext(unsafe { context.unbound() }));
        self.call.limits = limits;
        self.call.interrupt = interrupt;
    }

    /// Ends a call with options.
    pub fn leave(&mut self) {
        let default_deadline = self.call.default_deadline;
        self.call = RunningCall { default_deadline, ..RunningCall::default() };
    }

    /// Hands the running call over to the state of another instance, which makes it again on this
    /// thread.
    pub fn hand_over_call(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.call, &mut other.call);
    }

    pub(crate) fn context(&mut self) -> Option<&mut Context<'static>> {
        self.call.context.as_mut().map(|lent| &mut lent.0)
    }

    /// Limits of the running call. Its deadline is that of the configuration if it has none of its
    /// own.
    #[inline]
    pub fn limits(&self) -> Limits {
        let deadline = self.call.limits.deadline.or(self.call.default_deadline);
        Limits { deadline, ..self.call.limits }
    }

    /// The clock of a call that enters the guest now.
    pub fn start_clock(&self) -> Clock {
        Clock::start(self.limits().deadline, self.call.interrupt.clone())
    }

    /// `true` if the running call can be interrupted.
    #[inline]
    pub fn can_be_interrupted(&self) -> bool {
        self.call.interrupt.is_some()
    }

    /// `true` if the running call has a limit or can be interrupted.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.call.limits != Limits::default() || self.call.interrupt.is_some()
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
    pub fn program_settings(&self) -> wasi::Settings {
        self.settings.as_deref().cloned().unwrap_or_default()
    }

    /// Standard error of a program of WASI, for a backend with functions of its own.
    pub fn error_lines(&self) -> wasi::Lines {
        wasi::Lines::new(&self.log)
    }

    /// Receiver of what a backend with functions of its own writes to standard output.
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
        self.states.clear();
        if let Some(streams) = &mut self.streams {
            streams.reset();
        }
    }

    /// Saves the state of a clean instance.
    #[must_use]
    pub fn save(&mut self) -> CleanHost {
        if let Some(streams) = &mut self.streams {
            // What the start function logged is not logged again.
            streams.end_line();
        }
        let (streams, states) = (self.streams.clone(), self.states.clone());
        CleanHost { heap: self.heap.clone(), streams, states }
    }

    /// Resets the state to that of a clean instance.
    #[inline]
    pub fn reset_to(&mut self, clean: &CleanHost) {
        self.heap.clone_from(&clean.heap);
        self.drop_input();
        if self.streams.is_some() || !self.states.is_empty() {
            self.reset_states_to(clean);
        }
    }

    #[cold]
    fn reset_states_to(&mut self, clean: &CleanHost) {
        self.states.clone_from(&clean.states);
        match (&mut self.streams, &clean.streams) {
            (Some(streams), None) => streams.reset(),
            (streams, clean) => streams.clone_from(clean),
        }
    }

    pub(crate) fn streams(&mut self) -> &mut Streams {
        self.streams.get_or_insert_with(|| Box::new(Streams::new(&self.log)))
    }

    /// Begins a program of WASI: sets its standard input. Of its standard output there is what was
    /// written before, in this use, and no program has given: by a start function, or by calls in
    /// other conventions.
    pub(crate) fn begin_program(&mut self, input: &[u8]) {
        self.set_input(input);
        if let Some(streams) = &mut self.streams {
            streams.begin();
        }
    }

    /// Ends a program of WASI: logs what is left of its standard error, and gives its standard
    /// output.
    pub(crate) fn end_program(&mut self) -> &[u8] {
        match &mut self.streams {
            Some(streams) => streams.end(),
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
    pub fn input_bytes(&self) -> &[u8] {
        &self.input
    }

    /// Allocates in the guest's memory. On [`HeapError::NeedsMemory`] the caller grows the memory
    /// and calls again. The errors are those of the heap.
    pub fn malloc(&mut self, memory: &mut [u8], size: u32) -> Result<u32, HeapError> {
        let memory = self.own(memory);
        self.heap.allocate(memory, size)
    }

    /// The part of a guest's memory that the host may write: without a shared region.
    #[inline]
    pub(crate) fn own<'a>(&self, memory: &'a mut [u8]) -> &'a mut [u8] {
        let end = memory.len().saturating_sub(self.shared);
        &mut memory[..end]
    }

    /// Frees a block of [`malloc`](Self::malloc). Fails when the pointer is not in use.
    pub fn free(&mut self, memory: &mut [u8], pointer: u32) -> Result<(), HeapError> {
        let memory = self.own(memory);
        self.heap.free(memory, pointer)
    }

    /// The highest level that is logged: 0 off … 5 trace.
    pub fn max_log_level(&self) -> u32 {
        self.log.max_level
    }

    /// Logs texts that are outside the guest's memory.
    ///
    /// A panic of the sink is caught and loses the message.
    pub fn log_texts(&self, level: u32, target: &[u8], message: &[u8]) {
        self.log.texts(level, target, message);
    }

    /// `true` if a message is logged, by its level from 0 (error).
    pub fn logs(&self, level: u32) -> bool {
        self.log.logs(level)
    }
}

/// When a guest is to be stopped. The default never stops it.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ends: Option<Instant>,
    interrupt: Option<InterruptHandle>,
}

impl Clock {
    /// The clock of a guest that starts now. Without a handle, and without a deadline or with one
    /// beyond all times that the system can tell, it never stops the guest.
    pub fn start(deadline: Option<Duration>, interrupt: Option<InterruptHandle>) -> Self {
        let ends = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        Self { ends, interrupt }
    }

    /// `true` if the clock may stop the guest.
    #[inline]
    pub fn runs(&self) -> bool {
        self.ends.is_some() || self.interrupt.is_some()
    }

    /// Stops the guest where its time is over or somebody interrupts it. Fails with
    /// [`TrapKind::DeadlineExceeded`] from the deadline on, or with [`TrapKind::Interrupted`].
    #[inline]
    pub fn check(&self) -> Result<(), Trap> {
        match self.ends {
            Some(ends) if Instant::now() >= ends => Err(TrapKind::DeadlineExceeded.into()),
            _ => self.interrupt.as_ref().map_or(Ok(()), InterruptHandle::check),
        }
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

#[cfg(test)]
mod clock_tests {
    use super::Clock;
    use crate::call::InterruptHandle;
    use crate::outcome::TrapKind;
    use std::time::Duration;

    #[test]
    fn a_clock_stops_from_its_deadline_on() {
        let ended = Clock::start(Some(Duration::ZERO), None).check().map_err(|trap| trap.kind);
        assert_eq!(ended, Err(TrapKind::DeadlineExceeded));
        assert!(Clock::start(Some(Duration::from_secs(86_400)), None).check().is_ok());
    }

    #[test]
    fn a_clock_without_a_deadline_never_stops() {
        for deadline in [None, Some(Duration::MAX)] {
            assert!(Clock::start(deadline, None).check().is_ok(), "{deadline:?}");
        }
        assert!(Clock::default().check().is_ok());
    }

    #[test]
    fn a_clock_stops_where_somebody_interrupts() {
        let handle = InterruptHandle::new();
        let clock = Clock::start(None, Some(handle.clone()));
        assert!(clock.check().is_ok());
        handle.interrupt();
        assert_eq!(clock.check().map_err(|trap| trap.kind), Err(TrapKind::Interrupted));
        handle.clear();
        assert!(clock.check().is_ok());
    }
}
