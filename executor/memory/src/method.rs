//! The kinds of reset.

use super::ages::KEPT_FOR;
use super::mappings::RUNS;
use super::rule::{PAUSE, STRANGE};
use super::{faults, pagemap_scan_available, tracking_available};
use std::fmt;

/// How a used memory is brought back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetMethod {
    /// All pages are dropped; segments are copied in again.
    Segments,
    /// All pages are dropped; what lies under them is the image.
    Drop,
    /// Written pages are found with `PAGEMAP_SCAN` and restored in place, up to so many bytes; what
    /// is beyond is dropped, so that one heavy call does not keep its memory for ever.
    Resident {
        /// Bytes that stay mapped at most.
        limit: usize,
    },
    /// As [`Resident`](Self::Resident), but the kernel is asked only when the thread's page faults
    /// since it reset the memory last do not tell what was written. All that was is among the pages
    /// that were found then, which are writable, and those that faulted. Where the kernel
    /// [logs](super::faults_are_logged) in which pages a thread had faults, it is hardly ever
    /// asked. Elsewhere it is asked after each use with a fault.
    ///
    /// After eight calls in a row most of whose pages were new, all pages are dropped in each
    /// reset. After 256 to 8,192 calls it is tried again whether to keep them.
    ///
    /// Between two resets on one thread, only that thread may write the memory, or
    /// [`note_foreign_writes`](super::note_foreign_writes) must be called on it in between;
    /// [`UsedOn`](super::UsedOn) does that for instances that change their thread. System calls of
    /// the thread may write, after [`Resetter::lend`](super::Resetter::lend) also those that pin
    /// pages (`O_DIRECT`, `process_vm_writev`). Other processes and asynchronous calls (`io_uring`)
    /// may not, nor may the thread stop its events (`prctl(PR_TASK_PERF_EVENTS_DISABLE)`). After
    /// the process has locked the memory (`mlock`, `mlockall(MCL_CURRENT)`), call
    /// [`note_foreign_writes`](super::note_foreign_writes) on each thread that resets it.
    Gated {
        /// Bytes that stay mapped at most.
        limit: usize,
    },
    /// Written pages are known from the faults of their first writes, stay writable and are
    /// restored in place. After a call that writes more than `limit`, or pages in too many places,
    /// and where calls keep writing new pages, the memory is opened as a whole until its calls are
    /// light again. It is then reset as by [`Gated`](Self::Gated) if its owner
    /// [notes threads](super::ResetterMut::note_threads), else as by [`Resident`](Self::Resident).
    ///
    /// Only [so many](super::TRACKED_AT_ONCE) memories are tracked at once. Further ones are open
    /// from the beginning.
    Tracked {
        /// Bytes that stay mapped at most.
        limit: usize,
    },
}

/// Bytes that the strategies of every backend which restore pages in place keep mapped in
/// one memory.
///
/// It bounds what an idle instance occupies. It is not where dropping becomes faster than
/// restoring: `touchstone resets` measures where that is.
pub const KEEP_RESIDENT: usize = 4 << 20;

impl ResetMethod {
    /// Why this machine cannot do it; `None` where it can.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Resident { .. } | Self::Gated { .. } if !pagemap_scan_available() => {
                Some("this kernel does not answer PAGEMAP_SCAN (Linux 6.7 or newer)")
            }
            Self::Gated { .. } if !faults::is_counted() => {
                Some("this kernel does not count the page faults of threads")
            }
            Self::Tracked { .. } if !tracking_available() => {
                Some("the handler of SIGSEGV cannot be ours in this process")
            }
            _ => None,
        }
    }
}

/// In words, for the effective configuration.
impl fmt::Display for ResetMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |limit: usize| limit >> 20;
        match *self {
            Self::Segments => f.write_str("all pages dropped, content written again"),
            Self::Drop => f.write_str("all pages dropped"),
            Self::Resident { limit } => write!(
                f,
                "written pages found with PAGEMAP_SCAN and restored in place, up to {} MiB, the \
                 rest dropped; pages not written for {KEPT_FOR} calls or more are dropped",
                mib(limit)
            ),
            Self::Gated { limit } => write!(
                f,
                "written pages {}; restored in place, up to {} MiB, the rest dropped; pages not \
                 written for {KEPT_FOR} calls or more are dropped; {}",
                known_from_faults(),
                mib(limit),
                dropping()
            ),
            Self::Tracked { limit } => write!(
                f,
                "written pages known from write faults and restored in place; pages not written \
                 for {KEPT_FOR} calls or more are dropped and watched again; after a call that \
                 wrote more than {} MiB or {RUNS} separate runs of pages, or calls that keep \
                 writing new pages, {}",
                mib(limit),
                match pagemap_scan_available() {
                    true => format!(
                        "page faults or PAGEMAP_SCAN tell which until calls are light again; {}",
                        dropping()
                    ),
                    false => "all pages are dropped".to_owned(),
                }
            ),
        }
    }
}

/// When all pages are dropped.
fn dropping() -> String {
    let (first, most) = PAUSE;
    format!(
        "after {STRANGE} calls in a row that wrote mostly new pages, all pages are dropped for \
         {first} to {most} calls"
    )
}

/// How written pages are known where resets go by the faults of the thread.
fn known_from_faults() -> &'static str {
    match faults::are_logged() {
        true => "known from the last PAGEMAP_SCAN and the kernel's log of the thread's page faults",
        false => "found with PAGEMAP_SCAN after calls with page faults, known from it after others",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests may leave out only what the machine cannot do. With the variable, no kind may
    /// be refused: a fault in what asks the kernel would otherwise have them leave it out.
    #[test]
    #[cfg_attr(miri, ignore = "needs the kernel's answers")]
    fn a_kind_is_refused_where_what_it_needs_is_missing() {
        let limit = 7 << 20;
        let needs_all = std::env::var_os("TOUCHSTONE_TEST_ALL_KINDS").is_some();
        let (scans, counts) = (pagemap_scan_available(), faults::is_counted());
        for (kind, can) in [
            (ResetMethod::Segments, true),
            (ResetMethod::Drop, true),
            (ResetMethod::Resident { limit }, scans),
            (ResetMethod::Gated { limit }, scans && counts),
            (ResetMethod::Tracked { limit }, tracking_available()),
        ] {
            assert_eq!(kind.refusal().is_none(), can, "{kind:?}");
            assert!(can || !needs_all, "{kind:?}: {:?}", kind.refusal());
            let keeps = !matches!(kind, ResetMethod::Segments | ResetMethod::Drop);
            assert_eq!(kind.to_string().contains(" 7 MiB"), keeps, "{kind}");
        }
    }
}
