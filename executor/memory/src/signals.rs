//! The process's handler for SIGSEGV, as far as tracked memories need one.
//!
//! It has to come before the handlers of runtimes, which take a fault in their own code for a
//! guest's trap. Runtimes install theirs when they are first used, over whatever is there, and pass
//! on other faults. So whenever a memory starts to be tracked and no handler of ours is on top,
//! another one is put there: a function of its own, which passes on to the handler that it was put
//! over.
//!
//! A runtime that installs its handler twice then passes faults on to one of ours above its own. So
//! each of ours notes in the fault itself that it has seen it ([`Seen`]), and the second time
//! passes on to what an older one was put over.
//!
//! The handlers read atomics and constant memory, make system calls that neither allocate nor lock
//! ([`tracked::open_page_at`](super::tracked::open_page_at)), take no lock, and keep `errno`.
//!
//! A thread that blocks SIGSEGV cannot run on a tracked memory: the kernel ends the process.

use super::tracked;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

/// `si_code` of an access that the protection of a mapped page forbids (`asm-generic/siginfo.h`).
const SEGV_ACCERR: c_int = 2;
/// Handlers that can be put over each other: more than there are runtimes.
const LEVELS: usize = 12;

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The handler that a level was put over.
struct Below {
    action: libc::sigaction,
    /// The signals to be blocked while it runs, if there are any.
    blocked: Option<libc::sigset_t>,
}

impl Below {
    fn new(action: libc::sigaction) -> Self {
        let mut mask = action.sa_mask;
        // SAFETY: the mask is one that the kernel gave.
        let blocks = unsafe {
            if action.sa_flags & libc::SA_NODEFER == 0 {
                libc::sigaddset(&raw mut mask, libc::SIGSEGV);
            }
            (1..=64).any(|signal| libc::sigismember(&raw const mask, signal) == 1)
        };
        Self { action, blocked: blocks.then_some(mask) }
    }
}

/// Set for each level before its handler is installed.
static BELOW: [OnceLock<Below>; LEVELS] = [const { OnceLock::new() }; LEVELS];

/// Levels in use. The lock is that of whoever installs; handlers do not take it.
static INSTALLED: Mutex<usize> = Mutex::new(0);

/// Makes Touchstone's handler of SIGSEGV the first one.
///
/// Each memory that starts to be tracked does this. A host that installs a handler, or uses another
/// runtime for the first time, after that calls it itself: a first write to a tracked memory must
/// not reach a handler that takes it for a fault of its own. Fails when the system refuses, or
/// runtimes have replaced the handler again and again.
pub fn reinstall_signal_handler() -> std::io::Result<()> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let current = current()?;
    // Also an older one, which comes back to the top when a runtime puts back what it had found.
    if HANDLERS[..*installed].iter().any(|ours| current.sa_sigaction == *ours as usize) {
        return Ok(());
    }
    let level = *installed;
    if level == LEVELS {
        return Err(std::io::Error::other(
            "the handler of SIGSEGV was replaced too often by other code in this process",
        ));
    }
    BELOW[level].get_or_init(|| Below::new(current));
    *installed += 1;
    // SAFETY: a `sigaction` of zeros is a valid one. The handler is of the type that SA_SIGINFO
    // asks for and does only what is allowed in one. SA_ONSTACK, because a handler below may have
    // to report an exhausted stack; SA_NODEFER and an empty mask, because one below may jump away
    // instead of returning, and what it jumps to may fault again.
    let failed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = HANDLERS[level] as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The action that is installed now.
