//! The systems of a run in rows.

use super::{Column, or_none};
use anyhow::Result;
use serde_json::{Value, json};
use touchstone::record::estimate::of_values;
use touchstone::record::{Load, Requests, System, SystemFound, Verifier};
use touchstone::report::units::time;

/// What was found of a system under an executor: all rounds of a host under load, one record of
/// the others.
pub(super) struct Found<'a>(Vec<&'a System>);

impl<'a> Found<'a> {
    /// All of a run, each system's together.
    pub(super) fn all(systems: &'a [System]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for system in systems {
            match all.iter_mut().find(|found| found.is_of(system)) {
                Some(Self(rounds)) => rounds.push(system),
                None => all.push(Self(vec![system])),
            }
        }
        all.sort_by_key(|found| match found.0[0].found {
            SystemFound::Requests(_) => 0,
            SystemFound::Node(_) => 1,
            SystemFound::FanOut(_) => 2,
            SystemFound::Pipeline(_) => 3,
        });
        all
    }

    /// Whether a system is a round of the same.
    fn is_of(&self, system: &System) -> bool {
        let own = self.0[0];
        match (&own.found, &system.found) {
            (SystemFound::Requests(one), SystemFound::Requests(other)) => {
                own.executor == system.executor && one.state == other.state
            }
            _ => false,
        }
    }

    fn rounds(&self) -> impl Iterator<Item = &Requests> {
        self.0.iter().filter_map(|system| match &system.found {
            SystemFound::Requests(requests) => Some(requests),
            _ => None,
        })
    }

    /// The median over the rounds of a value at [`SHARE`] of the capacity.
    fn at_load(&self, value: impl Fn(&Load) -> u64) -> Option<f64> {
        let loads = self.rounds().flat_map(|round| &round.loads);
        let values: Vec<f64> =
            loads.filter(|load| load.percent == SHARE).map(|load| value(load) as f64).collect();
        Some(of_values(&values)?.median)
    }

    /// The name for filters.
    pub(super) fn name(&self) -> String {
        let System { executor, found } = self.0[0];
        match found {
            SystemFound::Requests(found) => format!("requests/{executor}/{}", found.state),
            SystemFound::Node(_) => format!("node/{executor}"),
            SystemFound::FanOut(found) => format!(
                "fan_out/{executor}/{}/{}/{}_bytes/{}_reads",
                found.shape, found.way, found.bytes, found.reads
            ),
            SystemFound::Pipeline(found) => format!(
                "pipeline/{}/{}/{}_messages",
                executor.engine,
                by(&found.verifier),
                found.messages
            ),
        }
    }

    /// The records.
    pub(super) fn json(&self) -> Result<Value> {
        Ok(json!({ "found": serde_json::to_value(&self.0)? }))
    }

    /// The heading of its table, the columns, and its row.
    pub(super) fn row(&self) -> (String, Vec<Column>, Vec<String>) {
        let System { executor, found } = self.0[0];
        let ms = |ns: u64| time(ns as f64);
        let (heading, columns, row): (_, &[Column], _) = match found {
            SystemFound::Requests(found) => {
                let capacities: Vec<f64> = self.rounds().map(|round| round.capacity).collect();
                let capacity = of_values(&capacities).map(|found| format!("{:.0}", found.median));
                let row = vec![executor.to_string(), found.state.to_string(), or_none(capacity)];
                let quantiles: [fn(&Load) -> u64; 3] =
                    [|l| l.latency.p50_ns, |l| l.latency.p99_ns, |l| l.latency.p999_ns];
                let tails = quantiles.map(|value| or_none(self.at_load(value).map(time)));
                (
                    "a host over HTTP, latency at 80 % of the capacity",
                    &REQUESTS,
                    [row, tails.into()].concat(),
                )
            }
            SystemFound::Node(node) => {
                let share = format!("{:.1} %", 100.0 * node.executor_share());
                let rate = format!("{:.1}", node.blocks_per_second());
                let [p50, p99] = [node.queries.p50_ns, node.queries.p99_ns].map(ms);
                ("a node", &NODE, vec![executor.to_string(), rate, share, p50, p99])
            }
            SystemFound::FanOut(found) => {
                let kib = [found.bytes >> 10, found.memory_kib].map(|kib| format!("{kib} KiB"));
                let [state, memory] = kib;
                let [shape, way] = [found.shape.to_string(), found.way.to_string()];
                let (reads, read) = (found.reads.to_string(), time(found.read_ns()));
                let row = vec![executor.to_string(), shape, way, state, reads, read, memory];
                ("a state that many modules read", &FAN_OUT, row)
            }
            SystemFound::Pipeline(found) => {
                let engine = executor.engine.clone();
                let row = vec![
                    engine,
                    by(&found.verifier).to_owned(),
                    found.messages.to_string(),
                    ms(found.total_ns),
                    time(found.per_message_ns()),
                    ms(found.longest_gap_ns),
                    found.wrong().to_string(),
                ];
                ("a pipeline that swaps its verifier", &PIPELINE, row)
            }
        };
        (heading.to_owned(), columns.to_vec(), row)
    }
}

/// The share of the capacity at which latencies are shown, percent.
const SHARE: u32 = 80;

const REQUESTS: [Column; 6] = [
    ("executor", false),
    ("instance", false),
    ("requests/s", true),
    ("p50", true),
    ("p99", true),
    ("p99.9", true),
];
const NODE: [Column; 5] = [
    ("executor", false),
    ("blocks/s", true),
    ("executor's share", true),
    ("queries p50", true),
    ("p99", true),
];
const FAN_OUT: [Column; 7] = [
    ("executor", false),
    ("shape", false),
    ("state is", false),
    ("state", true),
    ("reads", true),
    ("a read", true),
    ("memory", true),
];
const PIPELINE: [Column; 7] = [
    ("verifier", false),
    ("swap method", false),
    ("messages", true),
    ("total", true),
    ("a message", true),
    ("longest gap", true),
    ("wrong", true),
];

fn by(verifier: &Verifier) -> &str {
    match verifier {
        Verifier::Nobody => "none: each message passes",
        Verifier::Host => "none: the host verifies",
        Verifier::Method(method) => method,
    }
}
