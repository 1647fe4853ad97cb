//! The list of metrics, with their units.

use serde::{Deserialize, Serialize};
use std::fmt;

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

/// How often a metric is observed in a process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    /// Repeatedly: interference matters, and an interval can be given.
    Sampled,
    /// Once.
    Once,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $name:literal, $unit:ident, $observed:ident;)*) => {
        /// A metric. Less is better for all of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            /// Every metric.
            pub const ALL: &[Self] = &[$(Self::$metric,)*];

            /// Its name in tables, its unit, and how often it is observed.
            fn facts(self) -> (&'static str, Unit, Observed) {
                match self {
                    $(Self::$metric => ($name, Unit::$unit, Observed::$observed),)*
                }
            }
        }
    };
}

metrics! {
    /// One call on a clean instance, ns of each thread.
    Call = "call", Nanoseconds, Sampled;
    /// The same call on an instance that made it before and was not reset.
    WarmCall = "warm call", Nanoseconds, Sampled;
    /// A warm call that takes the same input and does nothing with it.
    WarmTake = "warm call that only takes the input", Nanoseconds, Sampled;
    /// Time to a clean instance.
    Prepare = "prepare", Nanoseconds, Sampled;
    /// Placing the input, running the export, fetching the output.
    Invoke = "invoke", Nanoseconds, Sampled;
    /// Returning, dropping or resetting the instance.
    Finish = "finish", Nanoseconds, Sampled;
    /// From WebAssembly bytes to artifact.
    Compile = "compile", Nanoseconds, Once;
    /// From artifact to a module that can be instantiated.
    Load = "load", Nanoseconds, Once;
    /// A new instance and its first call.
    FirstCall = "first call", Nanoseconds, Once;
    /// Minor page faults of the calling thread in one call.
    PageFaults = "page faults", Count, Once;
    /// Size of the artifact.
    ArtifactBytes = "artifact bytes", Bytes, Once;
    /// System calls of the calling thread in one call.
    SystemCalls = "system calls", Count, Once;
    /// Signals that the calling thread received in one call.
    Signals = "signals", Count, Once;
    /// WebAssembly operators that the guest executes in one call.
    Operators = "operators", Count, Once;
    /// The same in a second call on an instance that was not reset.
    WarmOperators = "operators of a second call", Count, Once;
    /// Size of the guest's module.
    GuestBytes = "guest bytes", Bytes, Once;
}

impl Metric {
    /// Its unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.facts().1
    }

    /// `true` if it is sampled repeatedly in every process. The others are observed once.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.facts().2 == Observed::Sampled
    }

    /// The name in tables, in the words of the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().0
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
