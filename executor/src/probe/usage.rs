//! Resource usage of the calling thread.

use std::mem::MaybeUninit;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
