//! A host over HTTP under load.

use super::Measuring;
use anyhow::Result;

/// Measures it on every executor that the filter selects.
///
/// # Errors
///
/// When a record cannot be written.
pub(super) fn measure(_measuring: &mut Measuring<'_>) -> Result<()> {
    Ok(())
}
