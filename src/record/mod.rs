//! What a run leaves behind: one JSON object a line, versioned, self-contained.
//!
//! A record carries everything that is needed to print it and to make it
//! again: the raw samples, the estimates with their intervals, what was really
//! in force, which runtime and which guest bytes, on which machine. The report
//! is made from records alone.

pub mod findings;
mod holder;
mod names;
mod store;
mod swap;

use crate::measure::ENOUGH_ROUNDS;
use crate::stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use store::{Ended, Loaded, RecordFile, Sink, Skipped, default_path, load, newest};
pub use swap::{SoakPoint, SwapFound, SwapRecord, SwapRound, SwapTail};

/// Version of the record layout written by this build. A line with another
/// version is skipped with a warning that names it.
pub const SCHEMA: u32 = 1;

/// Group of the pairs that `touchstone peers` times.
pub const PEERS: &str = "peers";

/// One line of a record file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// One cell of the matrix: a case on a backend, a strategy and a number of threads.
    Cell(Box<CellRecord>),
    /// Two things that do the same work, timed in turns within one run.
    Pair(Box<PairRecord>),
    /// Messages of two kinds, each answered by a module of its own.
    Swap(Box<SwapRecord>),
}

/// What every record says about where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// [`SCHEMA`] at the time of writing.
    pub schema: u32,
    /// Identifies the run: all records of one process share it.
    pub run: String,
    /// When the cell ended, RFC 3339 in UTC.
    pub recorded_at: String,
    /// The machine it ran on.
    pub machine: Machine,
    /// The programs that made the binary.
    pub tools: Tools,
    /// How long was sampled.
    pub sampling: Sampling,
}

/// The machine a record was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor, as the kernel gives it.
    pub cpu: String,
    /// Processors this process may run on.
    pub cores: usize,
    /// Main memory, KiB.
    pub memory_kib: u64,
    /// Kernel release.
    pub kernel: String,
    /// Name of the distribution.
    pub os: String,
    /// Whether the kernel answers `PAGEMAP_SCAN` (Linux 6.7 or newer).
    pub pagemap_scan: bool,
    /// The transparent huge page mode in force (`always`, `madvise`, `never`).
    pub huge_pages: String,
}

/// The programs and settings that made the measuring binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// Version of this harness.
    pub touchstone: String,
    /// The compiler, as `rustc --version` prints it.
    pub rustc: String,
    /// Build profile in words: optimisation, LTO, codegen units.
    pub profile: String,
    /// Commit of the tree when the binary ran; `-dirty` when it had changes.
    pub commit: String,
    /// First digits of the binary's SHA-256: which build it was.
    #[serde(default)]
    pub binary: String,
}

/// How long a cell was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// `full`, `quick`, `custom` or [`PEERS`].
    pub name: String,
    /// Warm-up before the first sample, milliseconds.
    pub warm_up_ms: u64,
    /// Time the samples were planned to take together, milliseconds.
    pub measurement_ms: u64,
    /// Time of the throughput rounds together, milliseconds.
    pub throughput_ms: u64,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The output was right and the cell was timed.
    Ok,
    /// The output differed from the expected one; nothing was timed.
    Wrong,
    /// The guest trapped; nothing was timed.
    Trapped,
    /// The backend cannot do the strategy, or not for this module.
    Unsupported,
    /// The host side failed; nothing was timed.
    Failed,
    /// More threads than processors; nothing was timed.
    Skipped,
}

/// Name of a cell: what was run, on what, how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// Case, e.g. `call_empty_function`.
    pub case: String,
    /// Guest module, e.g. `test_runtime`.
    pub guest: String,
    /// Backend, e.g. `wasmtime`.
    pub backend: String,
    /// Strategy, e.g. `pooling_cow`.
    pub strategy: String,
    /// Threads that make calls at the same time.
    pub threads: usize,
    /// What the case calls itself on this guest, where it has a name of its own for
    /// that: criterion's group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One cell of the matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Name of the cell.
    #[serde(flatten)]
    pub key: CellKey,
    /// Where the record comes from.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// How the cell ended.
    pub status: Status,
    /// Why, whenever `status` is not `ok`; what is emulated, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `native` or `emulated`: who does the strategy, the runtime or this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<String>,
    /// SHA-256 of the guest's bytes as they lie on disk, hexadecimal.
    pub guest_sha256: String,
    /// Version of the linked runtime, as it says itself.
    pub runtime_version: String,
    /// What was really in force, probed after loading.
    #[serde(default)]
    pub effective: BTreeMap<String, String>,
    /// Median time of one call on a clean instance, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// Lower end of the median's 95 % confidence interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<f64>,
    /// Upper end of the median's 95 % confidence interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<f64>,
    /// The raw samples: calls in the sample, and ns they took together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<(u64, u64)>,
    /// Places of the samples in which something else used the core; left out of the
    /// median, where enough are left. Missing where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Vec<usize>>,
    /// Calls that each of the N−1 other threads made while the samples were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_threads_calls: Vec<u64>,
    /// Calls a second of all threads together, median over the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_per_s: Option<f64>,
    /// Lowest round, calls a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_low_per_s: Option<f64>,
    /// Highest round, calls a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_high_per_s: Option<f64>,
    /// Raw throughput rounds: ns of the round, and the calls of each thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throughput_rounds: Vec<(u64, Vec<u64>)>,
    /// Places of the rounds in which something else used a core; left out as above,
    /// where three are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throughput_disturbed: Vec<usize>,
    /// The parts of a call and of what comes before it, of one thread alone;
    /// only in the records of one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
}

