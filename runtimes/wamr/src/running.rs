//! A live instance and the calls on it.

use crate::ID;
use crate::api::{ExecEnv, FunctionPointer, Instance};
use crate::host::{self, State};
use crate::module::{ModuleData, STACK};
use crate::rewrite::START;
use crate::trap;
use crate::value::{cells, push, take};
use std::ptr::NonNull;
use std::sync::Arc;
use touchstone_executor::adapter::{Disposable, EnforcedLimits, HostState, Live, stack_end};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::PooledMemory;
use touchstone_executor::{Error, Result, Trap, Value};

/// Bytes of the thread's stack for host functions: WAMR looks before it calls one.
const MARGIN: usize = 128 << 10;

/// An instance, and what its calls need. Fields are dropped in this order.
pub(crate) struct Running {
    pub(crate) instance: Instance,
    kept: Kept,
    /// The function that was called last, by its handle.
    entry: Option<(u32, FunctionPointer)>,
    cells: Vec<u32>,
}

// SAFETY: the functions are of the instance, and used with it only.
unsafe impl Send for Running {}

/// Data that an instance leaves to the next one.
pub(crate) struct Kept {
    env: Option<ExecEnv>,
    /// No reference to it exists while a guest runs.
    state: NonNull<State>,
}

// SAFETY: the state was a box, and only its owner uses it. The pointers in it lead into the
// instance beside it.
unsafe impl Send for Kept {}

impl Kept {
    /// For a first instance.
    pub(crate) fn new(shared: &Arc<ModuleData>) -> Self {
        Self { env: None, state: NonNull::from(Box::leak(Box::new(State::new(shared)))) }
    }

    fn state(&mut self) -> &mut State {
        // SAFETY: the guest does not run, and `&mut self` is the only way to the state.
        unsafe { self.state.as_mut() }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.env = None;
        // SAFETY: it was a box, and nothing runs that has its address.
        drop(unsafe { Box::from_raw(self.state.as_ptr()) });
    }
}

impl Running {
    /// Makes a new instance and runs its start function.
    pub(crate) fn instantiate(shared: &Arc<ModuleData>, mut kept: Kept) -> Result<Self> {
        let instance = Instance::new(&shared.program.code).map_err(|message| {
            trap::of_instantiation(&message, shared.guest.info().segment_trap)
        })?;
        match &kept.env {
            Some(env) => env.serve(&instance),
            None => {
                let env = ExecEnv::new(&instance, STACK);
                let failed = || Error::runtime(ID, "make a stack")("out of memory");
                kept.env = Some(env.ok_or_else(failed)?);
            }
        }
        let data = kept.state.as_ptr().cast();
        kept.env.iter().for_each(|env| env.set_data(data));
        let state = kept.state();
        state.instance = instance.raw();
        state.memory = instance.memory().unwrap_or(std::ptr::null_mut());
        let mut running = Self { instance, kept, entry: None, cells: Vec::new() };
        if let Some(pool) = &shared.pool {
            let lease = running.kept.state().lease.take();
            let mut lease = match lease {
                Some(lease) => lease,
                None => PooledMemory::new(pool, shared.size(), shared.reserved(), false)?,
            };
            lease.renew()?;
            running.install(lease, shared.size());
        }
        if shared.program.has_start {
            let start = running.instance.function(START).ok_or(Error::FOREIGN_HANDLE)?;
            if let Err(trap) = running.run(start, &[], &mut [])? {
                return Err(Error::Instantiation { trap });
            }
        }
        Ok(running)
    }

    /// Puts a memory of Touchstone's in the place of WAMR's own.
    pub(crate) fn install(&mut self, lease: PooledMemory, size: usize) {
        let pages = (size / WASM_PAGE) as u32;
        // SAFETY: nothing runs. The state keeps the lease, and is dropped after the instance.
        unsafe { self.instance.replace_memory(lease.base(), pages) };
        self.kept.state().lease = Some(lease);
    }

    pub(crate) fn state(&mut self) -> &mut State {
        self.kept.state()
    }

    pub(crate) fn shared(&self) -> &ModuleData {
        // SAFETY: nothing runs, so nobody changes the state while it is borrowed here.
        unsafe { &self.kept.state.as_ref().shared }
    }

