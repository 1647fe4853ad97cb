//! Threads that make calls.

use super::{Call, Catalogue, Conduct, Output, Refusal, Worker};
use anyhow::{Context, Result};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A call, and whom to answer.
struct Job {
    call: Call,
    answer: oneshot::Sender<Result<Output, Refusal>>,
}

/// Calls that wait for a thread.
///
/// A thread is woken after the lock is released. The channels of the standard library wake it
/// under their lock, for which it then waits when both threads are on one processor.
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
    /// The next job; `None` after the end, when all are done.
    fn take(&self) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        loop {
            match waiting.jobs.pop_front() {
                Some(job) => return Some(job),
                None if waiting.has_ended => return None,
                None => self.changed.wait(&mut waiting),
            }
        }
    }
}

/// Threads that make calls, and the queue before them. Dropped, they end after their calls.
pub(super) struct Pool {
    queue: Arc<Queue>,
    most: usize,
}

impl Pool {
    /// Starts threads; at most `most` calls wait for one.
    pub(super) fn start(
        threads: usize,
        most: usize,
        catalogue: &Arc<Catalogue>,
        conduct: Conduct,
    ) -> Result<Self> {
        let pool = Self { queue: Arc::default(), most };
        for index in 0..threads {
            let (queue, catalogue) = (Arc::clone(&pool.queue), Arc::clone(catalogue));
            std::thread::Builder::new()
                .name(format!("calls-{index}"))
                .spawn(move || serve(&queue, &catalogue, conduct))
                .context("cannot start a thread")?;
        }
        Ok(pool)
    }

    /// Queues a call.
    pub(super) fn call(
        &self,
        call: Call,
    ) -> Result<oneshot::Receiver<Result<Output, Refusal>>, Refusal> {
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.queue.waiting.lock();
        if waiting.jobs.len() >= self.most {
            return Err(Refusal::Busy(self.most));
        }
        waiting.jobs.push_back(Job { call, answer });
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

fn serve(queue: &Queue, catalogue: &Arc<Catalogue>, conduct: Conduct) {
    let mut worker = Worker::new(Arc::clone(catalogue), conduct);
    while let Some(Job { call, answer }) = queue.take() {
        // Nobody waits any more.
        if answer.is_closed() {
            continue;
        }
        let answered = catch_unwind(AssertUnwindSafe(|| worker.answer(&call)));
        let answered = answered.unwrap_or_else(|_| {
            // Its instances may be in any state.
            worker = Worker::new(Arc::clone(catalogue), conduct);
            Err(Refusal::Failed("a thread that makes calls panicked".to_owned()))
        });
        // The connection may be closed.
        let _ = answer.send(answered);
    }
}
