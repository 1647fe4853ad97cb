//! The list of attacks, and the strategies under attack.

use super::calls::{self, Call};
use super::large::{self, Large};
use std::time::Duration;
use touchstone::plan::Filter;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{CodeFrom, InstanceFrom, MeasuredEngine, Strategy};

#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Its name in tables and filters.
    pub name: &'static str,
    /// The attack in a phrase.
    pub about: &'static str,
    /// Time limit of all rounds.
    pub limit: Duration,
    pub(super) work: Work,
}

/// The actions of an attack.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    /// Calls on the hostile guest.
    Calls(&'static [Call]),
    /// Calls that only a deadline stops.
    Endless(&'static [Call]),
    /// A guest with an endless start function.
    EndlessStart,
    /// Modules that are refused or run.
    Large(&'static [Large]),
    /// Mutations of a valid guest: refused, or run harmlessly.
    Malformed,
    /// Compressed blobs, all refused.
    Blobs,
    /// Tampered files of compiled code, all refused.
    Artifacts,
}

/// Strategies by the source of a clean instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A new one per call.
    Plain,
    /// Reset in place.
    Reuse,
    /// From a pool.
    Pool,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Reuse, Self::Pool];

    /// The strategy under attack: for reuse the last supported one, which has the most to restore,
    /// else the first.
    pub(super) fn strategy(
        self,
        engine: &dyn MeasuredEngine,
        guest: &GuestModule,
        code: CodeFrom,
    ) -> Option<Strategy> {
        let mut all = Strategy::all();
        if self == Self::Reuse {
            all.reverse();
        }
        all.into_iter().find(|strategy| {
            let class = match strategy.instance {
                _ if strategy.pooled => Self::Pool,
                InstanceFrom::Interpreted | InstanceFrom::Recreate => Self::Plain,
                InstanceFrom::Reuse => Self::Reuse,
                InstanceFrom::Pooling => Self::Pool,
            };
            class == self
                && strategy.code == code
                && engine.support_for(*strategy, guest).is_supported()
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub attack: Attack,
    pub class: Class,
}

/// Attacks on an engine whose `<attack>/<engine>` matches the filter, in order.
pub fn jobs(engine: &str, filter: &Filter) -> Vec<Job> {
    let named = |attack: &Attack| filter.matches(&format!("{}/{engine}", attack.name));
    let jobs = |attack: Attack| Class::ALL.map(|class| Job { attack, class });
    attacks().into_iter().filter(named).flat_map(jobs).collect()
}

pub fn attacks() -> Vec<Attack> {
    let attack = |name, about, seconds, work| Attack {
        name,
        about,
        limit: Duration::from_secs(seconds),
        work,
    };
    vec![
        attack("endless_loop", "a loop without an end", 20, Work::Endless(calls::ENDLESS)),
        attack("endless_start", "a start function without an end", 20, Work::EndlessStart),
        attack(
            "memory_bomb",
            "grows its memory until it is refused and writes every page; asks for all at once",
            30,
            Work::Calls(calls::MEMORY),
        ),
        attack("table_bomb", "grows a table until it is refused", 30, Work::Calls(calls::TABLE)),
        attack(
            "stack_overflow",
            "recursion without an end: direct, with large frames, through a table",
            30,
            Work::Calls(calls::STACK),
        ),
        attack(
            "host_recursion",
            "calls the host at each level of an endless recursion (no host function calls the \
             guest back, so the host's part is never more than one call deep)",
            30,
            Work::Calls(calls::HOST_STACK),
        ),
        attack(
            "result_outside",
            "results and buffers that lie outside the memory or wrap around its end",
            20,
            Work::Calls(calls::RESULTS),
        ),
        attack(
            "host_pointers",
            "wrong pointers and lengths to every host function; frees twice, frees what was never \
             given; overwrites the allocator's headers; takes all there is",
            20,
            Work::Calls(calls::HOST),
        ),
        attack("exports", "100,000 exports", 60, Work::Large(large::EXPORTS)),
        attack("functions", "100,000 functions", 60, Work::Large(large::FUNCTIONS)),
        attack("data", "32 MiB of data", 60, Work::Large(large::DATA)),
        attack("locals", "a function with 50,000 locals", 60, Work::Large(large::LOCALS)),
        attack("nesting", "20,000 blocks inside each other", 60, Work::Large(large::NESTING)),
        attack("operands", "10,000 operands on the stack", 60, Work::Large(large::OPERANDS)),
        attack("br_table", "a branch with 100,000 targets", 60, Work::Large(large::TARGETS)),
        attack(
            "tables",
            "tables with more entries at the start than memory has bytes",
            30,
            Work::Large(large::TABLES),
        ),
        attack(
            "malformed",
            "510 mutations or more of a valid guest: cut off, random bytes, flipped bits",
            60,
            Work::Malformed,
        ),
        attack(
            "blob_bomb",
            "compressed blobs that unpack to gigabytes, or claim a window of terabytes",
            30,
            Work::Blobs,
        ),
        attack(
            "artifacts",
            "files with compiled code that were cut off, flipped, replaced, or made by another \
             engine, version or for another processor",
            60,
            Work::Artifacts,
        ),
    ]
}
