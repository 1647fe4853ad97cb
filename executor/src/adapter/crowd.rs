//! Instances in a process that has so many of them that their memory is in no cache.

use std::sync::atomic::{AtomicUsize, Ordering};

static INSTANCES: AtomicUsize = AtomicUsize::new(0);

/// From this number on, memory beside what was used last is in no cache. A call on a random one of
/// 10, 100, 300, 1,000 and 10,000 took 1.8, 2.6, 3.7, 4.9 and 14.5 µs with eight new instances in a
/// store of Wasmtime, and 3.2, 3.2, 3.9, 4.9 and 8.8 µs with one (`touchstone density
/// 'wasmtime_recreate_instance_tracked$'`, Xeon, family 6, model 207).
const MANY: usize = 512;

/// An instance looks ahead after its first use, when its memory has found out which pages stay, and
/// again after so many more.
const LOOK: u8 = 64;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lines that are fetched at most.
const MOST: usize = 31;

/// `true` if most instances of this process are in no cache, because there are many.
#[inline]
pub fn instances_are_many() -> bool {
    INSTANCES.load(Ordering::Relaxed) >= MANY
}

/// Fetches what an instance touches in its next use, if it is one of many. METHODOLOGY.md has what
/// this saves.
pub(super) struct Ahead {
    /// The number wraps.
    uses: u8,
    lines: CacheLines,
}

impl Ahead {
    pub(super) fn new() -> Self {
        INSTANCES.fetch_add(1, Ordering::Relaxed);
        Self { uses: 0, lines: CacheLines::default() }
    }

    /// A use begins.
    #[inline]
    pub(super) fn fetch(&self) {
        self.lines.fetch();
    }

    /// A use has ended. `note` notes what the next one touches; it is seldom called.
    #[inline]
    pub(super) fn end(&mut self, note: impl FnOnce(&mut CacheLines)) {
        self.uses = self.uses.wrapping_add(1);
        if self.uses % LOOK == 1 {
            self.look(note);
        }
    }

    #[cold]
    fn look(&mut self, note: impl FnOnce(&mut CacheLines)) {
        self.lines.clear();
        if instances_are_many() {
            note(&mut self.lines);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        INSTANCES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Addresses of cache lines that the next use of something touches.
///
/// In a process with thousands of instances, none of what a call needs is in a cache. Most of it is
/// found by the address in something else that is not there either. An instance that notes the
/// addresses has the processor fetch all lines side by side.
#[derive(Debug, Default, Clone)]
pub struct CacheLines {
    noted: usize,
    addresses: [usize; MOST],
}

impl CacheLines {
    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.noted = 0;
    }

    /// Notes the lines of a value, as far as there is room.
    pub fn note<T: ?Sized>(&mut self, value: &T) {
        self.note_at((&raw const *value).addr(), size_of_val(value));
    }

    /// The same for so many bytes at an address. What lies there may move or be dropped: fetching
    /// what is not there any more does nothing.
    pub fn note_at(&mut self, address: usize, length: usize) {
        let lines = address / LINE..address.saturating_add(length).div_ceil(LINE);
        let lines = lines.filter(|_| length > 0);
        for (free, line) in self.addresses[self.noted..].iter_mut().zip(lines) {
            *free = line * LINE;
            self.noted += 1;
        }
    }

    /// Has the processor fetch the lines, and does not wait for them. Only on `x86_64`.
    #[inline]
    pub fn fetch(&self) {
        self.addresses[..self.noted].iter().for_each(|line| fetch(*line));
    }
}

#[inline]
fn fetch(_line: usize) {
    // SAFETY: this is a hint. Whatever the address is, nothing faults, and no value changes.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(_line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_value_is_noted_as_far_as_there_is_room() {
        let mut lines = CacheLines::default();
        lines.note_at(2 * LINE - 1, 2);
        assert_eq!(lines.addresses[..lines.noted], [LINE, 2 * LINE]);
        lines.note(&[0u8; 2 * MOST * LINE]);
        assert_eq!(lines.noted, MOST);
        lines.fetch();
        lines.clear();
        lines.note(&());
        // No access follows: nothing is mapped there.
        lines.note_at(1 << 60, 1);
        assert_eq!(lines.noted, 1);
        lines.fetch();
    }
}
