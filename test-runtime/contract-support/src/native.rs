//! The same, compiled for the host: the heap lies in the host's linear memory.

use alloc::{alloc::GlobalAlloc, boxed::Box, vec::Vec};
use core::{
    alloc::Layout,
    cell::{Cell, RefCell},
    marker::PhantomData,
    ptr,
};

use dlmalloc::Dlmalloc;
use guest_support::{
    WASM_PAGE, memory,
    native::{self, Call},
};

/// A copy of the input that the host keeps.
#[must_use]
pub fn input() -> Vec<u8> {
    native::kept_input().to_vec()
}

/// Runs the body of an export whose heap is its own.
pub fn run(call: &Call, body: impl FnOnce() -> u64) -> u64 {
    native::run_with(call, &Heap, body)
}

/// The state of an instance between calls. It lies at the base of the heap, where a clean memory is
/// zero.
struct State {
    /// `true` once the rest is made.
    made: Cell<bool>,
    allocator: Dlmalloc<Pages>,
    /// The last of the kept values.
    kept: *const Node,
}

/// The start of a kept value.
#[repr(C)]
struct Node {
    /// Whose value it is.
    owner: *const (),
    /// The one before it.
    next: *const Self,
}

/// The place of the state and the offset of what follows it.
fn state() -> (*mut State, usize) {
    let start = (memory::heap_base() as usize).next_multiple_of(align_of::<State>());
    let end = start + size_of::<State>();
    let state = native::at(start as u32, size_of::<State>()).cast::<State>();
    // SAFETY: the place is the instance's, aligned because memories are, and either the
    // zero bytes of a clean memory, which are a flag that is not set, or a state.
    unsafe {
        if !(*state).made.get() {
            let rest = Pages { rest: Cell::new(end) };
            let allocator = Dlmalloc::new_with_allocator(rest);
            state.write(State { made: Cell::new(true), allocator, kept: ptr::null() });
        }
    }
    (state, end)
}

/// The memory as the allocator gets it: first what there is, then what it grows by.
struct Pages {
    /// Where what there is begins; 0 when it was given out.
    rest: Cell<usize>,
}

// SAFETY: places that it returns lie in the memory and are returned once.
unsafe impl dlmalloc::Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let (start, length) = match self.rest.replace(0) {
            0 => (usize::MAX, 0),
            rest => (rest, memory::size() * WASM_PAGE as usize - rest),
        };
        if length >= size {
            return (native::at(start as u32, length), length, 0);
        }
        let pages = size.div_ceil(WASM_PAGE as usize);
        match memory::grow(pages) {
            usize::MAX => (ptr::null_mut(), 0, 0),
            before => {
                let length = pages * WASM_PAGE as usize;
                (native::at((before * WASM_PAGE as usize) as u32, length), length, 0)
            }
        }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        WASM_PAGE as usize
    }
}

/// The heap of the instance whose call runs.
struct Heap;

impl Heap {
    /// Asks the allocator.
    fn ask<T>(ask: impl FnOnce(&mut Dlmalloc<Pages>) -> T) -> T {
        // SAFETY: the state was made; an instance has one thread, and the allocator does
        // not call itself.
        ask(unsafe { &mut (*state().0).allocator })
    }
}

// SAFETY: dlmalloc keeps the contract; its state is that of the instance whose blocks they are.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        Self::ask(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller.
        Self::ask(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        Self::ask(|heap| unsafe { heap.free(block, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: promised by the caller.
        Self::ask(|heap| unsafe { heap.realloc(block, layout.size(), layout.align(), size) })
    }
}

/// A value of an instance, made when it is first asked for.
pub struct Kept<T> {
    /// Something to have an address of its own.
    _place: u8,
    value: PhantomData<fn() -> T>,
}

/// A kept value where it is kept.
#[repr(C)]
struct Value<T> {
    node: Node,
    value: RefCell<T>,
}

impl<T: Default> Kept<T> {
    /// Nothing yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is only ever a static")]
    pub const fn new() -> Self {
        Self { _place: 0, value: PhantomData }
    }

    /// Lends the value; panics where it is lent already.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        let owner = ptr::from_ref(self).cast();
        let (state, _) = state();
        // SAFETY: the state was made and nobody has a reference to it; its nodes are the
        // instance's, and the one of this owner is the first field of a `Value<T>`.
        let value = unsafe {
            let mut node = (*state).kept;
            while !node.is_null() && (*node).owner != owner {
                node = (*node).next;
            }
            if node.is_null() {
                let value = RefCell::new(T::default());
                let node_of = Node { owner, next: (*state).kept };
                node = Box::into_raw(Box::new(Value { node: node_of, value })).cast();
                (*state).kept = node;
            }
            &*node.cast::<Value<T>>()
        };
        body(&mut value.value.borrow_mut())
    }
}
