//! Records of systems under executors.

mod fan_out;
mod node;
mod pipeline;
pub mod plan;
mod requests;
mod rounds;

pub use fan_out::{FanOut, Shape, Way};
pub use node::Node;
pub use pipeline::{Pipeline, Verifier};
pub use requests::{InstanceState, Load, Requests};
pub use rounds::Rounds;

use super::Executor;
use serde::{Deserialize, Serialize};

/// A system under an executor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// The executor of the guests.
    #[serde(flatten)]
    pub executor: Executor,
    /// What was found.
    pub found: SystemFound,
}

/// The finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemFound {
    /// A host over HTTP under load.
    Requests(Requests),
    /// Blocks of transfers and queries over a database.
    Node(Node),
    /// A state that many modules read.
    FanOut(FanOut),
    /// Messages whose verifier is swapped.
    Pipeline(Pipeline),
}
