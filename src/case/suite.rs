//! A suite: scenarios on the same guests, in one file.

use super::{Case, Expect, Heap, Input, Take};
use crate::record::{Role, Sweep};
use serde::Deserialize;
use touchstone_executor::abi::Abi;

/// Scenarios and their common settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    /// The guests; every scenario runs on each.
    guests: Vec<Guest>,
    /// Numbers of threads that make calls at the same time.
    threads: Vec<usize>,
    /// How the memory is set up.
    #[serde(default)]
    heap: Heap,
    /// Which strategies the scenarios are run under.
    #[serde(default)]
    sweep: Sweep,
    /// Longest time of a call, seconds, of the scenarios that have no budget of their own.
    #[serde(default)]
    budget_s: Option<f64>,
    /// The codec component that turns inputs into values.
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
    /// Name of the case in records and filters.
    case: String,
    /// Second part of the title.
    title: String,
    /// The exported function.
    export: String,
    /// The calling convention.
    abi: Abi,
    /// The input; empty by default.
    #[serde(default)]
    input: Input,
    /// The expected output; empty by default.
    #[serde(default)]
    output: Input,
    /// Which strategies it is run under; by default those of the suite.
    #[serde(default)]
    sweep: Option<Sweep>,
    /// Longest time of a call, seconds.
    #[serde(default)]
    budget_s: Option<f64>,
    /// Its part in overviews, charts and recommendations.
    #[serde(default)]
    role: Option<Role>,
    /// Whether it is also timed on used instances.
    #[serde(default)]
    warm: bool,
    /// An export that takes the input and ignores it.
    #[serde(default)]
    take: Option<Take>,
}

impl Suite {
    pub(super) fn cases(self) -> Vec<Case> {
        let Self { guests, threads, heap, sweep, budget_s, codec, analysis, scenarios } = self;
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
                sweep: scenario.sweep.unwrap_or(sweep),
                budget_s: scenario.budget_s.or(budget_s),
                role: scenario.role,
                warm: scenario.warm,
                take: scenario.take,
                expect: Expect { output: scenario.output },
                analysis: analysis.clone(),
            })
            .collect()
    }
}
