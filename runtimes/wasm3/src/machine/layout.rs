//! Wasm3's own structures, as far as they are needed: its interface neither shows a memory's size
//! beyond 4 GiB − 1, nor tables, nor lets the host give a memory or bound the thread's stack.
//!
//! Transcribed from `m3_compile.h`, `m3_env.h` and `m3_exec_defs.h` of Wasm3 0.9.0 as `wasm3x-sys`
//! builds it: 64-bit slots, no backtraces, no typed references, not `DEBUG`. They are verified once
//! per process, on a module whose sizes are known ([`refusal`]): the structures are read by the
//! kernel, so that a wrong address is an answer and no fault.

use super::VALUE_STACK;
use super::environment::Environment as OwnedEnvironment;
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::OnceLock;
use touchstone_executor::adapter::peek;
use touchstone_executor::guest::WASM_PAGE;
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
    is_polymorphic: u8,
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
    is_init_expr: u8,
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
    /// The end of the thread's stack for the guest; with null, Wasm3 guesses.
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

    /// `true` if no function was compiled since [`set_released`](Self::set_released).
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
    /// The bytes behind the code.
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
    runtime: *mut Runtime,
    environment: *mut c_void,
    wasm_start: *const u8,
    wasm_end: *const u8,
    name: *const c_char,
    num_func_types: u32,
    func_types: *mut c_void,
    num_func_imports: u32,
    num_functions: u32,
    all_functions: u32,
    functions: *mut c_void,
    start_function: i32,
    num_data_segments: u32,
    data_segments: *mut c_void,
    data_count: u32,
    has_data_count: u8,
    declared_funcs: *mut u8,
    num_globals: u32,
    globals: *mut c_void,
    num_element_segments: u32,
    element_segments: *mut c_void,
    element_section_end: *const u8,
    pub(super) tables: *mut Table,
    pub(super) num_tables: u32,
}

/// A copy of a structure of Wasm3's, which consists of numbers and pointers.
struct CopyOf<T>(Vec<usize>, PhantomData<T>);

impl<T> CopyOf<T> {
    fn at(address: *const T, what: &'static str) -> Result<Self, &'static str> {
        const { assert!(align_of::<T>() == align_of::<usize>()) };
        let words = size_of::<T>() / size_of::<usize>();
        peek(address as usize, words).map(|words| Self(words, PhantomData)).ok_or(what)
    }
}

impl<T> Deref for CopyOf<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as many words as a `T` has, aligned as it is. Any content is a valid one.
        unsafe { &*self.0.as_ptr().cast() }
    }
}

/// The reason why Wasm3 cannot be used, if there is one.
pub(crate) fn refusal() -> Option<String> {
    static REFUSAL: OnceLock<Option<String>> = OnceLock::new();
    let found = REFUSAL.get_or_init(|| {
        let differs = |what| format!("Wasm3's structures are not those of 0.9.0: {what} differs");
        verify(|_| {}).err().map(differs)
    });
    found.clone()
}

/// A function, a memory of 1 to 3 pages, and a table of 2 to 5 entries.
static MODULE: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // magic and version
    1, 4, 1, 0x60, 0, 0, // a type: () -> ()
    3, 2, 1, 0, // a function of that type
    4, 5, 1, 0x70, 1, 2, 5, // a table
    5, 4, 1, 1, 1, 3, // a memory
    7, 5, 1, 1, b'f', 0, 0, // the function exported as f
    10, 4, 1, 2, 0, 0x0b, // its body
];

/// Facts about a runtime with [`MODULE`], known without these structures.
struct KnownRuntime {
    runtime: *mut Runtime,
    module: *mut Module,
    environment: *mut c_void,
    userdata: *mut c_void,
    value_stack: u32,
    pages: u32,
    functions: u32,
    /// Minimum and maximum of the table.
    table: (u32, u32),
}

/// Loads [`MODULE`] and compares what is known of it with what is found; the error names the field.
/// `change` is for tests.
fn verify(change: impl FnOnce(&mut KnownRuntime)) -> Result<(), &'static str> {
    let environment = OwnedEnvironment::new("wasm3").map_err(|_| "m3_NewEnvironment")?;
    let mut userdata = 0_u8;
    let userdata = (&raw mut userdata).cast();
    let module = environment.parse(MODULE).map_err(|_| "m3_ParseModule")?;
    // SAFETY: the environment, the bytes and `userdata` outlive the runtime. A module that was not
    // loaded is freed here, a loaded one with its runtime.
    unsafe {
        let runtime = ffi::m3_NewRuntime(environment.raw(), VALUE_STACK, userdata);
        if runtime.is_null() || !ffi::m3_LoadModule(runtime, module).is_null() {
            ffi::m3_FreeModule(module);
            ffi::m3_FreeRuntime(runtime);
            return Err("m3_LoadModule");
        }
        let mut known = KnownRuntime {
            runtime: runtime.cast(),
            module: module.cast(),
            environment: environment.raw().cast(),
            userdata,
            value_stack: VALUE_STACK,
            pages: 1,
            functions: 1,
            table: (2, 5),
        };
        change(&mut known);
        let found = check(&known, ffi::m3_GetMemory(runtime, std::ptr::null_mut(), 0));
        ffi::m3_FreeRuntime(runtime);
        found
    }
}

