//! Threads that are to run beside each other, each on a processor of its own: a
//! scheduler may wake the second on the processor of the first, where it waits
//! until the first has been timed.

use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);

/// A processor for each of so many threads, among those that the calling thread may
/// run on.
///
/// # Errors
///
/// When there are fewer, or the kernel does not say.
pub(super) fn processors(threads: usize) -> Result<Vec<usize>> {
    let set = sched_getaffinity(SELF).context("cannot ask for the processors")?;
    let allowed = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
    let allowed: Vec<usize> = allowed.take(threads).collect();
    ensure!(allowed.len() == threads, "there are fewer processors than {threads}");
    Ok(allowed)
}

/// Keeps the calling thread on one processor until it is dropped, by the same
/// thread.
pub(crate) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// # Errors
    ///
    /// When the kernel refuses.
    pub(crate) fn to(cpu: usize) -> Result<Self> {
        let pin = || {
            let before = sched_getaffinity(SELF)?;
            let mut one = CpuSet::new();
            one.set(cpu)?;
            sched_setaffinity(SELF, &one)?;
            nix::Result::Ok(Self { before })
        };
        pin().with_context(|| format!("cannot keep a thread on processor {cpu}"))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Where it was allowed before, it is allowed again.
        let _ = sched_setaffinity(SELF, &self.before);
    }
}
