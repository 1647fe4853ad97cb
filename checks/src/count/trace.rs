//! Counts the system calls and signals of a thread in a traced child process, which marks the
//! sections to count.
//!
//! The child stops itself with SIGSTOP at the beginning and the end of a section. The first
//! section is empty and shows the cost of the stops. Outside of sections the child runs
//! freely.

use anyhow::{Context, Result, ensure};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// The counts of one section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) system_calls: u64,
    pub(super) signals: u64,
}

/// The traced side: lets the parent trace this thread, the first one of the process. The first
/// section is the empty one.
pub(super) fn begin() -> Result<()> {
    ptrace::traceme().context("the kernel does not allow tracing this process")?;
    section(|| Ok(()))
}

/// Runs `work` as one counted section of the traced side.
pub(super) fn section<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    raise(Signal::SIGSTOP).context("cannot stop for the tracer")?;
    let done = work();
    raise(Signal::SIGSTOP).context("cannot stop for the tracer")?;
    done
}

/// The tracing side. Follows a child that calls [`begin`] until it ends, and returns its sections
/// without the empty one. Runs on the thread that started the child, which must still be waited for
/// afterwards. `between` runs while the child is stopped before each section.
pub(super) fn follow(pid: u32, mut between: impl FnMut() -> Result<()>) -> Result<Vec<Section>> {
    let pid = Pid::from_raw(i32::try_from(pid).context("a process number")?);
    let mut sections: Vec<Section> = Vec::new();
    // The section that is being counted; its stops are twice its system calls.
    let mut current: Option<Section> = None;
    let mut known = false;
    let all = WaitPidFlag::__WALL | WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED;
    loop {
        let mut deliver = None;
        // The end is only looked at: whoever started the child waits for it.
        let next = waitid(Id::Pid(pid), all | WaitPidFlag::WNOWAIT);
        if let WaitStatus::Exited(..) | WaitStatus::Signaled(..) =
            next.context("waiting for the traced process")?
        {
            break;
        }
        match waitpid(pid, Some(WaitPidFlag::__WALL)).context("waiting for the traced process")? {
            WaitStatus::PtraceSyscall(_) => {
                current.iter_mut().for_each(|section| section.system_calls += 1);
            }
            WaitStatus::Stopped(_, Signal::SIGSTOP) => {
                if !known {
                    // Tells stops at system calls from those by signals.
                    ptrace::setoptions(pid, Options::PTRACE_O_TRACESYSGOOD)?;
                    known = true;
                }
                current = match current.take() {
                    None => {
                        between()?;
                        Some(Section::default())
                    }
                    Some(mut section) => {
                        // One stop as a call begins, one as it ends.
                        section.system_calls /= 2;
                        sections.push(section);
                        None
                    }
                };
            }
            WaitStatus::Stopped(_, signal) => {
                current.iter_mut().for_each(|section| section.signals += 1);
                deliver = Some(signal);
            }
            _ => {}
        }
        match current {
            Some(_) => ptrace::syscall(pid, deliver),
            None => ptrace::cont(pid, deliver),
        }
        .context("cannot continue the traced process")?;
    }
    let is_whole = current.is_none() && !sections.is_empty();
    ensure!(is_whole, "the traced process ended before its calls were counted");
    let empty = sections.remove(0);
    for section in &mut sections {
        section.system_calls = section.system_calls.saturating_sub(empty.system_calls);
        section.signals = section.signals.saturating_sub(empty.signals);
    }
    Ok(sections)
}
