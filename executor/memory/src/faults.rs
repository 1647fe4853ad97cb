//! `true` if a thread had a page fault since a memory was reset on it.
//!
//! Right after a scan of a memory ([`pagemap`](super::pagemap)), the pages that can be
//! written without a fault are those that the scan found: present, private and writable.
//! As long as the thread has no fault, nothing else was written by that thread, so the list of the
//! last scan is complete and no scan is needed. Where the kernel [logs](super::fault_log) the
//! faults of threads, it also says in which pages they were, and the list only grows by these.
//! Elsewhere it counts them (`getrusage`).
//!
//! Why no write is missed:
//!
//! * A write of the guest or the host to a page that is not on the list faults, and the log and the
//!   count move. So does a system call of the thread that copies to it (`read`, `recv`).
//! * If a system call of the thread pins the page (`O_DIRECT`, `process_vm_writev`,
//!   `MADV_POPULATE_WRITE`), only the count moves. It is asked where the host had the
//!   [bytes](super::Memory::bytes_mut) of the memory; [`writable`](super::writable) puts the page
//!   on the list before.
//! * A page on the list may be swapped out, migrated, merged (KSM) or write-protected: it stays.
//! * After a reset has dropped a page, the next write faults.
//! * A forked child has another process number; the parent's pages are on its list.
//! * `khugepaged` makes absent pages writable without a fault, but not in these memories, which are
//!   mapped with `MADV_NOHUGEPAGE`.
//! * Writes of other threads are the business of [`UsedOn`] and [`note_foreign_writes`].
//! * Locking (`mlock`, `mlockall(MCL_CURRENT)`) makes absent pages writable: call
//!   [`note_foreign_writes`] after it on each thread that resets such memories. Growth of locked
//!   memory does the same, so each scan of a grown part looks whether it is locked, and from then
//!   on every reset scans it.
//!
//! Missed, and therefore forbidden between two resets: writes of other processes (`ptrace`,
//! `process_vm_writev`) and of asynchronous kernel workers (`io_uring`), and stopping the thread's
//! events (`prctl(PR_TASK_PERF_EVENTS_DISABLE)`).

use super::{Mapping, ResetterMut, fault_log, host_page, process};
use std::cell::Cell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The number of this thread, 0 before there is one.
    static THREAD: Cell<u64> = const { Cell::new(0) };
    /// The number that it got when it was told last that memories may have been written elsewhere.
    static TOLD: Cell<u64> = const { Cell::new(0) };
}

/// The highest number of a thread so far; no number is given out twice.
static LAST: AtomicU64 = AtomicU64::new(0);

#[inline]
fn thread() -> u64 {
    match THREAD.get() {
        0 => new_number(),
        number => number,
    }
}

#[cold]
fn new_number() -> u64 {
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    THREAD.set(number);
    number
}

/// Says that other threads may have written memories of kind
/// [`ResetMethod::Gated`](super::ResetMethod::Gated) since this
/// thread reset them, or that the process has locked them (`mlock`, `mlockall`): the next reset of
/// each on this thread asks the kernel what was written.
pub fn note_foreign_writes() {
    TOLD.set(new_number());
}

/// The page faults of the calling thread so far; `None` where [nobody counts](is_counted) them.
#[inline]
pub(super) fn count() -> Option<u64> {
    if is_counted() { said() } else { None }
}

/// The page faults of the calling thread as the kernel counts them (`getrusage(2)`).
#[inline]
pub(crate) fn said() -> Option<u64> {
    // SAFETY: a `rusage` of zeros is a valid one, and the kernel writes one to the place.
    let (failed, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), usage)
    };
    u64::try_from(usage.ru_minflt + usage.ru_majflt).ok().filter(|_| failed == 0)
}

/// The way in which a thread's faults are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    /// How far its log goes.
    Logged(u64),
    /// How many there were, where the kernel logs none.
    Counted(u64),
}

/// The faults of a thread at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    process: u64,
    thread: u64,
    /// The number that the thread was told then.
    told: u64,
    faults: Faults,
}

