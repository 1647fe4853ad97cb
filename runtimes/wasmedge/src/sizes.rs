//! Growing a memory, and restoring its size after the call.
//!
//! WasmEdge's memories only grow: the number of pages lies in the limits of the memory's type, and
//! no function lowers it. The interpreter's bounds checks, `memory.size`, `memory.grow` and the C
//! interface read it from there alone; compiled code checks no bounds and faults at pages without
//! access. Between calls nothing of the guest runs that could keep another size. So a memory whose
//! number of pages is restored has its first size, provided that compiled code cannot access the
//! pages behind it.
//!
//! WasmEdge maps new pages over those that a memory grows by, so that each has a page fault again.
//! `memory.grow` is therefore a call of the host. A size that the memory had before it gets by
//! opening what is still mapped there, all zero by then ([`GrowthSteps`]).
//!
//! The interface returns the address of the limits. The place of the number in them is
//! transcribed from `ast/type.h` of WasmEdge 0.17 and verified once per process: a module is run
//! whose memory grew and was made smaller again. With a library that fails this, nothing shrinks,
//! and the instance is replaced after a call that grew its memory.

use crate::api::{self, Ast, Executor, Memory, Settings, Source, Store};
use crate::running::start_of;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::OnceLock;
use touchstone_executor::adapter::peek;
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::{GrowthSteps, HeldMappings, Resetter, Rights};
use touchstone_executor::{Error, Limits, Result};
use wasmedge_sys::ffi;

/// `WasmEdge::AST::Limit`.
#[repr(C)]
struct LimitRecord {
    kind: u8,
    minimum: u64,
    maximum: u64,
}

/// The place of the minimum in it, in words.
const MINIMUM: usize = std::mem::offset_of!(LimitRecord, minimum) / size_of::<usize>();

/// A memory of 1 to 3 pages, its size, and an access behind its first page.
const MODULE: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // magic and version
    1, 5, 1, 0x60, 0, 1, 0x7f, // a type: () -> i32
    3, 3, 2, 0, 0, // two functions of that type
    5, 4, 1, 1, 1, 3, // the memory
    7, 13, 3, 1, b'm', 2, 0, 1, b's', 0, 0, 1, b'l', 0, 1, // exported, as the functions are
    10, 16, 2, // their bodies
    4, 0, 0x3f, 0, 0x0b, // memory.size
    9, 0, 0x41, 0x80, 0x80, 4, 0x28, 2, 0, 0x0b, // i32.load at 65536
];

/// The reason why no memory can be made smaller, if there is one.
pub(crate) fn refusal() -> Option<&'static str> {
    static REFUSAL: OnceLock<Option<&'static str>> = OnceLock::new();
    *REFUSAL.get_or_init(|| verify(MINIMUM).err())
}

/// Makes a memory smaller through the word with this index of its limits, and compares the size
/// that the interface and a guest see.
fn verify(minimum: usize) -> Result<(), &'static str> {
    const NO_MEMORY: &str = "no memory is left to look at its limits";
    const ELSEWHERE: &str = "the library keeps the size of a memory elsewhere";
    let known = [0x0123_4567, 0x89ab_cdef];
    // SAFETY: makes limits of our own, which `Limits` deletes.
    let made = unsafe {
        api::Limits::own(ffi::WasmEdge_LimitCreateWithMax(known[0], known[1], false, false))
    };
    let made = made.ok_or(NO_MEMORY)?;
    let words = peek(made.as_ptr() as usize, size_of::<LimitRecord>() / size_of::<usize>());
    let found = words.and_then(|words| Some([*words.get(minimum)?, *words.get(minimum + 1)?]));
    if found != Some(known.map(|number| number as usize)) {
        return Err(ELSEWHERE);
    }
    let settings = Settings::new(ffi::WasmEdge_RunMode_Interpreter).map_err(|_| NO_MEMORY)?;
    let module = Ast::load(&settings, Source::Bytes(MODULE)).map_err(|_| NO_MEMORY)?;
    let executor = Executor::new(&settings).map_err(|_| NO_MEMORY)?;
    let store = Store::new().map_err(|_| NO_MEMORY)?;
    // SAFETY: the module imports nothing.
    let instance = unsafe { executor.instantiate(&store, &module) }.map_err(|_| NO_MEMORY)?;
    let memory = instance.memory("m").ok_or(NO_MEMORY)?;
    let call = |export| {
        let function = instance.function(export).ok_or(NO_MEMORY)?;
        // SAFETY: makes a number.
        let mut result = unsafe { ffi::WasmEdge_ValueGenI32(-1) };
        // SAFETY: the function is of the live instance, takes nothing and gives one number.
        let ended = unsafe { executor.invoke(function, &[], std::slice::from_mut(&mut result)) };
        Ok(ended.is_ok().then_some(result.Value))
    };
    // SAFETY: the memory is of the live instance. The word is a part, which is not constant, of its
    // limits, and holds their minimum; nobody else uses the memory.
    unsafe {
        let grow = || api::check(ffi::WasmEdge_MemoryInstanceGrowPage(memory.as_ptr(), 1)).is_ok();
        let ty = ffi::WasmEdge_MemoryInstanceGetMemoryType(memory.as_ptr());
        let limits = ffi::WasmEdge_MemoryTypeGetLimit(ty).cast_mut().cast::<usize>();
        let place = limits.wrapping_add(minimum);
        if !grow() || call("s")? != Some(2) || peek(place as usize, 1) != Some(vec![2]) {
            return Err(ELSEWHERE);
        }
        place.write(1);
        let start = ffi::WasmEdge_MemoryInstanceGetPointer(memory.as_ptr(), WASM_PAGE as u64, 1);
        let is_smaller = pages(memory) == 1 && start.is_null() && call("s")? == Some(1);
        if !is_smaller || call("l")?.is_some() || !grow() || pages(memory) != 2 {
            return Err(ELSEWHERE);
        }
    }
    Ok(())
}

