//! Common to several tests: processes of their own, because they end one or spend what it
//! has, and what the kernel says about a memory.

use super::ResetMethod;
use super::pagemap;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::process::{Command, ExitStatus};

/// Every kind that this machine can do.
pub(crate) fn kinds(limit: usize) -> impl Iterator<Item = ResetMethod> {
    unlimited().chain(keeping(limit))
}

/// Those of them that have no limit.
pub(crate) fn unlimited() -> impl Iterator<Item = ResetMethod> {
    [ResetMethod::Segments, ResetMethod::Drop].into_iter()
}

/// Those of them that keep pages, up to a limit.
pub(crate) fn keeping(limit: usize) -> impl Iterator<Item = ResetMethod> {
    let kinds = [
        ResetMethod::Resident { limit },
        ResetMethod::Gated { limit },
        ResetMethod::Tracked { limit },
    ];
    kinds.into_iter().filter(|kind| kind.refusal().is_none())
}

/// Bytes of its own that stay resident of a clean memory at most.
pub(crate) fn most_resident(reset: ResetMethod, size: usize) -> usize {
    match reset {
        // It writes its content.
        ResetMethod::Segments => size,
        ResetMethod::Drop => 0,
        ResetMethod::Resident { limit } | ResetMethod::Gated { limit } => limit,
        // Pages that are open, and pages that rest.
        ResetMethod::Tracked { limit } => 2 * limit,
    }
}

/// Runs the test of this name once more, as the only one of a process: `None`
/// there, and how that process ended here. Panics if no test has this name.
pub(crate) fn alone(name: &str) -> Option<(ExitStatus, String)> {
    const ASKED: &str = "TOUCHSTONE_TEST_ALONE";
    if std::env::var_os(ASKED).is_some() {
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", name])
        .env(ASKED, "1")
        .output()
        .unwrap();
    let is_known = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    assert!(is_known, "no test is named {name}");
    Some((output.status, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The same for tests that come to their end.
pub(crate) fn passes(name: &str) -> bool {
    match alone(name) {
        Some((status, said)) => {
            assert!(status.success(), "{status}: {said}");
            true
        }
        None => false,
    }
}

/// Bytes of a memory that are resident and its own (not the image's, nor the zeros that all share).
pub(crate) fn own_bytes(base: usize, size: usize) -> usize {
    let mut pages = 0;
    let range = base as u64..(base + size) as u64;
    let _ = pagemap::each_region(range, |region| {
        if !region.is_shared_zeros() {
            pages += region.pages(base as u64).len();
        }
        ControlFlow::<()>::Continue(())
    })
    .unwrap();
    pages * super::host_page()
}

/// The mappings in a range of addresses.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    pub(crate) count: usize,
    /// Bytes from the start of the range that can be read.
    pub(crate) readable: usize,
}

/// The mappings of this process that have addresses in a range.
pub(crate) fn mappings(range: Range<usize>) -> Mappings {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut found = Mappings::default();
    for line in maps.lines() {
        let (start, rest) = line.split_once('-').unwrap();
        let (end, rights) = rest.split_once(' ').unwrap();
        let address = |text| usize::from_str_radix(text, 16).unwrap();
        let (start, end) = (address(start), address(end));
        if end <= range.start || start >= range.end {
            continue;
        }
        found.count += 1;
        if rights.starts_with('r') && start <= range.start + found.readable {
            found.readable = end.min(range.end) - range.start;
        }
    }
    found
}

/// Has the kernel write to all bytes without a fault of the processor; whether it did.
pub(crate) fn write_pinned(bytes: &mut [u8]) -> bool {
    let length = bytes.len();
    let from = vec![201_u8; length];
    let local = libc::iovec { iov_base: from.as_ptr() as *mut _, iov_len: length };
    let remote = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    let (local, remote) = (&raw const local, &raw const remote);
    // SAFETY: both places are of this process, of so many bytes, and borrowed.
    unsafe { libc::process_vm_writev(libc::getpid(), local, 1, remote, 1, 0) == length as isize }
}

/// Has the kernel swap out what it can of a memory. Returns the number of pages that are swapped
/// out then: none on a machine without swap space.
pub(crate) fn swap_out(base: *mut u8, size: usize) -> usize {
    const SWAPPED: u64 = 1 << 62;
    // SAFETY: a memory of the caller's, whose content stays.
    unsafe { libc::madvise(base.cast(), size, libc::MADV_PAGEOUT) };
    let page = super::host_page();
    let mut entries = vec![0; size / page * 8];
    let map = std::fs::File::open("/proc/self/pagemap").unwrap();
    map.read_exact_at(&mut entries, (base.addr() / page * 8) as u64).unwrap();
    let entries = entries.as_chunks::<8>().0.iter().map(|entry| u64::from_ne_bytes(*entry));
    entries.filter(|entry| entry & SWAPPED != 0).count()
}
