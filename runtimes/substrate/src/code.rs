//! Compiled code between `compile` and `load`: all unsafe code of this crate.

use crate::host::Host;
use crate::settings::ID;
use sc_executor_common::runtime_blob::RuntimeBlob;
use sc_executor_wasmtime::{Config as Settings, WasmtimeRuntime};
use sp_wasm_interface::HostFunctions;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use touchstone_executor::{CodeFrom, Error, Result};

/// A compiled module, which nobody else can change.
pub(crate) struct Code {
    /// What `prepare_runtime_artifact` gave.
    bytes: Vec<u8>,
    /// The same bytes as a file without a name, made when first asked for. It
    /// goes with the process, however that ends.
    file: OnceLock<File>,
}

impl Code {
    /// Compiles a module.
    pub(crate) fn compile(wasm: &[u8], settings: &Settings) -> Result<Self> {
        let bytes =
            sc_executor_wasmtime::prepare_runtime_artifact(blob(wasm)?, &settings.semantics)
                .map_err(Error::runtime(ID, "compile the module"))?;
        Ok(Self { bytes, file: OnceLock::new() })
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// From memory or mapped from a file, with the host functions `H` beside the
    /// usual ones.
    pub(crate) fn load<H: HostFunctions>(
        &self,
        from: CodeFrom,
        settings: Settings,
    ) -> Result<WasmtimeRuntime> {
        match from {
            // SAFETY: the bytes come from `prepare_runtime_artifact` in this
            // process, and nothing gives out a way to change them.
            CodeFrom::InProcess => unsafe {
                sc_executor_wasmtime::create_runtime_from_artifact_bytes::<(Host, H)>(
                    &self.bytes,
                    settings,
                )
            },
            CodeFrom::Precompiled => {
                let file = self.file()?;
                // The executor wants a path; this one leads to the file without a name.
                let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                // SAFETY: as above; the file has no other name by which anybody
                // could reach it, and is not written after `file` made it.
                unsafe {
                    sc_executor_wasmtime::create_runtime_from_artifact::<(Host, H)>(&path, settings)
                }
            }
        }
        .map_err(Error::runtime(ID, "load the compiled module"))
    }

    /// The file, written when first asked for.
    pub(crate) fn file(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let write = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.bytes)?;
            Ok(file)
        };
        let file = write().map_err(Error::system("cannot write the precompiled module"))?;
        // Another thread may have been faster; its file serves as well.
        Ok(self.file.get_or_init(|| file))
    }
}

/// A module as the executor takes it.
pub(crate) fn blob(wasm: &[u8]) -> Result<RuntimeBlob> {
    RuntimeBlob::new(wasm).map_err(Error::runtime(ID, "read the module"))
}
