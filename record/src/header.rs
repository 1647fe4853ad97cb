//! The header of a run: the origin of its numbers.

use super::end::hex;
use super::{Shard, State};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use touchstone_executor::Execution;

/// Version of the record layout. A run of another version is skipped with a warning.
pub const SCHEMA: u32 = 2;

/// The facts that all lines of a run share, written once before them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub schema: u32,
    /// Unique name of the run.
    pub run: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    pub machine: Machine,
    pub tools: Tools,
    pub sampling: Sampling,
    /// The engines of the build, by their names.
    pub engines: BTreeMap<String, EngineFacts>,
    pub works: Vec<WorkFacts>,
    /// First digits of the SHA-256 of the questions and options of an experiment, and of the data
    /// they depend on. An interrupted run continues only with the same ones. Empty for other runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub questions: String,
    /// The machine's state before the run, where it was examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The part of a larger run that this one is; `questions` is of that whole run then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The names of the runs that were merged into this one, in the order of their shards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
}

impl Header {
    /// `true` if a run was made on the same machine by the same build as another one, which an
    /// interrupted run needs to go on. A build without a digest is no other one's.
    pub fn is_of_build(&self, other: &Self) -> bool {
        self.machine == other.machine
            && !self.tools.binary.is_empty()
            && self.tools.binary == other.tools.binary
    }

    /// The day on which the run began, as `2026-11-27`.
    #[must_use]
    pub fn date(&self) -> &str {
        self.started_at.split('T').next().unwrap_or_default()
    }
}

/// Most characters of the readable part of a [`slug`](Machine::slug).
const LONGEST_SLUG: usize = 60;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model name of the processor, with family and model number if the kernel reports them.
    pub cpu: String,
    /// Instruction set, as Rust names it (`x86_64`, `aarch64`). Empty in records from before
    /// 2026-11-28, like [`id`](Self::id).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// `vm` for a virtual machine, `none`, or empty where the kernel does not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub virtualization: String,
    /// [`identity`](Self::identity) at the time of writing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Processors this process may run on.
    pub cores: usize,
    /// For each processor, which others are hardware threads of the same core, as the
    /// kernel lists them (`0`, `0-1`, `0,4`).
    #[serde(default)]
    pub siblings: Vec<String>,
    /// Main memory, KiB.
    pub memory_kib: u64,
    pub kernel: String,
    pub os: String,
    /// `true` if the kernel answers `PAGEMAP_SCAN` (Linux 6.7 or newer).
    pub pagemap_scan: bool,
    /// `true` if the process can have protection keys (PKU).
    #[serde(default)]
    pub protection_keys: bool,
    /// The transparent huge page mode in force (`always`, `madvise`, `never`).
    pub huge_pages: String,
}

impl Machine {
    /// First digits of the SHA-256 of what stays the same on a machine: instruction set,
    /// processors, their hardware threads, and memory in GiB. Machines of one kind have the same
    /// identity. Neither the host's name nor an address is part of it.
    pub fn identity(&self) -> String {
        let Self { cpu, architecture, cores, siblings, memory_kib, .. } = self;
        let gib = (memory_kib + (1 << 19)) >> 20;
        let text = format!("{architecture}\n{cpu}\n{cores}\n{}\n{gib}", siblings.join(" "));
        hex(&Sha256::digest(text))[..16].to_owned()
    }

    /// A name for files: processor, number of processors, `vm` on a virtual machine, and the first
    /// digits of the identity. Lower-case letters, digits and `-`.
    pub fn slug(&self) -> String {
        let Self { cpu, cores, virtualization, .. } = self;
        let marks = ["(R)", "(TM)", "Processor", "CPU", "family", "model"];
        let cpu = marks.into_iter().fold(cpu.clone(), |name, mark| name.replace(mark, " "));
        let text = format!("{cpu} {cores} cores {virtualization}").to_ascii_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty() && *word != "none");
        let name: String = words.collect::<Vec<_>>().join("-").chars().take(LONGEST_SLUG).collect();
        format!("{}-{}", name.trim_matches('-'), &self.identity()[..4])
    }

    /// Name of the processor without trademark signs, family and model, for charts.
    pub fn short_cpu(&self) -> String {
        let name = self.cpu.split(" (family").next().unwrap_or_default().to_owned();
        let marks = ["(R)", "(TM)", " CPU", " Processor"];
        marks.into_iter().fold(name, |name, mark| name.replace(mark, ""))
    }
}