/// Number of pages that a memory has.
///
/// # Safety
///
/// The memory must be of a live instance.
unsafe fn pages(memory: Memory) -> u64 {
    // SAFETY: the memory is alive.
    unsafe { ffi::WasmEdge_MemoryInstanceGetPageSize(memory.as_ptr()) }
}

/// Start and limits of a memory with this number of pages; `None` if the layout is unknown.
///
/// # Safety
///
/// The memory must be of a live instance.
unsafe fn parts(memory: Memory, pages: u64) -> Option<(*mut u8, NonNull<LimitRecord>)> {
    if refusal().is_some() {
        return None;
    }
    // SAFETY: the memory is alive; a length of zero asks for the address alone.
    let (base, limits) = unsafe {
        let ty = ffi::WasmEdge_MemoryInstanceGetMemoryType(memory.as_ptr());
        (
            ffi::WasmEdge_MemoryInstanceGetPointer(memory.as_ptr(), 0, 0),
            ffi::WasmEdge_MemoryTypeGetLimit(ty),
        )
    };
    let known = NonNull::new(limits.cast_mut().cast::<LimitRecord>())?;
    // SAFETY: the limits are those of the live memory.
    let is_found = !base.is_null() && unsafe { ffi::WasmEdge_LimitGetMin(limits) } == pages;
    is_found.then_some((base, known))
}

/// The pages of a memory behind its size.
#[derive(Debug)]
pub(crate) struct GrownPages {
    /// Up to this offset, pages behind the size are mapped, and zero.
    end: Cell<usize>,
    /// Opens and closes them, for code that checks no bounds.
    steps: Option<RefCell<GrowthSteps>>,
    /// The memory ends with a region and keeps its size.
    fixed: bool,
    /// Its mappings; `None` without a memory.
    held: RefCell<Option<HeldMappings>>,
}

/// The addresses that WasmEdge reserves for a memory, and those that are accessible.
const MAPPINGS: usize = 2;

impl GrownPages {
    /// No pages. Fails if too few mappings would be left to the rest of the process.
    pub(crate) fn new(closed: bool, fixed: bool, has_memory: bool) -> Result<Self> {
        let held = if has_memory { Some(HeldMappings::new(MAPPINGS)?) } else { None };
        let (end, steps) = (Cell::new(0), closed.then(RefCell::default));
        Ok(Self { end, steps, fixed, held: RefCell::new(held) })
    }

    /// Takes a mapping for growth; `false` if there is none.
    fn hold_growth(&self) -> bool {
        self.held.borrow_mut().as_mut().is_none_or(HeldMappings::grow)
    }

    /// Forgets the pages, before another memory is used.
    pub(crate) fn forget(&self) {
        self.end.set(0);
        if let Some(steps) = &self.steps {
            steps.take();
        }
    }

    /// The rights that a thread needs while the guest runs or its memory is used.
    pub(crate) fn rights(&self) -> Rights {
        self.steps.as_ref().map_or_else(Rights::default, |steps| steps.borrow().rights())
    }

    /// Opens the memory to all threads; `false` if the kernel refuses.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Self::grow), and `base` must be the memory's start.
    pub(crate) unsafe fn show(&self, base: *mut u8) -> bool {
        // SAFETY: `base` is the start of the live memory, of which no slice is alive.
        self.steps.as_ref().is_none_or(|steps| unsafe { steps.borrow_mut().unlock(base) }.is_ok())
    }

