//! The records of one run, indexed.

use super::{
    CellKey, Check, Comparison, Count, Estimate, Executor, Finding, Header, Line, Match, Metric,
    Observations, PointBook, Prevailing, Refusal, Sample, Samples, Setup, Setups, WorkFacts,
    estimate, refusal,
};
use std::collections::{BTreeMap, BTreeSet};

/// How far scaling may lie above the number of threads: what noise explains.
const SCALING: f64 = 1.05;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Book {
    pub header: Header,
    /// The setups, by executor and guest, each with all that is in force.
    pub setups: BTreeMap<(Executor, String), Setup>,
    pub cells: BTreeMap<CellKey, Vec<Observations>>,
    pub refusals: BTreeSet<Refusal>,
    pub comparisons: BTreeMap<Match, Vec<Comparison>>,
    pub counts: BTreeMap<(String, String), Count>,
    /// Findings of the checks, in their order.
    pub findings: Vec<Finding>,
    pub points: BTreeMap<String, PointBook>,
}

impl Book {
    /// Indexes the lines of a run. Of two about one thing in one process, the later one counts.
    pub fn of(header: Header, lines: Vec<Line>) -> Self {
        let mut book = Self { header, ..Self::default() };
        let mut setups = Setups::default();
        for line in lines {
            match line {
                Line::Run(_) | Line::End(_) => {}
                Line::Setup(setup) => {
                    let setup = setups.complete(setup);
                    book.setups.insert((setup.executor.clone(), setup.guest.clone()), setup);
                }
                Line::Observations(seen) => {
                    // A cell that failed is measured again only when a run is continued.
                    refusal::remove_failures(&mut book.refusals, &seen.cell);
                    let all = book.cells.entry(seen.cell.clone()).or_default();
                    all.retain(|other| other.process != seen.process);
                    all.push(seen);
                }
                Line::Refusal(refusal) => drop(book.refusals.insert(refusal)),
                Line::Comparison(comparison) => {
                    let all = book.comparisons.entry(comparison.of.clone()).or_default();
                    all.retain(|other| other.process != comparison.process);
                    all.push(*comparison);
                }
                Line::Count(count) => {
                    book.counts.insert((count.case.clone(), count.guest.clone()), count);
                }
                Line::Finding(finding) => book.findings.push(*finding),
                Line::Point(point) => {
                    book.points.entry(point.experiment.clone()).or_default().add(*point);
                }
            }
        }
        book.mark_other_states();
        // A cell that failed or exceeded its budget in one process is not published at all.
        book.cells.retain(|cell, _| refusal::worst(&book.refusals, cell).is_none());
        book
    }

    /// Marks samples as noisy whose process was in another state than most of the run.
    fn mark_other_states(&mut self) {
        let states = || self.cells.values().flatten().map(|seen| seen.probe_ns);
        let state = Prevailing::of(states().filter(|ns| *ns > 0));
        for seen in self.cells.values_mut().flatten() {
            if seen.probe_ns > 0 && !state.includes(seen.probe_ns) {
                let samples = seen.metrics.values_mut().flat_map(|samples| &mut samples.0);
                samples.for_each(|sample| sample.clean = false);
            }
        }
    }

    /// The estimate of a metric of a cell; `None` if it was not measured. A metric that is
    /// observed once per process has the median of the processes.
    pub fn estimate(&self, cell: &CellKey, metric: Metric) -> Option<Estimate> {
        let samples = self.samples(cell, metric);
        if metric.is_sampled() {
            return estimate::of_processes(&samples);
        }
        let values: Vec<f64> =
            samples.iter().flat_map(|samples| samples.0.iter().map(Sample::per_call)).collect();
        estimate::of_values(&values)
    }

    /// The samples of a metric of a cell that its estimate is made of.
    pub fn used(&self, cell: &CellKey, metric: Metric) -> Vec<Sample> {
        let own = self.samples(cell, metric);
        estimate::used(own.iter().map(|own| own.with_clean())).groups.concat()
    }

    pub fn samples(&self, cell: &CellKey, metric: Metric) -> Vec<&Samples> {
        let all = self.cells.get(cell).into_iter().flatten();
        all.filter_map(|seen| seen.metrics.get(&metric)).collect()
    }

    /// Calls per second of all threads of a cell, from the samples of its latency.
    pub fn throughput(&self, cell: &CellKey) -> Option<Estimate> {
        let call = self.estimate(cell, Metric::Call)?;
        Some(Estimate::known(cell.threads as f64 * 1e9).over(call))
    }

    /// Throughput of all threads of a cell over that of one thread.
    ///
    /// The estimate is that of the processes' ratios of mean rates. Within a process both cells
    /// have the same instances, of which some are slower. Side by side they make as many calls as
    /// the mean of their rates says; the median of their times alone is longer than that. Where too
    /// few processes have both for an interval, it is the quotient of the two throughputs.
    pub fn scaling(&self, cell: &CellKey) -> Option<Estimate> {
        let alone = CellKey { threads: 1, ..cell.clone() };
        let of_medians = self.throughput(cell)?.over(self.throughput(&alone)?);
        let rates = |cell: &CellKey| -> BTreeMap<u32, f64> {
            let all = self.cells.get(cell).into_iter().flatten();
            let rate = |seen: &Observations| {
                let call =
                    seen.metrics.get(&Metric::Call).filter(|own| estimate::has_enough(own))?;
                let clean = call.0.iter().filter(|sample| sample.clean);
                let rates: Vec<f64> = clean.map(|sample| 1.0 / sample.per_call()).collect();
                Some((seen.process, rates.iter().sum::<f64>() / rates.len() as f64))
            };
            all.filter_map(rate).collect()
        };
        let (alone, several) = (rates(&alone), rates(cell));
        let ratio = |(process, alone): (&u32, &f64)| Some(several.get(process)? / alone);
        let ratios: Vec<f64> = alone.iter().filter_map(ratio).collect();
        let of_ratios = estimate::of_values(&ratios).filter(|own| own.interval.is_some());
        let Some(of_ratios) = of_ratios else { return Some(of_medians) };
        let scaling = of_ratios.over(Estimate::known(1.0 / cell.threads as f64));
        Some(Estimate { marked: of_medians.marked, ..scaling })
    }

    /// The scaling of a cell and its limit, where it lies above: as if each thread did more work
    /// beside others than alone.
    pub fn impossible_scaling(&self, cell: &CellKey) -> Option<(Estimate, f64)> {
        let ratio = self.scaling(cell)?;
        let limit = cell.threads as f64 * SCALING;
        (ratio.median > limit).then_some((ratio, limit))
    }

    /// `true` if a cell has more threads than the machine has processors, so that they take turns.
    pub fn is_crowded(&self, cell: &CellKey) -> bool {
        let cores = self.header.machine.cores;
        cores > 0 && cell.threads > cores
    }

    /// The reason why a cell has no time; `None` if no refusal is recorded.
    pub fn refusal(&self, cell: &CellKey) -> Option<&Refusal> {
        refusal::worst(&self.refusals, cell)
    }

    pub fn work(&self, case: &str, guest: &str) -> Option<&WorkFacts> {
        self.header.works.iter().find(|work| work.case == case && work.guest == guest)
    }

    pub fn name(&self, cell: &CellKey) -> String {
        cell.name(self.work(&cell.case, &cell.guest).and_then(|work| work.title.as_deref()))
    }

    pub fn findings(&self, check: Check) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.check == check)
    }
}
