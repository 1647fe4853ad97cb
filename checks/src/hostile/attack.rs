//! The list of attacks, and the strategies under attack.

use super::calls::{self, Call};
use super::large::{self, Large};
use std::time::Duration;
use touchstone::plan::Filter;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{CodeFrom, InstanceFrom, Strategy};

#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// Its name in tables and filters.
    pub name: &'static str,
    /// Time limit of all rounds.
    pub limit: Duration,
    pub(super) work: Work,
}

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
    let attack = |name, seconds, work| Attack { name, limit: Duration::from_secs(seconds), work };
    vec![
        attack("endless_loop", 20, Work::Endless(calls::ENDLESS)),
        attack("endless_start", 20, Work::EndlessStart),
        // Grows its memory until it is refused and writes every page; asks for all at once.
        attack("memory_bomb", 30, Work::Calls(calls::MEMORY)),
        attack("table_bomb", 30, Work::Calls(calls::TABLE)),
        // Recursion without an end: direct, with large frames, through a table.
        attack("stack_overflow", 30, Work::Calls(calls::STACK)),
        // No host function calls the guest back: the host's part is never more than one call deep.
        attack("host_recursion", 30, Work::Calls(calls::HOST_STACK)),
        attack("result_outside", 20, Work::Calls(calls::RESULTS)),
        // Wrong pointers and lengths to every host function, and misuse of the allocator.
        attack("host_pointers", 20, Work::Calls(calls::HOST)),
        attack("exports", 60, Work::Large(large::EXPORTS)),
        attack("functions", 60, Work::Large(large::FUNCTIONS)),
        attack("data", 60, Work::Large(large::DATA)),
        attack("locals", 60, Work::Large(large::LOCALS)),
        attack("nesting", 60, Work::Large(large::NESTING)),
        attack("operands", 60, Work::Large(large::OPERANDS)),
        attack("br_table", 60, Work::Large(large::TARGETS)),
        // With more entries at the start than memory has bytes.
        attack("tables", 30, Work::Large(large::TABLES)),
        attack("malformed", 60, Work::Malformed),
        attack("blob_bomb", 30, Work::Blobs),
        attack("artifacts", 60, Work::Artifacts),
    ]
}
