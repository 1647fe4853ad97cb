//! A machine as the calling conventions see it: calls of exported functions, with their limits.

use super::Machine;
use super::host::{bits, bytes, grow, value};
use smallvec::{SmallVec, smallvec};
use std::ffi::c_void;
use touchstone_executor::adapter::{EnforcedLimits, HostState, Live};
use touchstone_executor::{Error, Result, Trap, Value, ValueType};
use wasm3_sys as ffi;

const FOREIGN: Error = Error::FOREIGN_HANDLE;
/// `d_m3MaxSaneTableSize`: entries of a table without a maximum, which Wasm3 keeps as 0.
const LARGEST_TABLE: u32 = 10_000_000;

/// An exported function inside a machine's module.
#[derive(Clone, Copy)]
pub(super) struct Function {
    /// Null until it is found.
    raw: ffi::IM3Function,
    /// `true` if its type is that of Substrate's convention.
    is_substrate: bool,
}

// SAFETY: the pointer is used only by the machine that it comes from, which owns this value.
unsafe impl Send for Function {}

impl Function {
    pub(super) const UNKNOWN: Self = Self { raw: std::ptr::null_mut(), is_substrate: false };
}

impl Live for Machine {
    fn grow_memory(&mut self, pages: u32) -> bool {
        // SAFETY: nothing runs while `self` is borrowed.
        unsafe { grow(self.handle.runtime, self.handle.state, pages) }
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.state().host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        // SAFETY: nothing runs while `self` is borrowed. The state is alive as long as the handle,
        // and lies apart from the memory.
        unsafe { (bytes(self.handle.runtime), &mut (*self.handle.state).host) }
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let function = self.function(index)?;
        if !function.is_substrate {
            return Err(FOREIGN);
        }
        let mut packed = 0_u64;
        let mut arguments = [(&raw const pointer).cast(), (&raw const length).cast()];
        let mut results = [(&raw mut packed).cast_const().cast()];
        // SAFETY: two i32 in, one i64 out, as `is_substrate` says.
        let ended = unsafe { self.run(function, &mut arguments, &mut results) }?;
        Ok(ended.map(|()| packed))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let function = self.function(index)?;
        if params.is_empty() && results.is_empty() {
            // SAFETY: nothing in, nothing out.
            return unsafe { self.run(function, &mut [], &mut []) };
        }
        let inputs: SmallVec<[u64; 4]> = params.iter().map(|value| bits(*value)).collect();
        let mut outputs: SmallVec<[u64; 4]> = smallvec![0; results.len()];
        let mut arguments: SmallVec<[_; 4]> =
            inputs.iter().map(|slot| (&raw const *slot).cast()).collect();
        let mut places: SmallVec<[_; 4]> =
            outputs.iter_mut().map(|slot| (&raw mut *slot).cast_const().cast()).collect();
        // SAFETY: every slot has 8 bytes, enough for a number or a reference; Wasm3 compares their
        // number with the function's type.
        let ended = unsafe { self.run(function, &mut arguments, &mut places) }?;
        for (result, bits) in results.iter_mut().zip(outputs) {
            *result = value(result.ty(), bits);
        }
        Ok(ended)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let deadline = self.shared.guest.config.is_interruptible();
        EnforcedLimits { deadline, fuel: false, pages: true, table_entries: true }
    }

    /// Growth of a memory of Touchstone's passes through the host. A memory of Wasm3's own and
    /// tables are held to a lower maximum, which Wasm3 checks, for the time of the call.
    fn begin_limits(&mut self) -> Result<()> {
        let state = self.state();
        let (largest, entries) = (state.largest(), state.host.limits().table_entries);
        // A lent memory has its size as its maximum.
        let is_own = state.lent.is_none();
        // SAFETY: the runtime is alive and idle, and its module has so many tables.
        unsafe {
            if is_own {
                (*self.handle.runtime).memory.max_pages = largest;
            }
            let Some(entries) = entries else { return Ok(()) };
            let (tables, count) = ((*self.handle.module).tables, (*self.handle.module).num_tables);
            let sizes = (0..count as usize).map(|index| (*tables.add(index)).size);
            if entries == 0 && sizes.min() == Some(0) {
                let remedy = ": Wasm3 takes a maximum of 0 for none, and a table is empty";
                return Err(Error::LimitUnsupported { limit: "table entries", remedy });
            }
            for index in 0..count as usize {
                let most = &mut (*tables.add(index)).max_size;
                self.largest_tables.push(*most);
                let own = if *most == 0 { LARGEST_TABLE } else { *most };
                // A table with entries does not grow beyond one.
                *most = own.min(entries).max(1);
            }
        }
        Ok(())
    }

    fn end_limits(&mut self) {
        if self.state().lent.is_none() {
            let largest = self.program().largest;
            // SAFETY: the runtime is alive and idle.
            unsafe { (*self.handle.runtime).memory.max_pages = largest };
        }
        for (index, most) in self.largest_tables.drain(..).enumerate() {
            // SAFETY: the module has a table for each saved maximum.
            unsafe { (*(*self.handle.module).tables.add(index)).max_size = most };
        }
    }
}

impl Machine {
    /// Runs a function.
    ///
    /// # Safety
    ///
    /// The pointers must lead to arguments, and to writable results, of the function's type.
    unsafe fn run(
        &mut self,
        function: Function,
        arguments: &mut [*const c_void],
        results: &mut [*const c_void],
    ) -> Result<Result<(), Trap>> {
        const ACTION: &str = "run the guest";
        self.begin().map_err(Error::runtime(self.program().engine, ACTION))?;
        // SAFETY: a function of this machine's module, with arguments of its type. No reference is
        // alive (rule 2).
        let result =
            unsafe { ffi::m3_Call(function.raw, arguments.len() as u32, arguments.as_mut_ptr()) };
        let ended = self.ended(result, ACTION)?;
        if ended.is_err() || results.is_empty() {
            return Ok(ended);
        }
        // SAFETY: as above, with results of its type.
        let result =
            unsafe { ffi::m3_GetResults(function.raw, results.len() as u32, results.as_mut_ptr()) };
        self.ended(result, ACTION)
    }

    fn function(&mut self, index: u32) -> Result<Function> {
        match self.functions.get(index as usize) {
            Some(function) if !function.raw.is_null() => Ok(*function),
            Some(_) => self.find_function(index as usize),
            None => Err(FOREIGN),
        }
    }

    #[cold]
    fn find_function(&mut self, index: usize) -> Result<Function> {
        let failed = || Error::runtime(self.program().engine, "find an export");
        // Finding compiles it.
        self.check_stack().map_err(failed())?;
        let mut found = std::ptr::null_mut();
        let name = &self.shared.program.functions[index];
        // SAFETY: the runtime is alive, the name ends with a zero.
        let result = unsafe { ffi::m3_FindFunction(&raw mut found, self.raw(), name.as_ptr()) };
        self.plain(result).map_err(failed())?;
        let signature = self.shared.guest.exports.signature(index as u32);
        let is_substrate = signature
            .is_some_and(|ty| ty.params == [ValueType::I32; 2] && ty.results == [ValueType::I64]);
        let function = Function { raw: found, is_substrate };
        self.functions[index] = function;
        Ok(function)
    }
}
