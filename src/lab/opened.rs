//! A loaded module, and a cell with the right output or the reason why it has none.

use super::reason::explained;
use crate::case::{Also, Case, Input, first_call};
use crate::record::{Status, hex};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Abi, EffectiveConfig, ExportId, Instance, Module, Outcome, Support};

/// Idle instances of a module, shared by consecutive measurements. Making an instance can cost as
/// much as a thousand calls (a memory of 128 MiB that is cleared once).
#[derive(Clone)]
pub struct Instances {
    pub module: Arc<dyn Module>,
    idle: Arc<Mutex<Vec<Box<dyn Instance>>>>,
}

impl Instances {
    pub fn new(module: Arc<dyn Module>) -> Self {
        Self { module, idle: Arc::default() }
    }

    pub fn take(&self) -> touchstone_executor::Result<Box<dyn Instance>> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| self.module.new_instance(), Ok)
    }

    /// Returns an instance for the next user, whose `prepare` cleans up after an interrupted call.
    pub fn give_back(&self, instance: Box<dyn Instance>) {
        self.idle.lock().push(instance);
    }
}

/// A loaded and probed module, and the cost of compiling and loading it.
#[derive(Clone)]
pub struct Loaded {
    pub instances: Instances,
    pub guest: GuestModule,
    pub effective: EffectiveConfig,
    /// The implementer of the strategy, and the means.
    pub support: Support,
    /// Time to compile, ns; `None` if an earlier process of the run compiled it.
    pub compile_ns: Option<u64>,
    pub load_ns: u64,
    pub artifact_bytes: u64,
    /// Calls after which the runtime catches up on deferred work.
    pub period: u64,
}

/// A cell that gave the right output and can be timed.
#[derive(Clone)]
pub struct Opened {
    pub loaded: Loaded,
    pub export: ExportId,
    /// The export that takes the input and ignores it, if the case has one.
    pub take: Option<ExportId>,
    pub input: Arc<[u8]>,
    pub expected: Arc<[u8]>,
    /// Time to make an instance and call it once, ns.
    pub first_call_ns: u64,
    /// Time of the second call, ns: enough to plan the sampling.
    pub estimate_ns: u64,
}

impl Loaded {
    /// Makes the call of a case, the further calls that it compares, and the call that only takes
    /// the input, if there is one. Fails if the input cannot be made, and as
    /// [`open_call`](Self::open_call).
    pub fn open(self, case: &Case) -> Result<Opened, Refused> {
        let heap_base = self.guest.info().heap_base;
        let bytes = |input: &Input| input.bytes(heap_base);
        let (input, expected) = (bytes(&case.input)?.into(), bytes(&case.expect.output)?.into());
        let opened = self.open_call(&case.export, case.abi, input, expected, case.budget())?;
        for Also { export, input, output } in &case.also {
            let export = export.as_deref().unwrap_or(&case.export);
            opened.loaded.check(export, case.abi, &bytes(input)?, &bytes(output)?)?;
        }
        let Some(take) = &case.take else { return Ok(opened) };
        let take = opened.loaded.check(&take.export, take.abi, &opened.input, &[])?;
        Ok(Opened { take: Some(take), ..opened })
    }

    /// Calls an export once and compares its output.
    fn check(
        &self,
        name: &str,
        abi: Abi,
        input: &[u8],
        output: &[u8],
    ) -> Result<ExportId, Refused> {
        let export = self.instances.module.export(name, abi)?;
        let mut instance = self.instances.take()?;
        checked_call(&mut *instance, export, input, output)?;
        self.instances.give_back(instance);
        Ok(export)
    }

    /// Calls an export twice on one instance and compares both outputs. The second call is the
    /// first that could see state of an earlier one. [`VERY_LONG`] calls are made once: their
    /// set-up is negligible. Fails if there is no such export, a call fails or gives a wrong
    /// output, or exceeds the time budget.
    pub fn open_call(
        self,
        export: &str,
        abi: Abi,
        input: Arc<[u8]>,
        expected: Arc<[u8]>,
        budget: Option<Duration>,
    ) -> Result<Opened, Refused> {
        let within = |ns: u64, limit: fn(Duration) -> Duration| match budget {
            Some(budget) if Duration::from_nanos(ns) > limit(budget) => Err(Refused {
                status: Status::OverBudget,
                reason: format!(
                    "a call takes about {:.3} s, more than the case's budget of {:.3} s",
                    Duration::from_nanos(ns).as_secs_f64(),
                    budget.as_secs_f64()
                ),
            }),
            _ => Ok(()),
        };
        let export = self.instances.module.export(export, abi)?;
        let started = Instant::now();
        let mut instance = self.instances.take()?;
        let made_ns = elapsed(started);
        let first_ns = checked_call(&mut *instance, export, &input, &expected)?;
        within(first_ns, first_call)?;
        let estimate_ns = match Duration::from_nanos(first_ns) >= VERY_LONG {
            true => first_ns,
            false => checked_call(&mut *instance, export, &input, &expected)?,
        };
        within(estimate_ns, |budget| budget)?;
        self.instances.give_back(instance);
        let first_call_ns = made_ns + first_ns;
        Ok(Opened { loaded: self, export, take: None, input, expected, first_call_ns, estimate_ns })
    }
}

