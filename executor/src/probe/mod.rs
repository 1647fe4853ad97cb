//! Probes of the mode in force, from outside the runtimes.

mod execution;
mod kernel;
mod look;

pub use execution::check_execution;
pub use look::{INTERPRETED_FROM, Kernel, Look};

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::str::SplitAsciiWhitespace;
use std::time::Duration;

/// Kind of mapping at an address of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappingKind {
    /// Anonymous memory.
    Anonymous,
    /// A private (copy-on-write) mapping of a file, with its name.
    PrivateFile(String),
    /// A shared mapping of a file, with its name.
    SharedFile(String),
}

/// The mapping at `address`; `None` if there is none or `/proc` is not available.
pub fn mapping_kind(address: usize) -> Option<MappingKind> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| kind_if_covering(line, address))
}

/// The addresses of a line of `/proc/self/maps`, `start-end perms offset dev inode path`, and the
/// fields behind them.
fn addresses(line: &str) -> Option<(Range<usize>, SplitAsciiWhitespace<'_>)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, fields))
}

fn kind_if_covering(line: &str, address: usize) -> Option<MappingKind> {
    let (_, mut fields) = addresses(line).filter(|(range, _)| range.contains(&address))?;
    let private = fields.next()?.ends_with('p');
    let inode = fields.nth(2)?;
    let path = fields.collect::<Vec<_>>().join(" ");
    Some(match (inode, private) {
        ("0", _) => MappingKind::Anonymous,
        (_, true) => MappingKind::PrivateFile(path),
        (_, false) => MappingKind::SharedFile(path),
    })
}

/// Which addresses are executable, sorted and without overlaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutableMap(Vec<Range<usize>>);

impl ExecutableMap {
    /// Reads `/proc/self/maps`; `None` where it cannot be read.
    pub fn read() -> Option<Self> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        Some(Self(maps.lines().filter_map(range).collect()))
    }

    /// Bytes that are executable here and were not in `earlier`.
    pub fn added_since(&self, earlier: &Self) -> usize {
        let known = |range: &Range<usize>| -> usize {
            let common = |old: &Range<usize>| {
                range.end.min(old.end).saturating_sub(range.start.max(old.start))
            };
            earlier.0.iter().map(common).sum()
        };
        self.0.iter().map(|range| range.len() - known(range)).sum()
    }
}

/// The range of a line of `/proc/self/maps`, if it is executable.
fn range(line: &str) -> Option<Range<usize>> {
    let (range, mut fields) = addresses(line)?;
    (fields.next()?.as_bytes().get(2) == Some(&b'x')).then_some(range)
}

/// Counts of the kernel for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Page faults without disk access.
    pub page_faults: u64,
    /// Page faults with disk access.
    pub major_page_faults: u64,
    /// Context switches, voluntary or not.
    pub switches: u64,
    /// Time in the kernel, sampled by the kernel.
    pub system: Duration,
}

/// Usage of this thread so far (`getrusage(2)`); `None` if the kernel does not report it.
#[inline]
pub fn thread_usage() -> Option<ThreadUsage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one `rusage` to the place, which is of that size
    // and valid as zeros already.
    let usage = unsafe {
        match libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) {
            0 => usage.assume_init(),
            _ => return None,
        }
    };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Some(ThreadUsage {
        page_faults: count(usage.ru_minflt),
        major_page_faults: count(usage.ru_majflt),
        switches: count(usage.ru_nvcsw) + count(usage.ru_nivcsw),
        system: Duration::from_secs(count(usage.ru_stime.tv_sec))
            + Duration::from_micros(count(usage.ru_stime.tv_usec)),
    })
}

