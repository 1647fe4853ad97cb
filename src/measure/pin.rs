//! Pins threads to processors. Otherwise the scheduler may wake the second thread of a crew on the
//! processor of the first, where it waits until the first has been timed.

use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

const SELF: Pid = Pid::from_raw(0);

/// One processor for each thread, among those of the calling one. Fails if there are fewer.
pub(crate) fn processors(threads: usize) -> Result<Vec<usize>> {
    let set = sched_getaffinity(SELF).context("cannot read the processor affinity")?;
    let allowed = (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false));
    let allowed: Vec<usize> = allowed.take(threads).collect();
    ensure!(allowed.len() == threads, "there are fewer processors than {threads}");
    Ok(allowed)
}

pub(crate) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread. Fails if the kernel refuses.
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
        // Restores the affinity that the thread had before.
        let _ = sched_setaffinity(SELF, &self.before);
    }
}
