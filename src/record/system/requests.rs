//! A host over HTTP under load.

use serde::{Deserialize, Serialize};

/// A host over HTTP under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {}
