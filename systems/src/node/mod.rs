//! A node: blocks of transfers that a runtime guest executes over a database, while queries
//! arrive on another thread.
//!
//! Each call is made on a clean instance, as Substrate does: one to begin a block, one for each
//! transfer, one to end the block. The guest reads and writes through the host functions of
//! [`touchstone_executor::storage`]. The host keeps the changes of a block in an [`Overlay`], and
//! then commits them to the database, durably. Queries read the last committed block.
//!
//! Transfers have no signatures. The state root is a digest of the parent's root and the sorted
//! changes of the block ([`root`]), not a trie. [`Chain`] computes both a second time, without a
//! guest.

mod chain;
mod database;
mod host;
mod overlay;
mod run;

pub use chain::{Applied, Block, Chain, Transfer};
pub use database::{Database, Snapshot};
pub use host::{Blocks, Queries};
pub use overlay::{Base, Changes, Overlay, root};
pub use run::{Call, Found, Runtime, Settings, run};

/// A digest of a state.
pub type Root = [u8; 32];
