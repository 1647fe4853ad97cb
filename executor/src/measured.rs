//! Methods of an engine that only measurements need.

use crate::guest::GuestModule;
use crate::{Artifact, ArtifactFolder, Config, Engine, Result, Strategy};
use std::time::{Duration, Instant};

/// An engine that can be compared with others.
pub trait MeasuredEngine: Engine {
    /// The id of the engine of this build that executes guest code in the same way, for
    /// an engine that differs from it only in compiling, loading or set-up. A case about
    /// the guest's own work need not run on both. The default is none.
    fn executes_like(&self) -> Option<&'static str> {
        None
    }

    /// Number of calls after which the runtime does its deferred work, such as dropping the
    /// pages of many instances together. A measurement covers whole periods. The default is
    /// 1: nothing is deferred.
    fn period(&self, _strategy: Strategy) -> u64 {
        1
    }

    /// The raw reference: the same call on a clean instance, written against the runtime's own
    /// interface, for strategies of which [`has_raw`](Self::has_raw) is `true`. The report compares
    /// the adapter with it. `None` for a guest without such a call. Fails when the runtime fails to
    /// set up the call.
    fn raw(&self, _guest: &GuestModule, _call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        Ok(None)
    }

    /// `true` if [`raw`](Self::raw) supports the strategy.
    fn has_raw(&self, _strategy: Strategy) -> bool {
        false
    }

    /// `true` if instances implement [`Instance::operators`](crate::Instance::operators) under
    /// [`Config::metered`](crate::Config::metered).
    fn has_meter(&self) -> bool {
        false
    }

    /// Restores the artifact that another process of the run [saved](Artifact::save) into the
    /// folder, instead of compiling. `None` if the folder has no artifact of exactly this guest by
    /// exactly this engine. The default restores nothing. Fails when the file cannot be read, or
    /// the strategy is unsupported.
    fn restore(
        &self,
        _guest: &GuestModule,
        _strategy: Strategy,
        _config: &Config,
        _folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        Ok(None)
    }

    /// The artifact of a guest: [restored](Self::restore) from the folder, or compiled and saved
    /// there. With it the time to compile, `None` if it was restored. Without a folder, it is
    /// compiled. Fails when compiling fails, or a file cannot be read or written.
    fn restore_or_compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        folder: Option<&ArtifactFolder>,
    ) -> Result<(Artifact, Option<Duration>)> {
        if let Some(folder) = folder
            && let Some(artifact) = self.restore(guest, strategy, config, folder)?
        {
            return Ok((artifact, None));
        }
        let started = Instant::now();
        let artifact = self.compile(guest, strategy, config)?;
        let took = started.elapsed();
        if let Some(folder) = folder {
            artifact.save(folder)?;
        }
        Ok((artifact, Some(took)))
    }
}

/// The call of a raw reference, in Substrate's convention.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are those of the types")]
pub struct RawCall<'a> {
    pub strategy: Strategy,
    pub config: &'a Config,
    pub export: &'a str,
    pub input: &'a [u8],
}

/// Makes one call on a clean instance and puts the output into the buffer.
pub type RawCaller = Box<dyn FnMut(&mut Vec<u8>) -> Result<()> + Send>;
