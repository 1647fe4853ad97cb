//! Threads that make calls.

use super::worker::{Call, Output, Worker};
use super::{Catalogue, Conduct, Refusal};
use anyhow::{Context, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The part of a request that a thread answers.
pub(super) enum Ask {
    /// The functions of a contract.
    List(String),
    /// A call of one.
    Call(Call),
}

struct Job {
    ask: Ask,
    answer: oneshot::Sender<Result<Output, Refusal>>,
}

/// Calls waiting for a thread.
///
/// A thread is woken after the lock is released. Channels of the standard library wake it under
/// their lock, which it then waits for if both threads share a processor.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    has_ended: bool,
}

impl Queue {
    /// The next job; `None` after the end, when all are done. Idle threads check files of the
    /// catalogue.
    fn take(&self, catalogue: &Catalogue) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        loop {
            match waiting.jobs.pop_front() {
                Some(job) => return Some(job),
                None if waiting.has_ended => return None,
                None if catalogue.has_unchecked() => {
                    MutexGuard::unlocked(&mut waiting, || catalogue.check_next());
                }
                None => self.changed.wait(&mut waiting),
            }
        }
    }
}

/// Threads that make calls, and their queue. After a drop they end when their calls are done.
pub(super) struct Pool {
    queue: Arc<Queue>,
    most: usize,
}

impl Pool {
    /// Starts threads. At most `most` calls wait, and answers have at most `most_bytes`.
    pub(super) fn start(
        threads: usize,
        most: usize,
        most_bytes: usize,
        catalogue: &Arc<Catalogue>,
        conduct: Conduct,
    ) -> Result<Self> {
        let pool = Self { queue: Arc::default(), most };
        for index in 0..threads {
            let queue = Arc::clone(&pool.queue);
            let catalogue = Arc::clone(catalogue);
            let worker = Worker { catalogue, conduct, thread: index, most_bytes, calls: 0 };
            std::thread::Builder::new()
                .name(format!("calls-{index}"))
                .spawn(move || serve(&queue, worker))
                .context("cannot start a thread")?;
        }
        Ok(pool)
    }

    pub(super) fn ask(
        &self,
        ask: Ask,
    ) -> Result<oneshot::Receiver<Result<Output, Refusal>>, Refusal> {
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.queue.waiting.lock();
        if waiting.jobs.len() >= self.most {
            return Err(Refusal::Busy(self.most));
        }
        waiting.jobs.push_back(Job { ask, answer });
        drop(waiting);
        self.queue.changed.notify_one();
        Ok(answered)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.waiting.lock().has_ended = true;
        self.queue.changed.notify_all();
    }
}

fn serve(queue: &Queue, mut worker: Worker) {
    let panicked = || Refusal::Failed("a thread that makes calls panicked".to_owned());
    let catalogue = Arc::clone(&worker.catalogue);
    loop {
        // A panic while checking a file ends no thread.
        let taken = catch_unwind(AssertUnwindSafe(|| queue.take(&catalogue)));
        let job = match taken {
            Ok(Some(job)) => job,
            Ok(None) => return,
            Err(_) => continue,
        };
        // No client waits any more.
        if job.answer.is_closed() {
            continue;
        }
        // The instance of a call that panics is dropped with the call.
        let answered = catch_unwind(AssertUnwindSafe(|| worker.answer(&job.ask)));
        let answered = answered.unwrap_or_else(|_| Err(panicked()));
        // The connection may be closed.
        let _ = job.answer.send(answered);
    }
}
