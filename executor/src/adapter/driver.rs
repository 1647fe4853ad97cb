//! The part of an instance that all backends share: a new instance per call, or one that is
//! reset in place.

use super::crowd::{Ahead, CacheLines};
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

    /// Notes what the next instance touches that is kept.
    fn note_lines(_kept: &mut Self::Kept, _lines: &mut CacheLines) {}
}

/// Instantiates in `prepare`, drops in `finish`.
pub struct Fresh<L: Disposable> {
    // Dropped before what gives memories back.
    used_on: UsedOn,
    shared: Arc<L::Shared>,
    exports: Exports,
    live: Padded<Option<L>>,
    kept: Option<L::Kept>,
    ahead: Ahead,
}

impl<L: Disposable> Fresh<L> {
    /// The instance is made when the first call is prepared.
    pub fn new(shared: &Arc<L::Shared>, exports: &Exports) -> Self {
        let (shared, exports) = (Arc::clone(shared), exports.clone());
        let (used_on, live, ahead) = (UsedOn::default(), Padded(None), Ahead::new());
        Self { used_on, shared, exports, live, kept: None, ahead }
    }
}

impl<L: Disposable> Instance for Fresh<L> {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.ahead.fetch();
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
        // Prepared long ago, maybe.
        self.ahead.fetch();
        self.used_on.go_on();
        let live = self.live.as_mut().ok_or(UNPREPARED)?;
        live::invoke(live, &self.exports, export, input, output, options)
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        if let Some(live) = self.live.take() {
            let kept = self.kept.insert(live.into_kept());
            self.ahead.end(|lines| L::note_lines(kept, lines));
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

    /// Notes what the next use touches beside this value, the resetter and the host's state.
    fn note_lines(&self, _lines: &mut CacheLines) {}

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
    ahead: Ahead,
}

impl<R: Resident> Reused<R> {
    /// The instance is made when the first call is prepared.
    pub fn new(shared: &Arc<R::Shared>, exports: &Exports) -> Self {
        let (shared, exports) = (Arc::clone(shared), exports.clone());
        let (used_on, state, resident) = (UsedOn::default(), CallState::Idle, Padded(None));
        Self { used_on, shared, exports, resident, state, ahead: Ahead::new() }
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
        self.ahead.fetch();
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
                    self.ahead.end(|lines| {
                        let note = &mut |at, length| lines.note_at(at, length);
                        resident.with_resetter(|resetter| resetter.each_touched(note));
                        resident.note_lines(lines);
                        let (memory, host) = resident.live().memory_and_host();
                        host.note_lines(memory, lines);
                        lines.note(resident);
                    });
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
