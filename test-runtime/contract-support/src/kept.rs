//! A value that outlives a call, in a module.

use core::cell::{Cell, UnsafeCell};

/// A value of an instance, made when it is first asked for.
pub struct Kept<T> {
    value: UnsafeCell<Option<T>>,
    lent: Cell<bool>,
}

// SAFETY: an instance has one thread: modules of this target have no atomics and no shared
// memory, so that no second thread can have a reference.
unsafe impl<T> Sync for Kept<T> {}

impl<T: Default> Kept<T> {
    /// Nothing yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it is only ever a static")]
    pub const fn new() -> Self {
        Self { value: UnsafeCell::new(None), lent: Cell::new(false) }
    }

    /// Lends the value; panics where it is lent already.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        assert!(!self.lent.replace(true), "the value is lent already");
        // SAFETY: `lent` was false, and only this function makes references; the last one
        // ended before it was set to false again.
        let value = unsafe { &mut *self.value.get() };
        let result = body(value.get_or_insert_with(T::default));
        self.lent.set(false);
        result
    }
}
