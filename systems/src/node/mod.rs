//! A node: a runtime guest executes blocks of transfers over a database, while queries arrive on
//! another thread.
//!
//! Each call has a clean instance, as in Substrate: one to begin a block, one per transfer, one to
//! end the block. The guest reads and writes through the host functions of
//! [`touchstone_executor::storage`]. The host keeps the changes of a block in an [`Overlay`] and
//! then commits them durably. Queries read the last committed block.
//!
//! Transfers have no signatures. The state root is not a trie but a digest of the parent's root and
//! the sorted changes ([`root`]). [`Chain`] computes both again without a guest.

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

/// Digest of a state.
pub type Root = [u8; 32];
