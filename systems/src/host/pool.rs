//! Threads that make calls.

use super::{Call, Catalogue, Conduct, Output, Refusal, Worker};
use anyhow::{Context, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// A call, and whom to answer.
struct Job {
    call: Call,
    answer: oneshot::Sender<Result<Output, Refusal>>,
}

/// Threads that make calls, and the queue before them. Dropped, they end after their calls.
pub(super) struct Pool {
    jobs: SyncSender<Job>,
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
        let (jobs, queue) = sync_channel(most);
        let queue = Arc::new(Mutex::new(queue));
        for index in 0..threads {
            let (queue, catalogue) = (Arc::clone(&queue), Arc::clone(catalogue));
            std::thread::Builder::new()
                .name(format!("calls-{index}"))
                .spawn(move || serve(&queue, &catalogue, conduct))
                .context("cannot start a thread")?;
        }
        Ok(Self { jobs, most })
    }

    /// Queues a call.
    pub(super) fn call(
        &self,
        call: Call,
    ) -> Result<oneshot::Receiver<Result<Output, Refusal>>, Refusal> {
        let (answer, answered) = oneshot::channel();
        match self.jobs.try_send(Job { call, answer }) {
            Ok(()) => Ok(answered),
            Err(TrySendError::Full(_)) => Err(Refusal::Busy(self.most)),
            Err(TrySendError::Disconnected(_)) => {
                Err(Refusal::Failed("no thread makes calls".to_owned()))
            }
        }
    }
}

fn serve(queue: &Mutex<Receiver<Job>>, catalogue: &Arc<Catalogue>, conduct: Conduct) {
    let mut worker = Worker::new(Arc::clone(catalogue), conduct);
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { call, answer }) = job else { return };
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
