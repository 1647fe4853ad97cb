//! Protection keys: a thread's rights to memory, changed without a system call.
//!
//! A range of pages can have one of 15 keys, and a register of each thread (PKRU) says which keys
//! it may use (pkeys(7), on x86-64 alone). Writing the register takes about 15 ns, `mprotect` 2 µs,
//! and 11 µs while another thread runs (16 pages of 64 KiB, AMD EPYC, family 25, model 1).
//!
//! No instruction of WebAssembly writes the register. [`Rights`] sets it for each guest. A signal
//! handler that jumps away instead of returning (WasmEdge's, at a trap) leaves its thread without
//! rights; so guests of which nothing is locked have [`Rights`], too.

use rustix::mm::MprotectFlags;
use std::io;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Keys that this process takes at most. It leaves the others to other users.
pub(super) const MOST: usize = 4;

/// The keys that the kernel gave to this process.
struct Keys {
    numbers: Vec<u32>,
    /// The bits of the register that deny the use of the keys from a place on.
    denied: [u32; MOST + 1],
}

/// Those of this process, which are taken once and stay.
fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let numbers: Vec<u32> = std::iter::from_fn(take_key).take(MOST).collect();
        let mut denied = [0; MOST + 1];
        for (place, number) in numbers.iter().enumerate().rev() {
            denied[place] = denied[place + 1] | 0b11 << (2 * number);
        }
        Keys { numbers, denied }
    })
}

/// Number of keys that there are; none where the processor or the kernel has none, or others
/// have taken them all.
pub fn protection_keys() -> usize {
    keys().numbers.len()
}

/// Gives a range this protection: for threads that may use a key, or for all of them.
///
/// # Safety
///
/// The range must be mapped, the caller's own, and not be accessed beyond what `flags` says, with a
/// key by threads alone that have the [`Rights`] to it.
pub(super) unsafe fn protect(
    start: *mut u8,
    length: usize,
    flags: MprotectFlags,
    key: Option<usize>,
) -> io::Result<()> {
    let number = match key {
        Some(key) => *keys().numbers.get(key).ok_or(io::ErrorKind::Unsupported)?,
        // The key of pages that have no other one.
        None => 0,
    };
    let (flags, number) = (libc::c_ulong::from(flags.bits()), libc::c_ulong::from(number));
    // SAFETY: the caller's promise.
    match unsafe { libc::syscall(libc::SYS_pkey_mprotect, start, length, flags, number) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets this thread use the first `count` keys, until its [`Rights`] end.
#[inline]
pub(super) fn allow(count: usize) {
    let keys = keys();
    set((register::read() & !keys.denied[0]) | keys.denied[count]);
}

/// Writes the register where it is another one: reading it takes a nanosecond.
#[inline]
fn set(rights: u32) {
    if register::read() != rights {
        register::write(rights);
    }
}

/// The rights of a thread while it runs a guest or accesses its memory. Dropped, they are what
/// they were before.
#[derive(Debug, Default)]
#[must_use]
pub struct Rights {
    before: Option<u32>,
    /// They are those of one thread.
    thread: PhantomData<*const ()>,
}

impl Rights {
    /// Those that the thread has, for a guest that needs none.
    #[inline]
    pub(super) fn unchanged() -> Self {
        let before = register::is_there().then(register::read);
        Self { before, thread: PhantomData }
    }

    /// The use of the first `count` keys, and of no others of this process's.
    #[inline]
    pub(super) fn to(count: usize) -> Self {
        let before = register::read();
        allow(count);
        Self { before: Some(before), thread: PhantomData }
    }
}

impl Drop for Rights {
    #[inline]
    fn drop(&mut self) {
        // Also after a trap: it left a signal handler, where no key may be used.
        if let Some(before) = self.before {
            set(before);
        }
    }
}

/// A key that this thread may not use yet.
fn take_key() -> Option<u32> {
    // `PKEY_DISABLE_ACCESS` of pkey_alloc(2).
    const DENIED: libc::c_ulong = 1;
    let none: libc::c_ulong = 0;
    if !register::is_there() {
        return None;
    }
    // SAFETY: takes numbers, and changes this thread's right to a key that nothing has yet.
    let number = unsafe { libc::syscall(libc::SYS_pkey_alloc, none, DENIED) };
    u32::try_from(number).ok()
}

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::LazyLock;

    /// `true` if threads have the register, and may read and write it.
    #[inline]
    pub(super) fn is_there() -> bool {
        static IS: LazyLock<bool> = LazyLock::new(|| {
            // The bit says that the kernel has turned the keys on, too.
            const TURNED_ON: u32 = 1 << 4;
            !cfg!(miri) && __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & TURNED_ON != 0
        });
        *IS
    }

    /// Called only where [it is there](is_there).
    #[inline]
    pub(super) fn read() -> u32 {
        let rights;
        // SAFETY: reads a register that every program may read where there are keys.
        unsafe {
            asm!("rdpkru", in("ecx") 0, out("eax") rights, out("edx") _,
                options(nomem, nostack, preserves_flags));
        }
        rights
    }

    #[inline]
    pub(super) fn write(rights: u32) {
        // SAFETY: writes the rights of this thread. The callers change only those of the keys here,
        // or put back what there was when the guest's use began: a host function that gives its
        // thread rights of its own loses them then, and accesses fault. No access moves across
        // this for the compiler, which has to take it for one to any memory.
        unsafe {
            asm!("wrpkru", in("eax") rights, in("ecx") 0, in("edx") 0,
                options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod register {
    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn read() -> u32 {
        0
    }

    pub(super) fn write(_rights: u32) {}
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Takes this thread's rights to all keys, as the kernel does for signal handlers.
    pub(in super::super) fn deny_all() {
        register::write(0x5555_5554);
    }

    /// `true` if the kernel gives keys to this process: it is asked for one more, which is given
    /// back.
    fn are_granted() -> bool {
        let none: libc::c_ulong = 0;
        // SAFETY: these take numbers, and the key is this test's own.
        unsafe {
            let number = libc::syscall(libc::SYS_pkey_alloc, none, none);
            number >= 0 && libc::syscall(libc::SYS_pkey_free, number) == 0
        }
    }

    /// Without keys, the tests of what they do would find that nothing is to be done.
    #[test]
    #[cfg_attr(miri, ignore = "needs pkey_alloc")]
    fn keys_are_taken_where_the_kernel_gives_them() {
        let has_keys = cfg!(all(target_arch = "x86_64", target_os = "linux")) && are_granted();
        assert_eq!(protection_keys(), if has_keys { MOST } else { 0 });
    }

    /// By the kernel's word for "the processor's keys are turned on". Reading a register that is
    /// not there would end the process.
    #[test]
    #[cfg_attr(miri, ignore = "reads a file of the system")]
    fn there_is_the_register_where_the_kernel_says_so() {
        let said = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = said.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        let has_keys = cfg!(target_arch = "x86_64") && flags.split(' ').any(|flag| flag == "ospke");
        assert_eq!(register::is_there(), has_keys);
        assert!(has_keys || protection_keys() == 0);
        drop(Rights::unchanged());
    }
}
