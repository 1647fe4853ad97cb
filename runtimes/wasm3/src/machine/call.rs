//! Calling exported functions.

use super::Machine;
use super::trap::RunStop;
use super::value::{bits, value};
use std::ffi::c_void;
use touchstone_executor::{Error, Result, Trap, TrapKind, Value, ValueType};
use wasm3_sys as ffi;

const FOREIGN: Error = Error::Misuse("the export handle is of another module");

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

impl Machine {
    /// Calls an export of Substrate's signature.
    pub(super) fn call_packed(
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

    /// Calls an export whose types are those of the values.
    pub(super) fn call_numbers(
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
        let inputs: Vec<u64> = params.iter().map(|value| bits(*value)).collect();
        let mut outputs = vec![0_u64; results.len()];
        let mut arguments: Vec<_> = inputs.iter().map(|slot| (&raw const *slot).cast()).collect();
        let mut places: Vec<_> =
            outputs.iter_mut().map(|slot| (&raw mut *slot).cast_const().cast()).collect();
        // SAFETY: every slot has 8 bytes, enough for a number or a reference; Wasm3 compares their
        // number with the function's type.
        let ended = unsafe { self.run(function, &mut arguments, &mut places) }?;
        for (result, bits) in results.iter_mut().zip(outputs) {
            *result = value(result.ty(), bits);
        }
        Ok(ended)
    }

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
        let failed = Error::runtime(self.program().engine, "run the guest");
        if let Err(reason) = self.begin() {
            return Err(failed(reason));
        }
        // SAFETY: a function of this machine's module, with arguments and results of its type. No
        // reference is alive (rule 2).
        let ended = unsafe {
            let result = ffi::m3_Call(function.raw, arguments.len() as u32, arguments.as_mut_ptr());
            self.ended(result).and_then(|()| {
                if results.is_empty() {
                    return Ok(());
                }
                let result =
                    ffi::m3_GetResults(function.raw, results.len() as u32, results.as_mut_ptr());
                self.ended(result)
            })
        };
        match ended {
            Ok(()) => Ok(Ok(())),
            Err(RunStop::ByHost) => Ok(Err(self.take_trap())),
            Err(RunStop::Trap(trap)) => Ok(Err(trap)),
            Err(RunStop::Failure(reason)) => {
                self.broken = true;
                Err(failed(reason))
            }
        }
    }

    pub(super) fn take_trap(&mut self) -> Trap {
        self.state().trap.take().unwrap_or_else(|| TrapKind::Other.into())
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
        let failed = Error::runtime(self.program().engine, "find an export");
        // Finding compiles it.
        if let Err(reason) = self.check_stack() {
            return Err(failed(reason));
        }
        let mut found = std::ptr::null_mut();
        let name = &self.shared.program.functions[index];
        // SAFETY: the runtime is alive, the name ends with a zero.
        let result = unsafe { ffi::m3_FindFunction(&raw mut found, self.raw(), name.as_ptr()) };
        self.plain(result).map_err(failed)?;
        let signature = self.shared.guest.exports.signature(index as u32);
        let is_substrate = signature
            .is_some_and(|ty| ty.params == [ValueType::I32; 2] && ty.results == [ValueType::I64]);
        let function = Function { raw: found, is_substrate };
        self.functions[index] = function;
        Ok(function)
    }
}
