//! The plan of the pipeline: `benches/pipeline.toml`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The content of `benches/pipeline.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelinePlan {
    /// Number of messages of a run.
    pub messages: u64,
    /// The engine that makes all of them by each method.
    pub engine: String,
    /// Estimated time of a run of another engine, ms.
    pub limit_ms: u64,
    /// Number of messages of the long runs.
    pub many: u64,
    /// A published total of that engine.
    pub published: PublishedTotal,
}

/// A published total of the same number of messages.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTotal {
    /// The total, s.
    pub total_s: f64,
    /// How modules were swapped.
    pub method: String,
    /// Processor and system.
    pub machine: String,
}

/// The plan of the project, which is part of this program.
///
/// # Errors
///
/// When the file is invalid.
pub fn plan() -> Result<PipelinePlan> {
    parse(include_str!("../../../benches/pipeline.toml"))
}

fn parse(text: &str) -> Result<PipelinePlan> {
    let plan: PipelinePlan = toml::from_str(text).context("benches/pipeline.toml is invalid")?;
    ensure!(plan.messages > 0 && plan.many > 0, "benches/pipeline.toml wants no messages");
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_the_project_is_valid_and_errors_say_what_is_wrong() {
        assert_eq!(plan().unwrap().messages, 1024);
        let text = include_str!("../../../benches/pipeline.toml");
        for (from, to, says) in [
            ("many ", "more ", "unknown field `more`"),
            ("= 1024", "= 0", "wants no messages"),
            ("[published]", "[other]", "unknown field `other`"),
        ] {
            let error = format!("{:#}", parse(&text.replace(from, to)).unwrap_err());
            assert!(error.contains(says), "{error}");
        }
    }
}
