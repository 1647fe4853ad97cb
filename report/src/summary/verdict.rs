//! The head of the page: where the numbers come from, and five findings.

use crate::Content;
use crate::markdown::{code, markdown};
use crate::matrix::Matrix;
use crate::pages::Finding;
use crate::units::{self, MARK, count, percent};
use std::fmt::Write;
use touchstone_record::compare::{self, MARGIN};
use touchstone_record::estimate::{CLEAN_SAMPLES, PROCESSES};
use touchstone_record::{Book, Contender, Estimate, Executor, Match, Metric, Purpose};

/// Sentences that are printed.
const MOST: usize = 5;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let mut text = String::from(
        "# Benchmark\n\nThis page compares WebAssembly executors: which runtime and which strategy \
         give a clean instance for each call, and at what price. Ratios say how many times slower \
         a time is than the baseline: 1.00 is the baseline, lower is better. A time is a median; \
         ± is how far its 95 % interval reaches.\n\n",
    );
    let header = &matrix.book.header;
    let (cells, marked, share) = matrix.counts();
    let _ = writeln!(
        text,
        "**Machine**: {}, {}, Linux {}. **Run**: {}, commit {}.",
        markdown(&header.machine.cpu),
        count(header.machine.cores, "processor"),
        markdown(&header.machine.kernel),
        markdown(header.date()),
        code(&header.tools.commit),
    );
    if cells > 0 {
        let _ = writeln!(
            text,
            "**Interference**: {marked} of {} ({}) are marked {MARK}. A marked cell has fewer than \
             {PROCESSES} processes that gave {CLEAN_SAMPLES} clean samples each, or all where calls \
             are long. It may read up to 2 × slow.",
            count(cells, "cell"),
            percent(share)
        );
    }
    let sampling = &header.sampling.name;
    if sampling != "full" {
        let _ = writeln!(
            text,
            "**Caution**: this run was sampled with {} instead of {}. Its numbers are a sketch.",
            code(sampling),
            code("full")
        );
    }
    let findings = findings(content, MOST);
    if findings.is_empty() {
        return text + "\n";
    }
    text + "\n## Verdict\n\n" + &findings + "\n"
}

/// The first findings whose times were measured, a line each.
pub(super) fn findings(content: &Content<'_>, most: usize) -> String {
    let all = content.pages.findings.iter().filter_map(|of| finding(content.matrix, of));
    let lines = (1..).zip(all.take(most));
    lines.map(|(number, finding)| format!("{number}. {finding}\n")).collect()
}

/// A finding with its numbers; `None` where one of its times is missing.
pub(super) fn finding(matrix: &Matrix<'_>, of: &Finding) -> Option<String> {
    let [subject, baseline, ratio] = numbers(matrix, of)?;
    let interval = ratio.interval.map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("{} – {}", units::factor(low), units::factor(high)),
    );
    let text = of.text.trim().replace('\n', " ");
    let text = text.replace("{subject}", &units::time_with_reach(&subject));
    let text = text.replace("{baseline}", &units::time_with_reach(&baseline));
    let text = text.replace("{interval}", &interval);
    let factor = units::marked(units::factor(ratio.median), ratio.marked);
    let is_in_turns = in_turns(matrix.book, Purpose::Overview, of).is_some();
    let factor = if is_in_turns { format!("{factor} [{interval}]") } else { factor };
    Some(text.replace("{ratio}", &factor))
}

/// The times of subject and baseline, ns, and how many times slower the slower side is: in turns if
/// the run has that, otherwise of its cells, otherwise in turns with a peer.
pub(super) fn numbers(matrix: &Matrix<'_>, of: &Finding) -> Option<[Estimate; 3]> {
    in_turns(matrix.book, Purpose::Overview, of)
        .or_else(|| of_cells(matrix, of))
        .or_else(|| in_turns(matrix.records.peers()?, Purpose::Peers, of))
}

/// The times of subject and baseline in the run of the benchmarks, ns, and how many times slower
/// the slower side is.
fn of_cells(matrix: &Matrix<'_>, of: &Finding) -> Option<[Estimate; 3]> {
    let subject = matrix.time(&of.subject, &of.call, of.threads)?;
    Some(match &of.baseline {
        Some(baseline) => {
            let baseline = matrix.time(baseline, &of.call, of.threads)?;
            [subject, baseline, baseline.over(subject)]
        }
        None => {
            let baseline = matrix.metric(&of.subject, &of.call, Metric::WarmCall)?;
            [subject, baseline, subject.over(baseline)]
        }
    })
}

/// The same numbers from a comparison of a run.
fn in_turns(book: &Book, purpose: Purpose, of: &Finding) -> Option<[Estimate; 3]> {
    let side = |executor: &Executor| Contender::new(executor.clone(), of.threads);
    let compared = Match {
        purpose,
        case: of.call.case.clone(),
        guest: of.call.guest.clone(),
        subject: side(&of.subject),
        baseline: side(of.baseline.as_ref()?),
    };
    let judged = compare::judge(book.comparisons.get(&compared)?, MARGIN)?;
    let value = |ns| Estimate { marked: judged.ratio.marked, ..Estimate::exact(ns) };
    let ratio = Estimate { interval: Some((1.0, 1.0)), ..Estimate::exact(1.0) }.over(judged.ratio);
    Some([value(judged.subject_ns), value(judged.baseline_ns), ratio])
}
