//! From a guest to what WasmEdge loads: rewriting, compiling ahead of time, and
//! looking whether machine code came of it.

use crate::api::{self, Ast, Settings, Source};
use crate::frames::Frames;
use crate::machine_code;
use crate::rewrite::{Changes, Rewritten, rewrite};
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

/// How often a guest is compiled at most. Only constants differ, so that the second time shows the
/// frames of the first.
const COMPILATIONS: usize = 4;

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
    /// Code that WasmEdge interprets.
    pub(crate) fn interpreted(guest: &GuestModule, changes: Changes, rewritten: Rewritten) -> Self {
        let compiled = CompiledCode::new(rewritten.wasm.clone());
        Self { guest: guest.clone(), changes, rewritten, compiled: Arc::new(compiled) }
    }

    /// Compiles. Where frames turn out larger than the guest counts, it is rewritten and compiled
    /// again.
    ///
    /// # Errors
    ///
    /// `Unhostable` where frames cannot be measured, or grow with every compilation.
    pub(crate) fn compiled(
        engine: &'static str,
        guest: &GuestModule,
        changes: Changes,
        mut rewritten: Rewritten,
    ) -> Result<Self> {
        let mut frames = Frames::default();
        for _ in 0..COMPILATIONS {
            let bytes = api::compile(&rewritten.wasm, LEVEL)
                .map_err(Error::runtime(engine, "compile the module"))?;
            frames.grow_to(&Frames::read(&bytes, rewritten.arguments)?);
            let again = rewrite(guest, changes, &frames)?;
            if again.wasm == rewritten.wasm {
                let compiled = Arc::new(CompiledCode::new(bytes));
                return Ok(Self { guest: guest.clone(), changes, rewritten: again, compiled });
            }
            rewritten = again;
        }
        let reason = "the stack frames of its compiled code grow with every compilation";
        Err(Error::unhostable(reason))
    }

    /// What `compiled` made before, of the same rewritten guest.
    pub(crate) fn restored(
        guest: &GuestModule,
        changes: Changes,
        rewritten: &Rewritten,
        compiled: CompiledCode,
    ) -> Result<Self> {
        let frames = Frames::read(compiled.bytes(), rewritten.arguments)?;
        let rewritten = rewrite(guest, changes, &frames)?;
        Ok(Self { guest: guest.clone(), changes, rewritten, compiled: Arc::new(compiled) })
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
        if machine_code::section(self.compiled.bytes()).is_none() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_code::MachineCode;
    use touchstone_executor::guest::HeapPages;

    const CHANGES: Changes = Changes { memory_of_ours: false, clock: false };

    /// Compiles a guest, and gives its code, its frames, and it as it was first rewritten.
    fn compiled(text: &str) -> (Code, Frames, Rewritten) {
        let guest = GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default());
        let (guest, none) = (guest.unwrap(), Frames::default());
        let first = || rewrite(&guest, CHANGES, &none).unwrap();
        let code = Code::compiled("engine", &guest, CHANGES, first()).unwrap();
        let frames = Frames::read(code.compiled.bytes(), first().arguments).unwrap();
        let restored = CompiledCode::new(code.compiled.bytes().to_vec());
        let restored = Code::restored(&guest, CHANGES, &first(), restored).unwrap();
        assert_eq!(code.rewritten.stack, restored.rewritten.stack);
        (code, frames, first())
    }

    /// A function that keeps a thousand values over a call.
    fn keeping(call: &str) -> String {
        let stores: String = (0..1000)
            .map(|index| {
                let factor = 1_000_003 + 2 * index;
                format!("(i64.store (i32.const 0) (i64.mul (local.get 0) (i64.const {factor})))")
            })
            .collect();
        format!(
            r#"(module (memory 1) (table 1 funcref) (elem (i32.const 0) $f)
              (type $t (func (param i64)))
              (func $f (export "f") (type $t) {stores} {call} {stores}))"#
        )
    }

    /// Where the compiler finds no room, its linker ends the process.
    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_before_the_compiler_begins() {
        let output = std::path::Path::new("/proc/self/module.wasm");
        let failed = api::check_room(output, 1).unwrap_err();
        let begins = failed.starts_with("cannot make room for the compiled module: ");
        assert!(begins && failed.contains("set TMPDIR"), "{failed}");
    }

    #[test]
    fn an_ordinary_guest_is_compiled_as_it_was_first_rewritten() {
        let text = r#"(module (table 1 funcref) (elem (i32.const 0) $f)
          (func $f (export "f") (param i32) (result i32)
            (i32.add (i32.const 1) (call $f (local.get 0)))))"#;
        let (code, frames, first) = compiled(text);
        assert_eq!(code.rewritten.wasm, first.wasm);
        assert!((8..=200).contains(&frames.of(0)), "{frames:?}");
    }

    #[test]
    fn large_frames_are_found_and_counted() {
        let directly = keeping("(call $f (local.get 0))");
        // By the frame pointer: WasmEdge makes room on the stack for a call of an import.
        let through_a_table = keeping("(call_indirect (type $t) (local.get 0) (i32.const 0))");
        for text in [directly, through_a_table] {
            let (code, frames, first) = compiled(&text);
            assert!((7000..20_000).contains(&frames.of(0)), "{frames:?}");
            assert_ne!(code.rewritten.wasm, first.wasm);
            assert!(code.rewritten.stack >= first.stack + 6000);
        }
    }

    #[test]
    fn machine_code_that_is_cut_off_or_of_another_layout_is_not_read() {
        let (code, ..) = compiled(r#"(module (func (export "f")))"#);
        let section = machine_code::section(code.compiled.bytes()).unwrap();
        let read = MachineCode::read(section).unwrap();
        assert_eq!((read.functions.len(), read.entries.len()), (1, 1));
        for length in 0..section.len() {
            assert!(MachineCode::read(&section[..length]).is_err(), "{length}");
        }
        let mut other = section.to_vec();
        other[0] += 1;
        assert!(MachineCode::read(&other).is_err());
    }
}
