//! A state that many modules read.

use serde::{Deserialize, Serialize};

/// A state that many modules read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FanOut {}