/// The words at an address, read by the kernel; `None` if any of them is not readable. Adapters
/// look at structures inside a runtime with this, before they rely on the layout.
pub fn peek(address: usize, words: usize) -> Option<Vec<usize>> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("touchstone-peek", flags).ok()?);
    let mut content = vec![0; words * size_of::<usize>()];
    let start = std::ptr::with_exposed_provenance::<libc::c_void>(address);
    // SAFETY: the kernel copies the bytes, and fails with EFAULT where none can be read.
    let written = unsafe { libc::write(file.as_raw_fd(), start, content.len()) };
    if usize::try_from(written) != Ok(content.len()) {
        return None;
    }
    file.rewind().ok()?;
    file.read_exact(&mut content).ok()?;
    let words = content.as_chunks().0.iter();
    Some(words.map(|word| usize::from_ne_bytes(*word)).collect())
}

thread_local! {
    /// The lowest address, once it was asked for; 0 where the system does not tell.
    static END: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lowest address of the calling thread's stack; 0 where the system does not tell.
#[inline]
pub fn stack_end() -> usize {
    END.get().unwrap_or_else(|| {
        let end = ask().unwrap_or(0);
        END.set(Some(end));
        end
    })
}

fn ask() -> Option<usize> {
    // SAFETY: the first call initialises the attributes, or fails without effect; the second one
    // reads them, and the third destroys them.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let failed =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (failed == 0).then_some(lowest as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_stack_of_its_own() {
        let look = || {
            let here = 0_u8;
            let (here, end) = ((&raw const here) as usize, stack_end());
            assert!(end < here && here - end <= 64 << 20, "{here:x} {end:x}");
            end
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        assert_ne!(thread.spawn(look).unwrap().join().unwrap(), look());
    }

    #[test]
    fn lines_of_proc_maps_are_understood() {
        let file = "7f0000000000-7f0000100000 rw-p 00000000 00:01 2049 /memfd:image (deleted)";
        assert_eq!(
            kind_if_covering(file, 0x7f00_0000_1000),
            Some(MappingKind::PrivateFile("/memfd:image (deleted)".to_owned()))
        );
        assert_eq!(kind_if_covering(file, 0x7f00_0010_0000), None);
        let heap = "1000-2000 rw-p 00000000 00:00 0 [heap]";
        assert_eq!(kind_if_covering(heap, 0x1000), Some(MappingKind::Anonymous));
    }

    #[test]
    #[cfg_attr(miri, ignore = "addresses are not those of the process")]
    fn the_stack_is_anonymous() {
        let local = 0_u8;
        assert_eq!(mapping_kind(&raw const local as usize), Some(MappingKind::Anonymous));
    }

    #[test]
    fn executable_bytes_are_told_apart() {
        assert_eq!(range("1000-3000 r-xp 00000000 00:00 0"), Some(0x1000..0x3000));
        assert_eq!(range("1000-3000 rw-p 00000000 00:00 0"), None);
        // Grown at both ends, gone, and new.
        let before = ExecutableMap(vec![0x2000..0x3000, 0x5000..0x6000]);
        let after = ExecutableMap(vec![0x1000..0x4000, 0x8000..0x8800]);
        assert_eq!(after.added_since(&before), 0x2800);
    }

    #[test]
    #[cfg_attr(miri, ignore = "there is no /proc")]
    fn the_code_of_this_process_is_executable() {
        let nothing = ExecutableMap(Vec::new());
        assert!(ExecutableMap::read().unwrap().added_since(&nothing) > 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs getrusage and mmap without access")]
    fn touching_new_pages_is_counted() {
        let page = crate::memory::host_page();
        let mut pages = crate::memory::Mapping::new(64 * page, 64 * page).unwrap();
        let before = thread_usage().unwrap().page_faults;
        for page in pages.bytes_mut().chunks_mut(page) {
            page[0] = std::hint::black_box(1);
        }
        // Fewer than 64 where huge pages help.
        assert!(thread_usage().unwrap().page_faults > before);
    }

    #[test]
    fn words_are_read_where_there_are_some() {
        let words = [1, 2, usize::MAX];
        assert_eq!(peek((&raw const words) as usize, 3).unwrap(), words);
        assert_eq!(peek(0, 1), None);
        assert_eq!(peek(usize::MAX - 7, 1), None);
    }
}
