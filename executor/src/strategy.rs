//! Instantiation strategies: the sources of a clean instance, its memory and its code.

use crate::text::{near, similar};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The source of a clean instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceFrom {
    /// An interpreter's plain way: a new instance each call, from a module
    /// that was translated once.
    Interpreted,
    /// One instance, reset in place between calls.
    Reuse,
    /// A new instance each call.
    Recreate,
    /// A slot from a pool that was reserved beforehand.
    Pooling,
}

/// The source of a clean memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryFrom {
    /// Zeroed memory, then the module's data segments copied in.
    Segments,
    /// A copy-on-write mapping of an image; written pages are dropped.
    CopyOnWrite,
    /// A copy-on-write mapping of an image; the kernel is asked which pages were written
    /// (`PAGEMAP_SCAN`), those are restored in place and stay mapped.
    Resident,
    /// A copy-on-write mapping of an image, read-only at first: the first write
    /// to a page faults and is noted. Noted pages are restored in place and stay
    /// writable; no system call is made while the calls write the same pages.
    Tracked,
    /// As [`Resident`](Self::Resident), but the kernel is asked only where the thread's page
    /// faults do not tell: the pages that the last scan found are compared, and those that
    /// faulted since. No other page can have been written.
    Gated,
}

impl MemoryFrom {
    /// Every kind, in the order of the report's columns.
    pub const ALL: [Self; 5] =
        [Self::Segments, Self::CopyOnWrite, Self::Resident, Self::Tracked, Self::Gated];

    /// `true` if written pages are restored where they are.
    pub const fn restores_in_place(self) -> bool {
        !matches!(self, Self::Segments | Self::CopyOnWrite)
    }
}

/// Where the code comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeFrom {
    /// Compiled (or translated) in this process and handed over in memory.
    InProcess,
    /// Loaded from an ahead-of-time artifact in a file.
    Precompiled,
}

/// Who brings about the clean instance, by the nature of a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Owner {
    /// The runtime, by what it offers itself.
    Runtime,
    /// Touchstone, on top of what the runtime offers.
    Touchstone,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Runtime => "the runtime",
            Self::Touchstone => "Touchstone",
        })
    }
}

/// One instantiation strategy: three choices.
///
/// Strategies are ordered as in tables: see [`rank`](Self::rank).
///
/// ```
/// use touchstone_executor::Strategy;
///
/// assert_eq!("instance_reuse_tracked".parse(), Ok(Strategy::TRACKED));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strategy {
    /// The source of a clean instance.
    pub instance: InstanceFrom,
    /// The source of its memory.
    pub memory: MemoryFrom,
    /// Where the code comes from.
    pub code: CodeFrom,
    /// `true` if Touchstone's pool holds the instances, which are [reused](InstanceFrom::Reuse).
    pub pooled: bool,
}

impl Strategy {
    /// One instance with a memory whose written pages are noted: the fastest reset in most hosts.
    pub const TRACKED: Self = Self::new(InstanceFrom::Reuse, MemoryFrom::Tracked);

    /// The plain way of an interpreter.
    pub const INTERPRETED: Self = Self::new(InstanceFrom::Interpreted, MemoryFrom::Segments);

    /// Touchstone's pool of instances that are reset in place.
    pub const POOL: Self =
        Self { pooled: true, ..Self::new(InstanceFrom::Reuse, MemoryFrom::Tracked) };

    /// A strategy with in-process code.
    pub const fn new(instance: InstanceFrom, memory: MemoryFrom) -> Self {
        Self { instance, memory, code: CodeFrom::InProcess, pooled: false }
    }

    /// The same strategy with its code from a file.
    #[must_use]
    pub const fn precompiled(self) -> Self {
        Self { code: CodeFrom::Precompiled, ..self }
    }

