//! Cache-line padding for values that different threads write.

use std::ops::{Deref, DerefMut};

/// A value that shares no cache line with another one: 128 bytes, because processors
/// fetch lines of 64 bytes in pairs.
///
/// For values that an instance or a thread writes in every call. If two such values share a cache
/// line, their threads slow each other (false sharing). A field of this type aligns its whole
/// struct, so one padded field is enough.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct with one padded field is apart as a whole.
    #[test]
    fn neighbours_are_in_different_blocks() {
        struct Whole {
            _own: Padded<u8>,
            also_own: u64,
        }
        let two = [(); 2].map(|()| Whole { _own: Padded(0), also_own: 0 });
        let block = |of: &Whole| (&raw const of.also_own as usize) / 128;
        assert_ne!(block(&two[0]), block(&two[1]));
        assert_eq!(size_of::<Whole>() % 128, 0);
        assert_eq!((&raw const two[0] as usize) % 128, 0);
    }
}
