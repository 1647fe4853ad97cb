//! The built guests and cases under every strategy of every engine.

mod accounts;
mod components;
#[path = "../fixtures/everywhere.rs"]
mod everywhere;
mod faults;
mod init;
#[cfg(feature = "systems")]
mod integrity;
mod json;
mod karmem;
mod kernels;
mod layouts;
mod link;
#[path = "../fixtures/mocked.rs"]
mod mocked;
mod outputs;
mod programs;
mod refusals;
mod regions;
#[path = "../fixtures/run.rs"]
mod run;
mod segments;
mod signatures;
mod values;