    /// Every strategy there is, in the order of the report's columns.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::INTERPRETED];
        for instance in [InstanceFrom::Reuse, InstanceFrom::Recreate, InstanceFrom::Pooling] {
            for memory in MemoryFrom::ALL {
                let strategy = Self::new(instance, memory);
                match (instance, memory) {
                    (InstanceFrom::Pooling, MemoryFrom::Gated) => {}
                    // The strategy of the pooled instances shows where their code comes from.
                    (InstanceFrom::Pooling, MemoryFrom::Tracked) => all.push(Self::POOL),
                    _ => all.extend([strategy, strategy.precompiled()]),
                }
            }
        }
        all
    }

    /// `true` if the code comes from an ahead-of-time artifact in a file.
    pub const fn is_precompiled(self) -> bool {
        matches!(self.code, CodeFrom::Precompiled)
    }

    /// The same strategy with in-process code.
    #[must_use]
    pub const fn base(self) -> Self {
        Self { code: CodeFrom::InProcess, ..self }
    }

    /// `true` if every call runs in an instance that never ran a call before.
    ///
    /// A slot of the runtime's own pool counts as such an instance: the runtime
    /// instantiates into it for each call. Instances that are reset in place do not
    /// count, nor does Touchstone's pool of them.
    pub const fn is_new_instance(self) -> bool {
        !matches!(self.instance, InstanceFrom::Reuse)
    }

    /// Who brings about the clean instance by the nature of the strategy.
    ///
    /// An engine can deviate: its [`Support`](crate::Support) says whether the runtime
    /// itself does the strategy there.
    pub const fn owner(self) -> Owner {
        match (self.instance, self.memory) {
            (InstanceFrom::Recreate, memory) if memory.restores_in_place() => Owner::Touchstone,
            (InstanceFrom::Reuse, _) => Owner::Touchstone,
            (InstanceFrom::Interpreted | InstanceFrom::Recreate | InstanceFrom::Pooling, _) => {
                Owner::Runtime
            }
        }
    }

    /// Place in tables, lowest first: ascending along [`all`](Self::all), and the same
    /// order as that of [`Ord`].
    pub const fn rank(self) -> u16 {
        let (instance, memory) = (self.column() as u16, self.memory as u16);
        (instance * MemoryFrom::ALL.len() as u16 + memory) * 2 + self.code as u16
    }

    /// The kind of instances that tables and names show: pooled ones are with the runtimes' pools.
    const fn column(self) -> InstanceFrom {
        if self.pooled { InstanceFrom::Pooling } else { self.instance }
    }
}

impl Ord for Strategy {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Strategy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The name in tables, filters and records.
///
/// A pool's resident variant is `pooling_cow_resident`: it is the runtime's own
/// copy-on-write pool with a setting changed. The others are memories of this
/// project's own and are called `…_resident` alone.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instance = match self.column() {
            InstanceFrom::Interpreted => "interpreted",
            InstanceFrom::Reuse => "instance_reuse",
            InstanceFrom::Recreate => "recreate_instance",
            InstanceFrom::Pooling => "pooling",
        };
        let memory = match (self.memory, self.instance) {
            (MemoryFrom::Segments, _) => "",
            (MemoryFrom::CopyOnWrite, _) => "_cow",
            (MemoryFrom::Resident, InstanceFrom::Pooling) => "_cow_resident",
            (MemoryFrom::Resident, _) => "_resident",
            (MemoryFrom::Tracked, _) => "_tracked",
            (MemoryFrom::Gated, _) => "_gated",
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
#[error("there is no strategy '{name}'{}; `touchstone list` shows them all", near(.candidates))]
pub struct ParseStrategyError {
    /// The requested name.
    pub name: String,
    /// Strategies with a similar name.
    pub candidates: Vec<String>,
}

impl FromStr for Strategy {
    type Err = ParseStrategyError;

    /// Takes the names that [`fmt::Display`] gives, and `…_cow_resident` for
    /// every resident strategy.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let alias = name.replace("instance_cow_resident", "instance_resident");
        let alias = alias.replace("reuse_cow_resident", "reuse_resident");
        let found = Self::all().into_iter().find(|strategy| strategy.to_string() == alias);
        found.ok_or_else(|| {
            let names: Vec<String> = Self::all().iter().map(Self::to_string).collect();
            let candidates = similar(name, names.iter().map(String::as_str));
            ParseStrategyError { name: name.to_owned(), candidates }
        })
    }
}

/// As its name.
#[cfg(feature = "serde")]
impl serde::Serialize for Strategy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From the names that [`FromStr`] takes.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Strategy {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
