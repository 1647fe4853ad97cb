//! The handler of SIGSEGV when things are not as usual. Each test is a
//! process of its own, because most of them end it, or spend what it has.

use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

const SIZE: usize = 65_536 * 4;
const KIND: ResetMethod = ResetMethod::Tracked { limit: 1 << 20 };

fn tracked() -> Memory {
    let template = MemoryTemplate::new(InitialContent::capture(&clean()), KIND).unwrap();
    Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap()
}

fn clean() -> Vec<u8> {
    let mut clean = vec![0; SIZE];
    clean[5000..9000].fill(3);
    clean
}

fn alone(name: &str) -> Option<(ExitStatus, String)> {
    test_support::alone(&format!("tests::fault_tests::{name}"))
}

fn passes(name: &str) -> bool {
    test_support::passes(&format!("tests::fault_tests::{name}"))
}

/// A write that nobody may make still ends a process as it did before.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn other_faults_are_passed_on() {
    if let Some((status, _)) = alone("other_faults_are_passed_on") {
        assert_eq!(status.signal(), Some(libc::SIGSEGV));
        return;
    }
    let memory = tracked();
    // SAFETY: there is none: the address is in the reservation and closed. The
    // process is a test's own and meant to end here.
    unsafe { memory.base().add(SIZE).write_volatile(1) };
}

/// A handler that another piece of code puts over ours, like that of a runtime
/// which is used for the first time.
mod another {
    use std::ffi::{c_int, c_void};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
    pub(super) static SEEN: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        SEEN.fetch_add(1, Ordering::Relaxed);
        let before = BEFORE.get().map_or(0, |before| before.sa_sigaction);
        // SAFETY: what was installed before takes these arguments.
        unsafe {
            let before: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(before);
            before(signal, info, context);
        }
    }

    pub(super) fn install() {
        // SAFETY: a `sigaction` of zeros is valid; the handler does what one may.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut before);
            BEFORE.get_or_init(|| before);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()), 0);
        }
    }

    pub(super) fn remove() {
        // SAFETY: puts back what was there before.
        unsafe {
            libc::sigaction(libc::SIGSEGV, BEFORE.get().unwrap(), std::ptr::null_mut());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn memories_of_before_and_after_another_handler_are_tracked() {
    if passes("memories_of_before_and_after_another_handler_are_tracked") {
        return;
    }
    let mut before = tracked();
    another::install();
    before.bytes_mut()[0] = 1;
    assert_eq!(another::SEEN.swap(0, std::sync::atomic::Ordering::Relaxed), 1);
    // The next memory puts a handler of ours on top again.
    let mut after = tracked();
    before.bytes_mut()[SIZE - 1] = 1;
    after.bytes_mut()[SIZE - 1] = 1;
    assert_eq!(another::SEEN.load(std::sync::atomic::Ordering::Relaxed), 0);
    // Others may come and go more often than there are levels.
    for round in 0..30 {
        another::remove();
        let mut memory = tracked();
        memory.bytes_mut()[0] = round;
        assert!(memory.reset().unwrap());
        another::install();
        memory.bytes_mut()[SIZE / 2] = round;
        assert!(memory.reset().unwrap());
        assert!(memory.resetter().unwrap().kept() > 0, "not tracked in round {round}");
    }
    for memory in [&mut before, &mut after] {
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == clean());
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn the_error_number_survives_a_fault() {
    if passes("the_error_number_survives_a_fault") {
        return;
    }
    let mut memory = tracked();
    let errno = || std::io::Error::last_os_error().raw_os_error();
    for page in 0..SIZE / host_page() {
        // SAFETY: the address is that of this thread's own `errno`.
        unsafe { *libc::__errno_location() = 4242 };
        memory.bytes_mut()[page * host_page()] = 1;
        assert_eq!(errno(), Some(4242), "page {page}");
    }
    assert_eq!(memory.resetter().unwrap().kept(), SIZE / host_page());
}

/// Single pages cannot be opened any more; the memory as a whole can.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_process_without_mappings_left_still_writes_and_resets() {
    if passes("a_process_without_mappings_left_still_writes_and_resets") {
        return;
    }
    let page = host_page();
    let (mut memory, mut open) = (tracked(), tracked());
    open.bytes_mut().fill(1);
    let fresh = clean();
    // Every second page another protection: each is a mapping of its own.
    let mappings = 1 << 21;
    // SAFETY: a new mapping, of which no byte is accessed.
    let all = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            mappings * page,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    assert_ne!(all, libc::MAP_FAILED);
    let used_up = (0..mappings).step_by(2).any(|index| {
        // SAFETY: pages of the mapping above.
        unsafe { libc::mprotect(all.byte_add(index * page), page, libc::PROT_READ) != 0 }
    });
    // A machine may allow more than it makes sense to use up.
    if used_up {
        for round in 1..20 {
            for at in (0..SIZE).step_by(2 * page) {
                memory.bytes_mut()[at] = round;
            }
            memory.reset().unwrap();
            // The pages in between are let go of sooner or later, and cannot be watched alone.
            open.bytes_mut()[..20 * page].fill(round);
            open.bytes_mut()[22 * page..].fill(round);
            open.reset().unwrap();
            assert!(memory.bytes_mut() == fresh && open.bytes_mut() == fresh);
        }
    }
    // SAFETY: the mapping above.
    unsafe { libc::munmap(all, mappings * page) };
}

/// It must not look like a trap of the guest.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_refusal_of_the_kernel_ends_the_process_and_says_so() {
    if let Some((status, said)) = alone("a_refusal_of_the_kernel_ends_the_process_and_says_so") {
        assert_eq!(status.signal(), Some(libc::SIGABRT), "{said}");
        assert!(said.contains("the kernel refuses to make a tracked memory writable"), "{said}");
        return;
    }
    let memory = tracked();
    let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a limit of this process, which is a test's own and meant to end here;
    // the address is the memory's.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_CORE, &raw const nothing), 0);
        assert_eq!(libc::setrlimit(libc::RLIMIT_DATA, &raw const nothing), 0);
        memory.base().write_volatile(1);
    }
}

