//! Many swaps by one method, to find leaked memory.

use super::{Messages, Ready};
use crate::lab::Refused;
use crate::measure::resident_kib;

/// Number of swaps after which allocators have taken their arenas.
const WARM: u64 = 1000;

/// How often the memory is read after the first time.
const LOOKS: u64 = 10;

/// Makes `swaps` swaps, each with a message of the other kind, and reads the resident memory
/// meanwhile: `look` gets the swaps so far and KiB. The first point is after 1000 swaps, or after a
/// tenth of fewer than 10,000. Fails if a module cannot be loaded or an answer is wrong.
pub fn soak(ready: Ready, swaps: u64, mut look: impl FnMut(u64, u64)) -> Result<(), Refused> {
    let mut messages = Messages::new(ready)?;
    let mut looks: Vec<u64> = (1..=LOOKS).map(|part| swaps * part / LOOKS).collect();
    looks.insert(0, WARM.min(swaps / LOOKS));
    looks.dedup();
    let mut made = 0;
    for next in looks {
        while made < next {
            messages.send(1 - messages.last())?;
            made += 1;
        }
        look(made, resident_kib());
    }
    Ok(())
}