    /// Grows a memory by `more` zero pages, and returns the old number. `None` if that is more than
    /// the maximum or the limit of the call, the memory keeps its size, the kernel refuses, or too
    /// few mappings would be left to the rest of the process.
    ///
    /// # Safety
    ///
    /// The memory must be of a live instance, always the same one between two calls of
    /// [`forget`](Self::forget), and no slice of it may be alive.
    pub(crate) unsafe fn grow(&self, memory: Memory, more: u32, limits: Limits) -> Option<u32> {
        // SAFETY: the memory is of a live instance.
        let pages = unsafe { pages(memory) };
        if more == 0 {
            return Some(pages as u32);
        }
        let wanted = pages + u64::from(more);
        let is_beyond = limits.pages.is_some_and(|limit| wanted > limit.into());
        if self.fixed || is_beyond || !self.hold_growth() {
            return None;
        }
        let is_kept = wanted as usize * WASM_PAGE <= self.end.get();
        // SAFETY: as for this function; the kept pages were part of the memory before.
        let done = is_kept && unsafe { self.open(memory, pages, wanted) };
        if is_kept && !done && self.steps.is_some() {
            // WasmEdge would map new pages, unknown to the resetter.
            return None;
        }
        if !done {
            // SAFETY: as for this function, with the memory's start.
            if !unsafe { self.show(start_of(memory) as *mut u8) } {
                return None;
            }
            // SAFETY: the memory is alive. The pages that it replaces are zero, as the new ones.
            let grown =
                unsafe { ffi::WasmEdge_MemoryInstanceGrowPage(memory.as_ptr(), u64::from(more)) };
            api::check(grown).ok()?;
            if let Some(steps) = &self.steps {
                // SAFETY: WasmEdge has opened it, and it is the memory's own.
                unsafe { steps.borrow_mut().note(wanted as usize * WASM_PAGE) };
            }
        }
        Some(pages as u32)
    }

    /// Restores a size that a memory had before; `false` if that is impossible.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Self::grow).
    unsafe fn open(&self, memory: Memory, pages: u64, wanted: u64) -> bool {
        // SAFETY: the memory is of a live instance.
        let Some((base, known)) = (unsafe { parts(memory, pages) }) else { return false };
        let (size, wanted_size) = (pages as usize * WASM_PAGE, wanted as usize * WASM_PAGE);
        let is_open = self.steps.as_ref().is_none_or(|steps| {
            // SAFETY: the range was part of the memory before, and is still mapped: `reset` closed
            // it. No slice of it is alive. The thread that runs the guest has the rights.
            unsafe { steps.borrow_mut().open(base, size, wanted_size) }.is_ok()
        });
        if is_open {
            // SAFETY: the limits are a mutable part of the live memory, with a verified layout, and
            // nobody else uses the memory.
            unsafe { (*known.as_ptr()).minimum = wanted };
        }
        is_open
    }

    /// Resets a memory to its clean content, with its region, and to `size` bytes. `false` if that
    /// is impossible, and the memory must not be used any more; so it must not after an error.
    ///
    /// # Safety
    ///
    /// As for [`grow`](Self::grow). Nothing of the instance may run, the memory must have had
    /// `size` bytes, and `resetter` must be installed at its start.
    pub(crate) unsafe fn reset(
        &self,
        memory: Memory,
        size: usize,
        resetter: Option<&mut Resetter>,
    ) -> Result<bool> {
        // SAFETY: the memory is of a live instance.
        let pages = unsafe { pages(memory) };
        let grown = pages as usize * WASM_PAGE;
        if grown == size {
            if let Some(steps) = &self.steps {
                steps.borrow().check()?;
            }
            if let Some(resetter) = resetter {
                let own = resetter.template().size();
                // SAFETY: the first `own` bytes are open, and nothing runs on them. Closed pages
                // behind them are dropped at most, and none lie behind a region.
                unsafe { resetter.reset(own) }?;
            }
            return Ok(true);
        }
        // SAFETY: the memory is of a live instance.
        let Some((base, known)) = (unsafe { parts(memory, pages) }) else { return Ok(false) };
        if grown < size {
            return Ok(false);
        }
        // SAFETY: WasmEdge has reserved the range for this memory and made it accessible, and
        // nobody uses it meanwhile. Before the memory grew, it was not accessible either. The
        // limits are as in `open`.
        unsafe {
            let (behind, length) = (base.add(size).cast(), grown - size);
            if let Some(resetter) = resetter {
                let rights = self.rights();
                resetter.reset(grown)?;
                drop(rights);
                if let Some(steps) = &self.steps {
                    steps.borrow_mut().close(base, size, grown)?;
                }
                self.end.set(self.end.get().max(grown));
            } else {
                // The written pages are unknown.
                self.forget();
                let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
                let flags = flags | libc::MAP_ANONYMOUS;
                let closed = libc::mmap(behind, length, libc::PROT_NONE, flags, -1, 0);
                if closed == libc::MAP_FAILED {
                    return Err(failed());
                }
            }
            (*known.as_ptr()).minimum = (size / WASM_PAGE) as u64;
        }
        // SAFETY: the memory is of a live instance.
        Ok(unsafe { self::pages(memory) } as usize * WASM_PAGE == size)
    }
}

fn failed() -> Error {
    let error = std::io::Error::last_os_error();
    Error::system("cannot close what a memory has grown by")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linked_library_is_as_known() {
        assert_eq!(refusal(), None);
    }

    #[test]
    fn another_layout_is_refused() {
        for word in [0, 2, 3, 1000] {
            assert!(verify(word).is_err(), "{word}");
        }
    }
}
