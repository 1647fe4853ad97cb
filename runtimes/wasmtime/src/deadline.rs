//! Deadlines by Wasmtime's epochs: one thread of the process counts them for all engines, and
//! sleeps while no guest runs.

use crate::data::StoreData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use touchstone_executor::memory::Padded;
use touchstone_executor::{Error, Result};
use wasmtime::{EngineWeak, Store};

/// Length of an epoch. A guest stops at most two of these after its deadline.
const TICK: Duration = Duration::from_millis(10);

/// An epoch that is never reached. A quarter of the range, because Wasmtime adds the current
/// epoch.
pub(crate) const FAR: u64 = u64::MAX / 4;

/// The deadlines of an engine's guests.
pub(crate) struct Clock {
    /// Epochs that a call may see, unless it has a deadline of its own.
    ticks: u64,
    counted: Arc<Counted>,
    ticker: &'static Ticker,
}

/// An engine, and how many of its guests run.
struct Counted {
    engine: EngineWeak,
    /// Written in every call, as nothing else here is.
    running: Padded<AtomicUsize>,
    /// `true` while the ticker has it.
    is_listed: AtomicBool,
}

/// A guest that runs; dropped at its end.
pub(crate) struct Entered<'a>(&'a Counted);

impl Clock {
    /// The deadline of an engine's guests. Starts the ticker, if this is the first one.
    pub(crate) fn start(engine: &wasmtime::Engine, deadline: Option<Duration>) -> Result<Self> {
        static TICKER: Ticker = Ticker::new();
        TICKER.start().map_err(Error::system("cannot start the thread that watches deadlines"))?;
        Ok(Self::of(&TICKER, engine, deadline))
    }

    fn of(ticker: &'static Ticker, engine: &wasmtime::Engine, deadline: Option<Duration>) -> Self {
        let ticks = epochs(deadline);
        let (running, is_listed) = (Padded(AtomicUsize::new(0)), AtomicBool::new(false));
        let counted = Counted { engine: engine.weak(), running, is_listed };
        Self { ticks, counted: Arc::new(counted), ticker }
    }

    /// Gives the store's guest its time. Epochs count until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self, store: &mut Store<StoreData>) -> Entered<'_> {
        let ticks = match store.data().is_limited() {
            false => self.ticks,
            // Each epoch looks whether somebody interrupts.
            true if store.data().can_be_interrupted() => 1,
            true => epochs(store.data().limits().deadline),
        };
        store.set_epoch_deadline(ticks);
        self.counted.running.fetch_add(1, Ordering::SeqCst);
        // If this reads `true`, the ticker takes the engine off its list later, if at all. It then
        // counts the guests once more, and finds this one.
        let is_listed = &self.counted.is_listed;
        if !is_listed.load(Ordering::SeqCst) && !is_listed.swap(true, Ordering::SeqCst) {
            self.ticker.list(&self.counted);
        }
        Entered(&self.counted)
    }
}

/// Epochs that a call may see.
fn epochs(deadline: Option<Duration>) -> u64 {
    let Some(deadline) = deadline else { return FAR };
    let ticks = deadline.as_nanos().div_ceil(TICK.as_nanos());
    // One more, because the first epoch may end right away.
    u64::try_from(ticks).unwrap_or(FAR).min(FAR) + 1
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Counted {
    /// Begins an epoch. `false` if no guest runs, and the ticker has to let go of the engine.
    fn tick(&self) -> bool {
        if let Some(engine) = self.engine.upgrade() {
            engine.increment_epoch();
        }
        if self.running.load(Ordering::SeqCst) > 0 {
            return true;
        }
        self.is_listed.store(false, Ordering::SeqCst);
        // A guest that was entered before that did not list its engine.
        self.running.load(Ordering::SeqCst) > 0 && !self.is_listed.swap(true, Ordering::SeqCst)
    }
}

/// Begins the epochs of all engines whose guests run.
struct Ticker {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The process of the thread: a forked one has no threads of its parent.
    process: Option<u32>,
    counted: Vec<Arc<Counted>>,
}

impl Ticker {
    const fn new() -> Self {
        let state = State { process: None, counted: Vec::new() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread, if this process has none.
    fn start(&'static self) -> std::io::Result<()> {
        let (mut state, process) = (self.state(), std::process::id());
        if state.process != Some(process) {
            let thread = std::thread::Builder::new().name("touchstone-epochs".to_owned());
            thread.spawn(|| self.run())?;
            state.process = Some(process);
        }
        Ok(())
    }

    fn list(&self, counted: &Arc<Counted>) {
        let mut state = self.state();
        state.counted.push(Arc::clone(counted));
        drop(state);
        self.changed.notify_one();
    }

    fn run(&self) {
        loop {
            let state = self.state();
            let idle = self.changed.wait_while(state, |state| state.counted.is_empty());
            drop(idle);
            std::thread::sleep(TICK);
            self.tick();
        }
    }

    fn tick(&self) {
        self.state().counted.retain(|counted| counted.tick());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::Config;
    use touchstone_executor::adapter::HostState;
    use wasmtime::Engine;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn engines_are_counted_while_their_guests_run() {
        let ticker: &Ticker = Box::leak(Box::new(Ticker::new()));
        let listed = || ticker.state().counted.len();
        let engines = [Engine::default(), Engine::default()];
        let [one, other] = engines.each_ref().map(|engine| Clock::of(ticker, engine, Some(DAY)));
        let data = || StoreData::new(HostState::new(None, &Config::default()));
        let mut store = Store::new(&engines[0], data());
        let mut second = Store::new(&engines[1], data());
        assert_eq!(listed(), 0);
        let entered = [one.enter(&mut store), one.enter(&mut store)];
        assert_eq!(listed(), 1, "an engine is listed once");
        let elsewhere = other.enter(&mut second);
        ticker.tick();
        assert_eq!(listed(), 2);
        drop(entered);
        ticker.tick();
        assert_eq!(listed(), 1);
        drop(elsewhere);
        drop((other, second, engines));
        ticker.tick();
        assert_eq!(listed(), 0, "the thread has nothing to wake up for");
        let again = one.enter(&mut store);
        assert_eq!(listed(), 1);
        drop(again);
    }

    #[test]
    fn all_engines_have_one_thread() {
        let engine = Engine::default();
        let clocks: Vec<_> = (0..50).map(|_| Clock::start(&engine, Some(DAY)).unwrap()).collect();
        let names = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        };
        // The kernel keeps 15 bytes of a name, which the thread sets itself when it has started.
        assert!(names().filter(|name| name.starts_with("touchstone-epoc")).count() <= 1);
        drop(clocks);
    }
}
