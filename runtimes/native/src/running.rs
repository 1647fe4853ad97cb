//! A live memory with the host's side, and calls on it.

use crate::module::ModuleData;
use guest_support::native::{Call, Host, Stop, Text};
use std::cell::Cell;
use std::sync::Arc;
use touchstone_executor::adapter::{
    Disposable, EnforcedLimits, HeapError, HostState, Live, Resident,
};
use touchstone_executor::guest::{MemoryLimits, WASM_PAGE, imports};
use touchstone_executor::memory::{Memory, ResetterMut};
use touchstone_executor::{Error, Result, Trap, TrapKind, Value};

/// An instance without a runtime.
pub(crate) struct Running {
    memory: Memory,
    host: HostState,
    shared: Arc<ModuleData>,
}

impl Disposable for Running {
    type Shared = ModuleData;
    type Kept = HostState;

    /// A new memory with its clean content.
    fn new(shared: &Arc<ModuleData>, kept: Option<HostState>) -> Result<Self> {
        let reserved = shared.limits.largest() as usize * WASM_PAGE;
        let memory = Memory::new(Some(&shared.template), shared.template.size(), reserved)?;
        let mut host = kept.unwrap_or_else(|| shared.guest.new_host());
        host.reset();
        Ok(Self { memory, host, shared: Arc::clone(shared) })
    }

    fn into_kept(self) -> HostState {
        self.host
    }
}

impl Resident for Running {
    type Shared = ModuleData;
    type Live = Self;

    fn new(shared: &Arc<ModuleData>) -> Result<Self> {
        Disposable::new(shared, None)
    }

    fn live(&mut self) -> &mut Self {
        self
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.memory.resetter().map(work)
    }

    fn reset(&mut self) -> Result<bool> {
        self.memory.reset()?;
        self.host.reset();
        Ok(true)
    }
}

impl Running {
    /// Calls a function with two numbers, within the deadline.
    fn call(&mut self, index: u32, first: u32, second: u32) -> Result<Result<u64, Trap>> {
        let Some(Ok(entry)) = self.shared.entries.get(index as usize).copied() else {
            return Err(Error::FOREIGN_HANDLE);
        };
        let is_limited = self.shared.guest.config.deadline.is_some();
        let clock = is_limited.then(|| self.host.start_clock());
        let (base, size) = (self.memory.base(), Cell::new(self.memory.accessible()));
        let limits = self.shared.limits;
        let mut hosting =
            Hosting { memory: &mut self.memory, host: &mut self.host, limits, refused: None };
        let call = Call {
            base,
            size,
            heap_base: self.shared.heap_base,
            stopped: Cell::new(false),
            stop: Cell::new(Stop::Unreachable),
            detail: Cell::new(Text::EMPTY),
            host: &HOST,
            context: (&raw mut hosting).cast(),
        };
        // SAFETY: the first `size` bytes at `base` are readable, writable and initialised.
        // The mapping is borrowed by `hosting` until the call is over, and never moves.
        // Meanwhile the functions of `HOST` write to nothing in it but the allocator's
        // headers, which no object of the guest contains.
        let value = unsafe { entry(&call, first, second) };
        let (stopped, stop, detail) = (call.stopped.get(), call.stop.get(), call.detail.get());
        if let Some(trap) = hosting.refused {
            return Ok(Err(trap));
        }
        if let Some(Err(trap)) = clock.map(|clock| clock.check()) {
            return Ok(Err(trap));
        }
        if !stopped {
            return Ok(Ok(value));
        }
        // SAFETY: a constant of the library, or bytes of the memory, which nobody wrote since.
        let detail = String::from_utf8_lossy(unsafe { detail.bytes() });
        Ok(Err(translate(stop, &detail)))
    }
}

/// The host while the guest's code runs.
struct Hosting<'a> {
    memory: &'a mut Memory,
    host: &'a mut HostState,
    limits: MemoryLimits,
    /// The trap of an allocation or release that was refused.
    refused: Option<Trap>,
}

