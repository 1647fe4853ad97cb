//! Where a strategy of the runtime's own is faster than the advised one of Touchstone's.

use crate::compare::{Course, Verdict, page_size, ratio};
use crate::pages::Part;
use crate::record::{Book, Drift, Estimate, Place, ResetKey, Touch};
use crate::report::Content;
use crate::report::markdown::{code, escape};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::{fastest, ties};
use crate::report::units::{median, prose_list};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Calls whose resets cost the most: each writes other pages than the call before.
const DRIFTING: Course =
    Course { touch: Touch::Byte, place: Place::Contiguous, drift: Drift::All, threads: 1 };

/// A list of the cases, each with its numbers; empty where there is none.
pub(super) fn cases(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let picks = content.picks.iter().map(|pick| &pick.executor);
    let picks: BTreeSet<&Executor> = picks.filter(|pick| !matrix.is_native(pick)).collect();
    let mut lines = Vec::new();
    if let Some(book) = &matrix.records.resets {
        let link = content.link_to_part(Part::Resets);
        let mut drifts: BTreeMap<Drifting, Vec<String>> = BTreeMap::new();
        for (drifting, pick) in picks.iter().filter_map(|pick| drifting(matrix, book, pick)) {
            drifts.entry(drifting).or_default().push(pick);
        }
        lines.extend(drifts.iter().map(|(of, picks)| format!("{} {link}", of.against(picks))));
    }
    let mut tied: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for pick in picks {
        let (faster, ties) = works(content, pick);
        lines.extend(faster);
        if !ties.is_empty() {
            tied.entry(ties).or_default().push(code(pick));
        }
    }
    lines.extend(tied.into_iter().map(|(calls, picks)| {
        format!("No difference to {}: {}.", prose_list(&picks), calls.join("; "))
    }));
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.into_iter().map(|line| format!("- {}\n", line.trim())).collect();
    format!(
        "The runtime's own strategies are faster than Touchstone's picks here, or tie with them:\
         \n\n{lines}\n"
    )
}

/// A strategy of the runtime's own that is faster where each call writes other pages.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Drifting {
    executor: Executor,
    /// The sizes, the smallest first.
    sizes: Vec<String>,
    /// The time at the smallest.
    time: String,
}

impl Drifting {
    /// A sentence; each of the picks stands with its time at the smallest size.
    fn against(&self, picks: &[String]) -> String {
        let more = match &self.sizes[..] {
            [] | [_] => String::new(),
            [_, more @ ..] => format!("; also faster at {}", prose_list(more)),
        };
        let first = self.sizes.first().map_or("", |size| size);
        format!(
            "{} against {}: calls that write all other pages than the last call. {} at {first}{more}.",
            code(&self.executor),
            prose_list(picks),
            self.time,
        )
    }
}

/// Of the strategies of the runtime's own that are faster than a pick where each call writes other
/// pages: the one that is so at the most sizes, then the fastest; with the pick and its time.
fn drifting(matrix: &Matrix<'_>, book: &Book, pick: &Executor) -> Option<(Drifting, String)> {
    let is_own = |other: &&Executor| other.engine == pick.engine && matrix.is_native(other);
    let keys = book.resets.keys();
    let own: BTreeSet<&Executor> = keys.map(|key| &key.executor).filter(is_own).collect();
    let keys = book.resets.keys().filter(|key| Course::of(&key.point) == DRIFTING);
    let sizes: BTreeSet<u64> = keys.map(|key| key.point.pages).collect();
    let wins = |other: &Executor| -> Vec<u64> {
        let is_faster = |pages: &u64| {
            ratio(book, &DRIFTING.at(*pages), other, pick)
                .is_some_and(|judged| judged.verdict == Verdict::Faster)
        };
        sizes.iter().copied().filter(is_faster).collect()
    };
    let time = |executor: &Executor, pages: &u64| {
        let key = ResetKey { point: DRIFTING.at(*pages), executor: executor.clone() };
        book.reset(&key)
    };
    let rank = |other: &Executor, wins: &[u64]| {
        let first = wins.first().and_then(|first| time(other, first));
        (Reverse(wins.len()), first.map_or(u64::MAX, |call| call.median.round() as u64))
    };
    let all = own.into_iter().map(|other| (other, wins(other)));
    let (other, wins) = all.min_by_key(|(other, wins)| rank(other, wins))?;
    let at_first = |executor| Some(median(&time(executor, wins.first()?)?));
    let sizes = wins.iter().map(|pages| page_size(*pages as f64)).collect();
    let drifting = Drifting { executor: other.clone(), sizes, time: at_first(other)? };
    Some((drifting, format!("{} ({})", code(pick), at_first(pick)?)))
}

/// The calls of the tables of real work that a strategy of the runtime's own is faster at, beyond
/// both intervals, a sentence each; and those where the intervals overlap.
fn works(content: &Content<'_>, pick: &Executor) -> (Vec<String>, Vec<String>) {
    let matrix = content.matrix;
    let is_own = |other: &Executor| other.engine == pick.engine && matrix.is_native(other);
    let (mut faster, mut tied) = (Vec::new(), Vec::new());
    for group in &content.pages.work {
        for row in &group.rows {
            let work = Work::from(row);
            let Some((own, time)) = fastest(matrix, &work, is_own) else { continue };
            let Some(picks) = matrix.time(pick, &work, 1) else { continue };
            let call = format!("{} ({})", escape(&row.label), escape(&group.title));
            if overlap(time, picks) {
                tied.push(call);
            } else if time.median < picks.median {
                let (own, pick) = (code(own), code(pick));
                let (time, picks) = (median(&time), median(&picks));
                faster.push(format!("{own} against {pick}: {call} ({time} against {picks})."));
            }
        }
    }
    (faster, tied)
}

/// Whether two times cannot be told apart by their intervals.
fn overlap(a: Estimate, b: Estimate) -> bool {
    let (faster, slower) = if a.median <= b.median { (a, b) } else { (b, a) };
    ties(faster, slower, None)
}
