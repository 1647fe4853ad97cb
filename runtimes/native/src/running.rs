//! A live memory with the host's side, and calls on it: all unsafe code of this
//! crate.

use crate::engine::ID;
use crate::module::Shared;
use guest_support::native::{self, Body, Call, Host, Output};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;
use touchstone_executor::abi::Live;
use touchstone_executor::driver::{Disposable, Resident};
use touchstone_executor::guest::MemoryLimits;
use touchstone_executor::heap::{HeapError, WASM_PAGE};
use touchstone_executor::host::{HostFunction, HostState};
use touchstone_executor::memory::{Memory, Restorer};
use touchstone_executor::{Error, Result, Signature, Trap, TrapKind, Value};

const FOREIGN: Error = Error::Misuse("the export handle is of another module");

/// What there is of an instance without a runtime.
pub(crate) struct Running {
    memory: Memory,
    host: HostState,
    shared: Arc<Shared>,
}

impl Disposable for Running {
    type Shared = Shared;
    type Kept = HostState;

    /// A new memory with its clean content.
    fn new(shared: &Arc<Shared>, kept: Option<HostState>) -> Result<Self> {
        let reserved = shared.limits.largest() as usize * WASM_PAGE;
        let memory = Memory::new(Some(&shared.plan), shared.plan.size(), reserved)?;
        let mut host = kept.unwrap_or_else(|| shared.new_host());
        host.reset();
        Ok(Self { memory, host, shared: Arc::clone(shared) })
    }

    fn into_kept(self) -> HostState {
        self.host
    }
}

impl Resident for Running {
    type Shared = Shared;
    type Live = Self;

    fn new(shared: &Arc<Shared>) -> Result<Self> {
        Disposable::new(shared, None)
    }

    fn live(&mut self) -> &mut Self {
        self
    }

    fn restorer(&mut self) -> Option<&mut Restorer> {
        self.memory.restorer()
    }

    /// A memory that has grown is replaced, as everywhere.
    fn reset(&mut self) -> Result<bool> {
        if self.memory.accessible() != self.shared.plan.size() {
            return Ok(false);
        }
        self.memory.reset()?;
        self.host.reset();
        Ok(true)
    }
}

impl Running {
    fn body(&self, index: u32) -> Result<Body> {
        match self.shared.bodies.get(index as usize) {
            Some(Ok(body)) => Ok(*body),
            _ => Err(FOREIGN),
        }
    }

    /// Calls a function with the input at a place in memory.
    fn call<T>(
        &mut self,
        body: impl FnOnce(&[u8]) -> T,
        pointer: u32,
        length: u32,
    ) -> Result<Result<T, Trap>> {
        self.enter(|call| call.run(body, pointer, length))
    }

    /// Makes a call on the memory, within the deadline.
    fn enter<T>(
        &mut self,
        run: impl FnOnce(Call<'_>) -> Result<T, native::Trap>,
    ) -> Result<Result<T, Trap>> {
        let started = self.shared.deadline.map(|deadline| (Instant::now(), deadline));
        let (base, size) = (self.memory.base(), self.memory.accessible());
        let hosting = Hosting {
            memory: RefCell::new(&mut self.memory),
            host: &self.host,
            limits: self.shared.limits,
        };
        // SAFETY: the first `size` bytes at `base` are readable, writable and
        // initialised; the mapping is borrowed by `hosting` until the call is
        // over, so that nobody else accesses them; it never moves, and
        // `Hosting::grow` only ever makes more of it accessible.
        let call = unsafe { Call::new(base, size, self.shared.heap_base, &hosting) };
        let ended = run(call);
        if let Some((started, deadline)) = started
            && started.elapsed() >= deadline
        {
            return Ok(Err(TrapKind::DeadlineExceeded.into()));
        }
        match ended {
            Ok(value) => Ok(Ok(value)),
            Err(stopped) => translate(stopped).map(Err),
        }
    }

    /// Where an output is, after it was put where the module's own code would have
    /// put it: into a block of the host's allocator.
    fn place(&mut self, output: Output) -> Result<u64, Trap> {
        let bytes = match output {
            Output::Place { pointer, length } => return Ok(pack(pointer, length)),
            Output::Bytes(bytes) if bytes.is_empty() => return Ok(0),
            Output::Bytes(bytes) => bytes,
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let pointer = self.allocate(length)?;
        self.memory.bytes_mut()[pointer as usize..][..bytes.len()].copy_from_slice(&bytes);
        Ok(pack(pointer, length))
    }

    /// A block of the host's allocator, all of which lies in memory.
    fn allocate(&mut self, length: u32) -> Result<u32, Trap> {
        loop {
            match self.host.malloc(self.memory.bytes_mut(), length) {
                Err(HeapError::NeedsMemory { pages }) if self.grow_memory(pages) => {}
                ended => return ended.map_err(|error| HostFunction::Malloc.refuse(error)),
            }
        }
    }

    /// Calls a function that takes over a block of [`Self::allocate`].
    fn give<T>(
        &mut self,
        body: fn(&[u8]) -> T,
        pointer: u32,
        length: u32,
    ) -> Result<Result<T, Trap>> {
        let ended = self.call(body, pointer, length)?;
        Ok(ended.and_then(|answer| {
            self.host.free(self.memory.bytes_mut(), pointer)?;
            Ok(answer)
        }))
    }
}

/// What the guest's code can ask for while it runs.
struct Hosting<'a> {
    memory: RefCell<&'a mut Memory>,
    host: &'a HostState,
    limits: MemoryLimits,
}

impl Host for Hosting<'_> {
    fn grow(&self, pages: u32) -> Option<usize> {
        grow(&mut self.memory.borrow_mut(), self.limits, pages)
    }

