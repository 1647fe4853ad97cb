//! Messages whose verifier is swapped.

use serde::{Deserialize, Serialize};

/// Messages whose verifier is swapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {}
