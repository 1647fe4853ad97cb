//! The systems of a run in rows.

use super::{Column, or_none};
use crate::units::time;
use anyhow::Result;
use serde_json::{Value, json};
use touchstone_record::{
    Book, Executor, FanOut, Load, Node, Pipeline, Rounds, SystemFound, Verifier,
};

/// What was found of a system under an executor.
pub enum Found<'a> {
    /// A host over HTTP under load.
    Requests(Rounds<'a>),
    /// Blocks of transfers and queries over a database.
    Node(&'a Executor, &'a Node),
    /// A state that many modules read.
    FanOut(&'a Executor, &'a FanOut),
    /// Messages whose verifier is swapped.
    Pipeline(&'a Executor, &'a Pipeline),
}

impl<'a> Found<'a> {
    /// All of a run, those of a system together.
    pub(super) fn all(book: &'a Book) -> Vec<Self> {
        let mut all: Vec<Self> = Rounds::all(book).into_iter().map(Self::Requests).collect();
        all.extend(book.systems.iter().filter_map(|system| match &system.found {
            SystemFound::Requests(_) => None,
            SystemFound::Node(found) => Some(Self::Node(&system.executor, found)),
            SystemFound::FanOut(found) => Some(Self::FanOut(&system.executor, found)),
            SystemFound::Pipeline(found) => Some(Self::Pipeline(&system.executor, found)),
        }));
        all.sort_by_key(|found| match found {
            Self::Requests(_) => 0,
            Self::Node(..) => 1,
            Self::FanOut(..) => 2,
            Self::Pipeline(..) => 3,
        });
        all
    }

    /// The name for filters.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Requests(found) => format!("requests/{}/{}", found.executor, found.state),
            Self::Node(executor, _) => format!("node/{executor}"),
            Self::FanOut(executor, FanOut { shape, way, bytes, reads, .. }) => {
                format!("fan_out/{executor}/{shape}/{way}/{bytes}_bytes/{reads}_reads")
            }
            Self::Pipeline(executor, Pipeline { verifier, messages, .. }) => {
                format!("pipeline/{}/{}/{messages}_messages", executor.engine, by(verifier))
            }
        }
    }

    /// The records.
    pub(super) fn json(&self) -> Result<Value> {
        let (executor, found) = match self {
            Self::Requests(found) => (found.executor, serde_json::to_value(found.rounds())?),
            Self::Node(executor, found) => (*executor, serde_json::to_value(found)?),
            Self::FanOut(executor, found) => (*executor, serde_json::to_value(found)?),
            Self::Pipeline(executor, found) => (*executor, serde_json::to_value(found)?),
        };
        Ok(json!({ "executor": executor.to_string(), "found": found }))
    }

    /// The heading of its table, the columns, and its row.
    pub(super) fn row(&self) -> (String, Vec<Column>, Vec<String>) {
        let ms = |ns: u64| time(ns as f64);
        let (heading, columns, row): (_, &[Column], _) = match self {
            Self::Requests(found) => {
                let capacity = found.capacity().map(|rate| format!("{rate:.0}"));
                let mut row = vec![found.executor.to_string(), found.state.to_string()];
                row.push(or_none(capacity));
                for quantile in [Load::p50, Load::p99, Load::p999] {
                    row.push(or_none(found.at(Load::COMPARED, quantile).map(time)));
                }
                ("a host over HTTP, latency at 80 % of its capacity", &REQUESTS, row)
            }
            Self::Node(executor, node) => {
                let share = format!("{:.1} %", 100.0 * node.executor_share());
                let rate = format!("{:.1}", node.blocks_per_second());
                let [p50, p99] = [node.queries.p50_ns, node.queries.p99_ns].map(ms);
                ("a node", &NODE, vec![executor.to_string(), rate, share, p50, p99])
            }
            Self::FanOut(executor, found) => {
                let kib = [found.bytes >> 10, found.memory_kib].map(|kib| format!("{kib} KiB"));
                let [state, memory] = kib;
                let [shape, way] = [found.shape.to_string(), found.way.to_string()];
                let (reads, read) = (found.reads.to_string(), time(found.read_ns()));
                let row = vec![executor.to_string(), shape, way, state, reads, read, memory];
                ("a state that many modules read", &FAN_OUT, row)
            }
            Self::Pipeline(executor, found) => {
                let row = vec![
                    executor.engine.clone(),
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
