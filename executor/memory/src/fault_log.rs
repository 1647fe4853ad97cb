//! The page faults of a thread, noted by the kernel where the thread can read them.
//!
//! With the software event of page faults, `perf_event_open(2)` writes the address of each to a
//! ring in the thread's memory; seeing that there was none takes no system call. A fault takes 1.6
//! instead of 1.35 µs then, and a switch of threads through a pipe 3.8 instead of 3.2 (Linux 6.18,
//! AMD EPYC).
//!
//! Faults in the kernel (`read(2)` into a memory) count too, so it takes
//! `kernel.perf_event_paranoid` of at most 1, or `CAP_PERFMON`. Pages that a system call pins are
//! not noted.
//!
//! Numbers and layouts are those of `linux/perf_event.h`. A software event with a period of 1 is
//! never throttled (`perf_swevent_event` in `kernel/events/core.c`).

use super::{host_page, process};
use rustix::mm::{MapFlags, ProtFlags};
use std::cell::{Cell, RefCell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_PAGE_FAULTS: u64 = 2;
const PERF_SAMPLE_ADDR: u64 = 1 << 3;
const PERF_RECORD_SAMPLE: u32 = 9;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// `exclude_hv` and `watermark` among the bits of `struct perf_event_attr`.
const FLAGS: u64 = 1 << 6 | 1 << 14;

/// The first version of `struct perf_event_attr` (`PERF_ATTR_SIZE_VER0`).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);

/// Places in `struct perf_event_mmap_page`, in words of 8 bytes.
const DATA_HEAD: usize = 1024 / 8;
const DATA_TAIL: usize = 1032 / 8;

/// Host pages of the ring behind that structure: 1,024 faults where a page has 4 KiB. After more
/// in one call, `PAGEMAP_SCAN` is hardly slower than reading them.
const RING: usize = 4;
/// Resets in a row that do not need the log, after which its event is stopped.
const IDLE: u32 = 16;
/// `_IO('$', 0)` and `_IO('$', 1)`.
const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
const PERF_EVENT_IOC_DISABLE: libc::c_ulong = 0x2401;
/// Bytes of an entry: a header of 8 (kind, flags, size), and the address.
const ENTRY: u64 = 16;
/// Bytes that the kernel may want for one fault: an entry, and a note about those that it lost.
const MOST: u64 = ENTRY + 24;

/// The log of one thread.
struct Log {
    /// `struct perf_event_mmap_page`, and the ring.
    words: *const AtomicU64,
    /// Bytes of the ring, a power of two.
    size: u64,
    /// The difference of positions to those of the kernel, whole rings. Each start of the event
    /// adds one, so that no position from before is valid afterwards.
    base: u64,
    /// Entries before this position may be lost.
    complete_from: Cell<u64>,
    /// Resets in a row that did not need it.
    idle: Cell<u32>,
    /// That it was opened in: a child of a fork has no such mapping.
    process: u64,
    /// Open as long as the kernel is to note something.
    event: OwnedFd,
}

thread_local! {
    /// The log of this thread in a process, 0 before it was opened and while it is stopped; `None`
    /// if the kernel refused.
    static LOG: RefCell<(u64, Option<Log>)> = const { RefCell::new((0, None)) };
    #[cfg(test)]
    static IS_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Where the log of this thread ends by now; `None` where the kernel keeps none. Faults that
/// happen later are noted behind it.
#[inline]
pub(super) fn position() -> Option<u64> {
    with(|log| {
        log.make_room();
        log.head()
    })
}

/// `true` if the log of this thread still ends at a position.
#[inline]
pub(super) fn ends_at(position: u64) -> bool {
    with(|log| log.head() == position) == Some(true)
}

/// Faults between two positions, about; 0 only if these are the same.
pub(super) fn between(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from).div_ceil(ENTRY)
}

/// Calls `fault` with the address of each fault of this thread since a position. The
/// position of now; `None` where not all are known any more.
pub(super) fn since(position: u64, fault: impl FnMut(usize)) -> Option<u64> {
    with(|log| log.since(position, fault))?
}

#[inline]
fn with<T>(work: impl FnOnce(&Log) -> T) -> Option<T> {
    #[cfg(test)]
    if IS_OFF.get() {
        return None;
    }
    let process = process::number()?;
    // A thread that ends may have lost it already.
    LOG.try_with(|state| {
        if state.borrow().0 != process {
            open(&mut state.borrow_mut(), process);
        }
        let log = state.borrow();
        let log = log.1.as_ref()?;
        log.idle.set(0);
        Some(work(log))
    })
    .ok()?
}

#[cold]
fn open(state: &mut (u64, Option<Log>), process: u64) {
    // A child of a fork has nothing of its parent's log.
    let old = state.1.take().filter(|log| log.process == process);
    // Behind each position so far.
    let base = old.as_ref().map_or(0, |log| log.head().next_multiple_of(log.size) + log.size);
    let started = old.and_then(Log::start);
    *state = (process, started.or_else(|| Log::open(process, base)));
}

/// Says that a reset went without the log. After several in a row, the event is stopped until
/// somebody asks: noting a fault takes time.
pub(super) fn is_unneeded() {
    let _ = LOG.try_with(|state| {
        let mut state = state.borrow_mut();
        let (Some(process), (opened, Some(log))) = (process::number(), &*state) else { return };
        if *opened != process {
            return;
        }
        log.idle.set(log.idle.get() + 1);
        if log.idle.get() >= IDLE && log.control(PERF_EVENT_IOC_DISABLE) {
            state.0 = 0;
        }
    });
}

impl Log {
    fn open(process: u64, base: u64) -> Option<Self> {
        if cfg!(miri) {
            return None;
        }
        let attributes = Attributes {
            kind: PERF_TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: PERF_COUNT_SW_PAGE_FAULTS,
            sample_period: 1,
            sample_type: PERF_SAMPLE_ADDR,
            flags: FLAGS,
            // Nobody is to be woken.
            wakeup_watermark: u32::MAX >> 1,
            ..Attributes::default()
        };
        // SAFETY: the kernel reads so many bytes of `attributes`. The event is of this thread
        // (0), on whatever processor (-1), in no group (-1).
        let event = unsafe {
            let place = &raw const attributes;
            libc::syscall(libc::SYS_perf_event_open, place, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)
        };
        let event = i32::try_from(event).ok().filter(|event| *event >= 0)?;
        // SAFETY: the kernel has just opened it, for us alone.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        let (any, length) = (std::ptr::null_mut(), (1 + RING) * host_page());
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let words = unsafe { rustix::mm::mmap(any, length, rights, MapFlags::SHARED, &event, 0) };
        let words = words.ok()?.cast::<AtomicU64>();
        let size = (RING * host_page()) as u64;
        let (complete_from, idle) = (Cell::new(0), Cell::new(0));
        Some(Self { words, size, base, complete_from, idle, process, event })
    }

    /// Starts the stopped event again; `None` if the kernel refuses.
    fn start(mut self) -> Option<Self> {
        self.base += self.size;
        self.complete_from.set(self.head());
        self.control(PERF_EVENT_IOC_ENABLE).then_some(self)
    }

    fn control(&self, request: libc::c_ulong) -> bool {
        // SAFETY: starts or stops this event, which is ours; there is no other argument.
        unsafe { libc::ioctl(self.event.as_raw_fd(), request, 0) == 0 }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the callers' places lie in the mapping, which is there as long as the value is:
        // it does not leave its thread, and `with` compares the process. Others than this
        // thread and, in its faults, the kernel do not access it.
        unsafe { &*self.words.add(index) }
    }

    #[inline]
    fn head(&self) -> u64 {
        self.base + self.word(DATA_HEAD).load(Ordering::Acquire)
    }

    /// Lets the kernel overwrite everything up to now, once the ring is full.
    #[inline]
    fn make_room(&self) {
        let (head, tail) = (self.head() - self.base, self.word(DATA_TAIL));
        if head.wrapping_sub(tail.load(Ordering::Relaxed)) + MOST >= self.size {
            self.complete_from.set(self.base + head);
        }
        tail.store(head, Ordering::Release);
    }

    fn since(&self, position: u64, mut fault: impl FnMut(usize)) -> Option<u64> {
        self.make_room();
        let head = self.head();
        if position < self.complete_from.get() || head.wrapping_sub(position) > self.size {
            return None;
        }
        let mut at = position;
        while at < head {
            let header = self.entry(at);
            // Else the kernel says that it lost some, or something that we did not ask for.
            if header as u32 != PERF_RECORD_SAMPLE || header >> 48 != ENTRY {
                return None;
            }
            fault(self.entry(at + 8) as usize);
            at += ENTRY;
        }
        // Faults of the loop may have overwritten what was not read yet.
        (self.head().wrapping_sub(position) <= self.size).then_some(head)
    }

    /// The word at a position of the ring.
    fn entry(&self, position: u64) -> u64 {
        let offset = (position & (self.size - 1)) as usize;
        self.word((host_page() + offset) / 8).load(Ordering::Relaxed)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if process::number() == Some(self.process) {
            let length = (1 + RING) * host_page();
            // SAFETY: the mapping that `open` made in this process, which nobody else has.
            let _ = unsafe { rustix::mm::munmap(self.words.cast_mut().cast(), length) };
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Mapping;
    use super::*;
    use std::io::Read;

    /// `true` if this thread has no log from now on, as if the kernel refused.
    pub(in super::super) fn turn_off(off: bool) {
        IS_OFF.set(off);
    }

    /// `true` if this process may count page faults of user and kernel: the kernel is asked for
    /// just that, in bytes of the test's own.
    fn is_granted() -> bool {
        // Kind and size, then the event; all else is zero.
        let mut attributes = [0_u64; 8];
        attributes[0] = 1 | 64 << 32;
        attributes[1] = 2;
        let place = attributes.as_ptr();
        // SAFETY: the kernel reads the 64 bytes that the structure says it has.
        let event = unsafe { libc::syscall(libc::SYS_perf_event_open, place, 0, -1, -1, 0) };
        let Ok(event @ 0..) = i32::try_from(event) else { return false };
        // SAFETY: the kernel has just opened it, for us alone.
        drop(unsafe { OwnedFd::from_raw_fd(event) });
        true
    }

    /// A memory; `None` where this process is granted no log.
    fn memory(pages: usize) -> Option<Mapping> {
        let size = pages * host_page();
        let mut mapping = Mapping::new(size, size).unwrap();
        mapping.exclusive().make_small(&(0..size)).unwrap();
        match position() {
            Some(_) => Some(mapping),
            None => {
                assert!(!is_granted(), "no log, where the kernel grants one");
                eprintln!("not tested: this kernel logs no page faults for this process");
                None
            }
        }
    }

    /// The pages of a memory in which there were faults since a position.
    fn pages_since(memory: &Mapping, position: u64) -> Option<(Vec<usize>, u64)> {
        let mut pages = Vec::new();
        let range = memory.base().addr()..memory.base().addr() + memory.accessible();
        let end = since(position, |address| {
            if range.contains(&address) {
                pages.push((address - range.start) / host_page());
            }
        })?;
        Some((pages, end))
    }

    fn touch(memory: &mut Mapping, page: usize) {
        std::hint::black_box(memory.bytes_mut())[page * host_page() + 5] = 1;
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn each_fault_is_noted_with_its_page() {
        let Some(mut memory) = memory(64) else { return };
        // Its own pages are there before.
        let start = pages_since(&memory, position().unwrap()).unwrap().1;
        [7, 3, 40].into_iter().for_each(|page| touch(&mut memory, page));
        let (pages, end) = pages_since(&memory, start).unwrap();
        assert_eq!(pages, [7, 3, 40]);
        [7, 3].into_iter().for_each(|page| touch(&mut memory, page));
        assert!(pages_since(&memory, end).unwrap().0.is_empty());
        touch(&mut memory, 63);
        // One position does not end what others know.
        assert_eq!(pages_since(&memory, start).unwrap().0, [7, 3, 40, 63]);
        assert_eq!(pages_since(&memory, end).unwrap().0, [63]);
        assert!(!ends_at(end));
        let end = position().unwrap();
        assert!(ends_at(end));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn a_log_that_nobody_needs_is_stopped_until_somebody_asks() {
        let Some(mut memory) = memory(200) else { return };
        // As the kernel has it.
        let noted = || {
            LOG.with_borrow(|(_, log)| {
                log.as_ref().unwrap().word(DATA_HEAD).load(Ordering::Acquire)
            })
        };
        for first in [0, 60, 120] {
            let before = position().unwrap();
            (1..IDLE).for_each(|_| is_unneeded());
            touch(&mut memory, first);
            assert_eq!(pages_since(&memory, before).unwrap().0, [first]);
            // That was a question.
            (1..IDLE).for_each(|_| is_unneeded());
            touch(&mut memory, first + 1);
            assert_eq!(pages_since(&memory, before).unwrap().0, [first, first + 1]);
            let (before, all) = (position().unwrap(), noted());
            (0..IDLE).for_each(|_| is_unneeded());
            (10..40).for_each(|page| touch(&mut memory, first + page));
            assert_eq!(noted(), all);
            // What was not noted is not taken for nothing.
            assert!(!ends_at(before));
            assert_eq!(pages_since(&memory, before), None);
            let start = position().unwrap();
            assert!(start > before && between(before, start) > 0);
            touch(&mut memory, first + 50);
            assert_eq!(pages_since(&memory, start).unwrap().0, [first + 50]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn what_a_system_call_copies_is_noted() {
        let Some(mut memory) = memory(8) else { return };
        let mut zeros = std::fs::File::open("/dev/zero").unwrap();
        let start = position().unwrap();
        let at = 2 * host_page();
        zeros.read_exact(&mut memory.bytes_mut()[at..at + host_page() + 9]).unwrap();
        assert_eq!(pages_since(&memory, start).unwrap().0, [2, 3]);
    }

    /// More faults than the ring has room for, and those after them.
    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn a_log_that_lost_faults_says_so() {
        let most = RING * host_page() / ENTRY as usize;
        let Some(mut memory) = memory(3 * most) else { return };
        let first = position().unwrap();
        (0..most - 100).for_each(|page| touch(&mut memory, page));
        assert!(pages_since(&memory, first).unwrap().0.len() >= most - 100);
        // Read, and overwritten since.
        (most..most + 200).for_each(|page| touch(&mut memory, page));
        assert_eq!(pages_since(&memory, first), None);
        // Too many at once.
        let second = position().unwrap();
        (2 * most..3 * most).for_each(|page| touch(&mut memory, page));
        touch(&mut memory, most + 200);
        assert!(!ends_at(second));
        assert_eq!(pages_since(&memory, second), None);
        // The kernel notes how many it lost before the next fault.
        let third = position().unwrap();
        touch(&mut memory, most + 201);
        assert_eq!(pages_since(&memory, third), None);
        let fourth = position().unwrap();
        touch(&mut memory, most + 202);
        assert_eq!(pages_since(&memory, fourth).unwrap().0, [most + 202]);
    }

    /// Whoever gets the entries may fault, too.
    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn entries_that_are_overwritten_while_they_are_read_are_not_missed() {
        let most = RING * host_page() / ENTRY as usize;
        let Some(mut memory) = memory(most + 256) else { return };
        // Its pages are there before.
        let mut seen = vec![0; 2 * most];
        for faults in [0, 20, 128, 256] {
            seen.clear();
            let first = position().unwrap();
            (0..most / 2).for_each(|page| touch(&mut memory, page));
            // As the reset of another memory does.
            position().unwrap();
            (most / 2..most - 40).for_each(|page| touch(&mut memory, page));
            let base = memory.base().addr();
            let end = since(first, |address| {
                if seen.is_empty() {
                    (most..most + faults).for_each(|page| touch(&mut memory, page));
                }
                seen.push(address.wrapping_sub(base) / host_page());
            });
            assert_eq!(end.is_some(), faults < 40, "{faults} faults");
            assert!(end.is_none() || (0..most - 40).all(|page| seen.contains(&page)));
            let size = memory.accessible();
            memory.exclusive().discard(&(0..size)).unwrap();
        }
    }

    /// The kernel must not pause the event, however often it happens.
    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn many_faults_in_a_short_time_are_all_noted() {
        let Some(mut memory) = memory(500) else { return };
        for round in 0..400 {
            let start = position().unwrap();
            (0..500).for_each(|page| touch(&mut memory, page));
            let (pages, _) = pages_since(&memory, start).unwrap();
            assert!(pages.iter().copied().eq(0..500), "round {round}");
            let size = memory.accessible();
            memory.exclusive().discard(&(0..size)).unwrap();
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open")]
    fn each_thread_has_its_own() {
        let Some(mut memory) = memory(8) else { return };
        let start = pages_since(&memory, position().unwrap()).unwrap().1;
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                let start = position().unwrap();
                touch(&mut memory, 5);
                pages_since(&memory, start).unwrap().0
            });
            assert_eq!(there.join().unwrap(), [5]);
        });
        assert!(pages_since(&memory, start).unwrap().0.is_empty());
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open and fork")]
    fn a_child_opens_one_of_its_own() {
        let Some(mut memory) = memory(8) else { return };
        let start = position().unwrap();
        // SAFETY: the child only does what the parent's thread may do, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let position = position();
            touch(&mut memory, 6);
            let noted = position.is_some_and(|position| !ends_at(position));
            // SAFETY: ends this process, without what the parent wants to do at its end.
            unsafe { libc::_exit(if noted { 7 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the kernel writes the status of the child to the place.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
        touch(&mut memory, 2);
        assert_eq!(pages_since(&memory, start).unwrap().0, [2]);
    }

    /// The kernel is asked once in each process.
    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open and processes")]
    fn a_refusal_is_that_of_one_process() {
        let name = "fault_log::tests::a_refusal_is_that_of_one_process";
        if !is_granted() || crate::tests::test_support::passes(name) {
            return;
        }
        let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: limits of this process, which is a test's own.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut files), 0);
            let none = libc::rlimit { rlim_cur: 0, ..files };
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none), 0);
            assert_eq!(position(), None);
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files), 0);
        }
        assert_eq!(position(), None);
        // SAFETY: the child only does what the parent's thread may do, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let code = if position().is_some() { 7 } else { 1 };
            // SAFETY: ends this process, without what the parent wants to do at its end.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: the kernel writes the status of the child to the place.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs perf_event_open and processes")]
    fn a_thread_that_ends_leaves_no_mapping() {
        let name = "fault_log::tests::a_thread_that_ends_leaves_no_mapping";
        if !is_granted() || crate::tests::test_support::passes(name) {
            return;
        }
        let logs = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| line.contains("[perf_event]")).count()
        };
        let before = logs();
        for _ in 0..3 {
            let there = std::thread::spawn(move || (position().is_some(), logs()));
            assert_eq!(there.join().unwrap(), (true, before + 1));
            assert_eq!(logs(), before);
        }
    }
}
