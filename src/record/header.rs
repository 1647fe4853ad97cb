//! The head of a run: where its numbers come from.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the record layout of this build. A run of another version is skipped
/// with a warning that names it.
pub const SCHEMA: u32 = 2;

/// What all observations of a run share. Written once, before them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`] at the time of writing.
    pub schema: u32,
    /// Name of the run.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine it ran on.
    pub machine: Machine,
    /// The programs that made the binary.
    pub tools: Tools,
    /// How it was sampled.
    pub sampling: Sampling,
    /// The engines of the build, by their names.
    pub engines: BTreeMap<String, EngineFacts>,
    /// The cases on their guests.
    pub works: Vec<WorkFacts>,
}

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor, as the kernel gives it.
    pub cpu: String,
    /// Processors this process may run on.
    pub cores: usize,
    /// For each processor, which others are hardware threads of the same core, as the
    /// kernel lists them (`0`, `0-1`, `0,4`).
    #[serde(default)]
    pub siblings: Vec<String>,
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
    /// Build profile: optimisation, LTO, codegen units.
    pub profile: String,
    /// Commit of the tree when the binary ran; `-dirty` when it had changes.
    pub commit: String,
    /// First digits of the binary's SHA-256: which build it was.
    pub binary: String,
}

/// How a run was sampled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// The command's name for it: `full`, `quick` or `custom`; `peers`, `swap`,
    /// `counts` or `checks` for runs of other kinds.
    pub name: String,
    /// Seed of the order of the cells.
    pub seed: u64,
    /// Processes in which every cell is measured.
    pub processes: u32,
    /// Samples of a cell in each process.
    pub samples: usize,
    /// Time of one sample, µs: as many calls as fill it, and one at least.
    pub sample_us: u64,
    /// Whether all engines shared one process.
    pub in_process: bool,
}

/// What is known of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Version of the linked runtime, as it says itself.
    pub version: String,
    /// How it executes guests.
    pub execution: Execution,
    /// The engine that executes guest code in the same way, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executes_like: Option<String>,
}

/// How code is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// By an interpreter.
    Interpreted,
    /// As machine code made of the module.
    Compiled,
    /// As machine code of the host's compiler: the baseline.
    Native,
}

impl From<touchstone_executor::Execution> for Execution {
    fn from(execution: touchstone_executor::Execution) -> Self {
        match execution {
            touchstone_executor::Execution::Interpreted => Self::Interpreted,
            touchstone_executor::Execution::Compiled => Self::Compiled,
            touchstone_executor::Execution::Native => Self::Native,
        }
    }
}

/// What is known of a case on a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkFacts {
    /// The case.
    pub case: String,
    /// The guest.
    pub guest: String,
    /// SHA-256 of the guest's bytes as they lie on disk, hexadecimal.
    pub guest_sha256: String,
    /// What the case calls itself on this guest, where it has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The part the case plays in overviews, charts and advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Which strategies the case is run under.
    pub sweep: Sweep,
    /// The case's place in the order of tables: files by name, cases as they stand.
    pub place: usize,
}

/// The part of a case on a guest in overviews, charts and advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does nothing: what a clean instance costs.
    EmptyCall,
    /// Writes memory: what bringing it back costs.
    DirtyMemory,
    /// Real work of a service, with an allocator of its own.
    Payload,
}

/// Which strategies a case asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// All of them.
    #[default]
    All,
    /// Every strategy whose calls differ from another's: precompiled variants change the
    /// load, and Touchstone's pools hand out the instances of `instance_reuse_tracked`.
    Distinct,
    /// The one that an engine offers and a user would prefer: the case is about the
    /// guest's work, which is the same under every strategy.
    Preferred,
}