impl Mark {
    /// Those of the calling thread so far; `None` where the kernel does not say.
    pub(super) fn now() -> Option<Self> {
        match fault_log::position() {
            Some(position) => Self::with(Faults::Logged(position)),
            None => Self::counted(),
        }
    }

    /// As [`now`](Self::now), by their number alone, also where the kernel keeps a log.
    pub(super) fn counted() -> Option<Self> {
        Self::with(Faults::Counted(count()?))
    }

    fn with(faults: Faults) -> Option<Self> {
        Some(Self { process: process::number()?, thread: thread(), told: TOLD.get(), faults })
    }

    /// The same from now on by the log, for a mark that holds; `None` where the kernel keeps none.
    pub(super) fn logged(self) -> Option<Self> {
        Some(Self { faults: Faults::Logged(fault_log::position()?), ..self })
    }

    /// `true` if it depends on the log.
    #[inline]
    pub(super) fn is_logged(&self) -> bool {
        matches!(self.faults, Faults::Logged(_))
    }

    /// Of the calling thread from now on. `None` in a child of a fork, and where
    /// [`note_foreign_writes`] was called since.
    pub(super) fn renewed(self) -> Option<Self> {
        let now = if self.is_logged() { Self::now() } else { Self::counted() };
        now.filter(|now| (now.process, now.told) == (self.process, self.told))
    }

    /// `true` if it is of the calling thread, in the process that it was made in.
    #[inline]
    fn is_of_here(&self) -> bool {
        self.thread == thread() && process::number() == Some(self.process)
    }

    /// `true` if it is of the calling thread, which had no fault since.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.is_of_here()
            && match self.faults {
                Faults::Logged(position) => fault_log::ends_at(position),
                Faults::Counted(faults) => count() == Some(faults),
            }
    }

    /// The thread's faults since an earlier mark; `None` if that does not hold for another reason.
    pub(super) fn faults_since(self, before: Self) -> Option<u64> {
        let of = |mark: Self| (mark.process, mark.thread, mark.told);
        match (self.faults, before.faults) {
            _ if of(self) != of(before) => None,
            (Faults::Logged(now), Faults::Logged(then)) => Some(fault_log::between(then, now)),
            (Faults::Counted(now), Faults::Counted(then)) => now.checked_sub(then),
            _ => None,
        }
    }

    /// Calls `fault` with the address of each fault that the calling thread had since. The mark
    /// of now; `None` where not all are known.
    pub(super) fn each_since(&self, fault: impl FnMut(usize)) -> Option<Self> {
        match self.faults {
            Faults::Logged(position) if self.is_of_here() => {
                let faults = Faults::Logged(fault_log::since(position, fault)?);
                Some(Self { faults, ..*self })
            }
            _ => None,
        }
    }
}

/// `true` if the kernel logs the faults of this thread, so that most resets of kind
/// [`ResetMethod::Gated`](super::ResetMethod::Gated) take no system call.
pub fn are_logged() -> bool {
    fault_log::position().is_some()
}

/// `true` if this kernel counts the faults of threads: a sandbox may answer without.
pub(super) fn is_counted() -> bool {
    static COUNTED: LazyLock<bool> = LazyLock::new(|| {
        let (Some(before), Ok(mut page)) = (said(), Mapping::new(host_page(), host_page())) else {
            return false;
        };
        // Volatile through a slice of bytes: the page is written in any case.
        std::hint::black_box(page.bytes_mut())[0] = 1;
        said() != Some(before)
    });
    *COUNTED
}

/// The thread on which an instance uses its memory, from `prepare` to `finish`.
///
/// An instance may be sent to another thread in between. A memory of kind
/// [`ResetMethod::Gated`](super::ResetMethod::Gated), or one that was told that its
/// [use begins](super::ResetterMut::begin_use), is reset by the faults of one thread, so whoever
/// implements an instance over such memories notes the thread of each step here. When they were
/// not all the same, the reset after [`end`](Self::end) asks the kernel.
///
/// To be ended before the memory is reset, and in `prepare` once more before what the last
/// call left is reset there. Dropping it ends it: a field of this type stands before those
/// that give memories back when they are dropped.
#[derive(Debug, Default)]
pub struct UsedOn(u64);

