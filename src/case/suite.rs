//! A suite: scenarios on the same guests, in one file.

use super::{Also, Case, Expect, GuestName, Input, Library, Take, Without};
use crate::record::{Role, Sweep};
use serde::Deserialize;
use touchstone_executor::guest::HeapPages;
use touchstone_executor::{Abi, Imports, Strategy};

/// Scenarios and their common settings; the fields are those of [`Case`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Suite {
    guests: Vec<Guest>,
    threads: Vec<usize>,
    #[serde(default)]
    heap: HeapPages,
    #[serde(default)]
    sweep: Sweep,
    #[serde(default)]
    strategies: Vec<Strategy>,
    #[serde(default)]
    without: Vec<Without>,
    budget_s: Option<f64>,
    #[serde(default)]
    link: Vec<Library>,
    #[serde(default = "super::stubs")]
    imports: Imports,
    init: Option<String>,
    codec: Option<String>,
    analysis: String,
    scenarios: Vec<Scenario>,
}

/// A guest of a suite. Titles are `<guest's title>/<scenario's title>`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Guest {
    name: GuestName,
    title: String,
}

/// A case of a suite. Its sweep and budget default to the suite's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    case: String,
    title: String,
    export: String,
    abi: Abi,
    #[serde(default)]
    input: Input,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    output: Input,
    sweep: Option<Sweep>,
    budget_s: Option<f64>,
    role: Option<Role>,
    #[serde(default)]
    warm: bool,
    take: Option<Take>,
    #[serde(default)]
    also: Vec<Also>,
}

impl Suite {
    pub(super) fn cases(self) -> Vec<Case> {
        let case = |scenario: Scenario| Case {
            name: scenario.case,
            guests: self.guests.iter().map(|guest| guest.name.clone()).collect(),
            titles: self
                .guests
                .iter()
                .map(|guest| format!("{}/{}", guest.title, scenario.title))
                .collect(),
            link: self.link.clone(),
            imports: self.imports,
            init: self.init.clone(),
            export: scenario.export,
            codec: self.codec.clone().filter(|_| scenario.abi == Abi::Codec),
            abi: scenario.abi,
            input: scenario.input,
            arguments: scenario.arguments,
            threads: self.threads.clone(),
            heap: self.heap,
            sweep: scenario.sweep.unwrap_or(self.sweep),
            strategies: self.strategies.clone(),
            without: self.without.clone(),
            budget_s: scenario.budget_s.or(self.budget_s),
            role: scenario.role,
            warm: scenario.warm,
            take: scenario.take,
            expect: Expect { output: scenario.output },
            also: scenario.also,
            analysis: self.analysis.clone(),
        };
        self.scenarios.into_iter().map(case).collect()
    }
}
