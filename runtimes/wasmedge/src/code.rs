//! From a guest to what WasmEdge loads: rewriting, compiling ahead of time, and
//! looking whether machine code came of it.

use crate::api::{self, Ast, Settings, Source};
use crate::rewrite::{Changes, Rewritten};
use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::probe::ExecutableMap;
use touchstone_executor::{
    CodeFrom, CompiledCode, Config, Error, InstanceFrom, MemoryFrom, Result, Strategy,
};
use wasmedge_sys::ffi;

/// How far LLVM goes: what the library itself does by default.
const LEVEL: ffi::WasmEdge_CompilerOptimizationLevel = ffi::WasmEdge_CompilerOptimizationLevel_O3;
/// The same in words.
pub(crate) const COMPILER: &str =
    "LLVM, optimisation level 3, for this processor, not interruptible";

/// What `compile` hands to `load`.
pub(crate) struct Code {
    guest: GuestModule,
    pub(crate) changes: Changes,
    pub(crate) rewritten: Rewritten,
    /// What is loaded: the module, with its machine code where there is some.
    pub(crate) compiled: Arc<CompiledCode>,
}

/// What a strategy and a configuration need to be changed in a guest.
pub(crate) fn changes(strategy: Strategy, config: &Config) -> Changes {
    Changes {
        memory_of_ours: strategy.instance == InstanceFrom::Reuse
            || strategy.memory != MemoryFrom::Segments,
        clock: config.deadline.is_some(),
    }
}

impl Code {
    pub(crate) fn new(
        engine: &'static str,
        guest: &GuestModule,
        changes: Changes,
        rewritten: Rewritten,
        native: bool,
    ) -> Result<Self> {
        let bytes = match native {
            true => compile(engine, &rewritten.wasm)?,
            false => rewritten.wasm.clone(),
        };
        Ok(Self::of(guest, changes, rewritten, CompiledCode::new(bytes)))
    }

    /// What was compiled before, of the same rewritten guest.
    pub(crate) fn of(
        guest: &GuestModule,
        changes: Changes,
        rewritten: Rewritten,
        compiled: CompiledCode,
    ) -> Self {
        Self { guest: guest.clone(), changes, rewritten, compiled: Arc::new(compiled) }
    }

    /// Whether this can be loaded for a guest in the way that is asked for.
    pub(crate) fn check(
        &self,
        engine: &'static str,
        guest: &GuestModule,
        wanted: Changes,
    ) -> Result<()> {
        let reason = if !self.guest.is_same(guest) {
            format!("it was made from another guest, {}", self.guest.name())
        } else if self.changes.memory_of_ours != wanted.memory_of_ours {
            "it was made for strategies with another kind of memory".to_owned()
        } else if self.changes.clock != wanted.clock {
            "it was made with another setting of the deadline".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::BadArtifact { engine, reason })
    }

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
            // Nothing in it could become executable; what others map meanwhile would.
            let module = load().map_err(failed())?;
            return Ok(LoadedCode { module: Some(module), executable: 0 });
        }
        // Other runtimes in this process may unmap code of theirs where this one then comes to
        // lie. What was loaded before stays, so that the next one comes to lie elsewhere.
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

/// Whether WasmEdge's compiler has added machine code to a module: a section of this name.
fn has_machine_code(module: &[u8]) -> bool {
    let payloads = wasmparser::Parser::new(0).parse_all(module);
    payloads.filter_map(Result::ok).any(|payload| {
        matches!(payload, wasmparser::Payload::CustomSection(section) if section.name() == "wasmedge")
    })
}

/// How often a module is loaded until it is believed that its machine code is not used.
const LOOKS: usize = 10;

/// A loaded module and what became executable with it.
pub(crate) struct LoadedCode {
    /// `None` only while it is being dropped.
    module: Option<Ast>,
    /// Bytes of machine code.
    pub(crate) executable: usize,
}

/// Held while modules come and go, so that none goes while another one is looked
/// at.
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

fn compile(engine: &'static str, wasm: &[u8]) -> Result<Vec<u8>> {
    let folder = tempfile::tempdir().map_err(Error::system("cannot make a temporary folder"))?;
    let file = folder.path().join("module.wasm");
    api::compile(wasm, LEVEL, &file).map_err(Error::runtime(engine, "compile the module"))?;
    std::fs::read(&file).map_err(Error::system("cannot read the compiled module"))
}
