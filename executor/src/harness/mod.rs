//! Parts for those who measure and check engines. Embedders and backends need none of them.
//!
//! | part | use |
//! |---|---|
//! | [`check_execution`], [`Kernel`], [`Look`] | how an engine executes guests, by the speed of a kernel |
//! | [`thread_usage`] | page faults, switches and system time of the calling thread |
//! | [`beneath`] | files beneath a folder |
//! | [`swap`] | swapping a memory out |
//! | [`mock`] | an engine for tests |

pub mod beneath;
pub mod mock;
pub mod swap;

pub use crate::probe::{
    INTERPRETED_FROM, Kernel, Look, ThreadUsage, check_execution, thread_usage,
};
