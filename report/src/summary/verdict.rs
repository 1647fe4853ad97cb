//! The head of the page: where the numbers come from, and five findings.

use crate::Content;
use crate::experiment::Row;
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Matrix, Work};
use crate::pages::Finding;
use crate::sections::machines::Call;
use crate::units::{self, MARK, TWO_MODES, count, percent};
use touchstone_record::compare::{self, Judged, MARGIN};
use touchstone_record::estimate::{CLEAN_SAMPLES, MODES, PROCESSES, median_of, over_builds};
use touchstone_record::{Book, Contender, Estimate, Executor, Match, Means, Metric, Purpose};

/// Sentences that are printed.
const MOST: usize = 5;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let processes = match matrix.processes() {
        Some((fewest, most)) if fewest < most => format!("{fewest} to {most} processes"),
        Some((all, _)) => count(all, "process"),
        None => "processes".to_owned(),
    };
    let mut text = format!(
        "# Benchmark\n\nThis page compares WebAssembly executors: which runtime and which strategy \
         give a clean instance for each call, and at what price. Ratios say how many times slower \
         a time is than the baseline: 1.00 is the baseline, lower is better. A time is a median \
         with its 95 % interval over {processes}, [low – high].\n\n",
    );
    let header = &matrix.book.header;
    let (cells, marked, share) = matrix.counts();
    text += &format!(
        "**Machine**: {}, {}, Linux {}. **Run**: {}, commit {}.\n",
        markdown(&header.machine.cpu),
        count(header.machine.cores, "processor"),
        markdown(&header.machine.kernel),
        markdown(header.date()),
        code(&header.tools.commit),
    );
    if cells > 0 {
        text += &format!(
            "**Interference**: {marked} of {} ({}) are marked {MARK}: fewer than {PROCESSES} \
             processes gave {CLEAN_SAMPLES} samples each without interference, or all of theirs where \
             calls are long. Such a time may be up to 2 × slow. Times of experiments are marked, too.\n",
            count(cells, "cell"),
            percent(share)
        );
    }
    let modes = matrix.two_modes();
    if modes > 0 {
        text += &format!(
            "**Two modes**: {} are marked {TWO_MODES}. Their processes fall into two groups more than \
             {MODES} times apart; both medians are printed, with the number of processes. One cause is a \
             neighbour on the same core, with which calls take [1.3 to 2 times as \
             long](METHODOLOGY.md#sampling). For single cells it was not examined.\n",
            count(modes, "cell")
        );
    }
    let sampling = &header.sampling.name;
    if sampling != "full" {
        text += &format!(
            "**Caution**: this run was sampled with {} instead of {}. Its numbers are a sketch.\n",
            code(sampling),
            code("full")
        );
    }
    let findings = findings(content, MOST);
    let rungs = rungs(content);
    if findings.is_empty() && rungs.is_empty() {
        return text + "\n";
    }
    let gap = if findings.is_empty() { "" } else { "\n" };
    text + "\n## Verdict\n\n" + &findings + gap + &rungs + &between_runs(matrix)
}

/// The first findings whose times were measured, a line each.
pub(super) fn findings(content: &Content<'_>, most: usize) -> String {
    let all = content.pages.findings.iter().filter_map(|of| finding(content.matrix, of));
    let lines = (1..).zip(all.take(most));
    lines.map(|(number, finding)| format!("{number}. {finding}\n")).collect()
}

/// A finding with its numbers; `None` where one of its times is missing.
pub(super) fn finding(matrix: &Matrix<'_>, of: &Finding) -> Option<String> {
    let Pair { subject, baseline, ratio, .. } = pair(matrix, of)?;
    let interval = ratio.interval.map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("{} – {}", units::factor(low), units::factor(high)),
    );
    let text = of.text.trim().replace('\n', " ");
    let text = text.replace("{subject}", &units::brief(&subject));
    let text = text.replace("{baseline}", &units::brief(&baseline));
    let text = text.replace("{interval}", &interval);
    let text = text.replace("{machines}", &on_others(matrix, of).unwrap_or_default());
    Some(text.replace("{ratio}", &(units::factor(ratio.median) + units::marks(&ratio))))
}

/// The ratio on the other machines of the records, as a sentence with a space before it.
fn on_others(matrix: &Matrix<'_>, of: &Finding) -> Option<String> {
    let sides = [&of.subject, of.baseline.as_ref()?];
    let call = Call::of(&compared(Purpose::Overview, of.call.as_ref()?, of.threads, sides));
    let here = &matrix.book.header.machine.id;
    let others = matrix.records.machines.iter().filter(|own| own.header.machine.id != *here);
    let all = others.filter_map(|machine| machine.ratio(&call));
    let all: Vec<String> = all.map(|ratio| units::factor(ratio.median)).collect();
    let list = units::prose_list(&all);
    (!all.is_empty()).then(|| format!(" [Other machines](benchmark/machines.md#machines): {list}."))
}

