//! Defects that were found, a test for each: memories came back unclean, took what others need, or
//! ended the process.

use super::*;
use std::os::unix::process::ExitStatusExt;
use test_support::{alone, kinds, passes};

const PAGE: usize = 4096;
const SIZE: usize = 65_536 * 4;
const LIMIT: usize = 1 << 20;

fn clean() -> Vec<u8> {
    let mut clean = vec![0; SIZE];
    for (index, byte) in clean.iter_mut().enumerate().take(9 * PAGE).skip(5000) {
        *byte = (index % 250) as u8 + 1;
    }
    clean
}

fn template(reset: ResetMethod) -> MemoryTemplate {
    MemoryTemplate::new(InitialContent::capture(&clean()), reset).unwrap()
}

fn name(test: &str) -> String {
    format!("tests::defect_tests::{test}")
}

/// Bytes of this process that are resident, of shared files included.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * host_page()
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn holes_of_a_sparse_image_take_no_memory() {
    if passes(&name("holes_of_a_sparse_image_take_no_memory")) {
        return;
    }
    let size = 48 << 20;
    let segments = [(70_000, &[1, 2, 3][..]), (size - 9, &[1, 2, 3])];
    for kind in kinds(LIMIT).filter(|kind| *kind != ResetMethod::Segments) {
        let before = resident();
        let content = InitialContent::from_segments(size, segments).unwrap();
        let template = MemoryTemplate::new(content, kind).unwrap();
        let mut memory = Memory::new(Some(&template), size, size).unwrap();
        assert!(resident() < before + (8 << 20), "{kind:?}: made");
        let read = |memory: &mut Memory| {
            memory.bytes_mut().iter().step_by(PAGE).map(|byte| usize::from(*byte)).sum::<usize>()
        };
        assert_eq!(read(&mut memory), 0);
        memory.reset().unwrap();
        assert!(resident() < before + (8 << 20), "{kind:?}: read");
        memory.bytes_mut()[1 << 20..][..PAGE].fill(1);
        memory.bytes_mut()[size - 9] = 7;
        memory.reset().unwrap();
        assert_eq!(read(&mut memory), 0);
        assert_eq!(memory.bytes_mut()[size - 10..][..5], [0, 1, 2, 3, 0]);
        assert_eq!(memory.bytes_mut()[69_999..][..5], [0, 1, 2, 3, 0]);
    }
}

/// Something happens to a memory so that it cannot be reset, and then is gone.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_whose_reset_failed_is_used_no_more() {
    for kind in [ResetMethod::Drop, ResetMethod::Segments] {
        let pool = std::sync::Arc::new(MemoryPool::new(Some(template(kind)), 1));
        let mut lease = PooledMemory::new(&pool, SIZE, 2 * SIZE, true).unwrap();
        let last = lease.base().wrapping_add(SIZE - PAGE).cast();
        // SAFETY: the last page of a memory of this test's own, which nobody refers to;
        // the second call puts back what the first one took.
        unsafe {
            libc::munmap(last, PAGE);
            assert!(lease.reset().is_err(), "{kind:?}");
            let (rights, flags) = (
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            );
            assert_eq!(libc::mmap(last, PAGE, rights, flags, -1, 0), last);
        }
        assert!(lease.reset().is_err(), "{kind:?}: reset once more");
        lease.release();
        let mut next = pool.take(SIZE, 2 * SIZE).unwrap();
        // A new one: what is shelved has been used and is not accessible at once.
        next.bytes_mut()[0] = 1;
        assert!(next.reset().unwrap());
        assert!(next.bytes_mut() == clean());
    }
}

/// Safe code does it: slices of one memory, written by several threads.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn threads_write_one_memory() {
    if passes(&name("threads_write_one_memory")) {
        return;
    }
    const THREADS: usize = 3;
    let rounds = 150;
    let limits = [1 << 20, 24 * PAGE];
    let kinds = limits.map(|limit| ResetMethod::Tracked { limit });
    let clean = clean();
    for kind in kinds.into_iter().filter(|kind| kind.refusal().is_none()) {
        for round in 0..rounds {
            let mut memory = Memory::new(Some(&template(kind)), SIZE, SIZE).unwrap();
            let mut parts: [Vec<&mut [u8]>; THREADS] = Default::default();
            for (index, part) in memory.bytes_mut().chunks_mut(1024).enumerate() {
                parts[index % THREADS].push(part);
            }
            let start = std::sync::Barrier::new(THREADS);
            std::thread::scope(|scope| {
                for parts in parts {
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        for part in parts {
                            part[round % 1000] = 255;
                        }
                    });
                }
            });
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == clean, "{kind:?}, round {round}");
        }
    }
}

