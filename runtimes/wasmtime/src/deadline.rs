//! Deadlines by Wasmtime's epochs: one thread of the process counts them for all engines, and
//! sleeps while no guest runs.

use crate::data::StoreData;
use std::cell::Cell;
use std::marker::PhantomData;
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

/// An engine whose epochs are counted.
struct Counted {
    engine: EngineWeak,
    /// `true` while the ticker has it, and is not about to let go of it.
    is_listed: AtomicBool,
}

/// How many guests with a deadline run on a thread. Only that thread writes the number, without a
/// locked instruction.
type Running = Padded<AtomicUsize>;

/// The numbers of all threads, and those of threads that have ended.
static RUNNING: Mutex<(Vec<&Running>, Vec<&Running>)> = Mutex::new((Vec::new(), Vec::new()));

thread_local! {
    static OWN: Cell<Option<&'static Running>> = const { Cell::new(None) };
    static LEAVER: Leaver = const { Leaver };
}

/// Gives the number of a thread back when the thread ends.
struct Leaver;

impl Drop for Leaver {
    fn drop(&mut self) {
        if let Some(own) = OWN.take() {
            lock(&RUNNING).1.push(own);
        }
    }
}

#[cold]
fn own() -> &'static Running {
    let mut all = lock(&RUNNING);
    let own = all.1.pop().unwrap_or_else(|| {
        let new: &Running = Box::leak(Box::default());
        all.0.push(new);
        new
    });
    OWN.set(Some(own));
    // A thread that is ending keeps it for good.
    let _ = LEAVER.try_with(|_| ());
    own
}

/// `true` if a guest with a deadline runs on any thread.
fn any_runs() -> bool {
    lock(&RUNNING).0.iter().any(|running| running.load(Ordering::Acquire) > 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guest that runs on this thread; dropped at its end.
pub(crate) struct Entered(&'static Running, PhantomData<*const ()>);

impl Clock {
    /// The deadline of an engine's guests. Starts the ticker, if this is the first one.
    pub(crate) fn start(engine: &wasmtime::Engine, deadline: Option<Duration>) -> Result<Self> {
        static TICKER: Ticker = Ticker::new();
        TICKER.start().map_err(Error::system("cannot start the thread that watches deadlines"))?;
        Ok(Self::of(&TICKER, engine, deadline))
    }

    fn of(ticker: &'static Ticker, engine: &wasmtime::Engine, deadline: Option<Duration>) -> Self {
        let counted = Counted { engine: engine.weak(), is_listed: AtomicBool::new(false) };
        Self { ticks: epochs(deadline), counted: Arc::new(counted), ticker }
    }

    /// Gives the store's guest its time. Epochs count until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self, store: &mut Store<StoreData>) -> Entered {
        let ticks = match store.data().is_limited() {
            false => self.ticks,
            // Each epoch looks whether somebody interrupts.
            true if store.data().can_be_interrupted() => 1,
            true => epochs(store.data().limits().deadline),
        };
        store.set_epoch_deadline(ticks);
        let running = OWN.get().unwrap_or_else(own);
        running.store(running.load(Ordering::Relaxed) + 1, Ordering::Release);
        // This may still read `true` when the ticker has just found no guest. It then looks once
        // more after a tick, and finds this one.
        let is_listed = &self.counted.is_listed;
        if !is_listed.load(Ordering::Acquire) && !is_listed.swap(true, Ordering::AcqRel) {
            self.ticker.list(&self.counted);
        }
        Entered(running, PhantomData)
    }
}

/// Epochs that a call may see.
fn epochs(deadline: Option<Duration>) -> u64 {
    let Some(deadline) = deadline else { return FAR };
    let ticks = deadline.as_nanos().div_ceil(TICK.as_nanos());
    let ticks = u64::try_from(ticks).unwrap_or(FAR).min(FAR);
    // One more, because the first epoch may end right away; but not where no time is left.
    ticks + u64::from(ticks > 0)
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        self.0.store(self.0.load(Ordering::Relaxed) - 1, Ordering::Release);
    }
}

/// Begins the epochs of all engines that had a guest, while any guest runs.
struct Ticker {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The process of the thread: a forked one has no threads of its parent.
    process: Option<u32>,
    counted: Vec<Listed>,
}

struct Listed {
    counted: Arc<Counted>,
    /// `true` if no guest ran at the last tick.
    is_leaving: bool,
}

impl Listed {
    /// Begins an epoch. Returns `false` if the ticker has to let go of the engine: it is gone, or
    /// no guest runs for the second time.
    fn tick(&mut self, runs: bool) -> bool {
        let Some(engine) = self.counted.engine.upgrade() else { return false };
        engine.increment_epoch();
        let is_listed = &self.counted.is_listed;
        match (std::mem::replace(&mut self.is_leaving, !runs), runs) {
            (false, true) => true,
            (false, false) => {
                is_listed.store(false, Ordering::Release);
                true
            }
            // Unless a guest has listed it once more.
            (true, true) => !is_listed.swap(true, Ordering::AcqRel),
            (true, false) => false,
        }
    }
}

impl Ticker {
    const fn new() -> Self {
        let state = State { process: None, counted: Vec::new() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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
        state.counted.push(Listed { counted: Arc::clone(counted), is_leaving: false });
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
        let runs = any_runs();
        self.state().counted.retain_mut(|listed| listed.tick(runs));
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
        (0..5).for_each(|_| ticker.tick());
        assert_eq!(listed(), 2);
        drop(entered);
        (0..5).for_each(|_| ticker.tick());
        assert_eq!(listed(), 2, "as long as any guest runs");
        drop(elsewhere);
        ticker.tick();
        assert_eq!(listed(), 2, "a guest may have been entered meanwhile");
        let again = one.enter(&mut store);
        assert_eq!(listed(), 3, "listed before the ticker has let go of it");
        ticker.tick();
        assert_eq!(listed(), 2);
        drop(again);
        (0..2).for_each(|_| ticker.tick());
        assert_eq!(listed(), 0, "the thread has nothing to wake up for");
        let again = one.enter(&mut store);
        assert_eq!(listed(), 1);
        drop((one, other, second, store, engines));
        ticker.tick();
        assert_eq!(listed(), 0, "engines that are gone");
        drop(again);
    }

    #[test]
    fn threads_that_end_leave_their_numbers_to_others() {
        let numbers = || {
            let own = || own() as *const Running as usize;
            let one = std::thread::spawn(own).join().unwrap();
            [one, std::thread::spawn(own).join().unwrap()]
        };
        let [one, other] = numbers();
        assert_eq!(one, other);
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