fn current() -> std::io::Result<libc::sigaction> {
    // SAFETY: a `sigaction` of zeros is a valid one. The answer is written to it; nothing else is
    // changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        match libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut action) {
            0 => Ok(action),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

macro_rules! handlers {
    ($($level:literal)*) => { [$(on_fault::<$level>),*] };
}

/// One function for each level. A static, so that there is one address of each.
static HANDLERS: [Handler; LEVELS] = handlers!(0 1 2 3 4 5 6 7 8 9 10 11);

/// Opens the page of a tracked memory that was written for the first time, or passes the fault on.
unsafe extern "C" fn on_fault<const LEVEL: usize>(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the kernel gives a valid `info`. Only for a code of its own about
    // access rights is the address one that was accessed.
    let address = unsafe { ((*info).si_code == SEGV_ACCERR).then(|| (*info).si_addr() as usize) };
    if let Some(address) = address
        // SAFETY: the context is the kernel's.
        && unsafe { is_write(address, context) }
    {
        // SAFETY: the address is that of this thread's own `errno`, always there.
        let (errno, before) = unsafe { (libc::__errno_location(), *libc::__errno_location()) };
        match tracked::open_page_at(address) {
            Some(true) => {
                // The access is made again, and now succeeds.
                // SAFETY: as above.
                unsafe { errno.write(before) };
                return;
            }
            Some(false) => give_up(),
            None => {}
        }
    }
    // SAFETY: `info` is valid, and for this handler to write to.
    match unsafe { Seen::next_below(Seen::mark(), LEVEL, info) }
        .and_then(|level| BELOW[level].get())
    {
        // SAFETY: these are the kernel's arguments, for whom the kernel had named.
        Some(below) => unsafe { pass_on(below, signal, info, context) },
        // All that were there before have passed it on.
        // SAFETY: `info` is the kernel's.
        None => end_by_default(signal, unsafe { is_sent(info) }),
    }
}

/// Gives a fault to what a level was put over.
///
/// # Safety
///
/// The arguments must be those that the kernel gave.
unsafe fn pass_on(below: &Below, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action = below.action.sa_sigaction;
    if action == libc::SIG_DFL || action == libc::SIG_IGN {
        // SAFETY: the caller's promise.
        let is_sent = unsafe { is_sent(info) };
        // An access that cannot be made ends a process that ignores the signal, too.
        if !is_sent || action == libc::SIG_DFL {
            end_by_default(signal, is_sent);
        }
        return;
    }
    if let Some(signals) = &below.blocked {
        // Until the handler returns: the kernel then puts back the mask that it keeps in the
        // context, and who jumps away instead does so himself.
        // SAFETY: this may be called in a handler.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, signals, std::ptr::null_mut()) };
    }
    // SAFETY: the kernel named this function as the handler before, and its flags say of which type
    // it is, this one or the older one. It gets what we got.
    unsafe {
        if below.action.sa_flags & libc::SA_SIGINFO != 0 {
            std::mem::transmute::<usize, Handler>(action)(signal, info, context);
        } else {
            std::mem::transmute::<usize, extern "C" fn(c_int)>(action)(signal);
        }
    }
}

/// Nobody wants the fault: the access, made again, ends the process. A signal that was sent is sent
/// again.
fn end_by_default(signal: c_int, is_sent: bool) {
    // SAFETY: `SIG_DFL` is a valid action; both functions may be called in a handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if is_sent {
            libc::raise(signal);
        }
    }
}

/// `true` if a process has sent the signal (`kill`, `raise`): no access has caused it.
///
/// # Safety
///
/// `info` must be the one that the kernel gave.
unsafe fn is_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: the caller's promise. Codes of the kernel for faults are positive.
    unsafe { (*info).si_code <= 0 }
}

/// The handlers of ours that have passed a fault on: a bit for each level, in a part of its
/// `siginfo_t` that the kernel fills with zeros and nobody uses (`SI_EXPANSION_SIZE`).
struct Seen;

impl Seen {
    /// Where the unused part begins: behind what the kernel itself has of it.
    const UNUSED: usize = 48;
    /// Notes that fit there: for so many copies of this code in a process.
    const PLACES: usize = (size_of::<libc::siginfo_t>() - Self::UNUSED) / size_of::<u64>();
    const LEVELS: u64 = (1 << LEVELS) - 1;