/// The page of zeros that all share lies where the guest wrote zeros over the image:
/// what the kernel makes of such pages where it merges equal ones (KSM).
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn zeros_that_the_kernel_has_merged_are_restored() {
    let kind = ResetMethod::Resident { limit: 1 << 20 };
    if kind.refusal().is_some() {
        return;
    }
    let mut memory = Memory::new(Some(&template(kind)), SIZE, SIZE).unwrap();
    let page = 3 * PAGE;
    // SAFETY: nobody refers to the memory meanwhile.
    if unsafe { !merge_zeros(memory.base().add(page), PAGE) } {
        eprintln!("not tested: this process may not use userfaultfd");
        return;
    }
    assert!(memory.bytes_mut()[page..][..PAGE].iter().all(|byte| *byte == 0));
    memory.reset().unwrap();
    assert!(memory.bytes_mut() == clean());
    assert!(memory.bytes_mut()[page] != 0);
}

/// Maps the shared page of zeros at a place. Whether the kernel did it.
///
/// # Safety
///
/// The range must be of whole pages and the caller's own.
unsafe fn merge_zeros(start: *mut u8, length: usize) -> bool {
    const USER_MODE_ONLY: libc::c_int = 1;
    const API: libc::c_ulong = 0xc018_aa3f;
    const REGISTER: libc::c_ulong = 0xc020_aa00;
    const ZEROPAGE: libc::c_ulong = 0xc020_aa04;
    let (start, length) = (start as u64, length as u64);
    // SAFETY: the structures are those of `linux/userfaultfd.h`, and the range is the
    // caller's. With the descriptor the registration goes.
    unsafe {
        libc::madvise(start as *mut _, length as usize, libc::MADV_DONTNEED);
        let flags = USER_MODE_ONLY | libc::O_CLOEXEC;
        let file = libc::syscall(libc::SYS_userfaultfd, flags) as libc::c_int;
        if file < 0 {
            return false;
        }
        let mut api = [0xaa_u64, 0, 0];
        let mut register = [start, length, 1, 0];
        let mut zero = [start, length, 0, 0];
        let done = libc::ioctl(file, API, api.as_mut_ptr()) == 0
            && libc::ioctl(file, REGISTER, register.as_mut_ptr()) == 0
            && libc::ioctl(file, ZEROPAGE, zero.as_mut_ptr()) == 0;
        libc::close(file);
        done
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_that_is_locked_is_reset() {
    for kind in kinds(LIMIT) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, 2 * SIZE).unwrap();
        // SAFETY: a memory of this test's own.
        if unsafe { libc::mlock(memory.base().cast(), SIZE) } != 0 {
            eprintln!("not tested: this process may not lock memory");
            return;
        }
        // Long enough for all that is done now and then.
        for call in 0..600 {
            let at = call * 7919 % (SIZE - 9000);
            let length = if call % 50 == 0 { SIZE - at } else { 9000 };
            memory.bytes_mut()[at..][..length].fill(255);
            if call % 7 == 0 {
                memory.grow(SIZE + 65_536).unwrap();
                memory.bytes_mut()[SIZE] = 1;
            }
            assert!(memory.reset().unwrap());
            if call % 10 == 0 {
                assert!(memory.bytes_mut() == clean(), "{kind:?}, call {call}");
            }
        }
        memory.trim().unwrap();
        assert!(memory.bytes_mut() == clean(), "{kind:?}");
    }
}

/// A child asks about its own pages.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_child_of_a_fork_resets_its_own_copy() {
    if passes(&name("a_child_of_a_fork_resets_its_own_copy")) {
        return;
    }
    let clean = clean();
    // A tracked memory that lists few pages asks the kernel too.
    let few =
        Some(ResetMethod::Tracked { limit: 3 * PAGE }).filter(|kind| kind.refusal().is_none());
    for kind in kinds(LIMIT).chain(few) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, SIZE).unwrap();
        // SAFETY: the child runs nothing but the code below, which takes no lock that
        // another thread may have had, and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                memory.bytes_mut()[SIZE - 70_000..].fill(2);
                memory.bytes_mut()[PAGE..][..3 * PAGE].fill(2);
                let is_clean = memory.reset().is_ok() && memory.bytes_mut() == clean;
                libc::_exit(if is_clean { 0 } else { 1 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0, "{kind:?}");
        }
        assert!(memory.bytes_mut() == clean);
    }
}

