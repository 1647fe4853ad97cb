//! The list of metrics, with their units.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
    Count,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $name:literal, $unit:ident, $is_sampled:ident;)*) => {
        /// A metric. Less is better for all of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            pub const ALL: &[Self] = &[$(Self::$metric,)*];

            fn facts(self) -> (&'static str, Unit, bool) {
                match self {
                    $(Self::$metric => ($name, Unit::$unit, $is_sampled),)*
                }
            }
        }
    };
}

/// Repeatedly in each process: interference matters, and an interval can be given.
const SAMPLED: bool = true;
/// Once in a process.
const ONCE: bool = false;

metrics! {
    /// One call on a clean instance, ns of each thread.
    Call = "call", Nanoseconds, SAMPLED;
    /// The same call on an instance that made it before and was not reset.
    WarmCall = "warm call", Nanoseconds, SAMPLED;
    /// A warm call that takes the same input and does nothing with it.
    WarmTake = "warm call that only takes the input", Nanoseconds, SAMPLED;
    /// Time to a clean instance.
    Prepare = "prepare", Nanoseconds, SAMPLED;
    /// Placing the input, running the export, fetching the output.
    Invoke = "invoke", Nanoseconds, SAMPLED;
    /// Returning, dropping or resetting the instance.
    Finish = "finish", Nanoseconds, SAMPLED;
    /// From WebAssembly bytes to artifact.
    Compile = "compile", Nanoseconds, ONCE;
    /// From artifact to a module that can be instantiated.
    Load = "load", Nanoseconds, ONCE;
    /// A new instance and its first call.
    FirstCall = "first call", Nanoseconds, ONCE;
    /// Minor page faults of the calling thread in one call.
    PageFaults = "page faults", Count, ONCE;
    ArtifactBytes = "artifact bytes", Bytes, ONCE;
    /// System calls of the calling thread in one call.
    SystemCalls = "system calls", Count, ONCE;
    /// Signals that the calling thread received in one call.
    Signals = "signals", Count, ONCE;
    /// WebAssembly operators that the guest executes in one call.
    Operators = "operators", Count, ONCE;
    /// The same in a second call on an instance that was not reset.
    WarmOperators = "operators of a second call", Count, ONCE;
    GuestBytes = "guest bytes", Bytes, ONCE;
}

impl Metric {
    pub fn unit(self) -> Unit {
        self.facts().1
    }

    /// `true` if it is sampled repeatedly in every process. The others are observed once.
    pub fn is_sampled(self) -> bool {
        self.facts().2
    }

    /// The name in tables, in the words of the command line.
    pub fn name(self) -> &'static str {
        self.facts().0
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
