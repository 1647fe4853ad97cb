//! The signal that stops a guest: SIGURG, which by default does nothing, and which hosts get for
//! urgent data of a socket only. The Go runtime stops its own threads by it.
//!
//! A handler that was there before gets the signals that are not for a guest. One that is installed
//! later has to pass the signal on, no thread may block it, and `tgkill` has to be allowed.

use super::calls::{Calls, lock};
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::{Mutex, OnceLock};

const SIGNAL: c_int = libc::SIGURG;

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The action before the handler.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once in a process.
/// Fails when the system refuses.
pub(super) fn install() -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = lock(&INSTALLED);
    if *installed {
        return Ok(());
    }
    // SAFETY: a `sigaction` of zeros is a valid one. The handlers are of the types that are asked
    // for, and do only what is allowed in one. SA_ONSTACK: the guest's stack may be full.
    // SA_RESTART: most system calls of the host go on, where one signal comes in it at all.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        check(libc::sigaction(SIGNAL, std::ptr::null(), &raw mut before))?;
        BEFORE.get_or_init(|| before);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as Handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        check(libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()))?;
    }
    *installed = true;
    Ok(())
}

fn check(answer: c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's number of this thread, on which the signal can arrive from now on.
pub(super) fn this_thread() -> i32 {
    // SAFETY: the set is valid when it has been emptied; only this thread's mask changes.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, SIGNAL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const signals, std::ptr::null_mut());
        libc::gettid()
    }
}

/// Sends the signal to a thread of this process.
pub(super) fn send(thread: i32) {
    // SAFETY: both calls are without memory. On a thread that is not the right one, the handler
    // stops nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) };
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a valid context, of the type of this architecture.
    let stops = unsafe { stop(context) };
    if stops {
        return;
    }
    let Some(before) = BEFORE.get() else { return };
    match before.sa_sigaction {
        // By default the signal is ignored, too.
        libc::SIG_DFL | libc::SIG_IGN => {}
        // SAFETY: the kernel named this function as the handler before, and its flags say that it
        // is of this type. It gets what we got.
        action if before.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            std::mem::transmute::<usize, Handler>(action)(signal, info, context);
        },
        // SAFETY: as above, without the flag.
        action => unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(action)(signal);
        },
    }
}

/// Lets the thread go on at the trap, if a guest is to be stopped that runs now.
///
/// # Safety
///
/// The context must be the kernel's.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe fn stop(context: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    let counter = &mut registers.gregs[libc::REG_RIP as usize];
    #[cfg(target_arch = "aarch64")]
    let counter = &mut registers.pc;
    let Some(next) = Calls::obey(*counter as usize) else { return false };
    *counter = next as _;
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn stop(_: *mut c_void) -> bool {
    false
}
