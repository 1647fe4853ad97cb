//! Wasm3's own structures, as far as they are needed: its interface neither
//! shows a memory's size beyond 4 GiB − 1, nor tables, nor lets the host give a
//! memory or bound the machine's stack.
//!
//! Transcribed from `m3_compile.h`, `m3_env.h` and `m3_exec_defs.h` of Wasm3
//! 0.9.0 as `wasm3x-sys` builds it: 64-bit slots, no backtraces, no typed
//! references, not `DEBUG`. The manifest pins that version, and every new
//! machine compares what it finds here with what it knows
//! ([`check`]).

use crate::module::Program;
use std::ffi::{c_char, c_void};
use std::ops::Range;
use touchstone_executor::heap::WASM_PAGE;
use wasm3_sys as ffi;

/// `d_m3MaxFunctionStackHeight`.
const STACK_HEIGHT: usize = 8000;
/// `d_m3MaxConstantTableSize`.
const CONSTANTS: usize = 120;
/// `d_m3CodePageAlignSize`.
const CODE_PAGE: usize = 32 << 10;
/// `c_m3Type_count`, and `c_m3Type_v128`, which no function returns.
const TYPES: usize = 8;
const VECTOR: usize = 5;

/// `M3CompilationScope`.
#[repr(C)]
struct CompilationScope {
    outer: *mut c_void,
    pc: *const c_void,
    patches: *const c_void,
    depth: i32,
    exit_stack_index: u16,
    block_stack_index: u16,
    ty: *mut c_void,
    opcode: u16,
    is_polymorphic: bool,
}

/// `M3Compilation`: only its size matters.
#[repr(C)]
struct Compilation {
    runtime: *mut Runtime,
    module: *mut Module,
    wasm: *const u8,
    wasm_end: *const u8,
    last_opcode_start: *const u8,
    block: CompilationScope,
    function: *mut c_void,
    page: *mut c_void,
    stack_first_dynamic_index: u16,
    stack_index: u16,
    slot_first_const_index: u16,
    slot_max_const_index: u16,
    slot_first_local_index: u16,
    slot_first_dynamic_index: u16,
    max_stack_slots: u16,
    constants: [u64; CONSTANTS],
    wasm_stack: [u16; STACK_HEIGHT],
    type_stack: [u8; STACK_HEIGHT],
    slots: [u8; 2 * STACK_HEIGHT],
    slot_max_allocated_index_plus_one: u16,
    reg_stack_index_plus_one: [u16; 2],
    previous_opcode: u16,
    is_init_expr: bool,
}

/// `M3Runtime`, up to the last field that is needed.
#[repr(C)]
pub(super) struct Runtime {
    compilation: Compilation,
    pub(super) environment: *mut c_void,
    pub(super) pages_open: *mut CodePage,
    pub(super) pages_full: *mut CodePage,
    num_code_pages: u32,
    num_active_code_pages: u32,
    pub(super) modules: *mut Module,
    pub(super) stack: *mut u64,
    pub(super) origin_stack: *mut u64,
    stack_size: u32,
    pub(super) num_stack_slots: u32,
    /// Where the machine's stack ends for the guest; null: Wasm3 guesses.
    pub(super) stack_limit: *mut c_void,
    last_called: *mut c_void,
    pub(super) userdata: *mut c_void,
    pub(super) memory: Memory,
    pub(super) memory_limit: u32,
}

impl Runtime {
    /// The state of the compiler, which it clears before it compiles a function.
    pub(super) fn compiler(&mut self) -> Range<*mut u8> {
        (&raw mut self.compilation).cast()..(&raw mut self.environment).cast()
    }

    /// Whether no function was compiled since [`set_released`](Self::set_released).
    pub(super) fn is_released(&self) -> bool {
        self.compilation.runtime.is_null()
    }

    pub(super) fn set_released(&mut self) {
        self.compilation.runtime = std::ptr::null_mut();
    }
}

/// `M3CodePage` without its code.
#[repr(C)]
pub(super) struct CodePage {
    pub(super) next: *mut CodePage,
    line_index: u32,
    num_lines: u32,
    sequence: u32,
    usage_count: u32,
}

impl CodePage {
    /// What follows the code that was written.
    ///
    /// # Safety
    ///
    /// The page must be alive and idle.
    pub(super) unsafe fn free(page: *mut Self) -> Range<*mut u8> {
        // SAFETY: behind the header lie so many lines.
        unsafe {
            let code = page.add(1).cast::<u64>();
            let (used, all) = ((*page).line_index as usize, (*page).num_lines as usize);
            code.add(used).cast()..code.add(all).cast()
        }
    }

    fn is_plausible(&self) -> bool {
        let bytes = size_of::<Self>() + self.num_lines as usize * size_of::<u64>();
        self.line_index <= self.num_lines && bytes.is_multiple_of(CODE_PAGE)
    }
}

/// `M3Environment`, up to the last field that is needed.
#[repr(C)]
pub(super) struct Environment {
    func_types: *mut c_void,
    ret_func_types: [*mut c_void; TYPES],
    num_func_types: u16,
    pub(super) pages_released: *mut CodePage,
}

/// `M3Memory`.
#[repr(C)]
pub(super) struct Memory {
    pub(super) mallocated: *mut MemoryHeader,
    pub(super) num_pages: u32,
    pub(super) max_pages: u32,
    pub(super) page_size: u32,
}

/// `M3MemoryHeader`: lies right before a linear memory's bytes.
#[repr(C)]
pub(super) struct MemoryHeader {
    pub(super) runtime: *mut Runtime,
    pub(super) max_stack: *mut u64,
    pub(super) length: usize,
}