/// Two times in ns, and how many times the subject's time the baseline takes.
pub(super) struct Pair {
    subject: Estimate,
    baseline: Estimate,
    pub(super) ratio: Estimate,
    source: String,
}

impl Pair {
    fn of(subject: Estimate, baseline: Estimate, source: &str) -> Self {
        Self { subject, baseline, ratio: baseline.over(subject), source: source.to_owned() }
    }
}

/// The times of subject and its fastest baseline, ns, and how many times the subject's time the
/// baseline takes. Times in turns come before those of cells.
pub(super) fn pair(matrix: &Matrix<'_>, of: &Finding) -> Option<Pair> {
    fastest(matrix, of).map(|(pair, _)| pair)
}

fn fastest<'a>(matrix: &Matrix<'_>, of: &'a Finding) -> Option<(Pair, Option<&'a Executor>)> {
    let Some(first) = &of.baseline else { return Some((used(matrix, of)?, None)) };
    let all = || std::iter::once(first).chain(&of.or);
    let best = |by: &dyn Fn(&Executor) -> Option<Pair>| {
        let pairs = all().filter_map(|baseline| Some((by(baseline)?, Some(baseline))));
        pairs.min_by(|(a, _), (b, _)| a.baseline.median.total_cmp(&b.baseline.median))
    };
    if of.experiment.is_some() {
        return best(&|baseline| in_experiment(matrix, of, baseline));
    }
    if of.deadline {
        let judged = |own: &Executor| with_deadline(matrix, own, of.call.as_ref()?, of.threads);
        let time = |own: &Executor| judged(own).map(|judged| judged.subject);
        return best(&|baseline| Some(Pair::of(time(&of.subject)?, time(baseline)?, "cells")));
    }
    let compared = |purpose, baseline: &Executor| {
        Some(compared(purpose, of.call.as_ref()?, of.threads, [&of.subject, baseline]))
    };
    best(&|baseline| in_turns(matrix.book, &compared(Purpose::Overview, baseline)?))
        .or_else(|| best(&|baseline| of_builds(matrix, &compared(Purpose::Peers, baseline)?)))
        .or_else(|| best(&|baseline| of_cells(matrix, of, baseline)))
}

/// A call on a clean instance against the same on a used one.
fn used(matrix: &Matrix<'_>, of: &Finding) -> Option<Pair> {
    let subject = matrix.time(&of.subject, of.call.as_ref()?, of.threads)?;
    let baseline = matrix.metric(&of.subject, of.call.as_ref()?, Metric::WarmCall)?;
    Some(Pair { ratio: subject.over(baseline), ..Pair::of(subject, baseline, "cells") })
}

fn of_cells(matrix: &Matrix<'_>, of: &Finding, baseline: &Executor) -> Option<Pair> {
    let time = |executor| matrix.time(executor, of.call.as_ref()?, of.threads);
    Some(Pair::of(time(&of.subject)?, time(baseline)?, "cells"))
}

/// From a comparison with peers, and those of other builds.
pub(super) fn of_builds(matrix: &Matrix<'_>, of: &Match) -> Option<Pair> {
    let by = |book| in_turns(book, of);
    let pair = by(matrix.records.peers()?)?;
    let others: Vec<Estimate> =
        matrix.records.layouts.iter().filter_map(by).map(|pair| pair.ratio).collect();
    let source = match others.len() {
        0 => pair.source,
        others => format!("in turns, {} builds", others + 1),
    };
    Some(Pair { ratio: over_builds(pair.ratio, &others), source, ..pair })
}

pub(super) fn compared(purpose: Purpose, call: &Work, threads: usize, of: [&Executor; 2]) -> Match {
    let [subject, baseline] = of.map(|own| Contender::new(own.clone(), threads));
    Match { purpose, case: call.case.clone(), guest: call.guest.clone(), subject, baseline }
}

fn judged(book: &Book, of: &Match) -> Option<Judged> {
    compare::judge(book.comparisons.get(of)?, MARGIN)
}

fn in_turns(book: &Book, of: &Match) -> Option<Pair> {
    let judged = judged(book, of)?;
    let pair = Pair::of(judged.subject, judged.baseline, "in turns");
    Some(Pair { ratio: Estimate::known(1.0).over(judged.ratio), ..pair })
}

