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

/// The key of pages that have no other one.
const NO_KEY: u32 = 0;

/// The keys that the kernel gave to this process.
#[derive(Debug, Clone, Copy, Default)]
struct Keys {
    numbers: [u32; MOST],
    count: usize,
    /// The bits of the register that deny the use of the keys from a place on.
    denied: [u32; MOST + 1],
}

/// Those of this process, which are taken once and stay.
fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let mut keys = Keys::default();
        while keys.count < MOST
            && let Some(number) = kernel::take_key()
        {
            keys.numbers[keys.count] = number;
            keys.count += 1;
        }
        for place in (0..keys.count).rev() {
            keys.denied[place] = keys.denied[place + 1] | 0b11 << (2 * keys.numbers[place]);
        }
        keys
    })
}

/// Number of keys that there are; none where the processor or the kernel has none, or others
/// have taken them all.
#[must_use]
pub fn protection_keys() -> usize {
    keys().count
}

/// Makes a range readable and writable for threads that may use a key.
///
/// # Safety
///
/// The range must be mapped, the caller's own, and used by threads alone that have the
/// [`Rights`] to it.
pub(super) unsafe fn lock(start: *mut u8, length: usize, key: usize) -> io::Result<()> {
    let number = keys().numbers[..keys().count].get(key).ok_or(io::ErrorKind::Unsupported)?;
    let flags = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: the caller's promise.
    unsafe { kernel::protect(start, length, flags, *number) }
}

/// Gives a range this protection, for all threads alike.
///
/// # Safety
///
/// The range must be mapped, the caller's own, and not be accessed beyond what `flags` says.
pub(super) unsafe fn unlock(start: *mut u8, length: usize, flags: MprotectFlags) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { kernel::protect(start, length, flags, NO_KEY) }
}

/// Lets this thread use the first `count` keys, until its [`Rights`] end.
#[inline]
pub(super) fn allow(count: usize) {
    let keys = keys();
    set((kernel::read() & !keys.denied[0]) | keys.denied[count]);
}

/// Writes the register where it is another one: reading it takes a nanosecond.
#[inline]
fn set(rights: u32) {
    if kernel::read() != rights {
        kernel::write(rights);
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
        let before = kernel::has_register().then(kernel::read);
        Self { before, thread: PhantomData }
    }

    /// The use of the first `count` keys, and of no others of this process's.
    #[inline]
    pub(super) fn to(count: usize) -> Self {
        let before = kernel::read();
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

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
mod kernel {
    use rustix::mm::MprotectFlags;
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::io;
    use std::sync::LazyLock;

    /// A key that this thread may not use yet.
    pub(super) fn take_key() -> Option<u32> {
        // `PKEY_DISABLE_ACCESS` of pkey_alloc(2).
        const DENIED: libc::c_ulong = 1;
        let none: libc::c_ulong = 0;
        // SAFETY: takes numbers, and changes this thread's right to a key that nothing has yet.
        let number = unsafe { libc::syscall(libc::SYS_pkey_alloc, none, DENIED) };
        u32::try_from(number).ok()
    }

    /// # Safety
    ///
    /// As for mprotect(2).
    pub(super) unsafe fn protect(
        start: *mut u8,
        length: usize,
        flags: MprotectFlags,
        key: u32,
    ) -> io::Result<()> {
        // SAFETY: the caller's promise.
        let done = unsafe {
            libc::syscall(
                libc::SYS_pkey_mprotect,
                start,
                length,
                libc::c_ulong::from(flags.bits()),
                libc::c_ulong::from(key),
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// `true` if threads have the register, and may read and write it.
    #[inline]
    pub(super) fn has_register() -> bool {
        static HAS: LazyLock<bool> = LazyLock::new(|| {
            // The bit says that the kernel has turned the keys on, too.
            const TURNED_ON: u32 = 1 << 4;
            __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & TURNED_ON != 0
        });
        *HAS
    }

    /// The register. Called only where the kernel has given a key or [`has_register`] says so.
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

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
mod kernel {
    use rustix::mm::MprotectFlags;
    use std::io;

    pub(super) fn take_key() -> Option<u32> {
        None
    }

    /// Without keys there is nothing to protect by them.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(super) unsafe fn protect(
        _start: *mut u8,
        _length: usize,
        _flags: MprotectFlags,
        _key: u32,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn has_register() -> bool {
        false
    }

    pub(super) fn read() -> u32 {
        0
    }

    pub(super) fn write(_rights: u32) {}
}

/// Takes this thread's rights to all keys, as the kernel does for signal handlers.
#[cfg(test)]
pub(super) fn deny_all() {
    kernel::write(0x5555_5554);
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(kernel::has_register(), has_keys);
        assert!(has_keys || protection_keys() == 0);
        drop(Rights::unchanged());
    }
}