    /// Distinguishes a note of this copy from others, in the bits above those of the levels.
    fn mark() -> u64 {
        ((&raw const BELOW).addr() as u64) << LEVELS
    }

    /// The level to be passed on from, which is noted: this one, or the next older one
    /// that has not seen the fault yet.
    ///
    /// # Safety
    ///
    /// `info` must be valid and nobody else's meanwhile.
    unsafe fn next_below(mark: u64, level: usize, info: *mut libc::siginfo_t) -> Option<usize> {
        // SAFETY: inside the structure.
        let places = unsafe { info.byte_add(Self::UNUSED).cast::<u64>() };
        for place in 0..Self::PLACES {
            // SAFETY: as many as lie in the structure.
            let place = unsafe { places.add(place) };
            // SAFETY: the kernel, or `next_below`, has written the whole structure.
            let note = unsafe { place.read_unaligned() };
            if note != 0 && note & !Self::LEVELS != mark {
                continue;
            }
            let next = (0..=level).rev().find(|level| note & (1 << level) == 0)?;
            // SAFETY: as above.
            unsafe { place.write_unaligned(mark | note | 1 << next) };
            return Some(next);
        }
        // Nowhere to note it: as if there were no circles.
        Some(level)
    }
}

/// `true` if the access that was refused was a write.
///
/// # Safety
///
/// `context` must be the one that the kernel gave to a handler.
unsafe fn is_write(address: usize, context: *mut c_void) -> bool {
    let context = context.cast::<libc::ucontext_t>();
    #[cfg(target_arch = "x86_64")]
    {
        /// In the error code of a page fault: the access was a write.
        const WRITE: libc::greg_t = 1 << 1;
        let _ = address;
        // SAFETY: the caller's promise.
        unsafe { (*context).uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE != 0 }
    }
    // Reading is always allowed where writing may be refused for want of an open page;
    // what is left is to execute it.
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: the caller's promise.
        unsafe { (*context).uc_mcontext.pc as usize != address }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (address, context);
        true
    }
}

/// Ends the process: the next handler would take the write for a trap of the guest.
#[cold]
fn give_up() -> ! {
    const MESSAGE: &str = "touchstone: the kernel refuses to make a tracked memory writable: out of \
                           memory, of what RLIMIT_DATA allows, or of mappings (vm.max_map_count)\n";
    // SAFETY: both functions may be called in a handler; the message is what it says.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each level sees a fault once, in each copy of this code that a process has.
    #[test]
    fn a_fault_that_comes_back_goes_to_an_older_level() {
        /// The structure of the kernel, and bytes behind it.
        #[repr(C)]
        struct Given {
            info: libc::siginfo_t,
            behind: [u64; 32],
        }
        // SAFETY: zeros are a valid one.
        let mut given: Given = unsafe { std::mem::zeroed() };
        let info = (&raw mut given).cast();
        // SAFETY: it is valid and this test's own.
        let next = |copy: u64, level| unsafe { Seen::next_below(copy << LEVELS, level, info) };
        assert_eq!(next(1, 3), Some(3));
        assert_eq!(next(2, 0), Some(0));
        assert_eq!(next(1, 5), Some(5));
        assert_eq!(next(1, 5), Some(4));
        assert_eq!(next(1, 4), Some(2));
        assert_eq!([next(1, 5), next(1, 5), next(1, 5)], [Some(1), Some(0), None]);
        assert_eq!(next(2, 0), None);
        // More copies than there is room for pass on what they get.
        assert!((3..20).all(|copy| next(copy, 7) == Some(7)));
        assert_eq!(next(100, 7), Some(7));
        assert_eq!(next(1, 0), None);
        assert_eq!(given.behind, [0; 32]);
        assert!(Seen::mark() > Seen::LEVELS && Seen::mark() & Seen::LEVELS == 0);
    }
}
