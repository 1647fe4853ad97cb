//! The harness over mock engines: plans, workers, samples, comparisons, interrupted runs.

mod comparisons;
mod confined;
mod experiment;
#[path = "../fixtures/records.rs"]
mod fixtures;
mod matrix;
#[path = "../fixtures/mocked.rs"]
mod mocked;
mod resume;
mod retries;
mod sampling;
mod shards;
mod suites;
mod warm;
mod workers;