    fn max_level(&self) -> u32 {
        self.host.max_log_level()
    }

    fn log(&self, level: u32, target: &[u8], message: &[u8]) {
        self.host.log_texts(level, target, message);
    }

    fn input(&self) -> &[u8] {
        self.host.input_bytes()
    }
}

/// Grows a memory within its limits and gives its new size in bytes.
fn grow(memory: &mut Memory, limits: MemoryLimits, pages: u32) -> Option<usize> {
    let size = memory.accessible() + pages as usize * WASM_PAGE;
    (size <= limits.largest() as usize * WASM_PAGE && memory.grow(size).is_ok()).then_some(size)
}

const fn pack(pointer: u32, length: u32) -> u64 {
    (length as u64) << 32 | pointer as u64
}

/// How native code stopped, in the words of all backends.
fn translate(stopped: native::Trap) -> Result<Trap> {
    Ok(match stopped {
        native::Trap::Unreachable => TrapKind::Unreachable.into(),
        native::Trap::Panic(message) => Trap::with_detail(TrapKind::Unreachable, message),
        native::Trap::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds.into(),
        native::Trap::MissingImport { module, name } => {
            TrapKind::MissingImport { module: module.to_owned(), name: name.to_owned() }.into()
        }
        native::Trap::TouchesInput => Trap::with_detail(
            TrapKind::Other,
            "the guest used the address of its own input, which native code borrows during a call",
        ),
        native::Trap::Absent { name, reason } => {
            return Err(Error::ExportUnsupported {
                engine: ID,
                name: name.to_owned(),
                reason: reason.to_owned(),
            });
        }
    })
}

impl Live for Running {
    fn memory(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        grow(&mut self.memory, self.shared.limits, pages).is_some()
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        (self.memory.bytes_mut(), &mut self.host)
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let ended = match self.body(index)? {
            Body::Packed(body) => self.call(body, pointer, length)?,
            Body::InPlace(body) => self.enter(|call| call.run_in_place(body, pointer, length))?,
            _ => return Err(FOREIGN),
        };
        Ok(ended.and_then(|output| self.place(output)))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        // The convention has checked the numbers against the export's signature.
        Ok(match (self.body(index)?, params, results) {
            (Body::Unit(body), [], []) => self.call(|_| body(), 0, 0)?,
            (Body::Number(body), [], [result]) => {
                self.call(|_| body(), 0, 0)?.map(|number| *result = Value::I64(number as i64))
            }
            (Body::Block(body), [Value::I32(pointer), Value::I32(length)], []) => {
                self.give(body, *pointer as u32, *length as u32)?
            }
            (Body::Answer(body), [Value::I32(pointer), Value::I32(length)], [result]) => self
                .give(body, *pointer as u32, *length as u32)?
                .map(|number| *result = Value::I64(number as i64)),
            (Body::Alloc, [Value::I32(length)], [result]) => {
                self.allocate(*length as u32).map(|pointer| *result = Value::I32(pointer as i32))
            }
            (
                Body::Packed(_) | Body::InPlace(_),
                [Value::I32(pointer), Value::I32(length)],
                [result],
            ) => self
                .call_substrate(index, *pointer as u32, *length as u32)?
                .map(|packed| *result = Value::I64(packed as i64)),
            _ => return Err(FOREIGN),
        })
    }

    fn signature(&self, index: u32) -> Option<&Signature> {
        self.shared.exports.signature(index)
    }
}