/// Compares; `data` is the first byte of the memory.
fn check(known: &KnownRuntime, data: *const u8) -> Result<(), &'static str> {
    let is = |holds, what| if holds { Ok(()) } else { Err(what) };
    let runtime = CopyOf::at(known.runtime, "M3Runtime")?;
    is(runtime.environment == known.environment, "M3Runtime.environment")?;
    is(runtime.modules == known.module, "M3Runtime.modules")?;
    let environment = CopyOf::at(known.environment.cast::<Environment>(), "M3Environment")?;
    let mut of_results = environment.ret_func_types.iter().enumerate();
    let all = of_results.all(|(ty, found)| found.is_null() == (ty == VECTOR));
    is(all, "M3Environment.retFuncTypes")?;
    is(environment.num_func_types as usize >= TYPES - 1, "M3Environment.numFuncTypes")?;
    for page in [environment.pages_released, runtime.pages_open, runtime.pages_full] {
        let plausible = || CopyOf::at(page, "M3CodePage").map(|page| page.is_plausible());
        is(page.is_null() || plausible()?, "M3CodePage")?;
    }
    is(runtime.userdata == known.userdata, "M3Runtime.userdata")?;
    is(!runtime.stack.is_null(), "M3Runtime.stack")?;
    is(runtime.stack == runtime.origin_stack, "M3Runtime.originStack")?;
    is(runtime.num_stack_slots == known.value_stack / 8, "M3Runtime.numStackSlots")?;
    is(runtime.stack_limit.is_null(), "M3Runtime.stackLimit")?;
    is(runtime.memory_limit == 0, "M3Runtime.memoryLimit")?;
    let memory = &runtime.memory;
    is(memory.page_size as usize == WASM_PAGE, "M3Memory.pageSize")?;
    is(memory.num_pages == known.pages, "M3Memory.numPages")?;
    is(memory.mallocated.wrapping_add(1).cast_const().cast() == data, "M3Memory.mallocated")?;
    let header = CopyOf::at(memory.mallocated, "M3MemoryHeader")?;
    is(header.runtime == known.runtime, "M3MemoryHeader.runtime")?;
    is(header.length == known.pages as usize * WASM_PAGE, "M3MemoryHeader.length")?;
    let end = runtime.stack.wrapping_add(runtime.num_stack_slots as usize);
    is(header.max_stack == end, "M3MemoryHeader.maxStack")?;
    let module = CopyOf::at(known.module, "M3Module")?;
    is(module.runtime == known.runtime, "M3Module.runtime")?;
    is(module.environment == runtime.environment, "M3Module.environment")?;
    let wasm = MODULE.as_ptr_range();
    is(module.wasm_start == wasm.start && module.wasm_end == wasm.end, "M3Module.wasm")?;
    is(module.num_functions == known.functions, "M3Module.functions")?;
    is(module.num_tables == 1, "M3Module.numTables")?;
    let table = CopyOf::at(module.tables, "M3Table")?;
    is((table.size, table.max_size) == known.table, "M3Table.size")?;
    is(!table.elements.is_null(), "M3Table.elements")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linked_library_is_as_transcribed() {
        assert_eq!(refusal(), None);
    }

    #[test]
    fn another_layout_is_refused_by_the_name_of_its_field() {
        let refused = |change: fn(&mut KnownRuntime)| verify(change).unwrap_err();
        assert_eq!(refused(|known| known.value_stack += 8), "M3Runtime.numStackSlots");
        assert_eq!(refused(|known| known.pages = 2), "M3Memory.numPages");
        assert_eq!(refused(|known| known.functions = 2), "M3Module.functions");
        assert_eq!(refused(|known| known.table.1 = 4), "M3Table.size");
        assert_eq!(refused(|known| known.userdata = std::ptr::null_mut()), "M3Runtime.userdata");
        // The kernel reads what is not there.
        assert_eq!(refused(|known| known.runtime = std::ptr::null_mut()), "M3Runtime");
        let later = |known: &mut KnownRuntime| known.runtime = known.runtime.wrapping_byte_add(8);
        assert_eq!(refused(later), "M3Runtime.environment");
    }
}
