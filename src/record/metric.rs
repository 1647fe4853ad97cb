//! What can be measured, with its unit and its direction: the one list.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an observation is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// One call on a clean instance, ns of each thread.
    Call,
    /// The same call on an instance that made it before and was not reset, ns.
    WarmCall,
    /// A warm call that takes the same input and does nothing with it, ns.
    WarmTake,
    /// To a clean instance: `prepare`, ns.
    Prepare,
    /// Input placed, export run, output fetched: `invoke`, ns.
    Invoke,
    /// The instance given back, dropped or reset: `finish`, ns.
    Finish,
    /// WebAssembly bytes to artifact, ns.
    Compile,
    /// Artifact to a module that can be instantiated, ns.
    Load,
    /// A new instance and its first call, ns.
    FirstCall,
    /// Minor page faults of the calling thread in one call.
    PageFaults,
    /// Size of the artifact.
    ArtifactBytes,
    /// System calls of the calling thread in one call.
    SystemCalls,
    /// Signals that the calling thread received in one call.
    Signals,
    /// WebAssembly operators that the guest executes in one call.
    Operators,
    /// The same in a second call on an instance that was not reset.
    WarmOperators,
    /// Size of the guest's module.
    GuestBytes,
}

/// The unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A plain number.
    Count,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 16] = [
        Self::Call,
        Self::WarmCall,
        Self::WarmTake,
        Self::Prepare,
        Self::Invoke,
        Self::Finish,
        Self::Compile,
        Self::Load,
        Self::FirstCall,
        Self::PageFaults,
        Self::ArtifactBytes,
        Self::SystemCalls,
        Self::Signals,
        Self::Operators,
        Self::WarmOperators,
        Self::GuestBytes,
    ];

    /// Its unit. Less is better for all of them.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Call
            | Self::WarmCall
            | Self::WarmTake
            | Self::Prepare
            | Self::Invoke
            | Self::Finish
            | Self::Compile
            | Self::Load
            | Self::FirstCall => Unit::Nanoseconds,
            Self::ArtifactBytes | Self::GuestBytes => Unit::Bytes,
            Self::PageFaults
            | Self::SystemCalls
            | Self::Signals
            | Self::Operators
            | Self::WarmOperators => Unit::Count,
        }
    }

    /// Whether it is sampled again and again in every process, so that interference
    /// matters and an interval can be given. The others are observed once a process.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        matches!(
            self,
            Self::Call
                | Self::WarmCall
                | Self::WarmTake
                | Self::Prepare
                | Self::Invoke
                | Self::Finish
        )
    }

    /// The name in tables, in the words of the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::WarmCall => "warm call",
            Self::WarmTake => "warm call that only takes the input",
            Self::Prepare => "prepare",
            Self::Invoke => "invoke",
            Self::Finish => "finish",
            Self::Compile => "compile",
            Self::Load => "load",
            Self::FirstCall => "first call",
            Self::PageFaults => "page faults",
            Self::ArtifactBytes => "artifact bytes",
            Self::SystemCalls => "system calls",
            Self::Signals => "signals",
            Self::Operators => "operators",
            Self::WarmOperators => "operators of a second call",
            Self::GuestBytes => "guest bytes",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
