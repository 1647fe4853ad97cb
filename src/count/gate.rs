//! Compares counts with stored ones, which must not grow.

use super::work;
use crate::record::{Book, Count, Metric};
use std::collections::BTreeSet;

/// Growth up to this share is ignored: means over calls are not whole numbers, and code sizes
/// vary a little between builds.
const TOLERANCE: f64 = 0.005;
/// Growth of a mean per call that is ignored as well: one event in all counted calls.
const ONE_EVENT: f64 = 1.0 / 32.0;
/// The metrics that depend on the kernel.
const BY_KERNEL: [Metric; 3] = [Metric::PageFaults, Metric::SystemCalls, Metric::Signals];

/// A count that differs from the stored one.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its case and guest, or its cell.
    pub name: String,
    /// The metric.
    pub metric: Metric,
    /// The stored count; `None` if there is none.
    pub stored: Option<f64>,
    /// The new count; `None` if there is none any more.
    pub now: Option<f64>,
}

/// The result of the comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Counts that grew, and cases without stored counts. The gate fails if there are any.
    pub grown: Vec<Change>,
    /// Counts that shrank or are gone; store them again.
    pub shrunk: Vec<Change>,
    /// Number of compared counts.
    pub compared: usize,
    /// Why counts were not compared.
    pub left_out: Vec<String>,
}

impl Verdict {
    /// Whether something was compared and nothing grew.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.compared > 0 && self.grown.is_empty()
    }

    /// Compares one count. Differences of up to `least` are ignored.
    fn hold(&mut self, name: &str, metric: Metric, stored: f64, now: f64, least: f64) {
        self.compared += 1;
        let change = Change { name: name.to_owned(), metric, stored: Some(stored), now: Some(now) };
        if now - stored > least {
            self.grown.push(change);
        } else if stored - now > least {
            self.shrunk.push(change);
        }
    }
}

/// Compares counts with stored ones. Operators and guest sizes must be equal. The rest may
/// grow by half a per cent, and is compared only on the same kernel or processor.
#[must_use]
pub fn compare(stored: &Book, now: &Book) -> Verdict {
    let mut verdict = Verdict::default();
    let keys: BTreeSet<_> = stored.counts.keys().chain(now.counts.keys()).collect();
    for key in keys {
        let (name, before, after) =
            (work(&key.0, &key.1), stored.counts.get(key), now.counts.get(key));
        let value = |count: Option<&Count>, metric| {
            // Exact below 2^53.
            count.and_then(|count| count.metrics.get(&metric)).map(|value| *value as f64)
        };
        if before.is_some() && after.is_some() {
            for metric in Metric::ALL {
                if let Some((before, after)) = value(before, *metric).zip(value(after, *metric)) {
                    // Of counts the least difference is 1.
                    verdict.hold(&name, *metric, before, after, 0.5);
                }
            }
            continue;
        }
        let metric = Metric::Operators;
        let change =
            Change { name, metric, stored: value(before, metric), now: value(after, metric) };
        if before.is_none() { verdict.grown.push(change) } else { verdict.shrunk.push(change) }
    }
    if !now.cells.is_empty() {
        cells(&mut verdict, stored, now);
    }
    if verdict.compared == 0 && verdict.left_out.is_empty() {
        verdict.left_out.push("nothing of what was counted is stored".to_owned());
    }
    verdict
}

fn cells(verdict: &mut Verdict, stored: &Book, now: &Book) {
    let (there, here) = (&stored.header.machine, &now.header.machine);
    let same_kernel = there.kernel == here.kernel
        && there.pagemap_scan == here.pagemap_scan
        && there.huge_pages == here.huge_pages;
    if !same_kernel {
        verdict.left_out.push(format!(
            "page faults, system calls and signals: the stored ones are of Linux {} (huge pages: \
             {}), this is {} ({})",
            there.kernel, there.huge_pages, here.kernel, here.huge_pages
        ));
    }
    let same_processor = there.cpu == here.cpu;
    if !same_processor {
        verdict.left_out.push(format!(
            "sizes of artifacts: the stored ones are for {}, this is {}",
            there.cpu, here.cpu
        ));
    }
    let mut unknown = Vec::new();
    for cell in now.cells.keys() {
        if !stored.cells.contains_key(cell) {
            unknown.push(now.name(cell));
            continue;
        }
        let mut hold = |metric, least: f64| {
            let pair = stored.estimate(cell, metric).zip(now.estimate(cell, metric));
            if let Some((before, after)) = pair.map(|(a, b)| (a.median, b.median)) {
                let least = least.max(before.min(after) * TOLERANCE);
                verdict.hold(&now.name(cell), metric, before, after, least);
            }
        };
        if same_kernel {
            BY_KERNEL.into_iter().for_each(|metric| hold(metric, ONE_EVENT));
        }
        if same_processor {
            hold(Metric::ArtifactBytes, 1.0);
        }
    }
    // An engine that is not in the stored counts is nothing that grew.
    if let Some(first) = unknown.first() {
        verdict
            .left_out
            .push(format!("{} cells without stored counts, {first} first", unknown.len()));
    }
}
