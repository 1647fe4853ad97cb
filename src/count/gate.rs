//! Compares counts with stored ones, which must not grow.

use super::work;
use crate::record::{Book, CellKey, Metric};

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
    for (key, count) in &now.counts {
        let name = work(&key.0, &key.1);
        let before = stored.counts.get(key);
        if before.is_none() {
            let value = count.metrics.get(&Metric::Operators).map(|value| *value as f64);
            let metric = Metric::Operators;
            verdict.grown.push(Change { name: name.clone(), metric, stored: None, now: value });
        }
        for (metric, value) in &count.metrics {
            if let Some(before) = before.and_then(|before| before.metrics.get(metric)) {
                // Exact below 2^53, and of counts the least difference is 1.
                verdict.hold(&name, *metric, *before as f64, *value as f64, 0.5);
            }
        }
    }
    for (key, count) in stored.counts.iter().filter(|(key, _)| !now.counts.contains_key(*key)) {
        let value = count.metrics.get(&Metric::Operators).map(|value| *value as f64);
        let (name, metric) = (work(&key.0, &key.1), Metric::Operators);
        verdict.shrunk.push(Change { name, metric, stored: value, now: None });
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
    let value = |book: &Book, cell: &CellKey, metric| {
        book.estimate(cell, metric).map(|estimate| estimate.median)
    };
    let mut unknown = Vec::new();
    for cell in now.cells.keys() {
        if !stored.cells.contains_key(cell) {
            unknown.push(now.name(cell));
            continue;
        }
        let mut hold = |metric, least: f64| {
            let pair = value(stored, cell, metric).zip(value(now, cell, metric));
            if let Some((before, value)) = pair {
                let least = least.max(before.min(value) * TOLERANCE);
                verdict.hold(&now.name(cell), metric, before, value, least);
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