/// The tools and settings that built the binary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// Version of this harness.
    pub touchstone: String,
    /// The compiler, as `rustc --version` prints it.
    pub rustc: String,
    /// Build profile: optimisation, LTO, codegen units.
    pub profile: String,
    /// Commit of the tree when the binary ran; `-dirty` when it had changes.
    pub commit: String,
    /// First digits of the SHA-256 of the binary, which identify the build.
    pub binary: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Its name: `full`, `quick` or `custom`; for other kinds of runs the name of the command.
    pub name: String,
    pub seed: u64,
    pub processes: u32,
    pub samples: usize,
    /// Planned time of one sample, µs.
    pub sample_us: u64,
    /// `true` if all engines shared one process.
    pub in_process: bool,
}

impl Sampling {
    pub fn untimed(name: &str, seed: u64) -> Self {
        Self { name: name.to_owned(), seed, processes: 1, ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Version of the linked runtime, as it reports itself.
    pub version: String,
    pub execution: Execution,
    /// The engine that executes guest code in the same way, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executes_like: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkFacts {
    pub case: String,
    pub guest: String,
    /// SHA-256 of the guest's bytes on disk, hexadecimal; with libraries, of the linked module.
    pub guest_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<InitFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub sweep: Sweep,
    /// Its place in tables: files by name, cases in the order of the file.
    pub place: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitFacts {
    pub export: String,
    /// SHA-256 of the module afterwards, hexadecimal: the bytes that the engines got.
    pub sha256: String,
}

/// The part of a case in tables, charts and recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does nothing: shows the cost of a clean instance.
    EmptyCall,
    /// Writes memory: shows the cost of restoring it.
    DirtyMemory,
    /// Realistic work, with an allocator of its own.
    Payload,
}

/// Which strategies a case is run under.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sweep {
    /// All of them; `…_gated` only in cases with a role, without precompiled code.
    #[default]
    All,
    /// Every strategy whose calls differ from another's: precompiled variants change the
    /// load, and Touchstone's pools return the instances of `instance_reuse_tracked`.
    /// Without `…_gated`, which differs from `…_tracked` only by how written pages are found.
    Distinct,
    /// The supported strategy that a user would try first. For cases about the guest's work,
    /// which is the same under every strategy.
    Preferred,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_an_identity_without_names() {
        let epyc = Machine {
            cpu: "AMD EPYC (family 25, model 17)".to_owned(),
            virtualization: "vm".to_owned(),
            cores: 2,
            memory_kib: 24_683_656,
            ..Machine::default()
        };
        let slug = epyc.slug();
        assert!(slug.starts_with("amd-epyc-25-17-2-cores-vm-"), "{slug}");
        // Kernels reserve different shares of the same memory.
        let updated = Machine { memory_kib: 24_683_000, kernel: "7.0".to_owned(), ..epyc.clone() };
        assert_eq!((updated.slug(), updated.identity()), (slug, epyc.identity()));
        let more = Machine { cores: 4, ..epyc.clone() };
        assert_ne!(more.identity(), epyc.identity());
        let hostile = Machine { cpu: "../<b>\u{202e}é".repeat(99), ..epyc };
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(hostile.slug().chars().all(plain) && hostile.slug().len() < 80);
    }

    #[test]
    fn names_of_processors_are_short_in_charts() {
        for (cpu, short) in [
            ("Intel(R) Xeon(R) Processor (family 6, model 167)", "Intel Xeon"),
            ("AMD EPYC (family 25, model 17)", "AMD EPYC"),
            ("Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", "Intel Core i7-6700 @ 3.40GHz"),
            ("unknown", "unknown"),
        ] {
            let machine = Machine { cpu: cpu.to_owned(), ..Machine::default() };
            assert_eq!(machine.short_cpu(), short);
        }
    }
}
