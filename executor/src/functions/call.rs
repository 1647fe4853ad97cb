//! One call of a host function, as its code sees it.

use super::{HostFunction, HostValues, State};
use crate::adapter::HostCaller;
use crate::heap::HeapError;
use crate::host::HostState;
use crate::{Context, ContextKind, Trap, Value, memory};
use std::fmt;

/// A guest's call of a host function: parameters and results, the guest's memory, the instance's
/// state and the context of the host's call.
///
/// A guest cannot be called from within: a call needs the instance, which waits. Another instance
/// can be called.
pub struct HostCall<'a> {
    guest: &'a mut dyn HostCaller,
    function: &'a HostFunction,
    params: &'a [Value],
    results: &'a mut [Value],
}

impl<'a> HostCall<'a> {
    #[inline]
    pub(crate) fn new(
        guest: &'a mut dyn HostCaller,
        function: &'a HostFunction,
        params: &'a [Value],
        results: &'a mut [Value],
    ) -> Self {
        Self { guest, function, params, results }
    }

    /// The parameters.
    #[inline]
    pub fn params(&self) -> &'a [Value] {
        self.params
    }

    /// Sets the results, which are zeros and null references before. A trap if their number or
    /// types are not those of the function's signature.
    pub fn give(&mut self, results: &[Value]) -> Result<(), Trap> {
        if !self.function.signature().gives(results) {
            return Err(self.refuse(format!("its results have other types: {results:?}")));
        }
        if results.iter().any(|value| value.is_opaque()) {
            return Err(self.refuse("a host gives only references that are null"));
        }
        self.results.copy_from_slice(results);
        Ok(())
    }

    /// Sets the results of a closure, whose types are those of the function's signature.
    #[inline]
    pub(super) fn put(&mut self, results: impl HostValues) {
        results.give(self.results);
    }

    /// A trap of this function with a message, which ends the guest's call.
    #[must_use]
    pub fn refuse(&self, reason: impl fmt::Display) -> Trap {
        self.function.refuse(reason)
    }

    /// The guest's memory; empty if it has none. A [`Region`](crate::memory::Region) at its end is
    /// left out.
    pub fn memory(&mut self) -> &mut [u8] {
        self.memory_and_host().0
    }

    /// Bytes of the guest's memory. Fails with a trap if they do not lie in it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use touchstone_executor::*;
    /// let mut functions = Functions::standard();
    /// functions.wrap("host", "log", |call: &mut HostCall<'_>, pointer: u32, length: u32| {
    ///     let copy = call.read(pointer, length)?.to_vec(); // Or `refuse` cannot borrow `call`.
    ///     String::from_utf8(copy).map(|line| print!("{line}")).map_err(|why| call.refuse(why))
    /// });
    /// ```
    pub fn read(&mut self, pointer: u32, length: u32) -> Result<&[u8], Trap> {
        self.bytes(pointer, length).map(|bytes| &*bytes)
    }

    /// Copies bytes into the guest's memory. A trap, without any byte written, if they do not fit
    /// there.
    pub fn write(&mut self, pointer: u32, bytes: &[u8]) -> Result<(), Trap> {
        // A length beyond 32 bits fits no memory.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.bytes(pointer, length)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Bytes of the guest's memory for a system call to write to, such as `read(2)`. Without this
    /// preparation a write of the kernel's to a tracked page fails with `EFAULT` or ends early. A
    /// trap if they do not lie in the memory.
    pub fn writable(&mut self, pointer: u32, length: u32) -> Result<&mut [u8], Trap> {
        self.bytes(pointer, length).map(memory::writable)
    }

    fn bytes(&mut self, pointer: u32, length: u32) -> Result<&mut [u8], Trap> {
        let function = self.function;
        let memory = self.memory();
        let size = memory.len();
        memory
            .get_mut(pointer as usize..)
            .and_then(|rest| rest.get_mut(..length as usize))
            .ok_or_else(|| {
                function.refuse(format!(
                    "{length} bytes at {pointer:#x} lie outside the memory of {size} bytes"
                ))
            })
    }

    /// Grows the guest's memory by pages of 64 KiB; `false` if its limits forbid it.
    #[must_use]
    pub fn grow(&mut self, pages: u32) -> bool {
        self.guest.grow_memory(pages)
    }

    /// Allocates in the guest's memory by the host's allocator, which the conventions of Substrate
    /// have. The memory grows as needed. A trap if the guest has no heap base, or the memory cannot
    /// grow.
    pub fn allocate(&mut self, size: u32) -> Result<u32, Trap> {
        loop {
            let (memory, host) = self.guest.memory_and_host();
            match host.malloc(memory, size) {
                Ok(pointer) => return Ok(pointer),
                Err(HeapError::NeedsMemory { pages }) if self.guest.grow_memory(pages) => {}
                Err(error) => return Err(self.refuse(error)),
            }
        }
    }

    /// Frees a block of [`allocate`](Self::allocate). A trap if the pointer is not in use.
    pub fn free(&mut self, pointer: u32) -> Result<(), Trap> {
        let (memory, host) = self.guest.memory_and_host();
        host.free(memory, pointer).map_err(|error| self.refuse(error))
    }

    /// Allocates a block with these bytes, and gives its packed place: the address in the low half,
    /// the length in the high half. The errors are those of [`allocate`](Self::allocate).
    pub fn place(&mut self, bytes: &[u8]) -> Result<u64, Trap> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let pointer = self.allocate(length)?;
        self.write(pointer, bytes)?;
        Ok(u64::from(length) << 32 | u64::from(pointer))
    }

    /// Bytes at a packed place. A trap if they do not lie in the memory.
    pub fn at(&mut self, packed: u64) -> Result<&[u8], Trap> {
        self.read(packed as u32, (packed >> 32) as u32)
    }

    /// The input of the host's call, where its convention leaves it with the host.
    pub fn input(&mut self) -> &[u8] {
        self.host().input_bytes()
    }

    /// State of the instance. A reset brings back its value of the clean instance.
    pub fn state<T: Clone + Send + Sync + 'static>(&mut self, state: &State<T>) -> &mut T {
        self.host().states.get(state)
    }

    /// State of the instance, and the guest's memory.
    pub fn state_and_memory<T: Clone + Send + Sync + 'static>(
        &mut self,
        state: &State<T>,
    ) -> (&mut T, &mut [u8]) {
        let (memory, host) = self.memory_and_host();
        (host.states.get(state), memory)
    }

    /// The context of the host's call: the value that it passed in [`CallOptions`]. Fails with a
    /// trap if the call has no context, or one of another type. A start function has none.
    ///
    /// [`CallOptions`]: crate::CallOptions
    pub fn context<T: 'static>(&mut self) -> Result<&mut T, Trap> {
        let function = self.function;
        let context = self.host().context().and_then(Context::value);
        context.ok_or_else(|| function.refuse(no_context::<T>()))
    }

    /// Does something with a context that borrows other values. A trap if the call has no context,
    /// or one of another kind.
    pub fn with_context<K: ContextKind, T>(
        &mut self,
        work: impl FnOnce(&mut K::Value<'_>) -> T,
    ) -> Result<T, Trap> {
        let function = self.function;
        let done = self.host().context().and_then(|context| context.with::<K, T>(work));
        done.ok_or_else(|| function.refuse(no_context::<K>()))
    }

    /// Writes a line to the host's log: level 0 (error) to 4 (trace).
    pub fn log(&mut self, level: u32, target: &str, message: &str) {
        self.host().log_texts(level, target.as_bytes(), message.as_bytes());
    }

    /// `true` if a message of this level, from 0 (error), is logged.
    pub fn logs(&mut self, level: u32) -> bool {
        self.host().logs(level)
    }

    #[inline]
    pub(crate) fn host(&mut self) -> &mut HostState {
        self.guest.host()
    }

    /// The memory without a region, and the host's state.
    pub(crate) fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let (memory, host) = self.guest.memory_and_host();
        (host.own(memory), host)
    }
}

fn no_context<T>() -> String {
    format!("the host's call has no context {}", std::any::type_name::<T>())
}