/// The kernel writes for a host function, into pages that no guest has written yet.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn the_kernel_may_write_where_it_was_announced() {
    use std::io::Read;
    for kind in kinds(LIMIT) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, SIZE).unwrap();
        for _ in 0..20 {
            let mut zeros = std::fs::File::open("/dev/zero").unwrap();
            let place = writable(&mut memory.bytes_mut()[5000..SIZE - 100]);
            zeros.read_exact(place).unwrap();
            assert!(memory.bytes_mut()[5000..][..PAGE].iter().all(|byte| *byte == 0));
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == clean(), "{kind:?}");
        }
    }
}

/// Handlers of other code.
mod others {
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub(super) type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

    pub(super) static BEFORE: AtomicUsize = AtomicUsize::new(0);

    /// Ends the process with what shows that it was called, and how.
    pub(super) unsafe extern "C" fn last(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: a mask of zeros is valid and is written to; all of these may be called
        // in a handler.
        unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            let blocks = |signal| libc::sigismember(&raw const mask, signal) == 1;
            let expected = blocks(libc::SIGUSR1) && blocks(libc::SIGSEGV) && !blocks(libc::SIGUSR2);
            libc::_exit(if expected { 7 } else { 8 });
        }
    }

    /// Passes every fault on to what it found when it was installed last.
    pub(super) unsafe extern "C" fn passing(
        signal: c_int,
        info: *mut libc::siginfo_t,
        context: *mut c_void,
    ) {
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: what was installed before takes these arguments; a process may be ended
        // in a handler.
        unsafe {
            if CALLS.fetch_add(1, Ordering::Relaxed) == 1000 {
                libc::_exit(9);
            }
            let before = BEFORE.load(Ordering::Relaxed);
            std::mem::transmute::<usize, Handler>(before)(signal, info, context);
        }
    }

    pub(super) fn install(handler: Handler, flags: c_int, blocked: &[c_int]) {
        // SAFETY: a `sigaction` of zeros is valid; the handlers do what one may.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | flags;
            libc::sigemptyset(&raw mut action.sa_mask);
            for signal in blocked {
                libc::sigaddset(&raw mut action.sa_mask, *signal);
            }
            libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before);
            BEFORE.store(before.sa_sigaction, Ordering::Relaxed);
        }
    }
}

fn tracked() -> Memory {
    Memory::new(Some(&template(ResetMethod::Tracked { limit: 1 << 20 })), SIZE, 2 * SIZE).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_handler_that_comes_back_makes_no_circle() {
    let name = name("a_handler_that_comes_back_makes_no_circle");
    if let Some((status, said)) = alone(&name) {
        assert_eq!(status.code(), Some(7), "{status}: {said}");
        return;
    }
    others::install(others::last, 0, &[libc::SIGUSR1]);
    let mut first = tracked();
    others::install(others::passing, libc::SA_NODEFER, &[]);
    let mut second = tracked();
    // It finds a handler of ours that will pass on to it.
    others::install(others::passing, libc::SA_NODEFER, &[]);
    let mut third = tracked();
    for memory in [&mut first, &mut second, &mut third] {
        memory.bytes_mut().fill(7);
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == clean());
    }
    // SAFETY: there is none: the address is in the reservation and closed. The
    // process is a test's own and meant to end here.
    unsafe { first.base().add(SIZE).write_volatile(1) };
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn the_handler_below_has_the_signals_blocked_that_it_asked_for() {
    let name = name("the_handler_below_has_the_signals_blocked_that_it_asked_for");
    if let Some((status, said)) = alone(&name) {
        assert_eq!(status.code(), Some(7), "{status}: {said}");
        return;
    }
    others::install(others::last, 0, &[libc::SIGUSR1]);
    let memory = tracked();
    // SAFETY: as above.
    unsafe { memory.base().add(SIZE).write_volatile(1) };
}

/// A page that is open can be read and written, not executed.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_jump_into_a_memory_is_no_write() {
    if let Some((status, said)) = alone(&name("a_jump_into_a_memory_is_no_write")) {
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}: {said}");
        return;
    }
    let mut memory = tracked();
    memory.bytes_mut()[0] = 0xc3;
    // SAFETY: there is none: the process is a test's own and meant to end here.
    unsafe { std::mem::transmute::<*mut u8, extern "C" fn()>(memory.base())() };
}

