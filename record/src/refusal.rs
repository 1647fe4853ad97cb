//! Combinations that are not measured, with the reasons.

use super::CellKey;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;
use std::ops::Bound;
use touchstone_executor::Strategy;

/// Most bytes of a reason in a record file. Reasons quote guests, whose messages have any length.
const LONGEST_REASON: usize = 16 << 10;

/// The reason why something is not measured; what is `None`, it holds for all of. The order of
/// refusals is that of their fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(test), derive(PartialOrd, Ord))]
pub struct Refusal {
    pub engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    pub status: Status,
    /// A record file holds at most 16 KiB of it.
    #[serde(serialize_with = "shortened")]
    pub reason: String,
}

/// The kind of a refusal. Later ones are worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// The engine does not support the strategy, or not for this module.
    Unsupported,
    /// It is not needed, for instance because another engine executes in the same way.
    #[strum(to_string = "not asked for")]
    NotAsked,
    /// A call takes longer than the time budget of the case.
    #[strum(to_string = "over budget")]
    OverBudget,
    /// More threads than processors.
    Skipped,
    /// The host side failed.
    Failed,
    Trapped,
    /// The output differed from the expected one.
    Wrong,
}

impl Status {
    /// `true` for a failure; otherwise it was left out on purpose.
    pub fn is_failure(self) -> bool {
        self.is_wrong() || self == Self::Failed
    }

    /// `true` if the guest did something else than its case expects.
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Wrong | Self::Trapped)
    }
}

fn shortened<S: Serializer>(reason: &str, to: S) -> Result<S::Ok, S::Error> {
    if reason.len() <= LONGEST_REASON {
        return to.serialize_str(reason);
    }
    let kept = &reason[..reason.floor_char_boundary(LONGEST_REASON - 64)];
    to.collect_str(&format_args!("{kept}… ({} bytes more)", reason.len() - kept.len()))
}

/// Refusals in the order of what they concern: those of a cell are found without a look at all.
pub type Refusals = BTreeSet<Refusal>;

/// The worst refusal of a cell: a failure says more than a missing strategy.
pub fn worst<'a>(all: &'a Refusals, cell: &CellKey) -> Option<&'a Refusal> {
    let own = places(cell).filter_map(|place| all.range(place).next_back());
    own.max_by(|a, b| (a.status, a).cmp(&(b.status, b)))
}

/// Removes the failures that name a cell with its number of threads.
pub(super) fn remove_failures(all: &mut Refusals, cell: &CellKey) {
    let own = places(cell).flat_map(|place| all.range(place));
    let is_meant = |own: &&Refusal| own.threads.is_some() && own.status.is_failure();
    let failures: Vec<Refusal> = own.filter(is_meant).cloned().collect();
    for failure in failures {
        all.remove(&failure);
    }
}