/// `M3MemoryInfo`.
#[repr(C)]
struct MemoryInfo {
    init_pages: u32,
    max_pages: u32,
    page_size: u32,
}

/// `M3ImportInfo`.
#[repr(C)]
struct ImportInfo {
    module: *const c_char,
    field: *const c_char,
}

/// `M3Table`.
#[repr(C)]
pub(super) struct Table {
    pub(super) elements: *mut *mut c_void,
    pub(super) size: u32,
    pub(super) max_size: u32,
    ty: u8,
    init_expr: *const u8,
    init_expr_size: u32,
}

/// `M3Module`, up to the last field that is needed.
#[repr(C)]
pub(super) struct Module {
    pub(super) runtime: *mut Runtime,
    pub(super) environment: *mut c_void,
    pub(super) wasm_start: *const u8,
    pub(super) wasm_end: *const u8,
    name: *const c_char,
    num_func_types: u32,
    func_types: *mut c_void,
    num_func_imports: u32,
    pub(super) num_functions: u32,
    all_functions: u32,
    functions: *mut c_void,
    start_function: i32,
    num_data_segments: u32,
    data_segments: *mut c_void,
    data_count: u32,
    has_data_count: bool,
    declared_funcs: *mut u8,
    num_globals: u32,
    globals: *mut c_void,
    num_element_segments: u32,
    element_segments: *mut c_void,
    element_section_end: *const u8,
    pub(super) tables: *mut Table,
    pub(super) num_tables: u32,
    table0_export_name: *const c_char,
    memory_info: MemoryInfo,
    memory_import: ImportInfo,
    memory_imported: bool,
    memory_declared: bool,
}

/// What is known of a runtime and its module without these structures.
pub(super) struct Known<'a> {
    pub(super) runtime: *mut Runtime,
    pub(super) module: *mut Module,
    pub(super) environment: *mut c_void,
    pub(super) userdata: *mut c_void,
    /// Bytes of the stack of values.
    pub(super) value_stack: u32,
    pub(super) program: &'a Program,
}

/// Compares what can be known with what is found; the error names the field.
///
/// # Safety
///
/// Runtime and module must be alive, idle and as they were loaded. That the
/// fields lie inside them follows from the version that the manifest pins; this
/// check is for builds of it with other settings.
pub(super) unsafe fn check(known: &Known<'_>) -> Result<(), &'static str> {
    let is = |holds, what| if holds { Ok(()) } else { Err(what) };
    let Known { runtime: address, program, .. } = *known;
    // SAFETY: the caller's promise; a header lies before every memory, and
    // `numTables` tables where the pointer to them leads.
    unsafe {
        let (runtime, module) = (&*address, &*known.module);
        is(runtime.environment == known.environment, "M3Runtime.environment")?;
        is(runtime.modules == known.module, "M3Runtime.modules")?;
        let environment = &*known.environment.cast::<Environment>();
        let mut of_results = environment.ret_func_types.iter().enumerate();
        let all = of_results.all(|(ty, found)| found.is_null() == (ty == VECTOR));
        is(all, "M3Environment.retFuncTypes")?;
        is(environment.num_func_types as usize >= TYPES - 1, "M3Environment.numFuncTypes")?;
        for page in [environment.pages_released, runtime.pages_open, runtime.pages_full] {
            is(page.is_null() || (*page).is_plausible(), "M3CodePage")?;
        }
        is(runtime.userdata == known.userdata, "M3Runtime.userdata")?;
        is(!runtime.stack.is_null(), "M3Runtime.stack")?;
        is(runtime.stack == runtime.origin_stack, "M3Runtime.originStack")?;
        is(runtime.num_stack_slots == known.value_stack / 8, "M3Runtime.numStackSlots")?;
        is(runtime.stack_limit.is_null(), "M3Runtime.stackLimit")?;
        is(runtime.memory_limit == 0, "M3Runtime.memoryLimit")?;
        let memory = &runtime.memory;
        is(memory.page_size as usize == WASM_PAGE, "M3Memory.pageSize")?;
        is(memory.num_pages == program.initial, "M3Memory.numPages")?;
        is(!memory.mallocated.is_null(), "M3Memory.mallocated")?;
        if memory.num_pages > 0 {
            let data = ffi::m3_GetMemory(address.cast(), std::ptr::null_mut(), 0);
            is(data.is_null() || data == memory.mallocated.add(1).cast(), "M3MemoryHeader")?;
        }
        let header = &*memory.mallocated;
        is(header.runtime == address, "M3MemoryHeader.runtime")?;
        is(header.length == memory.num_pages as usize * WASM_PAGE, "M3MemoryHeader.length")?;
        let end = runtime.stack.add(runtime.num_stack_slots as usize);
        is(header.max_stack == end, "M3MemoryHeader.maxStack")?;
        is(module.runtime == address, "M3Module.runtime")?;
        is(module.environment == runtime.environment, "M3Module.environment")?;
        let wasm = program.wasm.as_ptr_range();
        is(module.wasm_start == wasm.start && module.wasm_end == wasm.end, "M3Module.wasm")?;
        is(module.num_functions as usize == program.all_functions, "M3Module.functions")?;
        is(module.num_tables as usize == program.tables.len(), "M3Module.numTables")?;
        for (index, known) in program.tables.iter().enumerate() {
            let table = &*module.tables.add(index);
            is(u64::from(table.size) == known.minimum, "M3Table.size")?;
            is(u64::from(table.max_size) == known.maximum.unwrap_or(0), "M3Table.maxSize")?;
            is(table.elements.is_null() == (table.size == 0), "M3Table.elements")?;
        }
    }
    Ok(())
}
