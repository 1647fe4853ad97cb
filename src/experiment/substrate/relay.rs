//! The runtime of a relay chain, or another one in a file: boot, genesis and queries.
//!
//! All executors are opened first: their states of the genesis must have the same root, and their
//! queries the same answers. Then they are timed in turns, in one process.

use super::chain::{Boots, STRATEGIES, compare, failed};
use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::files::read_whole;
use crate::lab::{Refused, elapsed};
use crate::plan::{Random, shuffled};
use crate::record::{Executor, Place, Sample, Samples};
use crate::terminal::complain;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_substrate_host::chain::{self, Client, State};

/// The dimension that has the file of the runtime.
const RUNTIME: &str = "runtime";
/// The genesis configuration of a chain for development. A runtime without one has its default.
const PRESET: &str = "development";
/// Rounds, and the time after which an executor has no further round.
const FULL: (usize, Duration) = (5, Duration::from_secs(10));
const SMALL: (usize, Duration) = (1, Duration::ZERO);
/// Queries: the metric with their time, their method with its input, and their calls in a round.
const QUERIES: [(&str, &str, &[u8], u32); 3] = [
    ("call_ns", "Core_version", &[], 100),
    ("nonce_ns", "AccountNonceApi_account_nonce", &ALICE, 100),
    ("metadata_ns", "Metadata_metadata", &[], 10),
];
/// An account of the genesis.
const ALICE: [u8; 32] = [
    0xd4, 0x35, 0x93, 0xc7, 0x15, 0xfd, 0xd3, 0x1c, 0x61, 0x14, 0x1a, 0xbd, 0x04, 0xa9, 0x9f, 0xd6,
    0x82, 0x2c, 0x85, 0x58, 0x85, 0x4c, 0xcd, 0xe3, 0x9a, 0x56, 0x84, 0xe7, 0xa5, 0x6d, 0xa2, 0x7d,
];

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let all = host.executors(asked, &STRATEGIES);
        let executors: Vec<Executor> = all.iter().filter_map(|own| own.place.executor()).collect();
        ensure!(!executors.is_empty(), "no executor is selected");
        let runtimes = asked.values(&host.experiment, RUNTIME).into_iter();
        let question = |runtime| Question {
            place: Place::default().with(RUNTIME, runtime),
            executors: executors.clone(),
            ..Question::default()
        };
        Ok(Planned { questions: runtimes.map(question).collect(), ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, terms } = ask;
        let file = question.place.text(RUNTIME).context("the question names no runtime")?;
        // For the whole of this process.
        let code: &'static [u8] = read_whole(file)?.leak();
        let mut boots = Boots::new(&host, terms, code)?;
        let (rounds, longest) = if terms.small { SMALL } else { FULL };
        let point = |executor: &_| host.point(question.place.at(executor), question.number());
        let refused =
            |own: &_, Refused { status, reason }| Said::point(point(own).refused(status, reason));
        let mut random = Random::new(terms.seed);
        let mut sides: Vec<Side> = Vec::new();
        for executor in shuffled(question.executors.clone(), &mut random) {
            say(Said::Opens(Some(executor.clone())));
            match Side::open(&host, &mut boots, &executor, sides.first()) {
                Ok(side) => sides.push(side),
                Err(reason) => say(refused(&executor, reason)),
            }
        }
        say(Said::Opens(None));
        if let Some(first) = sides.first() {
            complain(&format!(
                "{file}: all have the root {:?} of the genesis, and {} bytes of metadata",
                first.state.root(),
                first.answers[2].len()
            ));
        }
        for round in 1..=rounds {
            say(Said::Step(format!("round {round} of {rounds}")));
            for place in shuffled((0..sides.len()).collect(), &mut random) {
                let side = &mut sides[place];
                if side.failed.is_none() && (round == 1 || side.spent < longest) {
                    side.failed = side.round().err();
                }
            }
        }
        for side in sides {
            let samples =
                |all: &[u64]| Samples(all.iter().map(|ns| Sample::single(*ns as f64)).collect());
            let mut own = point(&side.executor).values(side.values);
            for ((metric, ..), times) in QUERIES.iter().zip(&side.times) {
                own = own.samples(metric, samples(times));
            }
            say(side.failed.map_or_else(|| Said::point(own), |why| refused(&side.executor, why)));
        }
        Ok(())
    }

    fn files(&self, asked: &Asked) -> Vec<PathBuf> {
        let files = asked.values.get(RUNTIME).into_iter().flatten();
        files.map(|file| file.to_string().into()).collect()
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

/// An executor that built the genesis.
struct Side {
    executor: Executor,
    node: Box<dyn Client>,
    state: State,
    /// Size of the runtime and times that are taken once.
    values: [(&'static str, u64); 4],
    answers: [Vec<u8>; 3],
    times: [Vec<u64>; 3],
    /// Time of its rounds.
    spent: Duration,
    /// The reason why a round failed.
    failed: Option<Refused>,
}

impl Side {
    /// Loads the runtime, builds the genesis and queries it, and compares all with another side.
    fn open(
        host: &Host,
        boots: &mut Boots,
        executor: &Executor,
        other: Option<&Self>,
    ) -> Result<Self, Refused> {
        let engine = Arc::clone(host.engine(&executor.engine)?);
        let (node, boot_ns) = boots.boot(&engine, executor.strategy)?;
        let started = Instant::now();
        let preset = |name| chain::preset(&*node, name).map_err(failed);
        let (whole, patch) = (preset(None)?, preset(Some(PRESET))?);
        let preset_ns = elapsed(started);
        let whole = whole.context("the runtime has no genesis configuration")?;
        let config = merged(&whole, patch.as_deref().unwrap_or(b"{}"))?;
        let started = Instant::now();
        let state = chain::genesis(&*node, &config).map_err(failed)?;
        let genesis_ns = elapsed(started);
        let mut side = Self {
            executor: executor.clone(),
            node,
            state,
            values: [
                ("wasm_bytes", boots.code.len() as u64),
                ("boot_ns", boot_ns),
                ("preset_ns", preset_ns),
                ("genesis_ns", genesis_ns),
            ],
            answers: Default::default(),
            times: Default::default(),
            spent: Duration::ZERO,
            failed: None,
        };
        side.answers = [side.query(0)?, side.query(1)?, side.query(2)?];
        if let Some(other) = other {
            compare("root of the genesis", side.state.root(), other.state.root())?;
            compare("answer to a query", &side.answers, &other.answers)?;
        }
        Ok(side)
    }

    fn query(&self, number: usize) -> Result<Vec<u8>, Refused> {
        let (_, method, data, _) = QUERIES[number];
        chain::query(&*self.node, &self.state, method, data).map_err(failed)
    }

    fn round(&mut self) -> Result<(), Refused> {
        let began = Instant::now();
        for (number, (.., calls)) in QUERIES.iter().enumerate() {
            let started = Instant::now();
            for _ in 0..*calls {
                let answer = self.query(number)?;
                compare("answer to a query", &answer, &self.answers[number])?;
            }
            self.times[number].push(elapsed(started) / u64::from(*calls));
        }
        self.spent += began.elapsed();
        Ok(())
    }
}

/// A configuration (JSON) with a patch: objects are merged, other values replaced.
fn merged(whole: &[u8], patch: &[u8]) -> Result<Vec<u8>> {
    fn merge(whole: &mut Value, patch: Value) {
        match (whole, patch) {
            (Value::Object(whole), Value::Object(patch)) => {
                for (key, value) in patch {
                    merge(whole.entry(key).or_insert(Value::Null), value);
                }
            }
            (whole, patch) => *whole = patch,
        }
    }
    let mut config = serde_json::from_slice(whole).context("the genesis configuration")?;
    merge(&mut config, serde_json::from_slice(patch).context("the preset")?);
    Ok(serde_json::to_vec(&config)?)
}
