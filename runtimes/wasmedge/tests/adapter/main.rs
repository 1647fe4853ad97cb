//! The adapter, in one program: each further one takes seconds to build.

mod artifacts;
mod deadline;
mod growth;
mod modes;
mod nested;
mod start;
