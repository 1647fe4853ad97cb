//! The probe of memories: they must be mapped as the strategy's name says.
//!
//! The executor shows nobody a guest's memory, and falls back from copy-on-write without a word on
//! machines where it mistrusts the kernel. So a small module of this crate's own is loaded with the
//! same settings; its import looks where its data lies.

use crate::code::{self, Code};
use crate::settings::{self, ID};
use sc_executor_common::wasm_runtime::WasmModule;
use sp_wasm_interface::wasmtime::{Caller, Extern};
use sp_wasm_interface::{Function, HostFunctionRegistry, HostFunctions};
use std::cell::Cell;
use touchstone_executor::adapter::{MappingKind, NO_ANSWER, mapping_in_words, mapping_kind};
use touchstone_executor::guest::{GuestModule, HeapPages, MEMORY};
use touchstone_executor::{Config, Error, Result, Strategy};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function as Body,
    FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction, MemorySection,
    MemoryType, Module, TypeSection, ValType,
};

const EXPORT: &str = "look";
const IMPORT: &str = "touchstone_look";

thread_local! {
    /// Where the memory of the call on this thread was seen.
    static SEEN: Cell<Option<MappingKind>> = const { Cell::new(None) };
}

/// The mapping of memories under a strategy.
pub(crate) fn memory(strategy: Strategy, config: &Config) -> Result<String> {
    let guest = GuestModule::new("probe", &module().finish(), HeapPages::default())?;
    let heap = settings::heap(&guest);
    let settings = settings::settings(strategy, heap, config)?;
    let code = Code::compile(code::blob(guest.wasm())?, &settings)?;
    let runtime = code.load::<Look>(strategy.code, settings)?;
    SEEN.set(None);
    runtime
        .new_instance(heap)
        .and_then(|mut instance| instance.call_export(EXPORT, &[]))
        .map_err(Error::runtime(ID, "run the probe"))?;
    Ok(match mapping_in_words(ID, strategy, SEEN.take())? {
        Some(words) => format!("{words} (seen on a module of the adapter's own)"),
        None => NO_ANSWER.to_owned(),
    })
}

/// The import that looks.
struct Look;

impl HostFunctions for Look {
    fn host_functions() -> Vec<&'static dyn Function> {
        Vec::new()
    }

    fn register_static<T: HostFunctionRegistry>(registry: &mut T) -> Result<(), T::Error> {
        registry.register_static(IMPORT, |mut caller: Caller<'_, T::State>| {
            let memory = caller.get_export(MEMORY).and_then(Extern::into_memory);
            SEEN.set(memory.and_then(|memory| mapping_kind(memory.data_ptr(&caller) as usize)));
        })
    }
}

/// A module with data at address 0, whose export calls the import.
fn module() -> Module {
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I64]);
    let mut imports = ImportSection::new();
    imports.import("env", IMPORT, EntityType::Function(0));
    let mut functions = FunctionSection::new();
    functions.function(1);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let heap_base = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
    globals.global(heap_base, &ConstExpr::i32_const(1024));
    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, 1);
    exports.export(MEMORY, ExportKind::Memory, 0);
    exports.export("__heap_base", ExportKind::Global, 0);
    let mut body = Body::new([]);
    body.instruction(&Instruction::Call(0));
    body.instruction(&Instruction::I64Const(0));
    body.instruction(&Instruction::End);
    let mut code = CodeSection::new();
    code.function(&body);
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(0), *b"data");
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&memories);
    module.section(&globals).section(&exports).section(&code).section(&data);
    module
}