impl UsedOn {
    const NOWHERE: u64 = 0;
    const SEVERAL: u64 = u64::MAX;
    /// No memory asks: nothing is noted, which spares a few nanoseconds in each call.
    const UNNEEDED: u64 = u64::MAX - 1;

    /// For an instance with no memory but this one.
    pub fn of(resetter: ResetterMut<'_>) -> Self {
        let mut used_on = Self(Self::UNNEEDED);
        if resetter.asks_threads() {
            used_on.note_for(resetter);
        }
        used_on
    }

    /// Between two uses: notes threads from the next one on if the last reset of the memory
    /// lacked them.
    #[inline]
    pub fn follow(&mut self, resetter: ResetterMut<'_>) {
        if resetter.lacks_notes() {
            self.note_for(resetter);
        }
    }

    #[cold]
    fn note_for(&mut self, mut resetter: ResetterMut<'_>) {
        resetter.note_threads();
        if !self.is_noted() {
            self.0 = Self::NOWHERE;
        }
    }

    /// `true` if a memory asks.
    #[inline]
    pub fn is_noted(&self) -> bool {
        self.0 != Self::UNNEEDED
    }

    /// The memory is used from now on.
    #[inline]
    pub fn begin(&mut self) {
        if self.is_noted() {
            self.0 = thread();
        }
    }

    /// The memory is used further, maybe on another thread.
    #[inline]
    pub fn go_on(&mut self) {
        if self.is_noted() && self.0 != thread() {
            self.0 = Self::SEVERAL;
        }
    }

    /// The memory is about to be reset.
    #[inline]
    pub fn end(&mut self) {
        if !matches!(self.0, Self::NOWHERE | Self::UNNEEDED) && self.0 != thread() {
            // Other memories were not written elsewhere: their next use renews their marks.
            new_number();
        }
    }
}

