//! Blocks of transfers and queries over a database.

use serde::{Deserialize, Serialize};

/// Blocks of transfers and queries over a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {}
