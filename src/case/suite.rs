//! A suite: scenarios on the same guests, in one file.

use super::{Case, Expect, Heap, Input, Take};
use serde::Deserialize;
use touchstone_executor::abi::Abi;

/// Scenarios and what they have in common.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    /// Every scenario is run on each.
    guests: Vec<Guest>,
    /// Numbers of threads that make calls at the same time.
    threads: Vec<usize>,
    /// How the memory is set up.
    #[serde(default)]
    heap: Heap,
    /// Strategies of the scenarios that name none; all when left out.
    #[serde(default)]
    strategies: Vec<String>,
    /// Whether each engine runs a scenario under the first of its strategies only that
    /// the engine has.
    #[serde(default)]
    once: bool,
    /// Engines that do not run the scenarios.
    #[serde(default)]
    without: Vec<String>,
    /// The guest that makes values of inputs.
    #[serde(default)]
    codec: Option<String>,
    /// Why the suite exists and how to read it.
    analysis: String,
    /// The cases.
    scenarios: Vec<Scenario>,
}

/// A guest of a suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guest {
    /// Its name.
    name: String,
    /// First part of the titles of the scenarios on it.
    title: String,
}

/// One case of a suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// Name in records and in the names of pairs.
    case: String,
    /// Second part of the title.
    title: String,
    /// The exported function.
    export: String,
    /// How it is called.
    abi: Abi,
    /// What it is given; nothing when left out.
    #[serde(default)]
    input: Input,
    /// What has to come out; nothing when left out.
    #[serde(default)]
    output: Input,
    /// Strategies to run it under; the suite's when left out.
    #[serde(default)]
    strategies: Vec<String>,
    /// Engines that do not run it, beside those of the suite.
    #[serde(default)]
    without: Vec<String>,
    /// Engines that run it only where slow ones are asked for.
    #[serde(default)]
    slow: Vec<String>,
    /// The executor that all others are timed against in turns.
    #[serde(default)]
    against: Option<String>,
    /// Whether it is also timed on used instances.
    #[serde(default)]
    warm: bool,
    /// An export that only takes the input.
    #[serde(default)]
    take: Option<Take>,
}

impl Suite {
    pub(super) fn cases(self) -> Vec<Case> {
        let Self { guests, threads, heap, strategies, once, without, codec, analysis, scenarios } =
            self;
        scenarios
            .into_iter()
            .map(|scenario| Case {
                name: scenario.case,
                guests: guests.iter().map(|guest| guest.name.clone()).collect(),
                titles: guests
                    .iter()
                    .map(|guest| format!("{}/{}", guest.title, scenario.title))
                    .collect(),
                export: scenario.export,
                codec: codec.clone().filter(|_| scenario.abi == Abi::Codec),
                abi: scenario.abi,
                input: scenario.input,
                threads: threads.clone(),
                heap,
                against: scenario.against,
                strategies: match scenario.strategies.is_empty() {
                    true => strategies.clone(),
                    false => scenario.strategies,
                },
                once,
                without: without.iter().cloned().chain(scenario.without).collect(),
                slow: scenario.slow,
                warm: scenario.warm,
                take: scenario.take,
                expect: Expect { output: scenario.output },
                analysis: analysis.clone(),
            })
            .collect()
    }
}