/// Calls of this length or longer are made once in each process.
pub const VERY_LONG: Duration = Duration::from_secs(1);

/// A cell that is not timed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{reason}")]
pub struct Refused {
    pub status: Status,
    pub reason: String,
}

impl Refused {
    /// A refusal with a reason, or with an error and the chain of its causes. Parts that differ
    /// between processes are removed, and a remedy is added if there is one.
    pub fn new(status: Status, reason: impl std::fmt::Display) -> Self {
        // `{:#}` prints the chain of causes.
        Self { status, reason: explained(&format!("{reason:#}")) }
    }

    /// A refusal for the reason of an engine that does not support something, or else the failure.
    fn of(unsupported: Option<&str>, error: &dyn std::fmt::Display) -> Self {
        match unsupported {
            Some(reason) => Self { status: Status::Unsupported, reason: reason.to_owned() },
            None => Self::new(Status::Failed, error),
        }
    }
}

/// The reason of an engine that does not support something; `None` for a failure.
fn unsupported(error: &touchstone_executor::Error) -> Option<&str> {
    use touchstone_executor::Error::{ExportUnsupported, Unsupported};
    match error {
        Unsupported { reason, .. } | ExportUnsupported { reason, .. } => Some(reason),
        _ => None,
    }
}

impl From<touchstone_executor::Error> for Refused {
    fn from(error: touchstone_executor::Error) -> Self {
        Self::of(unsupported(&error), &error)
    }
}

impl From<anyhow::Error> for Refused {
    /// The refusal that the error is, what an engine does not support, or a failure.
    fn from(error: anyhow::Error) -> Self {
        error.downcast().unwrap_or_else(|error: anyhow::Error| {
            Self::of(error.downcast_ref().and_then(unsupported), &format!("{error:#}"))
        })
    }
}

pub(crate) fn elapsed(started: Instant) -> u64 {
    ns(started.elapsed())
}

pub(crate) fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Makes a call, compares its output, and returns its time, ns.
pub(crate) fn checked_call(
    instance: &mut dyn Instance,
    export: ExportId,
    input: &[u8],
    expected: &[u8],
) -> Result<u64, Refused> {
    let mut output = Vec::new();
    let started = Instant::now();
    let outcome = instance.call(export, input, &mut output)?;
    let took = elapsed(started);
    match outcome {
        Outcome::Trapped(trap) => Err(Refused::new(Status::Trapped, trap)),
        Outcome::Returned if output == expected => Ok(took),
        Outcome::Returned => Err(Refused {
            status: Status::Wrong,
            reason: format!("expected {}, got {}", abbreviate(expected), abbreviate(&output)),
        }),
    }
}

/// Longest output that a message shows in full.
const SHOWN: usize = 32;

/// The first bytes in hexadecimal, for a message.
pub fn abbreviate(bytes: &[u8]) -> String {
    abbreviate_to(bytes, SHOWN)
}

/// The first `most` bytes in hexadecimal, and the number of all bytes if there are more.
pub fn abbreviate_to(bytes: &[u8], most: usize) -> String {
    match bytes.len() {
        0 => "empty".to_owned(),
        count if count > most => format!("0x{}… ({count} bytes)", hex(&bytes[..most])),
        _ => format!("0x{}", hex(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::{Error, Strategy};

    #[test]
    fn what_an_engine_does_not_support_is_no_failure() {
        let (engine, strategy, reason) = ("an engine", Strategy::TRACKED, "too new".to_owned());
        let error = Error::Unsupported { engine, strategy, reason };
        let refused = Refused::from(anyhow::Error::new(error).context("load the node"));
        assert_eq!((refused.status, &*refused.reason), (Status::Unsupported, "too new"));
        let refused = Refused::from(anyhow::anyhow!("the disk is gone"));
        assert_eq!((refused.status, &*refused.reason), (Status::Failed, "the disk is gone"));
        // What a failure says of its place stays.
        let refused = Refused::from(anyhow::Error::new(Error::FOREIGN_HANDLE).context("the node"));
        let reason = format!("the node: {}", Error::FOREIGN_HANDLE);
        assert_eq!((refused.status, refused.reason), (Status::Failed, reason));
        let cause = std::io::Error::from_raw_os_error(12);
        let error = Error::System { action: "map", cause };
        let refused = Refused::from(anyhow::Error::new(error).context("the node"));
        assert_eq!(refused.reason.matches("os error 12").count(), 1, "{}", refused.reason);
    }
}