/// The ranges of the refusals that concern a cell: of its strategy or all, on its guest or all, ….
fn places(cell: &CellKey) -> impl Iterator<Item = (Bound<Refusal>, Bound<Refusal>)> {
    (0..16_u8).map(|bits| {
        let names = |bit: u8| bits & (1 << bit) != 0;
        let first = |threads| Refusal {
            engine: cell.engine.clone(),
            strategy: names(0).then_some(cell.strategy),
            guest: names(1).then(|| cell.guest.clone()),
            case: names(2).then(|| cell.case.clone()),
            threads,
            status: Status::Unsupported,
            reason: String::new(),
        };
        // What comes after all refusals of the same things.
        let (own, next) = match names(3) {
            true => (Some(cell.threads), cell.threads.saturating_add(1)),
            false => (None, 0),
        };
        (Bound::Included(first(own)), Bound::Excluded(first(Some(next))))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Book, Header, Line, Metric, Observations, Sample, Samples};
    use std::cell::Cell;
    use std::cmp::Ordering;
    use std::collections::BTreeMap;

    thread_local! {
        /// Comparisons of refusals on this thread.
        pub(super) static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn key(of: &Refusal) -> impl Ord {
        let Refusal { engine, strategy, guest, case, threads, status, reason } = of;
        (engine, strategy, guest, case, threads, status, reason)
    }

    /// As derived, and counted.
    impl Ord for Refusal {
        fn cmp(&self, other: &Self) -> Ordering {
            COMPARED.set(COMPARED.get() + 1);
            key(self).cmp(&key(other))
        }
    }

    impl PartialOrd for Refusal {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    fn cell(case: u32, threads: usize) -> CellKey {
        CellKey {
            case: format!("case{case}"),
            guest: "guest".to_owned(),
            engine: "engine".to_owned(),
            strategy: Strategy::INTERPRETED,
            threads,
        }
    }

    fn refusal(of: &CellKey, bits: u32, status: Status) -> Refusal {
        let names = |bit: u32| bits & (1 << bit) != 0;
        Refusal {
            engine: of.engine.clone(),
            strategy: names(0).then_some(of.strategy),
            guest: names(1).then(|| of.guest.clone()),
            case: names(2).then(|| of.case.clone()),
            threads: names(3).then_some(of.threads),
            status,
            reason: format!("{bits}"),
        }
    }

    /// The definition, one refusal after the other.
    fn concerns(refusal: &Refusal, cell: &CellKey) -> bool {
        refusal.engine == cell.engine
            && refusal.strategy.is_none_or(|strategy| strategy == cell.strategy)
            && refusal.guest.as_ref().is_none_or(|guest| *guest == cell.guest)
            && refusal.case.as_ref().is_none_or(|case| *case == cell.case)
            && refusal.threads.is_none_or(|threads| threads == cell.threads)
    }

    #[test]
    fn the_worst_refusal_of_a_cell_is_found_whatever_it_names() {
        use Status::{Failed, Skipped, Trapped, Unsupported};
        let mut seen = 0;
        for round in 0..200_u32 {
            let all: Refusals = (0..12)
                .map(|place| {
                    let number = (round * 12 + place).wrapping_mul(2_654_435_761) >> 7;
                    let of = cell(number % 3, 1 + (number / 3 % 3) as usize);
                    let status = [Unsupported, Skipped, Trapped, Failed][(number / 9 % 4) as usize];
                    refusal(&of, number / 36, status)
                })
                .collect();
            for cell in (0..3).flat_map(|case| (1..4).map(move |threads| cell(case, threads))) {
                let own = all.iter().filter(|refusal| concerns(refusal, &cell));
                let expected = own.max_by_key(|refusal| refusal.status);
                assert_eq!(worst(&all, &cell), expected);
                seen += u32::from(expected.is_some());
                let mut rest = all.clone();
                remove_failures(&mut rest, &cell);
                let left = all.iter().filter(|own| {
                    !(own.threads.is_some() && own.status.is_failure() && concerns(own, &cell))
                });
                assert!(left.eq(&rest));
            }
        }
        assert!(seen > 500, "{seen}");
    }

    #[test]
    fn a_book_looks_only_at_the_refusals_of_a_cell() {
        let compared = |count: u32| {
            let samples = Samples(vec![Sample::single(1.0); 8]);
            let seen = (0..count).map(|case| {
                let metrics = BTreeMap::from([(Metric::Call, samples.clone())]);
                Line::Observations(Observations {
                    cell: cell(case, 1),
                    process: 0,
                    probe_ns: 0,
                    metrics,
                })
            });
            let all = (0..count)
                .map(|case| Line::Refusal(refusal(&cell(case + count / 2, 1), 15, Status::Failed)));
            let lines = all.chain(seen).collect();
            COMPARED.set(0);
            let book = Book::of(Header::default(), lines);
            assert_eq!(book.cells.len(), count as usize);
            COMPARED.get() / u64::from(count)
        };
        let (few, many) = (compared(100), compared(3000));
        assert!(many < 3 * few, "{few} steps for each of 100 cells, {many} for each of 3000");
    }

    #[test]
    fn a_long_reason_is_cut_in_the_file() {
        let long =
            Refusal { reason: "é".repeat(40_000), ..refusal(&cell(0, 1), 0, Status::Failed) };
        let read: Refusal = serde_json::from_str(&serde_json::to_string(&long).unwrap()).unwrap();
        assert!(read.reason.len() <= LONGEST_REASON && read.reason.starts_with("éé"));
        assert!(read.reason.ends_with(" bytes more)"), "{}", &read.reason[16_000..]);
    }
}