/// A runtime was used for the first time after the last memory was made.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_handler_after_the_last_memory_comes_second_again() {
    let name = name("a_handler_after_the_last_memory_comes_second_again");
    if passes(&name) {
        return;
    }
    let mut memory = tracked();
    others::install(others::last, 0, &[libc::SIGUSR1]);
    reinstall_signal_handler().unwrap();
    memory.bytes_mut().fill(1);
    memory.reset().unwrap();
    assert!(memory.bytes_mut() == clean());
}

/// Two ranges of the kernel are opened: that by which the memory has grown before, and the
/// rest, which the process may not have.
#[test]
#[cfg_attr(miri, ignore = "needs processes and limits")]
fn a_growth_that_the_kernel_does_in_part_opens_nothing() {
    if passes(&name("a_growth_that_the_kernel_does_in_part_opens_nothing")) {
        return;
    }
    const MIB: usize = 1 << 20;
    let reserved = SIZE + 96 * MIB;
    for kind in kinds(LIMIT) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, reserved).unwrap();
        for _ in 0..2 {
            memory.grow(SIZE + MIB).unwrap();
            memory.bytes_mut()[SIZE..].fill(1);
            memory.reset().unwrap();
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let data = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
            let data: u64 = data.trim().trim_end_matches(" kB").parse().unwrap();
            // SAFETY: limits of this process, which is the test's own.
            unsafe {
                let mut old: libc::rlimit = std::mem::zeroed();
                assert_eq!(libc::getrlimit(libc::RLIMIT_DATA, &raw mut old), 0);
                let low = libc::rlimit { rlim_cur: (data << 10) + 4 * MIB as u64, ..old };
                assert_eq!(libc::setrlimit(libc::RLIMIT_DATA, &raw const low), 0);
                assert!(memory.grow(SIZE + 64 * MIB).is_err());
                assert_eq!(libc::setrlimit(libc::RLIMIT_DATA, &raw const old), 0);
            }
            let base = memory.base() as usize;
            assert_eq!(test_support::mappings(base..base + reserved).readable, SIZE, "{kind:?}");
            memory.reset().unwrap();
            memory.grow(SIZE + 2 * MIB).unwrap();
            assert!(memory.bytes_mut()[SIZE..].iter().all(|byte| *byte == 0), "{kind:?}");
            memory.reset().unwrap();
        }
    }
}

/// Whoever makes too many memories gets an error. Without a mapping left, the process would end at
/// its next allocation.
#[test]
#[cfg_attr(miri, ignore = "needs processes, and reads a file of the system")]
fn the_last_mappings_are_left_to_others() {
    if passes(&name("the_last_mappings_are_left_to_others")) {
        return;
    }
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let allowed: usize = allowed.trim().parse().unwrap();
    let limit = allowed - allowed / 16;
    let held = HeldMappings::new(limit - 3).unwrap();
    for kind in kinds(LIMIT) {
        let made = Memory::new(Some(&template(kind)), SIZE, 2 * SIZE);
        // Two, and another for an image, which has one itself.
        if kind == ResetMethod::Segments {
            assert!(made.is_ok());
        } else {
            assert!(made.unwrap_err().to_string().contains("vm.max_map_count"), "{kind}");
        }
    }
    drop(held);
    // Growth by moving would need another memory; in place it takes one mapping of those left.
    let home = MemoryPool::new(Some(template(ResetMethod::Tracked { limit: LIMIT })), 4);
    let mut lease = PooledMemory::new(&std::sync::Arc::new(home), SIZE, 2 * SIZE, true).unwrap();
    let held = (0..limit).rev().find_map(|count| HeldMappings::new(count).ok()).unwrap();
    lease.grow(2 * SIZE).unwrap();
    lease.reset().unwrap();
    drop((held, lease));
    // The last half of a sixteenth is left to others by memories that grow, too.
    let mut memories: Vec<Memory> = (0..10)
        .map(|_| Memory::new(Some(&template(ResetMethod::Drop)), SIZE, 2 * SIZE).unwrap())
        .collect();
    let mut grown: Vec<_> = (0..allowed / 16).map(|_| HeldMappings::new(0).unwrap()).collect();
    let most = (0..limit).rev().find_map(|count| HeldMappings::new(count).ok()).unwrap();
    (limit + 5..allowed - allowed / 32).zip(&mut grown).for_each(|(_, own)| assert!(own.grow()));
    let could = memories.iter_mut().filter_map(|memory| memory.grow(2 * SIZE).ok()).count();
    assert_eq!(could, 5);
    drop((memories, most, grown));
    let shared = template(ResetMethod::Drop);
    let memories: Vec<Memory> =
        (0..100).map(|_| Memory::new(Some(&shared), SIZE, 2 * SIZE).unwrap()).collect();
    // Four of each, and one of the image.
    assert!(HeldMappings::new(limit - 401).is_ok());
    assert!(HeldMappings::new(limit - 400).is_err());
    drop((memories, shared));
    // An image of three parts, the first at the start, splits a memory into five more, and has
    // three of its own.
    let segments = [0, 1, 2].map(|part| (part << 20, &[1][..]));
    let content = InitialContent::from_segments(4 << 20, segments).unwrap();
    let template = MemoryTemplate::new(content, ResetMethod::Drop).unwrap();
    let memory = Memory::new(Some(&template), 4 << 20, 4 << 20).unwrap();
    assert!(HeldMappings::new(limit - 10).is_ok());
    assert!(HeldMappings::new(limit - 9).is_err());
    drop((memory, template));
    assert!(HeldMappings::new(limit).is_ok());
    // Those of others' memories count, too.
    let mut others = HeldMappings::new(limit).unwrap();
    assert!(HeldMappings::new(1).unwrap_err().to_string().contains("vm.max_map_count"));
    assert!(others.grow());
    drop(others);
    assert!(HeldMappings::new(limit).is_ok());
}