impl Drop for UsedOn {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        InitialContent, Memory, MemoryTemplate, ResetMethod, pagemap_scan_available,
    };
    use super::*;
    use crate::tests::test_support;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    /// A mark of now. Looking whether one holds may fault itself the first few times, in code and
    /// stack that were not there yet.
    fn mark() -> Mark {
        let mut marks = (0..20).map_while(|_| Mark::now());
        marks.find(Mark::holds).expect("a mark that holds")
    }

    /// `true` if something that writes a byte of an absent page moves the count, where it is asked.
    fn moves(write: impl FnOnce(&mut [u8])) -> bool {
        let size = 16 * host_page();
        let mut memory = Mapping::new(size, size).unwrap();
        fault_log::tests::turn_off(true);
        let mark = mark();
        write(&mut memory.bytes_mut()[5 * host_page()..6 * host_page()]);
        !mark.holds()
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs getrusage and mmap")]
    fn faults_of_system_calls_are_counted_for_the_thread() {
        assert!(is_counted());
        assert!(moves(|page| page[7] = 1));
        assert!(!moves(|_| {}));
        let mut zeros = std::fs::File::open("/dev/zero").unwrap();
        assert!(moves(|page| zeros.read_exact(&mut page[..9]).unwrap()), "read");
        assert!(moves(|page| {
            // A sandbox may refuse it; then it cannot write either.
            if !test_support::write_pinned(&mut page[..9]) {
                page[0] = 1;
            }
        }));
        assert!(moves(|page| {
            // SAFETY: the page is borrowed; its content stays the same.
            let done = unsafe {
                libc::madvise(page.as_mut_ptr().cast(), page.len(), libc::MADV_POPULATE_WRITE)
            };
            assert_eq!(done, 0);
        }));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs getrusage and mmap")]
    fn direct_reads_are_counted_for_the_thread() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let path = folder.path().join("direct");
        std::fs::write(&path, vec![7; host_page()]).unwrap();
        let direct = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
        let Ok(file) = direct else {
            eprintln!("not tested: this file system has no direct reads");
            return;
        };
        assert!(moves(|page| {
            // SAFETY: the page is borrowed, and of so many bytes.
            let read =
                unsafe { libc::read(file.as_raw_fd(), page.as_mut_ptr().cast(), page.len()) };
            assert_eq!(read, host_page() as isize);
        }));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs getrusage and mmap")]
    fn a_mark_is_of_one_thread() {
        let holds_elsewhere = |mark: Mark| {
            std::thread::scope(|scope| scope.spawn(move || mark.holds()).join().unwrap())
        };
        assert!(!holds_elsewhere(mark()));
        let mark = mark();
        new_number();
        assert!(!mark.holds());
        // As above: the first time may fault itself.
        let renewed = (0..2).fold(mark, |mark, _| mark.renewed().unwrap());
        assert!(renewed.holds());
        note_foreign_writes();
        assert!(!renewed.holds());
        assert_eq!(renewed.renewed(), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs getrusage and mmap")]
    fn a_use_on_several_threads_is_noticed() {
        let elsewhere = |used: &mut UsedOn, step: fn(&mut UsedOn)| {
            std::thread::scope(|scope| scope.spawn(|| step(used)).join().unwrap());
        };
        let ends = |used: &mut UsedOn| {
            let number = thread();
            used.end();
            thread() == number
        };
        let mut used = UsedOn::default();
        assert!(ends(&mut used));
        used.begin();
        used.go_on();
        assert!(ends(&mut used));
        used.begin();
        elsewhere(&mut used, UsedOn::go_on);
        used.go_on();
        assert!(!ends(&mut used));
        elsewhere(&mut used, UsedOn::begin);
        assert!(!ends(&mut used));
        used.begin();
        elsewhere(&mut used, UsedOn::go_on);
        let number = thread();
        drop(used);
        assert_ne!(thread(), number);
    }

    /// A memory that is watched needs to know nothing about threads until it grows.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
    fn threads_are_noted_once_a_memory_asks() {
        let (size, limit) = (16 * host_page(), 1 << 20);
        let memory = |reset: ResetMethod| {
            let template = MemoryTemplate::new(InitialContent::zeroed(size), reset).unwrap();
            Memory::new(Some(&template), size, 4 * size).unwrap()
        };
        if !pagemap_scan_available() {
            return;
        }
        let mut gated = memory(ResetMethod::Gated { limit });
        assert!(UsedOn::of(gated.resetter().unwrap()).is_noted());
        let mut memory = memory(ResetMethod::Tracked { limit });
        if memory.resetter().unwrap().asks_threads() {
            // Other tests watch as many memories as there may be.
            return;
        }
        let mut used = UsedOn::of(memory.resetter().unwrap());
        used.begin();
        used.go_on();
        used.follow(memory.resetter().unwrap());
        assert_eq!(used.0, UsedOn::UNNEEDED);
        let elsewhere = |used: &mut UsedOn| {
            std::thread::scope(|scope| scope.spawn(|| used.begin()).join().unwrap());
        };
        let number = thread();
        elsewhere(&mut used);
        used.end();
        assert_eq!(thread(), number);
        memory.grow(2 * size).unwrap();
        memory.reset().unwrap();
        used.follow(memory.resetter().unwrap());
        assert_eq!(used.0, UsedOn::NOWHERE);
        elsewhere(&mut used);
        // What is noted once stays, for as long as the memory is used.
        used.follow(memory.resetter().unwrap());
        used.end();
        assert_ne!(thread(), number);
        // From now on its faults tell what it grows by.
        let before = memory.resetter().unwrap().scans_behind();
        for _ in 0..10 {
            memory.grow(2 * size).unwrap();
            memory.reset().unwrap();
        }
        assert!(memory.resetter().unwrap().scans_behind() > before);
    }
}
