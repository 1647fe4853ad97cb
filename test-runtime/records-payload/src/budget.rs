//! A bound on what a message can make its reader do.

use crate::Malformed;

/// Bytes of a message that nothing was said about yet. In what a writer made, no byte
/// belongs to two values, so that an honest message never runs out.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) const fn of(message: &[u8]) -> Self {
        Self(message.len())
    }

    /// Takes the bytes of one value.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.0 = self.0.checked_sub(bytes).ok_or(Malformed::Overlapping)?;
        Ok(())
    }
}
