//! A cell that gave the right output, or the reason why it did not.

use super::Instances;
use crate::record::Status;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::{EffectiveConfig, ExportId, Instance, Outcome, Support};

/// A cell that gave the right output and can be timed.
#[derive(Clone)]
pub struct Opened {
    /// Instances of the loaded module.
    pub instances: Instances,
    /// The export to call.
    pub export: ExportId,
    /// The export that takes the input and ignores it, if the case names one.
    pub take: Option<ExportId>,
    /// The input.
    pub input: Arc<[u8]>,
    /// The expected output.
    pub expected: Arc<[u8]>,
    /// The effective configuration.
    pub effective: EffectiveConfig,
    /// Whether the runtime or Touchstone implements the strategy, and how.
    pub support: Support,
    /// Time to compile, ns; `None` if an earlier process of the run compiled it.
    pub compile_ns: Option<u64>,
    /// Time to load, ns.
    pub load_ns: u64,
    /// Time to make an instance and call it once, ns.
    pub first_call_ns: u64,
    /// Time of the second call, ns: enough to plan the sampling.
    pub estimate_ns: u64,
    /// Size of the artifact, bytes.
    pub artifact_bytes: u64,
    /// Calls after which the runtime catches up on work that it put off.
    pub period: u64,
}

/// A cell that is not timed, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refused {
    /// What kind of refusal.
    pub status: Status,
    /// The reason.
    pub reason: String,
}

impl Refused {
    /// A refusal with a reason, or with an error and the chain of its causes.
    #[must_use]
    pub fn new(status: Status, reason: impl std::fmt::Display) -> Self {
        // `{:#}` prints the chain of causes where there is one.
        Self { status, reason: format!("{reason:#}") }
    }

    /// A call took longer than the case's budget.
    #[must_use]
    pub fn over_budget(took: Duration, budget: Duration) -> Self {
        let seconds = |time: Duration| time.as_secs_f64();
        let reason = format!(
            "a call takes about {:.3} s, more than the case's budget of {:.3} s",
            seconds(took),
            seconds(budget)
        );
        Self { status: Status::OverBudget, reason }
    }
}

/// The refusal of a cell by its backend.
pub(crate) fn host(error: touchstone_executor::Error) -> Refused {
    use touchstone_executor::Error::{ExportUnsupported, Unsupported};
    let status = match error {
        Unsupported { .. } | ExportUnsupported { .. } => Status::Unsupported,
        _ => Status::Failed,
    };
    Refused::new(status, error)
}

/// Time since `started`, ns.
pub(crate) fn elapsed(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Makes a call, compares its output, and gives its time, ns.
pub(crate) fn checked_call(
    instance: &mut dyn Instance,
    export: ExportId,
    input: &[u8],
    expected: &[u8],
) -> Result<u64, Refused> {
    let mut output = Vec::new();
    let started = Instant::now();
    let outcome = instance.call(export, input, &mut output).map_err(host)?;
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

/// The first 32 bytes in hexadecimal, for a message.
#[must_use]
pub fn abbreviate(bytes: &[u8]) -> String {
    let shown: String = bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > 32 {
        format!("0x{shown}… ({} bytes)", bytes.len())
    } else {
        format!("0x{shown}")
    }
}
