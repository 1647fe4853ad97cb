//! Having the kernel note which pages are written: asynchronous write-protection by
//! userfaultfd.
//!
//! A page of a registered range that [`pagemap`](super::pagemap) has protected is opened by
//! the kernel itself at its next write, in the fault, without a message to anybody, and
//! counts as written from then on. What is noted stands in the page table: it is true for
//! writes of all threads, of system calls and of other processes. A page that was absent
//! counts as written once it is present.
//!
//! | what happens to a page | why no write is missed |
//! |---|---|
//! | it is swapped out, migrated, or merged (KSM) | the kernel keeps what it noted, or forgets it: then the page counts as written |
//! | `mlockall` makes it present | it counts as written |
//! | it is dropped | it is absent, or has a mark that the next write takes away |
//! | huge pages | `khugepaged` leaves protected pages alone; these memories are mapped with `MADV_NOHUGEPAGE` |
//! | `fork` | the child's memory is registered nowhere and all its pages count as written; it registers the memory again |
//! | the device of a system call writes a buffer that was pinned before the last reset (registered buffers of `io_uring`, RDMA) | missed: not to be done to these memories |
//!
//! Numbers and layouts are those of `linux/userfaultfd.h` (Linux 6.7 and newer).

use super::method::NO_SCAN;
use super::pagemap::{self, Region, Search};
use super::process::OwnFile;
use super::{Mapping, host_page, pagemap_scan_available};
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::mm::UserfaultfdFlags;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::LazyLock;

/// `UFFD_USER_MODE_ONLY`: what processes without privileges may ask for. It limits who may
/// be made to wait by a fault; here nobody waits.
const USER_MODE_ONLY: u32 = 1;
const UFFD_API: u64 = 0xaa;
const UFFD_FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;
/// The group of all calls.
const UFFDIO: u8 = 0xaa;

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    length: u64,
    mode: u64,
    ioctls: u64,
}

/// `struct uffdio_writeprotect`.
#[repr(C)]
struct WriteProtect {
    start: u64,
    length: u64,
    mode: u64,
}

/// The userfaultfd of this process, or why it has none.
static FILE: LazyLock<Result<OwnFile, &'static str>> = LazyLock::new(|| {
    if !pagemap_scan_available() {
        return Err(NO_SCAN);
    }
    let file = OwnFile::new(open).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => {
            "this kernel has no asynchronous write-protection (UFFD_FEATURE_WP_ASYNC, Linux 6.7 \
             or newer)"
        }
        _ => "this process may not use userfaultfd: the kernel or a sandbox refuses it",
    })?;
    match notes_writes(&file) {
        Ok(true) => Ok(file),
        _ => Err("this kernel does not report the pages that are written under userfaultfd"),
    }
});

fn open() -> io::Result<OwnedFd> {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
    let features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED;
    let mut api = Api { api: UFFD_API, features, ioctls: 0 };
    // SAFETY: the descriptor stays in this module, which only registers memories whose
    // owners want that. The call takes this structure.
    unsafe {
        let file = rustix::mm::userfaultfd(flags)?;
        ioctl(&file, Updater::<{ opcode::read_write::<Api>(UFFDIO, 0x3f) }, _>::new(&mut api))?;
        Ok(file)
    }
}

/// Why written pages cannot be known so; `None` where they can.
pub(super) fn refusal() -> Option<&'static str> {
    FILE.as_ref().err().copied()
}

fn file() -> io::Result<&'static OwnFile> {
    FILE.as_ref().map_err(|reason| io::Error::new(io::ErrorKind::Unsupported, *reason))
}

/// Has the writes to a range noted, in this process. Pages that are present count as
/// written. It ends when the range is unmapped.
///
/// # Safety
///
/// The range must be page-aligned and the caller's own.
pub(super) unsafe fn register(start: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: the caller's promise.
    unsafe { register_with(file()?, start, length) }
}

/// # Safety
///
/// As for [`register`].
unsafe fn register_with(file: &OwnFile, start: *mut u8, length: usize) -> io::Result<()> {
    let (start, length) = (start as u64, length as u64);
    let mut register = Register { start, length, mode: UFFDIO_REGISTER_MODE_WP, ioctls: 0 };
    // SAFETY: the call takes this structure, and changes nothing in the caller's range but
    // that its writes are noted.
    unsafe {
        let call = Updater::<{ opcode::read_write::<Register>(UFFDIO, 0) }, _>::new(&mut register);
        Ok(ioctl(file.get()?, call)?)
    }
}

/// Takes the marks away that dropped pages of a file leave: each would cost its page a
/// second fault. All pages of the range count as written that are present.
///
/// # Safety
///
/// As for [`register`], in which the range must lie, in this process.
pub(super) unsafe fn unprotect(start: *mut u8, length: usize) -> io::Result<()> {
    let mut range = WriteProtect { start: start as u64, length: length as u64, mode: 0 };
    // SAFETY: the call takes this structure, and makes pages of the caller's range writable
    // that the mapping lets be written.
    unsafe {
        let call = Updater::<{ opcode::read_write::<WriteProtect>(UFFDIO, 6) }, _>::new(&mut range);
        Ok(ioctl(file()?.get()?, call)?)
    }
}

/// Protects the pages of a registered range that were written.
pub(super) fn protect(range: Range<u64>, regions: &mut [Region]) -> io::Result<()> {
    let mut from = range.start;
    while from < range.end {
        from = pagemap::scan(Search::Protect, from, range.end, regions)?.next(from)?;
    }
    Ok(())
}

/// Whether writes are noted as they have to be, tried with a memory of two pages.
fn notes_writes(file: &OwnFile) -> io::Result<bool> {
    let size = 2 * host_page();
    let mut memory = Mapping::new(size, size).map_err(io::Error::other)?;
    // SAFETY: the mapping is this function's own.
    unsafe { register_with(file, memory.base(), size) }?;
    let range = memory.base() as u64..memory.base() as u64 + size as u64;
    let mut regions = [Region::default(); 2];
    let mut written = |memory: &mut Mapping, write: bool| {
        if write {
            std::hint::black_box(memory.bytes_mut())[host_page()] = 1;
        }
        let scan = pagemap::scan(Search::Written, range.start, range.end, &mut regions)?;
        let found = regions[..scan.found].first().map(|region| region.start..region.end);
        protect(range.clone(), &mut regions)?;
        Ok::<_, io::Error>(found == Some(range.start + host_page() as u64..range.end))
    };
    // Absent, then protected.
    let first = written(&mut memory, true)?;
    let nothing = written(&mut memory, false)?;
    Ok(first && !nothing && written(&mut memory, true)?)
}