/// Mappings of the process that are not memories' count, too.
#[test]
#[cfg_attr(miri, ignore = "needs processes, and reads a file of the system")]
fn a_memory_too_many_is_an_error_before_the_last_mapping_is_taken() {
    if passes(&name("a_memory_too_many_is_an_error_before_the_last_mapping_is_taken")) {
        return;
    }
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let allowed: usize = allowed.trim().parse().unwrap();
    if allowed > 1 << 20 {
        eprintln!("not tested: this machine allows {allowed} mappings");
        return;
    }
    // Every second page another protection: each is a mapping of its own.
    let parts = |count: usize| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let (any, length) = (std::ptr::null_mut(), count * host_page());
        // SAFETY: a new mapping, of which no byte is accessed.
        unsafe {
            let all = libc::mmap(any, length, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(all, libc::MAP_FAILED);
            for page in (0..count).step_by(2) {
                let start = all.byte_add(page * host_page());
                assert_eq!(libc::mprotect(start, host_page(), libc::PROT_READ), 0, "{page}");
            }
            (all, length)
        }
    };
    // SAFETY: what `parts` has made.
    let give_back = |(all, length)| assert_eq!(unsafe { libc::munmap(all, length) }, 0);
    let others = parts(allowed - allowed / 16 - 1000);
    for kind in kinds(LIMIT) {
        let template = template(kind);
        let mut memories = Vec::new();
        let error = loop {
            match Memory::new(Some(&template), SIZE, 2 * SIZE) {
                Ok(memory) => memories.push(memory),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("vm.max_map_count"), "{kind}: {error}");
        assert!((100..600).contains(&memories.len()), "{kind}: {}", memories.len());
        for memory in &mut memories {
            memory.bytes_mut()[9] = 1;
            memory.reset().unwrap();
        }
        give_back(parts(allowed / 32));
    }
    // Others that are gone do not count any more.
    give_back(others);
    let template = template(ResetMethod::Drop);
    let made = (0..1000).map_while(|_| Memory::new(Some(&template), SIZE, 2 * SIZE).ok());
    assert_eq!(made.collect::<Vec<_>>().len(), 1000);
}

/// A part of it is gone, so that the kernel refuses to open and to close it.
#[test]
#[cfg_attr(miri, ignore = "needs mprotect")]
fn a_memory_that_cannot_be_closed_is_used_no_more() {
    for grows in [true, false] {
        let mut memory = Memory::new(Some(&template(ResetMethod::Drop)), SIZE, 4 * SIZE).unwrap();
        memory.grow(2 * SIZE).unwrap();
        let hole = if grows { 2 * SIZE } else { SIZE };
        // SAFETY: a page of a memory of this test's own, which nobody refers to.
        assert_eq!(unsafe { libc::munmap(memory.base().add(hole).cast(), PAGE) }, 0);
        if grows {
            assert!(memory.grow(3 * SIZE).is_err());
            assert!(memory.grow(4 * SIZE).is_err());
            assert!(!memory.is_usable());
        }
        assert!(memory.reset().is_err(), "{grows}");
        assert!(memory.reset().is_err() && !memory.is_usable(), "{grows}: reset once more");
    }
}
