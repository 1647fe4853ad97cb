//! Systems under executors: what executors cost where people use them.
//!
//! The hosts are in the crate `touchstone-systems`. This module loads the guests for them, under
//! every engine and strategy that a [`Filter`] selects, and records what they find.

mod fan_out;
pub mod host;
mod node;
mod pipeline;
pub mod requests;

pub use pipeline::serve as serve_pipeline;

use crate::case::Guests;
use crate::plan::Filter;
use crate::record::{Executor, Line, Refusal, Sink, System};
use crate::supervise::Stop;
use crate::terminal::progress::Progress;
use anyhow::Result;
use std::sync::Arc;
use std::time::Duration;
use strum::{EnumString, VariantNames};
use touchstone_executor::{Engine, Strategy};

/// A system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Name {
    /// A host over HTTP under load.
    Requests,
    /// Blocks of transfers and queries over a database.
    Node,
    /// A state that many modules read.
    FanOut,
    /// Messages whose verifier is swapped.
    Pipeline,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// As published.
    Full,
    /// Everything once, for tests: times are not comparable.
    Small,
}

/// What measuring a system needs.
pub struct Measuring<'a> {
    /// The engines of this build.
    pub engines: &'a [Arc<dyn Engine>],
    /// The guests.
    pub guests: &'a mut Guests,
    /// Selects executors by name, `<engine>_<strategy>`.
    pub filter: &'a Filter,
    /// How much is measured.
    pub size: Size,
    /// Seed of arrival times, orders and messages.
    pub seed: u64,
    /// Asked between two measurements.
    pub stop: &'a Stop,
    /// What is done, and what is left.
    pub progress: &'a Progress,
    /// Where the records go.
    pub records: &'a mut dyn Sink,
    /// How much longer some calls of a host under load take, for tests.
    pub stall: Duration,
    /// Whether something failed or was wrong.
    pub failed: bool,
}

impl Name {
    /// Measures the system.
    ///
    /// # Errors
    ///
    /// When a record cannot be written.
    pub fn measure(self, measuring: &mut Measuring<'_>) -> Result<()> {
        match self {
            Self::Requests => requests::measure(measuring),
            Self::Node => node::measure(measuring),
            Self::FanOut => fan_out::measure(measuring),
            Self::Pipeline => pipeline::measure(measuring),
        }
    }
}

impl Measuring<'_> {
    /// The executors that the filter selects, of some strategies on each engine.
    #[must_use]
    pub fn executors(&self, strategies: &[Strategy]) -> Vec<(Arc<dyn Engine>, Strategy)> {
        let all = self.engines.iter();
        let all = all.flat_map(|engine| strategies.iter().map(move |own| (engine.clone(), *own)));
        let is_meant = |(engine, strategy): &(Arc<dyn Engine>, Strategy)| {
            let executor = Executor { engine: engine.id().to_owned(), strategy: *strategy };
            self.filter.matches(&executor.to_string())
        };
        all.filter(is_meant).collect()
    }

    /// Records what was found.
    ///
    /// # Errors
    ///
    /// When the record cannot be written.
    pub fn found(&mut self, system: System) -> Result<()> {
        self.records.append(&Line::System(Box::new(system)))
    }

    /// Records that an executor cannot be measured, and says so if it is a failure.
    ///
    /// # Errors
    ///
    /// When the record cannot be written.
    pub fn refused(&mut self, refusal: Refusal) -> Result<()> {
        if refusal.status.is_failure() {
            self.failed = true;
            self.progress.print(&format!("{}: {}", refusal.engine, refusal.reason));
        }
        self.records.append(&Line::Refusal(refusal))
    }
}
