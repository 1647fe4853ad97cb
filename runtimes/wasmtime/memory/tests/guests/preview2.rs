//! A host of WASI 0.2.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

/// A component that writes to a stream and reads a clock.
pub(crate) const GUEST: &str = include_str!("preview2.wat");

/// Data of a store.
pub(crate) struct Host {
    context: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) output: MemoryOutputPipe,
}

impl Host {
    pub(crate) fn new() -> Self {
        let output = MemoryOutputPipe::new(4096);
        let context = WasiCtx::builder().stdout(output.clone()).build();
        Self { context, table: ResourceTable::new(), output }
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.context, table: &mut self.table }
    }
}
