//! A store to a closed page that ends a call, as a runtime sees a guest's trap: its
//! handler stands below Touchstone's and continues the thread elsewhere.

#[cfg(target_arch = "x86_64")]
mod machine {
    use std::arch::asm;
    use std::ffi::{c_int, c_void};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Where the thread goes on that is about to trap; 0 when none is.
    static GO_ON: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn on_fault(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        let go_on = GO_ON.swap(0, Ordering::Relaxed);
        // SAFETY: the context is the kernel's. The address, if there is one, is that of `store`,
        // where all registers may be as they are now. The others may be called in a handler.
        unsafe {
            if go_on == 0 {
                libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                return;
            }
            let context = context.cast::<libc::ucontext_t>();
            (*context).uc_mcontext.gregs[libc::REG_RIP as usize] = go_on as libc::greg_t;
        }
    }

    pub(crate) fn catch() {
        // SAFETY: a `sigaction` of zeros is valid; the handler does what one may.
        let failed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut())
        };
        assert_eq!(failed, 0);
        // Where a memory was tracked before.
        crate::reinstall_signal_handler().unwrap();
    }

    /// # Safety
    ///
    /// The address must be of a closed page, or of a byte that is the caller's own.
    pub(crate) unsafe fn store(address: *mut u8) -> bool {
        let trapped: u64;
        // SAFETY: the store faults, and the handler goes on behind it, or it is the
        // caller's own byte. Nothing else is changed that the compiler does not know of.
        unsafe {
            asm!(
                "lea {place}, [rip + 3f]",
                "mov qword ptr [{go_on}], {place}",
                "mov {trapped}, 1",
                "mov byte ptr [{address}], 1",
                "xor {trapped:e}, {trapped:e}",
                "3:",
                place = out(reg) _,
                trapped = out(reg) trapped,
                go_on = in(reg) GO_ON.as_ptr(),
                address = in(reg) address,
            );
        }
        GO_ON.store(0, Ordering::Relaxed);
        trapped == 1
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    pub(crate) fn catch() {}

    /// # Safety
    ///
    /// None is needed: nothing is stored.
    pub(crate) unsafe fn store(_: *mut u8) -> bool {
        true
    }
}

pub(super) use machine::{catch, store};
