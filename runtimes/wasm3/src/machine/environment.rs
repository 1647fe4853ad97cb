//! Wasm3's environment, which outlives runtimes.

use super::trap::text;
use touchstone_executor::{Error, Result};
use wasm3_sys as ffi;

/// Function types and code pages, kept from runtime to runtime.
pub(crate) struct Environment(ffi::IM3Environment);

// SAFETY: Wasm3 as it is built here (no WASI, no log, no profiler) has neither thread-local nor
// writable static data, and nothing else has the pointer.
unsafe impl Send for Environment {}

impl Environment {
    pub(crate) fn new(engine: &'static str) -> Result<Self> {
        // SAFETY: no condition.
        let environment = unsafe { ffi::m3_NewEnvironment() };
        if environment.is_null() {
            return Err(Error::runtime(engine, "make an environment")("out of memory"));
        }
        Ok(Self(environment))
    }

    /// For calls into Wasm3 that end before this value does.
    pub(super) fn raw(&self) -> ffi::IM3Environment {
        self.0
    }

    /// Parses a module and forgets it.
    pub(crate) fn parses(&self, wasm: &[u8]) -> Result<(), String> {
        let module = self.parse(wasm)?;
        // SAFETY: just parsed, and loaded into no runtime.
        unsafe { ffi::m3_FreeModule(module) };
        Ok(())
    }

    /// Loads a module that imports nothing, compiles all of it, and forgets it.
    pub(crate) fn compiles(&self, wasm: &[u8]) -> Result<(), String> {
        const STACK: u32 = 64 << 10;
        let module = self.parse(wasm)?;
        // SAFETY: the environment and the bytes outlive runtime and module. A module that was not
        // loaded is freed here, a loaded one with its runtime, which is freed once.
        unsafe {
            let runtime = ffi::m3_NewRuntime(self.0, STACK, std::ptr::null_mut());
            if runtime.is_null() {
                ffi::m3_FreeModule(module);
                return Err("out of memory".to_owned());
            }
            let mut result = ffi::m3_LoadModule(runtime, module);
            if result.is_null() {
                result = ffi::m3_CompileModule(module);
            } else {
                ffi::m3_FreeModule(module);
            }
            ffi::m3_FreeRuntime(runtime);
            if result.is_null() { Ok(()) } else { Err(text(result)) }
        }
    }

    /// A module, which the caller frees, and which reads the bytes until then.
    pub(super) fn parse(&self, wasm: &[u8]) -> Result<ffi::IM3Module, String> {
        let mut module = std::ptr::null_mut();
        let length = u32::try_from(wasm.len()).map_err(|_| "it is larger than 4 GiB".to_owned())?;
        // SAFETY: the bytes can be read now, and later uses of the module are unsafe.
        unsafe {
            let result = ffi::m3_ParseModule(self.0, &raw mut module, wasm.as_ptr(), length);
            if result.is_null() { Ok(module) } else { Err(text(result)) }
        }
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // SAFETY: made by `m3_NewEnvironment`; every runtime of it is freed: `compiles` and
        // `layout::verify` free theirs, and `Machine` drops its handle first.
        unsafe { ffi::m3_FreeEnvironment(self.0) }
    }
}
