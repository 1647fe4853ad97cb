//! Where idle things wait: last in, first out, and the ones at the bottom are
//! asked to shrink.

/// A stack of idle things.
///
/// Whoever takes one gets the one that was put there last, whose memory is in the
/// caches; so when fewer are needed than there are, those at the bottom are not
/// touched any more.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    idle: Vec<Idle<T>>,
    /// More than so many are not kept.
    capacity: usize,
    /// Things put back so far.
    now: u64,
}

#[derive(Debug)]
struct Idle<T> {
    thing: T,
    since: u64,
    is_small: bool,
}

/// A thing that nobody took while so many others were put back is to shrink.
const UNUSED: u64 = 1024;

impl<T> Shelf<T> {
    /// An empty one.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { idle: Vec::new(), capacity, now: 0 }
    }

    /// More things than this are not kept.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The one that was put back last.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<T> {
        self.idle.pop().map(|idle| idle.thing)
    }

    /// Keeps a thing if there is room. Now and then `shrink` is called for one that
    /// nobody has needed for long, once.
    #[inline]
    pub(crate) fn put(&mut self, thing: T, shrink: impl FnOnce(&mut T)) {
        self.now += 1;
        if self.idle.len() < self.capacity {
            self.idle.push(Idle { thing, since: self.now, is_small: false });
        }
        // Often enough for all of them within so many turns.
        if self.now.is_multiple_of(UNUSED / 64) {
            self.shrink_one(shrink);
        }
    }

    #[cold]
    fn shrink_one(&mut self, shrink: impl FnOnce(&mut T)) {
        let now = self.now;
        let unused = |idle: &&mut Idle<T>| !idle.is_small && now - idle.since >= UNUSED;
        if let Some(idle) = self.idle.iter_mut().find(unused) {
            idle.is_small = true;
            shrink(&mut idle.thing);
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.idle.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_needs_shrinks_once() {
        let mut shelf = Shelf::new(3);
        for name in 0..4 {
            shelf.put(name, |_| unreachable!());
        }
        assert_eq!(shelf.len(), 3);
        let mut shrunk = Vec::new();
        for _ in 0..3 * UNUSED {
            let top = shelf.take().unwrap();
            assert_eq!(top, 2);
            shelf.put(top, |name| shrunk.push(*name));
        }
        assert_eq!(shrunk, [0, 1]);
    }
}
