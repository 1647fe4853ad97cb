//! The parts of WAMR's structures that its interface does not show, transcribed from version 2.4.3
//! and verified once per process: where a memory lies, and the size of a table.

use crate::api::{self, Code, ExecEnv, Instance};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock};
use touchstone_executor::guest::WASM_PAGE;

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

/// A memory of 3 to 7 pages, a table of 2 to 5 entries, and a function that returns the memory's
/// size.
static MODULE: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // magic and version
    1, 5, 1, 0x60, 0, 1, 0x7f, // a type: () -> i32
    3, 2, 1, 0, // a function of that type
    4, 5, 1, 0x70, 1, 2, 5, // the table
    5, 4, 1, 1, 3, 7, // the memory
    7, 9, 2, 1, b'f', 0, 0, 1, b't', 1, 0, // function and table exported as f and t
    9, 7, 1, 0, 0x41, 0, 0x0b, 1, 0, // the function is the table's first entry
    10, 14, 1, 12, 0, // its body
    0xd0, 0x70, 0x41, 0, 0xfc, 15, 0, 0x1a, // table.grow, for WAMR to keep the declared sizes
    0x3f, 0, 0x0b, // memory.size
];

/// Compares memory and table of an instance with what WAMR's interface tells.
fn verify() -> Result<(), String> {
    let code = Arc::new(Code::load(MODULE, 0)?);
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_linked_wamr_is_laid_out_as_transcribed() {
        assert_eq!(super::refusal(), None);
    }
}
