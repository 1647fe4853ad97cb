//! The process's handler for SIGSEGV, as far as tracked memories need one.
//!
//! It has to come before the handler of every runtime: a runtime that sees a
//! fault in its own code takes it for the guest's trap. Runtimes install theirs
//! when they are first used, over whatever is there, and pass on what is not
//! theirs. So each time a memory is to be tracked, it is looked whether the
//! handler on top is one of ours, and another one is put on top if not. A runtime
//! may then pass a fault on to an older one of ours; each is a function of its
//! own and passes on to what *it* was put over, so that no circle can arise.
//!
//! What a handler may do is little. These read atomics and constant memory, make
//! system calls that neither allocate nor lock in this process
//! ([`tracked::open_page_at`](super::tracked::open_page_at)), take no lock, and
//! leave `errno` as it was: the write that faulted may be anywhere, between a failed
//! call and the look at its `errno` too.
//!
//! A thread that blocks SIGSEGV cannot run on a tracked memory: the kernel ends the
//! process at its first fault, as it does for every runtime that traps by signals.

use super::tracked::{self, Fault};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// `si_code` of an access that the protection of a mapped page forbids
/// (`asm-generic/siginfo.h`).
const SEGV_ACCERR: c_int = 2;
/// Handlers that can be put over each other: more than there are runtimes.
const LEVELS: usize = 12;

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// What a level was put over. Written once, before the level's handler is
/// installed, and never again.
struct Level {
    /// `sa_sigaction` of what was there.
    action: AtomicUsize,
    /// Whether that takes three arguments.
    takes_info: AtomicBool,
}

static BELOW: [Level; LEVELS] =
    [const { Level { action: AtomicUsize::new(0), takes_info: AtomicBool::new(false) } }; LEVELS];

/// Levels in use. The lock is that of whoever installs; handlers do not take it.
static INSTALLED: Mutex<usize> = Mutex::new(0);

/// Makes sure that a handler of ours is the first one.
///
/// # Errors
///
/// When the system refuses, or runtimes have replaced the handler again and again.
pub(super) fn be_first() -> std::io::Result<()> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    let current = current()?;
    // Also an older one, which comes back to the top when a runtime puts back what
    // it had found.
    if HANDLERS[..*installed].iter().any(|ours| current.sa_sigaction == *ours as usize) {
        return Ok(());
    }
    let Some(level) = BELOW.get(*installed) else {
        return Err(std::io::Error::other(
            "the handler of SIGSEGV was replaced too often by other code in this process",
        ));
    };
    level.action.store(current.sa_sigaction, Ordering::Relaxed);
    level.takes_info.store(current.sa_flags & libc::SA_SIGINFO != 0, Ordering::Relaxed);
    // SAFETY: a `sigaction` of zeros is a valid one. The handler is of the type that
    // SA_SIGINFO asks for and does only what is allowed in one. SA_ONSTACK, because
    // a handler below may have to report an exhausted stack; SA_NODEFER and an empty
    // mask, because one below may jump away instead of returning, and what it jumps
    // to may fault again.
    let failed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = HANDLERS[*installed] as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut())
    };
    if failed != 0 {
        return Err(std::io::Error::last_os_error());
    }
    *installed += 1;
    Ok(())
}

/// What is installed now.
fn current() -> std::io::Result<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed; the answer is written to `action`, which is valid
    // as zeros already.
    unsafe {
        match libc::sigaction(libc::SIGSEGV, std::ptr::null(), action.as_mut_ptr()) {
            0 => Ok(action.assume_init()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// One function for each level. A static, so that there is one address of each.
static HANDLERS: [Handler; LEVELS] = [
    on_fault::<0>,
    on_fault::<1>,
    on_fault::<2>,
    on_fault::<3>,
    on_fault::<4>,
    on_fault::<5>,
    on_fault::<6>,
    on_fault::<7>,
    on_fault::<8>,
    on_fault::<9>,
    on_fault::<10>,
    on_fault::<11>,
];

/// Opens the page of a tracked memory that was written for the first time, or
/// passes the fault on.
unsafe extern "C" fn on_fault<const LEVEL: usize>(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the kernel gives a valid `info`. Only for a code of its own about
    // access rights is the address one that was accessed.
    let address = unsafe {
        let code = (*info).si_code;
        (code == SEGV_ACCERR).then(|| (*info).si_addr() as usize)
    };
    if let Some(address) = address {
        let errno = errno();
        match tracked::open_page_at(address) {
            Fault::Opened => {
                // The access is made again, and now succeeds.
                set_errno(errno);
                return;
            }
            Fault::Refused => give_up(),
            Fault::Foreign => {}
        }
    }
    let below = &BELOW[LEVEL];
    match below.action.load(Ordering::Relaxed) {
        libc::SIG_DFL | libc::SIG_IGN => {
            // Nobody wants it. With the default action in place the access, made
            // again, ends the process as it would have without us.
            // SAFETY: `SIG_DFL` is a valid action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        action if below.takes_info.load(Ordering::Relaxed) => {
            // SAFETY: the kernel named this function as the handler before, and its
            // flags say that it is of this type. It gets what we got.
            unsafe {
                let handler = std::mem::transmute::<usize, Handler>(action);
                handler(signal, info, context);
            }
        }
        action => {
            // SAFETY: as above, a handler of the older type.
            unsafe {
                let handler = std::mem::transmute::<usize, extern "C" fn(c_int)>(action);
                handler(signal);
            }
        }
    }
}

/// The write cannot be made, and whoever comes next would take it for the guest's
/// fault: a trap that no other executor has. The process ends instead.
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

fn errno() -> c_int {
    // SAFETY: the address is that of this thread's own `errno`, always there.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
