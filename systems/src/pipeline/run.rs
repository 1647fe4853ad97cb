//! A run of the pipeline: sends messages and gives a verdict on each.

use super::client;
use super::mapping::SharedWords;
use super::redis_server::RedisServer;
use super::ring::{self, Consumer, Taken};
use super::wire::Message;
use super::{Kind, Signed};
use anyhow::{Context, Result, anyhow, bail};
use signatures::Entry;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, oneshot};

const SLOTS: usize = 64;
/// Most messages between sending and verdict.
const WINDOW: usize = 64;
/// Pause while the shared memory is empty.
const EMPTY: Duration = Duration::from_micros(20);
/// Longest silence.
const SILENCE: Duration = Duration::from_secs(300);

/// A pipeline that is ready for a run.
#[derive(Debug)]
pub struct Run {
    consumer: Consumer<SharedWords>,
}

/// A kill of Redis during a run, and its restart.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    pub after: u64,
    /// Time from the kill to the restart.
    pub lasts: Duration,
}

#[derive(Debug, Clone, Copy)]
pub struct Handled {
    pub verdict_ns: u64,
    /// Time from sending to the verdict, ns.
    pub latency_ns: u64,
    /// `true` if the module was swapped for it.
    pub swapped: bool,
}

/// Messages that were not handled once, in order and as sent. All are 0 unless something is wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub lost: u64,
    /// Further verdicts on the same messages.
    pub doubled: u64,
    /// Messages after one with a higher sequence number.
    pub misordered: u64,
    /// Messages with another kind or text.
    pub altered: u64,
}

#[derive(Debug, Clone)]
pub struct Outcome {
    /// Time from sending the first message to the last verdict.
    pub total: Duration,
    pub handled: Vec<Handled>,
    pub counts: Counts,
    pub restarts: u64,
    pub longest_gap: Duration,
}

impl Run {
    /// Creates the shared memory, which the server opens afterwards.
    pub fn new(path: &Path) -> Result<Self> {
        let words = SharedWords::create(path, ring::words(SLOTS))?;
        ring::create(words.as_ref());
        Ok(Self { consumer: Consumer::open(words)? })
    }

    /// Sends messages, numbered from 0, to the server, and passes each signed one to `verify`,
    /// which returns `true` if it swapped the module. `stopped` is asked before each message. Fails
    /// if nothing arrives for 300 s or `stopped` says so.
    pub fn perform(
        mut self,
        address: SocketAddr,
        messages: &[Message],
        redis: &mut RedisServer,
        outage: Option<Outage>,
        stopped: impl Fn() -> bool,
        mut verify: impl FnMut(&Signed, &Message) -> Result<bool>,
    ) -> Result<Outcome> {
        let base = Instant::now();
        let now = move || base.elapsed().as_nanos() as u64;
        let sent: Arc<[AtomicU64]> = messages.iter().map(|_| AtomicU64::new(0)).collect();
        let sending = Sending::start(address, messages, Arc::clone(&sent), now)?;
        let mut seen =
            Seen { times: vec![0; messages.len()], last: None, counts: Counts::default() };
        let mut outages = Outages { plan: outage, killed: None, restarts: 0 };
        let mut last_arrival = Instant::now();
        let mut handled: Vec<Handled> = Vec::with_capacity(messages.len());
        let (mut last, mut longest) = (0, 0);
        loop {
            if stopped() {
                bail!("the run was stopped");
            }
            outages.step(handled.len() as u64, redis)?;
            match self.consumer.take()? {
                Taken::Message(signed) => {
                    let began = now();
                    let message = seen.note(&signed, messages)?;
                    let swapped = verify(&signed, message)?;
                    let ended = now();
                    sending.window.add_permits(1);
                    let start = sent[signed.sequence as usize].load(Ordering::Relaxed);
                    handled.push(Handled {
                        verdict_ns: ended - began,
                        latency_ns: ended.saturating_sub(start),
                        swapped,
                    });
                    if last > 0 {
                        longest = longest.max(ended - last);
                    }
                    last = ended;
                    last_arrival = Instant::now();
                }
                // All arrived messages are handled.
                Taken::Empty if sending.has_failed() => {
                    sending.join()?;
                    bail!("the client failed");
                }
                Taken::Empty if last_arrival.elapsed() > SILENCE => {
                    bail!("no message arrived for {} s", SILENCE.as_secs());
                }
                Taken::Empty => std::thread::sleep(EMPTY),
                Taken::Ended => break,
            }
        }
        sending.join()?;
        let start = sent.first().map_or(0, |first| first.load(Ordering::Relaxed));
        Ok(Outcome {
            total: Duration::from_nanos(last.saturating_sub(start)),
            handled,
            counts: seen.counts(),
            restarts: outages.restarts,
            longest_gap: Duration::from_nanos(longest),
        })
    }
}

