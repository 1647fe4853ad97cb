//! The part of an instance that all backends share: a new instance per call, or one that is
//! reset in place.

use super::live::{self, Live};
use crate::contract::{CallState, Exports};
use crate::memory::{Padded, ResetterMut, UsedOn};
use crate::{CallOptions, Error, ExportId, Instance, Outcome, Result};
use std::cell::Cell;
use std::sync::Arc;

/// The error of an instance that is invoked before it is prepared.
pub const UNPREPARED: Error = Error::Misuse("invoke without prepare");

/// An instance that exists for one call.
pub trait Disposable: Live + Send + Sized {
    /// Data that all instances of a module share.
    type Shared: Send + Sync;
    /// Data that outlives an instance and serves the next one, such as buffers.
    type Kept: Send;

    /// Makes a new instance. `kept` comes from the last instance, uncleaned. Fails when the runtime
    /// cannot make an instance.
    fn new(shared: &Arc<Self::Shared>, kept: Option<Self::Kept>) -> Result<Self>;

    /// Drops the instance.
    fn into_kept(self) -> Self::Kept;
}

/// Instantiates in `prepare`, drops in `finish`.
pub struct Fresh<L: Disposable> {
    // Dropped before what gives memories back.
    used_on: UsedOn,
    shared: Arc<L::Shared>,
    exports: Exports,
    live: Padded<Option<L>>,
    kept: Option<L::Kept>,
}

impl<L: Disposable> Fresh<L> {
    /// The instance is made when the first call is prepared.
    pub fn new(shared: &Arc<L::Shared>, exports: &Exports) -> Self {
        let (shared, exports) = (Arc::clone(shared), exports.clone());
        Self { used_on: UsedOn::default(), shared, exports, live: Padded(None), kept: None }
    }
}

impl<L: Disposable> Instance for Fresh<L> {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.used_on.begin();
        *self.live = Some(L::new(&self.shared, self.kept.take())?);
        Ok(())
    }

    #[inline]
    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        self.used_on.go_on();
        let live = self.live.as_mut().ok_or(UNPREPARED)?;
        live::invoke(live, &self.exports, export, input, output, options)
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        if let Some(live) = self.live.take() {
            self.kept = Some(live.into_kept());
        }
        Ok(())
    }

    fn trim(&mut self) -> Result<()> {
        self.kept = None;
        Ok(())
    }

    fn operators(&mut self) -> Option<u64> {
        self.live.as_mut()?.operators()
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.live.as_mut()?.shown_memory()
    }
}

/// An instance that is used for many calls and reset after each.
pub trait Resident: Send + Sized {
    /// Data that all instances of a module share.
    type Shared: Send + Sync;
    /// The instance as the calling conventions see it.
    type Live: Live;

    /// Makes a new, clean instance and saves what a reset needs. Fails when the runtime cannot make
    /// an instance.
    fn new(shared: &Arc<Self::Shared>) -> Result<Self>;

    /// The instance.
    fn live(&mut self) -> &mut Self::Live;

    /// Resets the instance in place. Returns `false` if something grew that cannot shrink; the
    /// caller then replaces the instance, as it does after an error.
    fn reset(&mut self) -> Result<bool>;

    /// Does something with the resetter of the memory, if it is one of Touchstone's.
    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T>;

    /// `true` if the last reset may have made the memory smaller: for instances that know it
    /// without their resetter, which takes time to reach.
    fn may_have_shrunk(&self) -> bool {
        true
    }

    /// Releases the resident memory of a clean instance. Fails when the kernel refuses; the
    /// instance is then replaced.
    fn trim(&mut self) -> Result<()> {
        // SAFETY: the instance is clean, not running, and borrowed here alone.
        self.with_resetter(|mut resetter| unsafe { resetter.trim() }).transpose()?;
        Ok(())
    }
}

