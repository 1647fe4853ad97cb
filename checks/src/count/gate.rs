//! Compares counts with stored ones, which must not grow.

use super::work;
use std::collections::{BTreeMap, BTreeSet};
use touchstone::record::{Book, Count, Machine, Metric};

/// Growth up to this share is ignored: means over calls are not whole numbers, and code sizes
/// vary a little between builds.
const TOLERANCE: f64 = 0.005;
/// Growth of a mean per call that is ignored as well: one event in all counted calls.
const ONE_EVENT: f64 = 1.0 / 32.0;
/// The metrics that depend on the kernel, and now and then on what a process's allocator holds.
const BY_KERNEL: [Metric; 3] = [Metric::PageFaults, Metric::SystemCalls, Metric::Signals];

#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its case and guest, or its cell.
    pub name: String,
    pub metric: Metric,
    /// The stored count; `None` if there is none.
    pub stored: Option<f64>,
    pub now: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Counts that grew, and cases without stored counts. The gate fails if there are any.
    pub grown: Vec<Change>,
    pub shrunk: Vec<Change>,
    pub compared: usize,
    /// Why counts were not compared.
    pub left_out: Vec<String>,
}

impl Verdict {
    /// `true` if something was compared and nothing grew.
    pub fn is_open(&self) -> bool {
        self.compared > 0 && self.grown.is_empty()
    }

    /// A pattern for the cells with more page faults, system calls or signals; `None` without any.
    pub fn grown_cells(&self) -> Option<String> {
        let grown = self.grown.iter().filter(|change| BY_KERNEL.contains(&change.metric));
        let names: BTreeSet<_> = grown.map(|change| regex::escape(&change.name)).collect();
        let names = Vec::from_iter(names);
        (!names.is_empty()).then(|| format!("^({})$", names.join("|")))
    }

    /// Drops what grew, by events that depend on the kernel, in this comparison alone.
    pub fn keep_grown_in(&mut self, again: &Self) {
        let is_in = |change: &Change| {
            let is_same =
                |other: &Change| (&other.name, other.metric) == (&change.name, change.metric);
            again.grown.iter().any(is_same)
        };
        self.grown.retain(|change| !BY_KERNEL.contains(&change.metric) || is_in(change));
    }

    /// Takes in a count that was compared. Differences of up to `least` are ignored.
    fn hold(&mut self, change: Change, least: f64) {
        self.compared += 1;
        let growth = change.now.zip(change.stored).map_or(0.0, |(now, stored)| now - stored);
        if growth > least {
            self.grown.push(change);
        } else if -growth > least {
            self.shrunk.push(change);
        }
    }
}

/// Compares counts with stored ones. Operators and guest sizes must be equal. The rest may
/// grow by half a per cent, and is compared only on the same kernel or processor.
pub fn compare(stored: &Book, now: &Book) -> Verdict {
    let mut verdict = Verdict::default();
    let (before, after) = (works(stored), works(now));
    for (name, metric) in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let key = (name.clone(), *metric);
        let change = |stored, now| Change { name: name.clone(), metric: *metric, stored, now };
        match (before.get(&key), after.get(&key)) {
            // Of counts the least difference is 1.
            (Some(stored), Some(now)) => verdict.hold(change(Some(*stored), Some(*now)), 0.5),
            // A case is new or gone.
            (None, now) if *metric == Metric::Operators => {
                verdict.grown.push(change(None, now.copied()));
            }
            (stored, None) if *metric == Metric::Operators => {
                verdict.shrunk.push(change(stored.copied(), None));
            }
            _ => {}
        }
    }
    if !now.cells.is_empty() {
        cells(&mut verdict, stored, now);
    }
    if verdict.compared == 0 && verdict.left_out.is_empty() {
        verdict.left_out.push("nothing of what was counted is stored".to_owned());
    }
    verdict
}

/// The counts of cases by name and metric; exact below 2^53.
fn works(book: &Book) -> BTreeMap<(String, Metric), f64> {
    let of = |((case, guest), count): (&(String, String), &Count)| {
        let name = work(case, guest);
        let values = count.metrics.clone().into_iter();
        values.map(move |(metric, value)| ((name.clone(), metric), value as f64))
    };
    book.counts.iter().flat_map(of).collect()
}

/// The parts of a machine that page faults, system calls and signals depend on.
fn of_kernel(machine: &Machine) -> (&str, bool, bool, &str) {
    (&machine.kernel, machine.pagemap_scan, machine.protection_keys, &machine.huge_pages)
}

fn cells(verdict: &mut Verdict, stored: &Book, now: &Book) {
    let (there, here) = (&stored.header.machine, &now.header.machine);
    let mut metrics = Vec::new();
    if of_kernel(there) == of_kernel(here) {
        metrics.extend(BY_KERNEL.map(|metric| (metric, ONE_EVENT)));
    } else {
        let system = |of: &Machine| {
            let keys = if of.protection_keys { "with" } else { "without" };
            format!("Linux {} (huge pages: {}, {keys} protection keys)", of.kernel, of.huge_pages)
        };
        verdict.left_out.push(format!(
            "page faults, system calls and signals: the stored ones are of {}, this is {}",
            system(there),
            system(here)
        ));
    }
    if there.cpu == here.cpu {
        metrics.push((Metric::ArtifactBytes, 1.0));
    } else {
        verdict.left_out.push(format!(
            "sizes of artifacts: the stored ones are for {}, this is {}",
            there.cpu, here.cpu
        ));
    }
    let (known, unknown): (Vec<_>, Vec<_>) =
        now.cells.keys().partition(|cell| stored.cells.contains_key(cell));
    for cell in known {
        for (metric, least) in &metrics {
            let pair = stored.estimate(cell, *metric).zip(now.estimate(cell, *metric));
            if let Some((stored, now_seen)) = pair.map(|(a, b)| (a.median, b.median)) {
                let least = least.max(stored.min(now_seen) * TOLERANCE);
                let (stored, name) = (Some(stored), now.name(cell));
                let change = Change { name, metric: *metric, stored, now: Some(now_seen) };
                verdict.hold(change, least);
            }
        }
    }
    // An engine that is not in the stored counts is nothing that grew.
    if let Some(first) = unknown.first() {
        let (count, first) = (unknown.len(), now.name(first));
        verdict.left_out.push(format!("{count} cells without stored counts, {first} first"));
    }
}