/// The client in its thread.
struct Sending {
    thread: JoinHandle<Result<()>>,
    window: Arc<Semaphore>,
    failed: Arc<AtomicBool>,
    /// Ends the client when dropped.
    _cancel: oneshot::Sender<()>,
}

impl Sending {
    fn start(
        address: SocketAddr,
        messages: &[Message],
        sent: Arc<[AtomicU64]>,
        now: impl Fn() -> u64 + Send + 'static,
    ) -> Result<Self> {
        let window = Arc::new(Semaphore::new(WINDOW));
        let (cancel, cancelled) = oneshot::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let (own, permits, messages) =
            (Arc::clone(&failed), Arc::clone(&window), messages.to_vec());
        let note = move |sequence: u64| sent[sequence as usize].store(now(), Ordering::Relaxed);
        let thread = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
            let result = client::send(address, messages, permits, note, cancelled);
            own.store(result.is_err(), Ordering::Release);
            result
        });
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { thread, window, failed, _cancel: cancel })
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    fn join(self) -> Result<()> {
        self.thread.join().map_err(|_| anyhow!("the client panicked"))?
    }
}

/// Kills and restarts Redis as planned.
struct Outages {
    plan: Option<Outage>,
    killed: Option<Instant>,
    restarts: u64,
}

impl Outages {
    fn step(&mut self, verdicts: u64, redis: &mut RedisServer) -> Result<()> {
        let Some(plan) = self.plan else { return Ok(()) };
        match self.killed {
            None if verdicts >= plan.after => {
                redis.kill();
                self.killed = Some(Instant::now());
            }
            Some(killed) if killed.elapsed() >= plan.lasts => {
                redis.start_again()?;
                self.restarts += 1;
                self.plan = None;
            }
            _ => {}
        }
        Ok(())
    }
}

struct Seen {
    times: Vec<u32>,
    last: Option<u64>,
    /// All but what `times` tells.
    counts: Counts,
}

impl Seen {
    /// Notes a message and returns the sent one.
    fn note<'a>(&mut self, signed: &Signed, messages: &'a [Message]) -> Result<&'a Message> {
        let sequence = signed.sequence;
        let index = usize::try_from(sequence).unwrap_or(usize::MAX);
        let message = messages.get(index);
        let message = message.with_context(|| format!("nobody sent message {sequence}"))?;
        self.times[index] += 1;
        self.counts.misordered += u64::from(self.last.is_some_and(|last| sequence < last));
        self.last = self.last.max(Some(sequence));
        let text = Entry::take(&mut &signed.entry[..]).map(|entry| entry.message);
        let is_same = text == Some(&message.text[..])
            && Kind::numbered(message.kind.into()) == Some(signed.kind);
        self.counts.altered += u64::from(!is_same);
        Ok(message)
    }

    fn counts(&self) -> Counts {
        Counts {
            lost: self.times.iter().filter(|times| **times == 0).count() as u64,
            doubled: self.times.iter().map(|times| u64::from(times.saturating_sub(1))).sum(),
            ..self.counts
        }
    }
}
