//! `poll_oneoff`, which never waits.

use super::guest::{Answer, Errno, Guest, offset};
use super::state::State;

const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;

enum Subject {
    /// Until a clock has advanced by so much, ns.
    Clock {
        remaining: u64,
    },
    /// For a descriptor, which is always ready.
    Descriptor {
        fd: u32,
    },
    Invalid(Errno),
}

/// Reports the subscriptions that are ready, and gives their number. If there are only clocks,
/// time advances to the first of them.
pub(super) fn poll(
    state: &mut State,
    guest: &mut Guest<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
) -> Answer<u32> {
    if count == 0 {
        return Err(Errno::Invalid);
    }
    let mut nearest: Option<u64> = None;
    let mut others = false;
    for index in 0..count {
        match subject(state, guest, place(subscriptions, index, SUBSCRIPTION)?)? {
            Subject::Clock { remaining } => {
                nearest = Some(nearest.map_or(remaining, |known| known.min(remaining)));
            }
            _ => others = true,
        }
    }
    // What is ready now is reported without waiting for a clock.
    let waited = if others { 0 } else { nearest.unwrap_or(0) };
    let mut ready = 0;
    for index in 0..count {
        let at = place(subscriptions, index, SUBSCRIPTION)?;
        let (errno, bytes) = match subject(state, guest, at)? {
            Subject::Clock { remaining } if remaining > waited => continue,
            Subject::Clock { .. } => (0, 0),
            Subject::Descriptor { fd } => match state.descriptor(fd) {
                Ok(_) => (0, 1),
                Err(errno) => (errno as u16, 0),
            },
            Subject::Invalid(errno) => (errno as u16, 0),
        };
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&guest.u64(at)?.to_le_bytes());
        event[8..10].copy_from_slice(&errno.to_le_bytes());
        event[10] = guest.bytes((offset(at, 8)?, 1))?[0];
        event[16..24].copy_from_slice(&u64::to_le_bytes(bytes));
        guest.write(place(events, ready, EVENT)?, &event)?;
        ready += 1;
    }
    state.advance(waited);
    Ok(ready)
}

fn place(start: u32, index: u32, size: u32) -> Answer<u32> {
    offset(start, index.checked_mul(size).ok_or(Errno::Fault)?)
}

fn subject(state: &State, guest: &Guest<'_>, at: u32) -> Answer<Subject> {
    Ok(match guest.bytes((offset(at, 8)?, 1))?[0] {
        0 => {
            let id = guest.u32(offset(at, 16)?)?;
            let timeout = guest.u64(offset(at, 24)?)?;
            let is_absolute = guest.u16(offset(at, 40)?)? & 1 != 0;
            match state.now(id) {
                Ok(now) if is_absolute => Subject::Clock { remaining: timeout.saturating_sub(now) },
                Ok(_) => Subject::Clock { remaining: timeout },
                Err(errno) => Subject::Invalid(errno),
            }
        }
        1 | 2 => Subject::Descriptor { fd: guest.u32(offset(at, 16)?)? },
        _ => Subject::Invalid(Errno::Invalid),
    })
}
