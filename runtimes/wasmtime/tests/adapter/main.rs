//! The adapter, in one program: each further one takes seconds to build.

mod artifacts;
mod collected;
mod component_state;
mod components;
mod json_components;
mod results;
