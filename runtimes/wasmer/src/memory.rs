//! Memories for Wasmer, through its `Tunables`: Touchstone's or Wasmer's own, with a limit of their
//! growth in a call. And the view of a memory's bytes.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::{MemoryPool, MemoryTemplate, PooledMemory};
use wasmer::sys::vm::{LinearMemory, VMMemory, VMMemoryDefinition, VMTable, VMTableDefinition};
use wasmer::sys::{BaseTunables, Target, Tunables};
use wasmer::{
    AsStoreRef, Memory, MemoryError, MemoryStyle, MemoryType, Pages, TableStyle, TableType,
};

/// The bytes of a memory.
///
/// # Safety
///
/// The result must not outlive the caller's exclusive use of the store, and
/// nothing may grow the memory or run a guest on it meanwhile.
pub(crate) unsafe fn bytes<'a>(memory: &Memory, store: &impl AsStoreRef) -> &'a mut [u8] {
    let view = memory.view(store);
    let (base, size) = (view.data_ptr(), view.data_size() as usize);
    if size == 0 {
        return &mut [];
    }
    // SAFETY: Wasmer keeps the first `size` bytes at `base` readable and
    // writable while the store lives; they are no part of the store itself, and
    // the caller promises that nobody else uses them.
    unsafe { std::slice::from_raw_parts_mut(base, size) }
}

/// Gives Wasmer its linear memories.
///
/// A memory is given back when the store that has it is dropped.
pub(crate) struct Memories {
    /// `None` for memories of Wasmer's own.
    pool: Option<Arc<MemoryPool>>,
    /// Decides everything else.
    base: BaseTunables,
}

impl Memories {
    pub(crate) fn of_wasmer() -> Self {
        Self { pool: None, base: BaseTunables::for_target(&Target::default()) }
    }

    /// Touchstone's memories.
    pub(crate) fn pooled(template: Option<MemoryTemplate>, keep: usize) -> Self {
        Self { pool: Some(Arc::new(MemoryPool::new(template, keep))), ..Self::of_wasmer() }
    }
}

impl Tunables for Memories {
    fn memory_style(&self, memory: &MemoryType) -> MemoryStyle {
        self.base.memory_style(memory)
    }

    fn table_style(&self, table: &TableType) -> TableStyle {
        self.base.table_style(table)
    }

    fn create_host_memory(
        &self,
        ty: &MemoryType,
        style: &MemoryStyle,
    ) -> Result<VMMemory, MemoryError> {
        self.base.create_host_memory(ty, style)
    }

    /// A memory of the initial size in the whole reservation that the style promises to compiled
    /// code. The rest is inaccessible, so that an access that the compiler leaves to the guard
    /// pages faults. With a template the memory holds the content of the module's data segments,
    /// which were removed.
    unsafe fn create_vm_memory(
        &self,
        ty: &MemoryType,
        style: &MemoryStyle,
        definition: NonNull<VMMemoryDefinition>,
    ) -> Result<VMMemory, MemoryError> {
        let Some(pool) = &self.pool else {
            // SAFETY: the caller's promise is passed on.
            let memory = unsafe { self.base.create_vm_memory(ty, style, definition) }?;
            return Ok(VMMemory(Box::new(Limited(memory))));
        };
        let MemoryStyle::Static { bound, offset_guard_size } = *style else {
            return Err(MemoryError::Generic("a movable memory is not Touchstone's".to_owned()));
        };
        let size = ty.minimum.0 as usize * WASM_PAGE;
        let reserved = bound.0 as usize * WASM_PAGE + offset_guard_size as usize;
        let mut lease = PooledMemory::new(pool, size, reserved, false)
            .map_err(|error| MemoryError::Generic(error.to_string()))?;
        // As the driver of instances does, new or reused.
        if let Some(mut resetter) = lease.resetter() {
            resetter.note_threads();
        }
        let lent = Lent { ty: *ty, style: *style, pages: ty.minimum, definition, lease };
        lent.publish();
        Ok(VMMemory(Box::new(lent)))
    }

    fn create_host_table(&self, ty: &TableType, style: &TableStyle) -> Result<VMTable, String> {
        self.base.create_host_table(ty, style)
    }

    unsafe fn create_vm_table(
        &self,
        ty: &TableType,
        style: &TableStyle,
        definition: NonNull<VMTableDefinition>,
    ) -> Result<VMTable, String> {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.base.create_vm_table(ty, style, definition) }
    }
}

/// A recycled memory, as Wasmer holds it.
#[derive(Debug)]
struct Lent {
    ty: MemoryType,
    style: MemoryStyle,
    /// Size as the guest sees it.
    pages: Pages,
    /// Where the instance keeps base and length for compiled code.
    definition: NonNull<VMMemoryDefinition>,
    lease: PooledMemory,
}

