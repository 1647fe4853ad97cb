//! Compiled code between `compile` and `load`: all unsafe code of this crate.

use crate::host::Host;
use crate::settings::ID;
use sc_executor_common::runtime_blob::RuntimeBlob;
use sc_executor_wasmtime::{Config as Settings, WasmtimeRuntime};
use sp_wasm_interface::HostFunctions;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use touchstone_executor::adapter::CompiledCode;
use touchstone_executor::{CodeFrom, Error, Result};

/// A compiled module, which nobody else can change.
pub(crate) struct Code {
    /// Made by `prepare_runtime_artifact`.
    compiled: Arc<CompiledCode>,
}

impl Code {
    pub(crate) fn compile(blob: RuntimeBlob, settings: &Settings) -> Result<Self> {
        let bytes = sc_executor_wasmtime::prepare_runtime_artifact(blob, &settings.semantics)
            .map_err(Error::runtime(ID, "compile the module"))?;
        Ok(Self { compiled: Arc::new(CompiledCode::new(bytes)) })
    }

    /// The same, to be shared.
    pub(crate) fn bytes(&self) -> Arc<CompiledCode> {
        Arc::clone(&self.compiled)
    }

    /// From memory or mapped from a file, with the host functions `H` beside the usual ones.
    pub(crate) fn load<H: HostFunctions>(
        &self,
        from: CodeFrom,
        settings: Settings,
    ) -> Result<WasmtimeRuntime> {
        match from {
            // SAFETY: the bytes come from `prepare_runtime_artifact` in this
            // process, and nothing exposes a way to change them.
            CodeFrom::InProcess => unsafe {
                sc_executor_wasmtime::create_runtime_from_artifact_bytes::<(Host, H)>(
                    self.compiled.bytes(),
                    settings,
                )
            },
            CodeFrom::Precompiled => {
                let file = self.compiled.staged(ID)?;
                // The executor wants a path; this one leads to the file without a name.
                let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                // SAFETY: as above: `staged` has just seen these bytes in the file,
                // which has no other name by which others could reach it.
                unsafe {
                    sc_executor_wasmtime::create_runtime_from_artifact::<(Host, H)>(&path, settings)
                }
            }
        }
        .map_err(Error::runtime(ID, "load the compiled module"))
    }
}

/// A module as the executor takes it.
pub(crate) fn blob(wasm: &[u8]) -> Result<RuntimeBlob> {
    RuntimeBlob::new(wasm).map_err(Error::runtime(ID, "read the module"))
}