thread_local! {
    /// Returned by [`residents_made`].
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// Instances that this thread has made to be reset in place: where calls make no more of
/// them, all of these were reset.
pub fn residents_made() -> u64 {
    MADE.get()
}

/// The address that a call by Substrate's convention writes first.
///
/// Among thousands of instances, the way to it takes the longest: each memory has page tables of
/// its own, and nothing of them is in a cache. Fetched when a call begins, it comes meanwhile.
/// METHODOLOGY.md has what this saves.
#[derive(Clone, Copy, Default)]
struct FirstWrite(usize);

impl FirstWrite {
    /// That of a clean instance.
    fn of(live: &mut impl Live) -> Self {
        let (memory, host) = live.memory_and_host();
        Self(memory.as_ptr().addr().wrapping_add(host.heap_start()))
    }

    /// Has the processor fetch it, and does not wait for it. Only on `x86_64`.
    #[inline]
    fn fetch(self) {
        let address = std::ptr::without_provenance(self.0);
        // SAFETY: this is a hint. Whatever the address is, nothing faults, and no value changes.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(address);
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _: *const i8 = address;
    }
}

/// Resets in `finish`, so that an idle instance is clean and small.
pub struct Reused<R: Resident> {
    // Dropped before what gives memories back.
    used_on: UsedOn,
    shared: Arc<R::Shared>,
    exports: Exports,
    /// Clean unless the state says that it is used. `None` before the first call
    /// and after one that cannot be undone in place.
    resident: Padded<Option<R>>,
    state: CallState,
    first_write: FirstWrite,
}

impl<R: Resident> Reused<R> {
    /// The instance is made when the first call is prepared.
    pub fn new(shared: &Arc<R::Shared>, exports: &Exports) -> Self {
        let (shared, exports) = (Arc::clone(shared), exports.clone());
        let (used_on, state, resident) = (UsedOn::default(), CallState::Idle, Padded(None));
        Self { used_on, shared, exports, resident, state, first_write: FirstWrite::default() }
    }

    /// The instance between `prepare` and `finish`.
    fn live(&mut self) -> Option<&mut R::Live> {
        let resident = self.resident.as_mut().filter(|_| self.state != CallState::Idle)?;
        Some(resident.live())
    }
}

impl<R: Resident> Instance for Reused<R> {
    #[inline]
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        if self.resident.is_none() {
            MADE.set(MADE.get() + 1);
            let mut resident = R::new(&self.shared)?;
            self.used_on = resident.with_resetter(UsedOn::of).unwrap_or_default();
            self.first_write = FirstWrite::of(resident.live());
            *self.resident = Some(resident);
        }
        self.used_on.begin();
        self.state = CallState::Prepared;
        Ok(())
    }

    #[inline]
    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        self.first_write.fetch();
        let Some(resident) = self.resident.as_mut().filter(|_| self.state != CallState::Idle)
        else {
            return Err(UNPREPARED);
        };
        if std::mem::replace(&mut self.state, CallState::Used) == CallState::Prepared
            && self.used_on.is_noted()
        {
            // SAFETY: `prepare` left the instance clean, and nobody else could write since.
            // `used_on` notices the use on several threads; the rest is what the strategy asks of
            // hosts.
            resident.with_resetter(|mut resetter| unsafe { resetter.begin_use() });
        }
        self.used_on.go_on();
        live::invoke(resident.live(), &self.exports, export, input, output, options)
    }

    #[inline]
    fn finish(&mut self) -> Result<()> {
        if self.state == CallState::Used {
            self.used_on.end();
            // The state stays what it is until all is done: after a panic on the
            // way, nobody takes the instance for a clean one.
            let reset = self.resident.as_mut().map_or(Ok(true), R::reset);
            match &mut *self.resident {
                Some(resident) if matches!(reset, Ok(true)) => {
                    if resident.may_have_shrunk() {
                        resident.with_resetter(|resetter| self.used_on.follow(resetter));
                    }
                }
                _ => *self.resident = None,
            }
            self.state = CallState::Idle;
            return reset.map(drop);
        }
        self.state = CallState::Idle;
        Ok(())
    }

    fn trim(&mut self) -> Result<()> {
        match &mut *self.resident {
            Some(resident) if self.state == CallState::Idle => {
                let trimmed = resident.trim();
                if trimmed.is_err() {
                    *self.resident = None;
                }
                trimmed
            }
            _ => Ok(()),
        }
    }

    fn operators(&mut self) -> Option<u64> {
        self.live()?.operators()
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.live()?.shown_memory()
    }
}