/// A call with a deadline that it does not reach against the same call without, in turns.
pub(super) fn with_deadline(
    matrix: &Matrix<'_>,
    executor: &Executor,
    call: &Work,
    threads: usize,
) -> Option<Judged> {
    let mut of = compared(Purpose::Deadline, call, threads, [executor; 2]);
    of.subject.means = Means::Limited;
    judged(matrix.book, &of)
}

fn in_experiment(matrix: &Matrix<'_>, of: &Finding, baseline: &Executor) -> Option<Pair> {
    let measured = of.experiment.as_ref()?;
    let (experiment, points) = matrix.records.experiment(&measured.name)?;
    let row =
        |executor: &Executor| Some(Row::of(experiment, points.get(&measured.place.at(executor))?));
    let (own, other, value) = (row(&of.subject)?, row(baseline)?, measured.value.as_str());
    let (subject, against) = (own.value(value)?, other.value(value)?);
    let [subject, against] = match measured.rate {
        true => [subject, against].map(|rate| Estimate::known(1e9).over(rate)),
        false => [subject, against],
    };
    let pair = Pair::of(subject, against, &experiment.title);
    let (above, below) = if measured.rate { (own, other) } else { (other, own) };
    let ratio = above.over(&below, value, value).unwrap_or(pair.ratio);
    Some(Pair { ratio, ..pair })
}

/// The rows at the head of the page, a table for each heading; empty where none was measured.
fn rungs(content: &Content<'_>) -> String {
    let mut text = String::new();
    for rungs in &content.pages.rungs {
        let mut table =
            Table::new("Call", ["Touchstone", "Wasmtime's pool", "times slower", "from"]);
        for row in &rungs.rows {
            let Some((pair, best)) = fastest(content.matrix, row) else { continue };
            let other = best.filter(|best| row.baseline.as_ref() != Some(*best));
            let other = other.map_or_else(String::new, |best| format!(" {}", code(best.strategy)));
            let cells = [
                units::brief(&pair.subject),
                units::brief(&pair.baseline) + &other,
                units::factor_with_interval(&pair.ratio),
                pair.source,
            ];
            table.row(row.text.trim(), cells);
        }
        let note = rungs.note.trim().replace('\n', " ");
        text += &below(&format!("**{}.** {note}", rungs.title), &table.finish());
    }
    text
}

/// How far the times of calls in turns lie from those of the same cells, which are of another
/// run; empty without such calls.
fn between_runs(matrix: &Matrix<'_>) -> String {
    let Some(peers) = matrix.records.peers() else { return String::new() };
    let (mut ratios, mut outside) = (Vec::new(), 0);
    for (of, processes) in &peers.comparisons {
        let Some(judged) = compare::judge(processes, MARGIN) else { continue };
        for (side, time) in [(&of.subject, judged.subject), (&of.baseline, judged.baseline)] {
            let own = matrix.book.estimate(&of.cell(side), Metric::Call);
            let Some(own) = own.filter(|_| side.means.is_contract()) else { continue };
            let (low, high) = own.ends();
            outside += usize::from(time.median < low || time.median > high);
            ratios.push(time.median / own.median);
        }
    }
    let Some(ratio) = median_of(&ratios) else { return String::new() };
    let mut differences: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let most = differences[(differences.len() * 9).div_ceil(10) - 1];
    format!(
        "An interval is for its run and binary. The run in turns measured {} of the matrix again: \
         {outside} of their times lie outside the cell's interval. In the median they are {} times the \
         cell's, and nine in ten differ by at most {}. Intervals do not cover the difference between \
         runs.{}\n\n",
        count(ratios.len(), "cell"),
        units::factor(ratio),
        percent(most),
        between_builds(peers, &matrix.records.layouts)
    )
}

/// How far ratios in turns differ between builds with other padding before their code; empty
/// without such builds.
fn between_builds(peers: &Book, layouts: &[Book]) -> String {
    let spread = |of: &Match| {
        let all = std::iter::once(peers).chain(layouts).filter_map(|book| judged(book, of));
        let all: Vec<f64> = all.map(|judged| judged.ratio.median).collect();
        let (least, most) = units::range(all.iter().copied())?;
        (all.len() > layouts.len()).then_some(most / least)
    };
    let spreads: Vec<f64> = peers.comparisons.keys().filter_map(spread).collect();
    let Some(median) = median_of(&spreads).filter(|_| !layouts.is_empty()) else {
        return String::new();
    };
    format!(
        " {} more builds, with other padding before their code, repeated {} of its ratios. The \
         largest is {} times the smallest in the median, at most {} times. The intervals of these \
         ratios cover all builds.",
        layouts.len(),
        spreads.len(),
        units::factor(median),
        units::factor(spreads.iter().copied().fold(0.0, f64::max))
    )
}
