//! The command `touchstone`, as people run it.

mod adopt;
mod cli;
#[path = "../../../tests/fixtures/command.rs"]
mod command;
mod density;
#[path = "../../../tests/fixtures/everywhere.rs"]
mod everywhere;
#[path = "../../../tests/fixtures/records.rs"]
mod fixtures;
mod machines;
mod preview2;
mod quick;
mod report;
mod resets;
mod run;
mod shards;
mod swap;
#[cfg(feature = "systems")]
mod systems;
