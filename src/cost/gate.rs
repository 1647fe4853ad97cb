//! Holding counts against stored ones: what may not grow.

use super::{Costs, Usage};

/// Growth up to this share is none: means over calls are no whole numbers, and code
/// sizes change a little with a runtime's build.
const TOLERANCE: f64 = 0.005;
/// Growth of a mean per call that is none either: one event in all counted calls.
const ONE_EVENT: f64 = 1.0 / 32.0;

/// One count that is not the stored one.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Whose: case and guest, or cell.
    pub name: String,
    /// What was counted.
    pub what: &'static str,
    /// The stored count; `None` where there is none.
    pub stored: Option<f64>,
    /// The count now; `None` where there is none any more.
    pub now: Option<f64>,
}

/// What came of the comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// What grew, and what is nowhere stored: the gate is closed if there is any.
    pub grown: Vec<Change>,
    /// What became less, or is gone: worth storing anew.
    pub shrunk: Vec<Change>,
    /// Counts that were compared.
    pub compared: usize,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
}

impl Verdict {
    /// Whether nothing grew.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.grown.is_empty()
    }

    fn exact(&mut self, name: &str, what: &'static str, stored: u64, now: u64) {
        self.compared += 1;
        let change = |list: &mut Vec<Change>| {
            let (stored, now) = (Some(stored as f64), Some(now as f64));
            list.push(Change { name: name.to_owned(), what, stored, now });
        };
        match now.cmp(&stored) {
            std::cmp::Ordering::Greater => change(&mut self.grown),
            std::cmp::Ordering::Less => change(&mut self.shrunk),
            std::cmp::Ordering::Equal => {}
        }
    }

    /// `least` is the smallest difference that is one.
    fn about(&mut self, name: &str, what: &'static str, pair: [Option<f64>; 2], least: f64) {
        let [Some(stored), Some(now)] = pair else { return };
        self.compared += 1;
        let least = least.max(stored.min(now) * TOLERANCE);
        let change = Change { name: name.to_owned(), what, stored: Some(stored), now: Some(now) };
        if now - stored > least {
            self.grown.push(change);
        } else if stored - now > least {
            self.shrunk.push(change);
        }
    }
}

/// Compares. Both have to be counted over the same features: what only one of them has is
/// reported.
#[must_use]
pub fn compare(stored: &Costs, now: &Costs) -> Verdict {
    let mut verdict = Verdict::default();
    for (name, now) in &now.operators {
        match stored.operators.get(name) {
            Some(stored) => {
                verdict.exact(name, "operators", stored.operators, now.operators);
                if let (Some(stored), Some(now)) = (stored.warm, now.warm) {
                    verdict.exact(name, "operators of a second call", stored, now);
                }
                verdict.exact(name, "guest bytes", stored.guest_bytes, now.guest_bytes);
            }
            None => verdict.grown.push(Change {
                name: name.clone(),
                what: "operators",
                stored: None,
                now: Some(now.operators as f64),
            }),
        }
    }
    for (name, stored) in &stored.operators {
        if !now.operators.contains_key(name) {
            verdict.shrunk.push(Change {
                name: name.clone(),
                what: "operators",
                stored: Some(stored.operators as f64),
                now: None,
            });
        }
    }
    let (there, here) = (&stored.machine, &now.machine);
    let kernel = there.kernel == here.kernel
        && there.pagemap_scan == here.pagemap_scan
        && there.huge_pages == here.huge_pages;
    if !kernel {
        verdict.left_out.push(format!(
            "page faults, system calls and signals: the stored ones are of Linux {} (huge pages: \
             {}), this is {} ({})",
            there.kernel, there.huge_pages, here.kernel, here.huge_pages
        ));
    }
    let processor = there.cpu == here.cpu;
    if !processor {
        verdict.left_out.push(format!(
            "sizes of artifacts: the stored ones are for {}, this is {}",
            there.cpu, here.cpu
        ));
    }
    let mut unknown = Vec::new();
    for (name, now) in &now.usage {
        match stored.usage.get(name) {
            Some(stored) => usage(&mut verdict, name, stored, now, kernel, processor),
            None => unknown.push(name),
        }
    }
    // A backend that is not in the stored counts is nothing that grew.
    if let Some(first) = unknown.first() {
        verdict
            .left_out
            .push(format!("{} cells without stored counts, {first} first", unknown.len()));
    }
    verdict
}

fn usage(
    verdict: &mut Verdict,
    name: &str,
    stored: &Usage,
    now: &Usage,
    kernel: bool,
    processor: bool,
) {
    if kernel {
        let means = [
            ("page faults", [stored.page_faults, now.page_faults]),
            ("system calls", [stored.system_calls, now.system_calls]),
            ("signals", [stored.signals, now.signals]),
        ];
        for (what, pair) in means {
            verdict.about(name, what, pair, ONE_EVENT);
        }
    }
    if processor {
        let sizes = [stored.artifact_bytes, now.artifact_bytes].map(|bytes| Some(bytes as f64));
        verdict.about(name, "artifact bytes", sizes, 1.0);
    }
}
