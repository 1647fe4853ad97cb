//! The clock of a guest that is stopped at a deadline.

use crate::outcome::{Trap, TrapKind};
use std::time::{Duration, Instant};

/// When a guest is to be stopped. The default never stops it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    ends: Option<Instant>,
}

impl Clock {
    /// The clock of a guest that starts now. Without a deadline, and with one beyond all times
    /// that the system can tell, it never stops the guest.
    #[must_use]
    pub fn start(deadline: Option<Duration>) -> Self {
        Self { ends: deadline.and_then(|deadline| Instant::now().checked_add(deadline)) }
    }

    /// Stops the guest where its time is over.
    ///
    /// # Errors
    ///
    /// [`TrapKind::DeadlineExceeded`] from the deadline on.
    #[inline]
    pub fn check(self) -> Result<(), Trap> {
        match self.ends {
            Some(ends) if Instant::now() >= ends => Err(TrapKind::DeadlineExceeded.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use crate::outcome::TrapKind;
    use std::time::Duration;

    #[test]
    fn a_clock_stops_from_its_deadline_on() {
        let ended = Clock::start(Some(Duration::ZERO)).check().map_err(|trap| trap.kind);
        assert_eq!(ended, Err(TrapKind::DeadlineExceeded));
        assert!(Clock::start(Some(Duration::from_secs(86_400))).check().is_ok());
    }

    #[test]
    fn a_clock_without_a_deadline_never_stops() {
        for deadline in [None, Some(Duration::MAX)] {
            assert!(Clock::start(deadline).check().is_ok(), "{deadline:?}");
        }
        assert!(Clock::default().check().is_ok());
    }
}
