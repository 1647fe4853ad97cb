//! Experiments: what all of them share. A declaration in `benches/experiments` names dimensions
//! and metrics, a [`Workload`] measures them. Each question has a process of its own.

mod run;
mod workload;

pub use run::{Asked, Ran, Session, run, serve};
pub use workload::{Ask, Host, Planned, Question, Said, Say, Terms, Workload};

include!(concat!(env!("OUT_DIR"), "/workloads.rs"));

/// The workload of an experiment; `None` if this build has none.
pub fn workload(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().find(|(own, _)| *own == name).map(|(_, workload)| *workload)
}

/// Serves as a host of requests, or as the server of the pipeline, of another process. Fails if
/// this process has no parent that asks for it.
#[cfg(feature = "systems")]
pub fn serve_host(
    is_of_requests: bool,
    cases: &[crate::case::Case],
    engines: &[std::sync::Arc<dyn touchstone_executor::adapter::MeasuredEngine>],
) -> anyhow::Result<()> {
    match is_of_requests {
        true => requests::serve(cases, engines, crate::case::Guests::built()),
        false => pipeline::serve(),
    }
}
