//! The parts of WAMR's structures that its interface does not show, transcribed from version 2.4.3
//! and verified once per process: where a memory lies, and the size of a table.

use crate::api::{self, Code, ExecEnv, Instance};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};
use touchstone_executor::guest::WASM_PAGE;
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection, MemorySection,
    MemoryType, Module, RefType, TableSection, TableType, TypeSection,
};

/// `WASMMemoryInstance` of `wasm_runtime.h`, as far as it is used.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct MemoryFields {
    module_type: u32,
    is_shared_memory: u8,
    is_memory64: u8,
    ref_count: u16,
    padding: u32,
    num_bytes_per_page: u32,
    pub(crate) cur_page_count: u32,
    pub(crate) max_page_count: u32,
    memory_data_size: u64,
    memory_data: *mut u8,
    memory_data_end: *mut u8,
    heap_data: *mut u8,
    heap_data_end: *mut u8,
    heap_handle: *mut c_void,
}

impl MemoryFields {
    /// The memory's bytes: start and number.
    pub(crate) fn place(&self) -> (*mut u8, usize) {
        (self.memory_data, self.memory_data_size as usize)
    }

    /// Lets it be the memory of so many pages at `base`, which WAMR cannot grow.
    pub(crate) fn set(&mut self, base: *mut u8, pages: u32) {
        let size = pages as usize * WASM_PAGE;
        let end = base.wrapping_add(size);
        (self.cur_page_count, self.max_page_count) = (pages, pages);
        (self.memory_data, self.memory_data_size) = (base, size as u64);
        (self.memory_data_end, self.heap_data, self.heap_data_end) = (end, end, end);
    }
}

/// The two numbers before a table's first entry: how many entries it has, and may have.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TableSizes {
    pub(crate) cur_size: u32,
    pub(crate) max_size: u32,
}

/// The reason why no instance can be used: the linked WAMR is another one than this adapter knows.
pub(crate) fn refusal() -> Option<String> {
    static REFUSAL: LazyLock<Option<String>> = LazyLock::new(|| {
        // A thread that WAMR does not know, as those of a host.
        let checked = std::thread::Builder::new().spawn(verify).map(std::thread::JoinHandle::join);
        match checked {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(reason))) => Some(format!("the linked WAMR is built differently: {reason}")),
            _ => Some("the linked WAMR could not be checked".to_owned()),
        }
    });
    REFUSAL.clone()
}

/// Compares memory and table of an instance with what WAMR's interface tells.
fn verify() -> Result<(), String> {
    let code = Arc::new(Code::load(&probe(), 0)?);
    let instance = Instance::new(&code)?;
    let env = ExecEnv::new(&instance, 64 << 10).ok_or("there is no memory for a stack")?;
    let function = instance.function(c"f").ok_or("an export is missing")?;
    let mut cells = [0; 2];
    // SAFETY: a function of this instance, which returns one i32.
    if !unsafe { env.call(function, 0, &mut cells) } {
        return Err(format!("a call fails with '{}'", instance.exception()));
    }
    let memory = instance.memory().ok_or("the memory is missing")?;
    let (base, pages, most) = instance.memory_by_interface();
    // SAFETY: the memory of a live instance that does not run; the structure is compared below.
    let fields = unsafe { *memory };
    let end = base.wrapping_add(3 * WASM_PAGE);
    let fits = (fields.module_type, fields.is_shared_memory, fields.is_memory64) == (0, 0, 0)
        && (fields.ref_count, fields.num_bytes_per_page as usize) == (0, WASM_PAGE)
        && (fields.cur_page_count.into(), fields.max_page_count.into()) == (pages, most)
        && (pages, most, cells[0]) == (3, 7, 3)
        && fields.place() == (base, 3 * WASM_PAGE)
        && (fields.memory_data_end, fields.heap_data, fields.heap_data_end) == (end, end, end)
        && fields.heap_handle.is_null();
    if !fits {
        return Err("a memory has other fields".to_owned());
    }
    let (entries, size) = instance.table(c"t").ok_or("the table is missing")?;
    // SAFETY: a table of a live instance, with its sizes before its entries, or at least readable
    // fields of the instance there; two entries follow.
    let (sizes, values) = unsafe { (*api::sizes_of(entries), [*entries, *entries.add(1)]) };
    let fits = (sizes.cur_size, sizes.max_size, size) == (2, 5, 2);
    // The index of a function, or null.
    if !fits || values.map(|value| value as u32) != [0, u32::MAX] {
        return Err("a table has other fields".to_owned());
    }
    Ok(())
}

/// A module with a memory of 3 to 7 pages, a table of 2 to 5 entries, and a function that returns
/// the memory's size.
fn probe() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([], [wasm_encoder::ValType::I32]);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut tables = TableSection::new();
    let element_type = RefType::FUNCREF;
    let (minimum, maximum) = (2, Some(5));
    tables.table(TableType { element_type, minimum, maximum, table64: false, shared: false });
    let mut memories = MemorySection::new();
    let (minimum, maximum, page_size_log2) = (3, Some(7), None);
    memories.memory(MemoryType {
        minimum,
        maximum,
        memory64: false,
        shared: false,
        page_size_log2,
    });
    let mut exports = ExportSection::new();
    exports.export("f", ExportKind::Func, 0).export("t", ExportKind::Table, 0);
    let mut elements = wasm_encoder::ElementSection::new();
    let first = wasm_encoder::Elements::Functions([0][..].into());
    elements.active(None, &ConstExpr::i32_const(0), first);
    let mut body = Function::new([]);
    // It grows, so that WAMR lets tables and memories be as large as they are declared.
    body.instructions().ref_null(wasm_encoder::HeapType::FUNC).i32_const(0).table_grow(0).drop();
    body.instructions().memory_size(0).end();
    let mut code = CodeSection::new();
    code.function(&body);
    let mut module = Module::new();
    module.section(&types).section(&functions).section(&tables).section(&memories);
    module.section(&exports).section(&elements).section(&code);
    module.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_linked_wamr_is_laid_out_as_transcribed() {
        assert_eq!(super::refusal(), None);
    }
}
