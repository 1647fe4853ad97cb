//! Deadlines. One thread of the process counts time for all engines, and sleeps while no guest
//! runs. It stops guests by a signal where it can ([`code`]), and by Wasmtime's epochs otherwise.

mod calls;
pub(crate) mod code;
mod fork;
mod signal;

pub(crate) use calls::{check, in_host, trap_by_signal};

use crate::data::{StoreData, look_in_epochs};
use calls::{Calls, Outer, Why, lock};
use code::Code;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use touchstone_executor::{Error, Result, Trap};
use wasmtime::{EngineWeak, Store};

/// Length of an epoch. A guest stops at most two of these after its deadline, unless the machine is
/// so busy that the thread which counts them is late.
const TICK: Duration = Duration::from_millis(10);
/// How often in a tick a guest gets the signal which it has not obeyed, because it was in code of
/// the runtime.
const SIGNALS: u32 = 10;
/// Ticks of this process so far.
static NOW: AtomicU64 = AtomicU64::new(0);
static TICKER: Ticker = Ticker::new();

/// An epoch that is never reached. A quarter of the range, because Wasmtime adds the current epoch.
pub(crate) const FAR: u64 = u64::MAX / 4;

/// The deadlines of an engine's guests.
pub(crate) struct Clock {
    /// Epochs that a call may see, unless it has a deadline of its own.
    ticks: u64,
    /// The code, where a signal stops it.
    code: Option<Code>,
    counted: Arc<Counted>,
    ticker: &'static Ticker,
}

/// Guests for which time is counted.
struct Counted {
    /// Their engine, if they have epochs.
    engine: Option<EngineWeak>,
    /// `true` while the ticker has it, and is not about to let go of it.
    is_listed: AtomicBool,
}

/// A guest that runs on this thread; dropped at its end.
pub(crate) struct Entered {
    calls: &'static Calls,
    /// Where a signal stops the guest.
    outer: Option<Outer>,
    /// Why it is not to run at all.
    ended: Option<Why>,
    of_this_thread: PhantomData<*const ()>,
}

impl Clock {
    /// The deadline of an engine's guests, whose code is stopped by a signal if it is given. Starts
    /// the thread, if this is the first one.
    pub(crate) fn start(
        engine: &wasmtime::Engine,
        deadline: Option<Duration>,
        code: Option<Code>,
    ) -> Result<Self> {
        fork::watch();
        if code.is_some() {
            signal::install().map_err(Error::system("cannot install a handler of SIGURG"))?;
        }
        TICKER.start().map_err(Error::system("cannot start the thread that watches deadlines"))?;
        Ok(Self::of(&TICKER, engine, deadline, code))
    }

    fn of(
        ticker: &'static Ticker,
        engine: &wasmtime::Engine,
        deadline: Option<Duration>,
        code: Option<Code>,
    ) -> Self {
        let engine = code.is_none().then(|| engine.weak());
        let counted = Arc::new(Counted { engine, is_listed: AtomicBool::new(false) });
        Self { ticks: epochs(deadline), code, counted, ticker }
    }

    /// Gives the store's guest its time, which counts until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self, store: &mut Store<StoreData>) -> Entered {
        let data = store.data();
        let (ticks, is_interruptible) = match data.is_limited() {
            false => (self.ticks, false),
            // Its clock has the deadline, too.
            true if data.can_be_interrupted() => (FAR, true),
            true => (epochs(data.limits().deadline), false),
        };
        self.begin(store, ticks, is_interruptible)
    }

    /// The same for code of the guest that the host needs: no deadline counts.
    pub(crate) fn enter_unlimited(&self, store: &mut Store<StoreData>) -> Entered {
        self.begin(store, FAR, false)
    }

    #[inline]
    fn begin(&self, store: &mut Store<StoreData>, ticks: u64, is_interruptible: bool) -> Entered {
        let calls = Calls::own();
        let mut entered = Entered { calls, outer: None, ended: None, of_this_thread: PhantomData };
        match &self.code {
            None => {
                if is_interruptible {
                    look_in_epochs(store);
                }
                store.set_epoch_deadline(if is_interruptible { 1 } else { ticks });
                calls.begin_looking();
            }
            Some(code) => {
                let clock = is_interruptible.then(|| Box::new(store.data().clock.clone()));
                entered.ended = match &clock {
                    Some(clock) => Why::of(clock),
                    None => (ticks == 0).then_some(Why::Deadline),
                };
                let due = NOW.load(Ordering::Relaxed) + ticks;
                entered.outer = Some(calls.begin(code, due, clock));
            }
        }
        // This may still read `true` when the ticker has just found no guest. It then looks once
        // more after a tick, and finds this one.
        let is_listed = &self.counted.is_listed;
        if !is_listed.load(Ordering::Acquire) && !is_listed.swap(true, Ordering::AcqRel) {
            self.ticker.list(&self.counted);
        }
        entered
    }
}

impl Entered {
    /// `Ok` if the guest is to run.
    ///
    /// # Errors
    ///
    /// The trap of a guest without time.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Trap> {
        self.ended.map_or(Ok(()), |why| Err(why.trap()))
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
        match &mut self.outer {
            Some(outer) => self.calls.end(outer, NOW.load(Ordering::Relaxed)),
            None => self.calls.end_looking(),
        }
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
        if let Some(engine) = &self.counted.engine {
            let Some(engine) = engine.upgrade() else { return false };
            engine.increment_epoch();
        }
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
        let (mut ticked, mut again) = (Instant::now(), false);
        loop {
            let state = self.state();
            let idle = self.changed.wait_while(state, |state| state.counted.is_empty());
            drop(idle);
            let left = TICK.saturating_sub(ticked.elapsed());
            std::thread::sleep(if again { left.min(TICK / SIGNALS) } else { left });
            if ticked.elapsed() >= TICK {
                // By one, however long it slept: a guest that has just begun must not end early.
                ticked = Instant::now();
                self.tick();
            }
            again = calls::stop_due(NOW.load(Ordering::Relaxed));
        }
    }

    fn tick(&self) {
        NOW.fetch_add(1, Ordering::Relaxed);
        let runs = calls::any_runs();
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
        let [one, other] =
            engines.each_ref().map(|engine| Clock::of(ticker, engine, Some(DAY), None));
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
    fn all_engines_have_one_thread() {
        let engine = Engine::default();
        let clocks: Vec<_> =
            (0..50).map(|_| Clock::start(&engine, Some(DAY), None).unwrap()).collect();
        let names = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
            threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
        };
        // The kernel keeps 15 bytes of a name, which the thread sets itself when it has started.
        assert!(names().filter(|name| name.starts_with("touchstone-epoc")).count() <= 1);
        drop(clocks);
    }
}