impl CellRecord {
    /// Whether something else used the core for so much of the time that no undisturbed
    /// time can be published. `false` where nobody looked.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        let few = |disturbed: &Vec<usize>| self.samples.len() < disturbed.len() + stats::ENOUGH;
        self.disturbed.as_ref().is_some_and(|disturbed| !disturbed.is_empty() && few(disturbed))
            || self.phases.as_ref().is_some_and(|phases| phases.warm.is_some() && phases.disturbed)
            || self.is_throughput_disturbed()
    }
}

impl CellRecord {
    /// The same for the throughput. A single round is one call, and is what it is.
    fn is_throughput_disturbed(&self) -> bool {
        let (rounds, disturbed) = (self.throughput_rounds.len(), self.throughput_disturbed.len());
        rounds > 1 && disturbed > 0 && rounds - disturbed < ENOUGH_ROUNDS
    }
}

/// The parts of a call and of what comes before it. Times in ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Wasm bytes to artifact, once per backend and code class; one observation.
    pub compile_ns: u64,
    /// Artifact to a module that can be instantiated; one observation.
    pub load_ns: u64,
    /// Making an instance object and its first call; one observation.
    pub first_call_ns: u64,
    /// Median time to a clean instance.
    pub prepare_ns: u64,
    /// Median time of the guest's work, with input and output carried over.
    pub invoke_ns: u64,
    /// Median time to give the instance back.
    pub finish_ns: u64,
    /// Minor page faults of the calling thread, mean per call.
    pub page_faults_per_call: f64,
    /// Size of the artifact, bytes.
    pub artifact_bytes: u64,
    /// The same call on an instance that made it before and was not made clean,
    /// where the case asks for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<Interval>,
    /// A call on such an instance that takes the same input and does nothing with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_take: Option<Interval>,
    /// Whether something else used the core while these were timed, all the times that
    /// they were tried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
}

/// Group of the records that `touchstone swap` makes.
pub const SWAP: &str = "swap";

/// A median with its 95 % confidence interval, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The median.
    pub median_ns: f64,
    /// Lower end; missing with too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<f64>,
}

impl From<crate::stats::Estimate> for Interval {
    fn from(estimate: crate::stats::Estimate) -> Self {
        let (low_ns, high_ns) = estimate.interval.unzip();
        Self { median_ns: estimate.median, low_ns, high_ns }
    }
}

/// Two things that do the same work, timed in turns within one run, so that
/// drift of the machine hits both alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairRecord {
    /// What is compared, e.g. `overhead` or `null`.
    pub group: String,
    /// Case, e.g. `call_empty_function`.
    pub case: String,
    /// Guest module.
    pub guest: String,
    /// Threads that make calls at the same time.
    pub threads: usize,
    /// What is judged, e.g. `wasmtime_pooling_cow`.
    pub subject: String,
    /// What it is held against, e.g. `wasmtime raw API`.
    pub reference: String,
    /// Where the record comes from.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Median of subject over reference, pair by pair: 1.02 is 2 % slower.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % confidence interval.
    pub ratio_low: f64,
    /// Upper end of the ratio's 95 % confidence interval.
    pub ratio_high: f64,
    /// Median of the subject, ns per call.
    pub subject_ns: f64,
    /// Median of the reference, ns per call.
    pub reference_ns: f64,
    /// Raw pairs: ns per call of subject and reference in each round.
    pub rounds: Vec<(f64, f64)>,
    /// Places of the rounds in which something else used the core; left out of the
    /// ratio, where enough are left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<usize>,
}