impl Hosting<'_> {
    /// The host of a call.
    #[expect(clippy::mut_from_ref, reason = "it is the call's own, reached by its pointer")]
    fn of(call: &Call) -> &mut Self {
        // SAFETY: `Running::call` put it there and touches it only after the call. A call
        // has one thread, and the functions below do not call each other.
        unsafe { &mut *call.context.cast() }
    }

    fn grow(&mut self, call: &Call, pages: u32) -> bool {
        let grown = grow(self.memory, self.limits, self.host, pages);
        grown.inspect(|size| call.size.set(*size)).is_some()
    }

    /// Ends the call with the first refusal of the allocator.
    fn refuse(&mut self, name: &str, error: HeapError) {
        let (name, reason) = (name.to_owned(), error.to_string());
        self.refused.get_or_insert(TrapKind::HostFunction { name, reason }.into());
    }
}

/// The functions that a guest's code can call.
static HOST: Host = Host { grow: on_grow, allocate, free, max_level, log, input };

extern "C" fn on_grow(call: &Call, pages: u32) -> bool {
    Hosting::of(call).grow(call, pages)
}

extern "C" fn allocate(call: &Call, length: u32) -> u32 {
    let hosting = Hosting::of(call);
    loop {
        match hosting.host.malloc(hosting.memory.own_bytes_mut(), length) {
            Ok(pointer) => return pointer,
            Err(HeapError::NeedsMemory { pages }) if hosting.grow(call, pages) => {}
            Err(error) => {
                hosting.refuse(imports::MALLOC, error);
                return 0;
            }
        }
    }
}

extern "C" fn free(call: &Call, pointer: u32) {
    let hosting = Hosting::of(call);
    if let Err(error) = hosting.host.free(hosting.memory.own_bytes_mut(), pointer) {
        hosting.refuse(imports::FREE, error);
    }
}

extern "C" fn max_level(call: &Call) -> u32 {
    Hosting::of(call).host.max_log_level()
}

extern "C" fn log(call: &Call, level: u32, target: Text, message: Text) {
    // SAFETY: the guest holds both until this returns.
    let (target, message) = unsafe { (target.bytes(), message.bytes()) };
    Hosting::of(call).host.log_texts(level, target, message);
}

extern "C" fn input(call: &Call) -> Text {
    Text::new(Hosting::of(call).host.input_bytes())
}

/// Grows a memory within its limits and those of the call, and gives its new size in bytes.
fn grow(memory: &mut Memory, limits: MemoryLimits, host: &HostState, pages: u32) -> Option<usize> {
    if pages == 0 {
        return Some(memory.accessible());
    }
    let size = memory.accessible() + pages as usize * WASM_PAGE;
    let largest = host.limits().pages.unwrap_or(u32::MAX).min(limits.largest());
    (size <= largest as usize * WASM_PAGE && memory.grow(size).is_ok()).then_some(size)
}

/// The trap that native code stopped with.
fn translate(stop: Stop, detail: &str) -> Trap {
    match stop {
        Stop::Unreachable if detail.is_empty() => TrapKind::Unreachable.into(),
        Stop::Unreachable => Trap::with_detail(TrapKind::Unreachable, detail),
        Stop::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds.into(),
        Stop::MissingImport => {
            TrapKind::MissingImport { module: "env".to_owned(), name: detail.to_owned() }.into()
        }
        Stop::TouchesInput => Trap::with_detail(
            TrapKind::Other,
            "the guest used the address of its own input, which native code borrows during a call",
        ),
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        grow(&mut self.memory, self.shared.limits, &self.host, pages).is_some()
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        (self.memory.own_bytes_mut(), &mut self.host)
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        self.call(index, pointer, length)
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        // The convention has checked the numbers against the export's signature.
        let (first, second) = match params {
            [] => (0, 0),
            [Value::I32(first)] => (*first as u32, 0),
            [Value::I32(first), Value::I32(second)] => (*first as u32, *second as u32),
            _ => return Err(Error::FOREIGN_HANDLE),
        };
        let ended = self.call(index, first, second)?;
        Ok(ended.map(|value| match results {
            [Value::I32(result)] => *result = value as i32,
            [Value::I64(result)] => *result = value as i64,
            _ => {}
        }))
    }

    /// Native code cannot be stopped; a deadline of the configuration is checked after the call.
    fn enforced_limits(&self) -> EnforcedLimits {
        EnforcedLimits { pages: true, ..EnforcedLimits::default() }
    }
}