/// The child of a fork has the memory, the registry and the handler, each its own.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_fork_tracks_its_own_copy() {
    if passes("a_fork_tracks_its_own_copy") {
        return;
    }
    let fresh = clean();
    let mut memory = tracked();
    memory.bytes_mut()[1] = 1;
    // SAFETY: the child runs nothing but the code below, which takes no lock that
    // another thread may have had, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            memory.bytes_mut()[1] = 2;
            memory.bytes_mut()[SIZE - 1] = 2;
            let is_clean = memory.reset().is_ok() && memory.bytes_mut() == fresh;
            libc::_exit(if is_clean { 0 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    assert_eq!(memory.bytes_mut()[1], 1);
    assert_eq!(memory.resetter().unwrap().kept(), 1);
    memory.reset().unwrap();
    assert!(memory.bytes_mut() == fresh);
}

/// Where a first write may come from: with locks held, and on little stack.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_first_write_may_come_with_locks_held_and_on_a_small_stack() {
    if passes("a_first_write_may_come_with_locks_held_and_on_a_small_stack") {
        return;
    }
    let writer = std::thread::Builder::new().stack_size(32 << 10);
    let thread = writer.spawn(|| {
        let mut memory = tracked();
        // The locks that a process has for itself: output and environment.
        let out = std::io::stdout().lock();
        let errors = std::io::stderr().lock();
        memory.bytes_mut()[..3 * host_page()].fill(1);
        drop((out, errors));
        assert_eq!(memory.resetter().unwrap().kept(), 3);
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == clean());
    });
    thread.unwrap().join().unwrap();
}

/// A signal that a process sends is no access that can be made again.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn a_signal_that_is_sent_does_what_it_would_do_without_tracking() {
    const NAME: &str = "a_signal_that_is_sent_does_what_it_would_do_without_tracking";
    // SAFETY: this changes this process alone, which is a test's own.
    let set = |action| unsafe { libc::signal(libc::SIGSEGV, action) };
    // SAFETY: it sends the signal to the same process.
    let send = || unsafe { libc::kill(libc::getpid(), libc::SIGSEGV) };
    if let Some((status, said)) = alone(NAME) {
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{said}");
        assert!(said.contains("ignored"), "{said}");
        return;
    }
    set(libc::SIG_IGN);
    let mut memory = tracked();
    send();
    memory.bytes_mut().fill(1);
    memory.reset().unwrap();
    assert!(memory.bytes_mut() == clean());
    eprintln!("ignored");
    // Another level, over the usual action.
    set(libc::SIG_DFL);
    let _another = tracked();
    send();
    // The kernel may give the signal to another thread, which ends the process when it runs.
    std::thread::sleep(std::time::Duration::from_secs(3600));
    eprintln!("still there");
    std::process::exit(0);
}

/// A sandbox may answer to `getrusage` without counting anything, and refuse the log.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn nothing_depends_on_faults_that_nobody_counts() {
    if passes("nothing_depends_on_faults_that_nobody_counts") || !pagemap_scan_available() {
        return;
    }
    without_counts();
    for limit in [1 << 20, 1 << 22] {
        assert!(ResetMethod::Gated { limit }.refusal().is_some());
    }
    for kind in test_support::kinds(1 << 20) {
        let template = MemoryTemplate::new(InitialContent::zeroed(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap();
        memory.resetter().unwrap().note_threads();
        for page in [0, 5, 9, 20] {
            memory.grow(2 * SIZE).unwrap();
            let grown = &mut memory.own_bytes_mut()[SIZE..];
            assert!(grown.iter().all(|byte| *byte == 0), "{kind:?}, page {page}");
            // SAFETY: a byte that is open and borrowed.
            unsafe { (&raw mut grown[page * 4096]).write_volatile(1) };
            memory.reset().unwrap();
        }
    }
}

/// From now on the thread's `getrusage` does nothing and succeeds, and `perf_event_open` fails.
fn without_counts() {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, yes, no, k| libc::sock_filter { code, jt: yes, jf: no, k };
    let mut filter = [
        step(LOAD, 0, 0, 0),
        step(EQUAL, 2, 0, libc::SYS_getrusage as u32),
        step(EQUAL, 2, 0, libc::SYS_perf_event_open as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is valid and read by the calls alone; the thread is a test's own.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}
