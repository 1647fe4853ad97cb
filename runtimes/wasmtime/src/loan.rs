//! Touchstone's memories that Wasmtime has for an instance, and that are taken back while the
//! instance is still there, to be lent to the next one.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touchstone_executor::Result;
use touchstone_executor::memory::{MemoryPool, Padded, PooledMemory};
use touchstone_wasmtime_memory::parts::Extent;
use wasmtime::LinearMemory;

/// Where a memory lies that was taken back: at no address that a processor can access
/// (bits 47 to 63 are not alike), so that a fault is never taken for one in it.
const NOWHERE: usize = 1 << 62;

/// A memory on loan to one instance after the other.
pub(crate) struct Loan {
    extent: Extent,
    /// Which loan it is: whoever has an earlier one has nothing any more. Written in every
    /// call, as the field above is.
    turn: Padded<AtomicU64>,
    first: usize,
    /// Bytes that the memory may grow to.
    largest: usize,
    /// `true` if it may move when it grows.
    moves: bool,
    lease: Mutex<PooledMemory>,
}

impl Loan {
    fn new(lease: PooledMemory, first: usize, largest: usize, moves: bool) -> Self {
        let extent = Extent::new(lease.base(), first);
        let (turn, lease) = (Padded(AtomicU64::new(0)), Mutex::new(lease));
        Self { extent, turn, first, largest, moves, lease }
    }

    fn lease(&self) -> MutexGuard<'_, PooledMemory> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the memory back and makes it clean. The instance that has it must never run
    /// again, and no slice of its memory be alive.
    pub(crate) fn end(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
        let mut lease = self.lease();
        if lease.reset().is_err() {
            lease.release();
        }
    }

    /// Lends a clean memory of the same kind again, after the last loan's end.
    fn renew(&self) -> Result<()> {
        let mut lease = self.lease();
        lease.renew()?;
        note_threads(&mut lease);
        self.extent.set(lease.base(), self.first);
        Ok(())
    }

    fn grow(&self, size: usize) -> Result<()> {
        let mut lease = self.lease();
        lease.grow(size)?;
        self.extent.set(lease.base(), size);
        Ok(())
    }
}

/// Whoever makes a new instance for each call notes on which threads it is used.
fn note_threads(lease: &mut PooledMemory) {
    if let Some(mut resetter) = lease.resetter() {
        resetter.note_threads();
    }
}

/// A loan, as Wasmtime holds it.
pub(crate) struct Lent {
    loan: Arc<Loan>,
    turn: u64,
}

impl Lent {
    /// A memory from `home`: by a loan that [`noting`] was given, where one is left, or a
    /// new one. The other parameters are the same for all memories from there.
    pub(crate) fn new(
        home: &Arc<MemoryPool>,
        first: usize,
        largest: usize,
        reserved: usize,
        moves: bool,
    ) -> Result<Self> {
        let new = || {
            let mut lease = PooledMemory::new(home, first, reserved, moves)?;
            note_threads(&mut lease);
            Ok::<_, touchstone_executor::Error>(Arc::new(Loan::new(lease, first, largest, moves)))
        };
        let loan = NOTED.with_borrow_mut(|noted| {
            let Some(noted) = noted else { return new() };
            // A component's memories are made in the same order each time.
            let loan = match noted.loans.get(noted.given) {
                Some(loan) if loan.lease().is_from(home) => {
                    loan.renew()?;
                    Arc::clone(loan)
                }
                _ => {
                    noted.loans.truncate(noted.given);
                    let loan = new()?;
                    noted.loans.push(Arc::clone(&loan));
                    loan
                }
            };
            noted.given += 1;
            Ok(loan)
        })?;
        let turn = loan.turn.load(Ordering::Relaxed);
        Ok(Self { loan, turn })
    }

    fn has_ended(&self) -> bool {
        self.turn != self.loan.turn.load(Ordering::Relaxed)
    }
}

// SAFETY: the pointer is that of a mapping owned by the loan, of which `size` bytes
// are accessible. It moves only in `grow_to`, and only if the code was compiled for
// memories that may. After the loan's end no code runs that has this memory
// (`Tenancy::end`); Wasmtime asks where it lies only to find the memory of an address.
unsafe impl LinearMemory for Lent {
    fn byte_size(&self) -> usize {
        if self.has_ended() { 0 } else { self.loan.extent.size() }
    }

    /// Up to which it will not move.
    fn byte_capacity(&self) -> usize {
        if self.loan.moves { self.byte_size() } else { self.loan.largest }
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.loan.largest || self.has_ended() {
            wasmtime::bail!("a memory cannot grow beyond its reservation");
        }
        Ok(self.loan.grow(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        if self.has_ended() {
            return std::ptr::without_provenance_mut(NOWHERE);
        }
        self.loan.extent.base()
    }
}

/// Loans of the instance that is being made on this thread.
#[derive(Default)]
struct Noted {
    /// Those of the instance before it, and from `given` on ended.
    loans: Vec<Arc<Loan>>,
    given: usize,
}

thread_local! {
    static NOTED: RefCell<Option<Noted>> = const { RefCell::new(None) };
}

/// Does something in which Wasmtime asks for memories. They are lent by `loans`, which
/// have ended, as far as these go; afterwards `loans` are all that were made.
pub(crate) fn noting<T>(loans: &mut Vec<Arc<Loan>>, work: impl FnOnce() -> T) -> T {
    /// Ends the noting, also when `work` panics, and goes on with what was noted before.
    struct Noting<'a>(&'a mut Vec<Arc<Loan>>, Option<Noted>);
    impl Drop for Noting<'_> {
        fn drop(&mut self) {
            let mut noted = NOTED.replace(self.1.take()).unwrap_or_default();
            noted.loans.truncate(noted.given);
            *self.0 = noted.loans;
        }
    }
    let before = NOTED.replace(Some(Noted { loans: std::mem::take(loans), given: 0 }));
    let _noting = Noting(loans, before);
    work()
}