    /// Runs a function with values of its types.
    fn run(
        &mut self,
        function: FunctionPointer,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let Self { instance, kept, cells: all, .. } = self;
        let state = kept.state();
        state.trap = None;
        state.clock = state.host.start_clock();
        all.clear();
        params.iter().for_each(|value| push(all, *value));
        let (given, wanted) = (all.len(), results.iter().map(|value| cells(value.ty())).sum());
        // WAMR writes two cells at least.
        all.resize(given.max(wanted).max(2), 0);
        instance.clear_exception();
        let Some(env) = &kept.env else { return Err(Error::FOREIGN_HANDLE) };
        env.limit_stack(match stack_end() {
            0 => 0,
            end => end + MARGIN,
        });
        // SAFETY: the function is the instance's, whose environment and state are beside it. The
        // cells are those of its parameters, and there are enough for its results.
        if unsafe { env.call(function, given as u32, all) } {
            let mut left = &all[..];
            for result in results {
                *result = take(&mut left, result.ty());
            }
            return Ok(Ok(()));
        }
        if let Some(trap) = kept.state().trap.take() {
            return Ok(Err(trap));
        }
        match instance.exception() {
            message if message.is_empty() => {
                Err(Error::runtime(ID, "run the guest")("WAMR gives no reason"))
            }
            message => Ok(Err(trap::of_call(&message))),
        }
    }
}

impl Disposable for Running {
    type Shared = ModuleData;
    type Kept = Kept;

    fn new(shared: &Arc<ModuleData>, kept: Option<Kept>) -> Result<Self> {
        let mut kept = kept.unwrap_or_else(|| Kept::new(shared));
        kept.state().host.reset();
        let mut running = Self::instantiate(shared, kept)?;
        if let Some(lease) = &mut running.kept.state().lease
            && let Some(mut resetter) = lease.resetter()
        {
            // The driver of new instances does.
            resetter.note_threads();
        }
        Ok(running)
    }

    fn into_kept(self) -> Kept {
        let Self { instance, mut kept, .. } = self;
        drop(instance);
        let state = kept.state();
        (state.instance, state.memory) = (std::ptr::null_mut(), std::ptr::null_mut());
        state.lease.iter_mut().for_each(PooledMemory::release);
        kept
    }
}

impl Live for Running {
    fn grow_memory(&mut self, pages: u32) -> bool {
        // SAFETY: nothing runs, and `&mut self` shows that no reference is alive.
        unsafe { host::grow(self.kept.state.as_ptr(), pages) }
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.kept.state().host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let state = self.kept.state();
        // SAFETY: nothing runs, and the slice borrows `self`, by which alone others get at it.
        (unsafe { host::bytes(state.memory) }, &mut state.host)
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let function = match self.entry {
            Some((known, function)) if known == index => function,
            _ => {
                let name = self.shared().program.functions.get(index as usize);
                let name = name.ok_or(Error::FOREIGN_HANDLE)?;
                let function = self.instance.function(name).ok_or(Error::FOREIGN_HANDLE)?;
                self.entry = Some((index, function));
                function
            }
        };
        // WAMR writes as many results as the function has.
        let signature = self.shared().guest.exports.signature(index);
        if !signature.is_some_and(|known| known.fits(params, results)) {
            return Err(Error::FOREIGN_HANDLE);
        }
        self.run(function, params, results)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let deadline = self.shared().guest.config.is_interruptible();
        EnforcedLimits { deadline, fuel: false, pages: true, table_entries: false }
    }

    fn begin_limits(&mut self) -> Result<()> {
        let state = self.kept.state();
        limit_own_memory(state, state.largest());
        Ok(())
    }

    fn end_limits(&mut self) {
        let state = self.kept.state();
        limit_own_memory(state, state.shared.largest());
    }
}

/// Limits the growth of a memory of WAMR's own, which it checks itself.
fn limit_own_memory(state: &mut State, pages: u32) {
    if state.lease.is_none() && !state.memory.is_null() {
        // SAFETY: the memory of the instance beside the state, which does not run.
        unsafe { (*state.memory).max_page_count = pages };
    }
}