// SAFETY: the definition lies in the instance that this memory was made for.
// Wasmer keeps both in one store and moves them to another thread only together.
unsafe impl Send for Lent {}
// SAFETY: through a shared reference the definition is only read, or written by `publish`, which is
// called before anybody else has the memory and under `&mut self`.
unsafe impl Sync for Lent {}

impl Lent {
    /// Tells compiled code base and length.
    fn publish(&self) {
        let base = self.lease.base();
        let current_length = self.pages.0 as usize * WASM_PAGE;
        // SAFETY: Wasmer gives the place of the instance's definition, which lives as long as the
        // instance; it is called while the instance is being made, or by `grow`, for an instance
        // that lives. No reference to it is held by anybody.
        unsafe { self.definition.write(VMMemoryDefinition { base, current_length }) };
    }
}

impl LinearMemory for Lent {
    fn ty(&self) -> MemoryType {
        MemoryType { minimum: self.pages, ..self.ty }
    }

    fn size(&self) -> Pages {
        self.pages
    }

    fn style(&self) -> MemoryStyle {
        self.style
    }

    fn grow(&mut self, delta: Pages) -> Result<Pages, MemoryError> {
        let (current, attempted_delta) = (self.pages, delta);
        let refused = || MemoryError::CouldNotGrow { current, attempted_delta };
        let largest = self.ty.maximum.unwrap_or(Pages::max_value()).min(Pages::max_value());
        let pages = self.pages.checked_add(delta).filter(|pages| *pages <= largest);
        let pages = pages.filter(|pages| may_grow(self, *pages)).ok_or_else(refused)?;
        self.lease.grow(pages.0 as usize * WASM_PAGE).map_err(|_| refused())?;
        let before = std::mem::replace(&mut self.pages, pages);
        self.publish();
        Ok(before)
    }

    fn vmmemory(&self) -> NonNull<VMMemoryDefinition> {
        self.definition
    }

    fn try_clone(&self) -> Result<Box<dyn LinearMemory + Send + Sync>, MemoryError> {
        Err(MemoryError::MemoryNotShared)
    }

    fn copy(&self) -> Result<Box<dyn LinearMemory + Send + Sync>, MemoryError> {
        Err(MemoryError::MemoryNotShared)
    }
}

/// A memory of Wasmer's own.
#[derive(Debug)]
struct Limited(VMMemory);

impl LinearMemory for Limited {
    fn ty(&self) -> MemoryType {
        self.0.ty()
    }

    fn size(&self) -> Pages {
        self.0.size()
    }

    fn style(&self) -> MemoryStyle {
        self.0.style()
    }

    fn grow(&mut self, delta: Pages) -> Result<Pages, MemoryError> {
        let current = self.size();
        match current.checked_add(delta) {
            Some(pages) if !may_grow(self, pages) => {
                Err(MemoryError::CouldNotGrow { current, attempted_delta: delta })
            }
            _ => self.0.grow(delta),
        }
    }

    fn vmmemory(&self) -> NonNull<VMMemoryDefinition> {
        self.0.vmmemory()
    }

    fn try_clone(&self) -> Result<Box<dyn LinearMemory + Send + Sync>, MemoryError> {
        self.0.0.try_clone()
    }

    fn copy(&self) -> Result<Box<dyn LinearMemory + Send + Sync>, MemoryError> {
        self.0.0.copy()
    }
}

thread_local! {
    /// Memories of this thread's running calls that have a limit, by their address, and the pages
    /// that they may grow to. A host function may call another instance.
    static LIMITS: RefCell<Vec<(usize, u32)>> = const { RefCell::new(Vec::new()) };
}

/// Limits the growth of a memory until [`end_limit`].
pub(crate) fn limit(memory: &Memory, store: &impl AsStoreRef, pages: u32) {
    let base = memory.view(store).data_ptr() as usize;
    LIMITS.with_borrow_mut(|limits| limits.push((base, pages)));
}

/// Ends the limit of a memory, if there is one.
pub(crate) fn end_limit(memory: &Memory, store: &impl AsStoreRef) {
    let base = memory.view(store).data_ptr() as usize;
    LIMITS.with_borrow_mut(|limits| limits.retain(|(limited, _)| *limited != base));
}

/// `true` if the running call lets a memory have these pages.
fn may_grow(memory: &impl LinearMemory, pages: Pages) -> bool {
    // SAFETY: Wasmer keeps the definition of a memory as long as the memory, and nobody writes it
    // while the memory is borrowed.
    let base = unsafe { memory.vmmemory().as_ref() }.base as usize;
    let is_it = |(limited, most): &(usize, u32)| *limited == base && pages.0 > *most;
    pages == memory.size() || !LIMITS.with_borrow(|limits| limits.iter().any(is_it))
}
