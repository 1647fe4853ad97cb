//! Loads a compiled guest, and checks whether machine code became executable.

use crate::api::{Ast, Settings, Source};
use crate::rewrite::{Changes, Rewritten};
use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use touchstone_executor::adapter::{CompiledCode, ExecutableMap, MemoryClass};
use touchstone_executor::{CodeFrom, Config, Error, Result, Strategy};
use wasmedge_sys::ffi;
use wasmparser::{Parser, Payload};

/// The optimisation level, which is the library's default.
pub(crate) const LEVEL: ffi::WasmEdge_CompilerOptimizationLevel =
    ffi::WasmEdge_CompilerOptimizationLevel_O3;
/// The compiler's settings in words.
pub(crate) const COMPILER: &str =
    "LLVM, optimisation level 3, for this processor, not interruptible";

/// A guest between `compile` and `load`.
pub(crate) struct Code {
    pub(crate) changes: Changes,
    pub(crate) rewritten: Rewritten,
    /// The module that is loaded, with its machine code if there is any.
    pub(crate) compiled: Arc<CompiledCode>,
}

/// The changes that a strategy and a configuration need.
pub(crate) fn changes(strategy: Strategy, config: &Config) -> Changes {
    let memory_of_ours = MemoryClass::of(strategy).is_own();
    Changes { memory_of_ours, clock: config.is_interruptible() }
}

impl Code {
    /// Loads from memory or from the file.
    pub(crate) fn load(
        &self,
        engine: &'static str,
        settings: &Settings,
        from: CodeFrom,
    ) -> Result<LoadedCode> {
        let file = match from {
            CodeFrom::InProcess => None,
            CodeFrom::Precompiled => Some(self.compiled.staged(engine)?),
        };
        let load = || match file {
            None => Ast::load(settings, Source::Bytes(self.compiled.bytes())),
            Some(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                let path = CString::new(path).map_err(|error| error.to_string())?;
                Ast::load(settings, Source::File(&path))
            }
        };
        let failed = || Error::runtime(engine, "load the module");
        if !has_machine_code(self.compiled.bytes()) {
            // Only code that others map meanwhile could become executable.
            let module = load().map_err(failed())?;
            return Ok(LoadedCode { module: Some(module), executable: 0 });
        }
        // Another runtime may unmap its code while this is loaded, and this code may get its place.
        // Earlier attempts stay loaded, so that the next one gets another place.
        let mut missed = Vec::new();
        loop {
            let loaded = LoadedCode::new(load).map_err(failed())?;
            if loaded.executable > 0 || missed.len() + 1 == LOOKS {
                return Ok(loaded);
            }
            missed.push(loaded);
        }
    }
}

/// Finds the section that WasmEdge's compiler adds.
fn has_machine_code(module: &[u8]) -> bool {
    let mut payloads = Parser::new(0).parse_all(module).filter_map(Result::ok);
    payloads.any(|payload| {
        matches!(payload, Payload::CustomSection(section) if section.name() == "wasmedge")
    })
}

/// Attempts to load a module before its machine code counts as unused.
const LOOKS: usize = 10;

/// A loaded module with the size of its executable code.
pub(crate) struct LoadedCode {
    /// `None` only during the drop.
    module: Option<Ast>,
    /// Bytes of machine code.
    pub(crate) executable: usize,
}

/// Held while modules are loaded and dropped, so that none is dropped during the count of another.
static COMING_AND_GOING: Mutex<()> = Mutex::new(());

impl LoadedCode {
    fn new(load: impl FnOnce() -> Result<Ast, String>) -> Result<Self, String> {
        let _alone = COMING_AND_GOING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ExecutableMap::read();
        let module = load()?;
        let executable = before
            .and_then(|before| ExecutableMap::read().map(|after| after.added_since(&before)))
            .unwrap_or(0);
        Ok(Self { module: Some(module), executable })
    }

    pub(crate) fn module(&self) -> Option<&Ast> {
        self.module.as_ref()
    }
}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        let _alone = COMING_AND_GOING.lock().unwrap_or_else(PoisonError::into_inner);
        self.module = None;
    }
}

#[cfg(test)]
mod tests {
    /// If the disk is full, the compiler's linker ends the process.
    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_before_the_compiler_begins() {
        let output = std::path::Path::new("/proc/self/module.wasm");
        let failed = crate::api::check_room(output, 1).unwrap_err();
        let begins = failed.starts_with("cannot make room for the compiled module: ");
        assert!(begins && failed.contains("set TMPDIR"), "{failed}");
    }
}
