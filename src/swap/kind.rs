//! The kinds of messages.

use crate::case::Case;
use crate::lab::{Guests, Refused};
use std::sync::Arc;
use touchstone_executor::guest::GuestModule;

/// A kind of message: a module, an input, and the expected answer.
#[derive(Debug, Clone)]
pub struct Kind {
    /// The case.
    pub case: Arc<Case>,
    /// The module.
    pub guest: GuestModule,
    /// The input.
    pub input: Arc<[u8]>,
    /// The expected answer.
    pub expected: Arc<[u8]>,
}

/// The two kinds of two cases, on the first guest of each.
///
/// # Errors
///
/// When a guest is missing or cannot be hosted, or an input cannot be made.
pub fn kinds(cases: [&Arc<Case>; 2], guests: &mut Guests) -> anyhow::Result<Arc<[Kind; 2]>> {
    let mut kind = |case: &Arc<Case>| -> anyhow::Result<Kind> {
        let guest = guests.module(&case.guests[0], case.heap.into())?;
        let heap_base = guest.info().heap_base;
        Ok(Kind {
            input: case.input.bytes(heap_base)?.into(),
            expected: case.expect.output.bytes(heap_base)?.into(),
            case: Arc::clone(case),
            guest,
        })
    };
    Ok(Arc::new([kind(cases[0])?, kind(cases[1])?]))
}

impl Kind {
    /// A refusal that names the kind.
    pub(super) fn refused(&self, refused: Refused) -> Refused {
        Refused { reason: format!("{}: {}", self.case.name, refused.reason), ..refused }
    }
}
