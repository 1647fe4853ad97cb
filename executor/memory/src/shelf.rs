//! Where idle things wait: each thread gets back what it put there last, and what
//! nobody needs is asked to shrink.

use crate::padded::Padded;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Boards: threads that do not get in each other's way.
const BOARDS: usize = 16;
/// A thing that nobody took while so many others were put on its board is to shrink.
const UNUSED: u64 = 1024;
/// Things put on a board between two looks for what is unused.
const LOOK: u64 = 16;
/// Things put on a board between two looks at another one: all within `UNUSED`.
const LOOK_AROUND: u64 = UNUSED / BOARDS as u64;

/// Idle things of several threads.
///
/// A thread puts and takes on a board of its own, the last one first: that one's
/// memory is in this processor's caches, and no other thread waits for the lock.
/// Only a thread whose board is empty looks at the others'.
#[derive(Debug)]
pub struct Shelf<T> {
    boards: [Padded<Mutex<Board<T>>>; BOARDS],
    /// Things that are not the only ones on their board, and how many of those are kept.
    extra: Padded<AtomicUsize>,
    capacity: usize,
}

#[derive(Debug)]
struct Board<T> {
    idle: Vec<Padded<Idle<T>>>,
    /// Things put here so far, and how many there had been when somebody looked.
    now: u64,
    looked: u64,
}

#[derive(Debug)]
struct Idle<T> {
    thing: T,
    since: u64,
    is_small: bool,
}

impl<T> Shelf<T> {
    /// An empty one that keeps at most `capacity` things, and one for each board.
    pub fn new(capacity: usize) -> Self {
        let board = |_| Padded(Mutex::new(Board { idle: Vec::new(), now: 0, looked: 0 }));
        Self { boards: std::array::from_fn(board), extra: Padded::default(), capacity }
    }

    /// How many things are kept beside one for each board.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The thing that this thread put here last, or else that another one did.
    #[inline]
    pub fn take(&self) -> Option<T> {
        let own = own_board();
        self.take_from(&mut self.boards[own].lock()).or_else(|| {
            (1..BOARDS).find_map(|step| {
                let other = self.boards[(own + step) % BOARDS].try_lock();
                self.take_from(&mut *other?)
            })
        })
    }

    #[inline]
    fn take_from(&self, board: &mut Board<T>) -> Option<T> {
        let taken = board.idle.pop()?;
        if !board.idle.is_empty() {
            self.extra.fetch_sub(1, Relaxed);
        }
        Some(taken.0.thing)
    }

    /// Keeps a thing if there is room. Now and then `shrink` is called for one that
    /// nobody has needed for long, once.
    #[inline]
    pub fn put(&self, thing: T, shrink: impl FnMut(&mut T)) {
        let own = own_board();
        let mut board = self.boards[own].lock();
        board.now += 1;
        let (since, now) = (board.now, board.now);
        let more = |extra| (extra < self.capacity).then_some(extra + 1);
        if board.idle.is_empty() || self.extra.fetch_update(Relaxed, Relaxed, more).is_ok() {
            board.idle.push(Padded(Idle { thing, since, is_small: false }));
        }
        if now.is_multiple_of(LOOK) {
            self.look(own, now, board, shrink);
        }
    }

    /// Lets what is unused on this board shrink, or on the board whose turn it is if
    /// nobody put anything there since the last look.
    #[cold]
    fn look(
        &self,
        own: usize,
        now: u64,
        mut board: MutexGuard<'_, Board<T>>,
        mut shrink: impl FnMut(&mut T),
    ) {
        let unused = |idle: &&mut Padded<Idle<T>>| !idle.is_small && now - idle.since >= UNUSED;
        if let Some(idle) = board.idle.iter_mut().find(unused) {
            idle.is_small = true;
            shrink(&mut idle.thing);
        }
        drop(board);
        let turn = (now / LOOK_AROUND) as usize % BOARDS;
        // A thread may have ended, or have no work; its things stay where they are.
        if turn != own
            && now.is_multiple_of(LOOK_AROUND)
            && let Some(mut other) = self.boards[turn].try_lock()
        {
            if other.now == other.looked {
                for idle in other.idle.iter_mut().filter(|idle| !idle.is_small) {
                    idle.is_small = true;
                    shrink(&mut idle.thing);
                }
            }
            other.looked = other.now;
        }
    }
}

/// This thread's board: threads get them in turns.
#[inline]
fn own_board() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static BOARD: usize = THREADS.fetch_add(1, Relaxed) % BOARDS;
    }
    BOARD.with(|board| *board)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<T> Shelf<T> {
        /// How many there are.
        pub(crate) fn len(&self) -> usize {
            self.boards.iter().map(|board| board.lock().idle.len()).sum()
        }
    }

    #[test]
    fn what_nobody_needs_shrinks_once() {
        let shelf = Shelf::new(2);
        for name in 0..5 {
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

    #[test]
    fn what_a_thread_left_is_taken_or_shrinks() {
        let shelf = Shelf::new(4);
        std::thread::scope(|scope| {
            for name in ["a", "b"] {
                let shelf = &shelf;
                scope.spawn(move || shelf.put(name, |_| unreachable!())).join().unwrap();
            }
        });
        // An empty board looks at the others.
        let taken = shelf.take().unwrap();
        let mut shrunk = Vec::new();
        for _ in 0..UNUSED * BOARDS as u64 * 2 {
            shelf.put(taken, |name| shrunk.push(*name));
            assert_eq!(shelf.take(), Some(taken));
        }
        assert_eq!(shelf.len(), 1);
        assert_eq!(shrunk.len(), 1);
        assert_ne!(shrunk[0], taken);
        assert!(shelf.take().is_some());
        assert_eq!(shelf.take(), None);
    }
}
