//! A loaded runtime.

use crate::bridge::PanicMessage;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, WASM_PAGE};
use touchstone_executor::{
    Abi, ArtifactFolder, CallOptions, Config, Context, Instance, Limits, Module, Outcome, Strategy,
    Trap,
};

/// Pages of a memory with 32-bit addresses.
const ALL_PAGES: u32 = ((1_u64 << 32) / WASM_PAGE as u64) as u32;

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The code of the runtime is not available.
    #[error("the code of the runtime was not found")]
    NoCode,
    /// The code cannot be loaded, or the host failed.
    #[error(transparent)]
    Host(#[from] touchstone_executor::Error),
    /// The runtime trapped.
    #[error("{}{trap}", .message.as_ref().map(|text| format!("{text}: ")).unwrap_or_default())]
    Trapped {
        /// The trap.
        trap: Trap,
        /// The message of the runtime's panic, if it left one: see [`PanicMessage`].
        message: Option<String>,
    },
}

/// A loaded runtime with its instances, for hosts that keep runtimes themselves. Each thread makes
/// its calls on an instance of its own, as long as the settings allow as many.
pub struct Runtime {
    module: Box<dyn Module>,
    /// Pages of its memory at the start.
    pages: u32,
    /// Instances that may live.
    most: usize,
    instances: Mutex<Instances>,
}

#[derive(Default)]
struct Instances {
    made: usize,
    /// Each with the thread that used it last.
    idle: Vec<(ThreadId, Box<dyn Instance>)>,
}

impl Runtime {
    /// Compiles and loads a runtime.
    ///
    /// # Errors
    ///
    /// When the engine cannot load it.
    pub fn new(
        engine: &dyn MeasuredEngine,
        strategy: Strategy,
        guest: &GuestModule,
        config: &Config,
        artifacts: Option<&ArtifactFolder>,
    ) -> Result<Self, CallError> {
        let (artifact, _) = engine.restore_or_compile(guest, strategy, config, artifacts)?;
        artifact.stage(strategy)?;
        let module = engine.load(guest, &artifact, strategy, config)?;
        let pages = guest.info().memory.map_or(0, |limits| limits.minimum);
        Ok(Self { module, pages, most: config.instances as usize, instances: Mutex::default() })
    }

    /// Pages of 64 KiB that its memory has at the start of each call.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Calls an export on a clean instance, whose memory may have `most` pages.
    ///
    /// # Errors
    ///
    /// When the runtime has no such export, traps, or the host fails.
    pub fn call(&self, method: &str, data: &[u8], most: u32) -> Result<Vec<u8>, CallError> {
        let export = self.module.export(method, Abi::Substrate)?;
        let mut message = PanicMessage::default();
        let pages = most.min(ALL_PAGES);
        let options = CallOptions {
            context: Some(Context::new(&mut message)),
            limits: Limits { pages: Some(pages), ..Limits::default() },
            interrupt: None,
        };
        let mut output = Vec::new();
        let mut own = self.take()?;
        let ended = own.get().call_with(export, data, &mut output, options)?;
        own.give_back();
        match ended {
            Outcome::Returned => Ok(output),
            Outcome::Trapped(trap) => Err(CallError::Trapped { trap, message: message.0 }),
        }
    }

    /// An instance that this thread used before, a new one, or that of another thread.
    fn take(&self) -> Result<Taken<'_>, CallError> {
        let mut instances = lock(&self.instances);
        let Instances { made, idle } = &mut *instances;
        let own = idle.iter().rposition(|(thread, _)| *thread == thread::current().id());
        let other = (*made >= self.most && !idle.is_empty()).then_some(0);
        let found = own.or(other).map(|place| idle.remove(place).1);
        *made += usize::from(found.is_none());
        drop(instances);
        let mut taken = Taken { of: self, instance: found };
        if taken.instance.is_none() {
            taken.instance = Some(self.module.new_instance()?);
        }
        Ok(taken)
    }
}

/// An instance in use. One that is not given back, because the host failed or panicked, is gone.
struct Taken<'a> {
    of: &'a Runtime,
    instance: Option<Box<dyn Instance>>,
}

impl Taken<'_> {
    fn get(&mut self) -> &mut dyn Instance {
        &mut **self.instance.as_mut().expect("an instance is there until it is given back")
    }

    fn give_back(mut self) {
        let mut instances = lock(&self.of.instances);
        let instance = self.instance.take();
        instances.idle.extend(instance.map(|own| (thread::current().id(), own)));
        instances.made += 1;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // Before it is counted out, so that there are never too many.
        self.instance = None;
        lock(&self.of.instances).made -= 1;
    }
}

/// Locks, also after a panic: the guarded values are consistent wherever one may occur.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
