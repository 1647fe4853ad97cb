//! The clock of a guest that is stopped at a deadline.

use crate::call::InterruptHandle;
use crate::outcome::{Trap, TrapKind};
use std::time::{Duration, Instant};

/// When a guest is to be stopped. The default never stops it.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    ends: Option<Instant>,
    interrupt: Option<InterruptHandle>,
}

impl Clock {
    /// The clock of a guest that starts now. Without a handle, and without a deadline or with one
    /// beyond all times that the system can tell, it never stops the guest.
    pub fn start(deadline: Option<Duration>, interrupt: Option<InterruptHandle>) -> Self {
        let ends = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        Self { ends, interrupt }
    }

    /// `true` if the clock may stop the guest.
    #[inline]
    pub fn runs(&self) -> bool {
        self.ends.is_some() || self.interrupt.is_some()
    }

    /// Stops the guest where its time is over or somebody interrupts it.
    ///
    /// # Errors
    ///
    /// [`TrapKind::DeadlineExceeded`] from the deadline on, [`TrapKind::Interrupted`].
    #[inline]
    pub fn check(&self) -> Result<(), Trap> {
        match self.ends {
            Some(ends) if Instant::now() >= ends => Err(TrapKind::DeadlineExceeded.into()),
            _ => self.interrupt.as_ref().map_or(Ok(()), InterruptHandle::check),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use crate::call::InterruptHandle;
    use crate::outcome::TrapKind;
    use std::time::Duration;

    #[test]
    fn a_clock_stops_from_its_deadline_on() {
        let ended = Clock::start(Some(Duration::ZERO), None).check().map_err(|trap| trap.kind);
        assert_eq!(ended, Err(TrapKind::DeadlineExceeded));
        assert!(Clock::start(Some(Duration::from_secs(86_400)), None).check().is_ok());
    }

    #[test]
    fn a_clock_without_a_deadline_never_stops() {
        for deadline in [None, Some(Duration::MAX)] {
            assert!(Clock::start(deadline, None).check().is_ok(), "{deadline:?}");
        }
        assert!(Clock::default().check().is_ok());
    }

    #[test]
    fn a_clock_stops_where_somebody_interrupts() {
        let handle = InterruptHandle::new();
        let clock = Clock::start(None, Some(handle.clone()));
        assert!(clock.check().is_ok());
        handle.interrupt();
        assert_eq!(clock.check().map_err(|trap| trap.kind), Err(TrapKind::Interrupted));
        handle.clear();
        assert!(clock.check().is_ok());
    }
}
