//! Hosts that people build around executors, with their networks, databases and queues. They get
//! loaded modules and name no backend. `touchstone systems` measures them.

pub mod fan_out;
pub mod host;
pub mod load;
pub mod node;
pub mod pipeline;
