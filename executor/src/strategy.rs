//! Instantiation strategies: how a clean instance, its memory and its code come about.

use std::fmt;
use std::str::FromStr;

/// How a clean instance comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceFrom {
    /// An interpreter's plain way: a new instance each call, from a module
    /// that was translated once.
    Interpreted,
    /// One instance, reset in place between calls.
    Reuse,
    /// A new instance each call.
    Recreate,
    /// A slot from a pool that was reserved beforehand, made clean when it is given
    /// back.
    Pooling,
    /// The same, made clean when it is taken.
    PoolingLate,
}

/// How a clean memory comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryFrom {
    /// Zeroed memory, then the module's data segments copied in.
    Segments,
    /// A copy-on-write mapping of an image; written pages are dropped.
    CopyOnWrite,
    /// A copy-on-write mapping of an image; the kernel is asked which pages
    /// were written (`PAGEMAP_SCAN`), those are restored in place and stay
    /// mapped.
    Resident,
    /// A copy-on-write mapping of an image, read-only at first: the first write
    /// to a page faults and is noted. Noted pages are restored in place and stay
    /// writable; no system call is made while the calls write the same pages.
    Tracked,
}

/// Where the code comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeFrom {
    /// Compiled (or translated) in this process and handed over in memory.
    InProcess,
    /// Loaded from an ahead-of-time artifact in a file.
    Precompiled,
}

/// One instantiation strategy: three choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strategy {
    /// How a clean instance comes about.
    pub instance: InstanceFrom,
    /// How its memory comes about.
    pub memory: MemoryFrom,
    /// Where the code comes from.
    pub code: CodeFrom,
}

impl Strategy {
    /// What the seeds call `wasmi(interpreted)`.
    pub const INTERPRETED: Self = Self {
        instance: InstanceFrom::Interpreted,
        memory: MemoryFrom::Segments,
        code: CodeFrom::InProcess,
    };

    /// A strategy with in-process code.
    #[must_use]
    pub const fn new(instance: InstanceFrom, memory: MemoryFrom) -> Self {
        Self { instance, memory, code: CodeFrom::InProcess }
    }

    /// The same strategy with its code from a file.
    #[must_use]
    pub const fn precompiled(self) -> Self {
        Self { code: CodeFrom::Precompiled, ..self }
    }

    /// Every strategy there is, in the order of the report's columns.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::INTERPRETED];
        for instance in [InstanceFrom::Reuse, InstanceFrom::Recreate, InstanceFrom::Pooling] {
            for memory in [
                MemoryFrom::Segments,
                MemoryFrom::CopyOnWrite,
                MemoryFrom::Resident,
                MemoryFrom::Tracked,
            ] {
                let strategy = Self::new(instance, memory);
                all.push(strategy);
                // A pool of ours holds instances of the strategy that resets them in
                // place; where their code comes from shows there.
                if (instance, memory) != (InstanceFrom::Pooling, MemoryFrom::Tracked) {
                    all.push(strategy.precompiled());
                }
            }
        }
        all.push(Self::new(InstanceFrom::PoolingLate, MemoryFrom::Tracked));
        all
    }
}

/// The name in tables, filters and records.
///
/// A pool's resident variant is `pooling_cow_resident`: it is the runtime's own
/// copy-on-write pool with a setting changed. The others are memories of this
/// project's own and are called `…_resident` alone.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instance = match self.instance {
            InstanceFrom::Interpreted => "interpreted",
            InstanceFrom::Reuse => "instance_reuse",
            InstanceFrom::Recreate => "recreate_instance",
            InstanceFrom::Pooling => "pooling",
            InstanceFrom::PoolingLate => "pooling_late",
        };
        let memory = match (self.memory, self.instance) {
            (MemoryFrom::Segments, _) => "",
            (MemoryFrom::CopyOnWrite, _) => "_cow",
            (MemoryFrom::Resident, InstanceFrom::Pooling) => "_cow_resident",
            (MemoryFrom::Resident, _) => "_resident",
            (MemoryFrom::Tracked, _) => "_tracked",
        };
        let code = match self.code {
            CodeFrom::InProcess => "",
            CodeFrom::Precompiled => "_precompiled",
        };
        // `pad` so that a column width given by the caller is kept.
        f.pad(&format!("{instance}{memory}{code}"))
    }
}

/// A name that is no strategy's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no strategy '{name}'; `touchstone list` shows them all")]
pub struct ParseStrategyError {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Strategy {
    type Err = ParseStrategyError;

    /// Takes the names that [`fmt::Display`] gives, and `…_cow_resident` for
    /// every resident strategy.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let alias = name.replace("instance_cow_resident", "instance_resident");
        let alias = alias.replace("reuse_cow_resident", "reuse_resident");
        Self::all()
            .into_iter()
            .find(|strategy| strategy.to_string() == alias)
            .ok_or_else(|| ParseStrategyError { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        let all = Strategy::all();
        let mut names: Vec<_> = all.iter().map(ToString::to_string).collect();
        for (strategy, name) in all.iter().zip(&names) {
            assert_eq!(name.parse::<Strategy>().as_ref(), Ok(strategy));
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn both_spellings_of_resident_are_understood() {
        let resident = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Resident);
        assert_eq!("instance_reuse_cow_resident".parse(), Ok(resident));
        assert_eq!("instance_reuse_resident".parse(), Ok(resident));
        assert_eq!(
            "recreate_instance_cow_resident_precompiled".parse(),
            Ok(Strategy::new(InstanceFrom::Recreate, MemoryFrom::Resident).precompiled())
        );
        assert!("pooling_warm".parse::<Strategy>().is_err());
    }
}
