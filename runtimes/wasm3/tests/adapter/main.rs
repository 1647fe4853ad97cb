//! The adapter, in one program: each further one takes seconds to build.

mod adapter;
mod functions;
