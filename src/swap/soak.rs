//! Many swaps by one method, to find leaked memory.

use super::{Messages, Ready};
use crate::lab::Refused;
use crate::record::{Executor, SoakPoint, Swap, SwapFound};

/// Number of swaps after which allocators have taken their arenas.
const WARM: u64 = 1000;

/// How often the memory is read after the first time.
const LOOKS: u64 = 10;

/// Makes `swaps` swaps, each with a message of the other kind, and reads the resident memory
/// meanwhile. The first point is after 1000 swaps, or after a tenth of fewer than 10,000.
///
/// # Errors
///
/// When a module cannot be loaded or an answer is wrong.
pub fn soak(
    ready: Ready,
    swaps: u64,
    mut progress: impl FnMut(SoakPoint),
) -> Result<Swap, Refused> {
    let (engine, strategy) = (ready.engine.id().to_owned(), ready.strategy);
    let method = ready.method.to_string();
    let mut messages = Messages::new(ready)?;
    let mut looks: Vec<u64> = (1..=LOOKS).map(|part| swaps * part / LOOKS).collect();
    looks.insert(0, WARM.min(swaps / LOOKS));
    looks.dedup();
    let mut points = Vec::new();
    let mut made = 0;
    for look in looks {
        while made < look {
            messages.send(1 - messages.last())?;
            made += 1;
        }
        let point = SoakPoint { swaps: made, rss_kib: resident_kib() };
        progress(point);
        points.push(point);
    }
    let found = SwapFound::Soak { points };
    Ok(Swap { executor: Executor { engine, strategy }, method, found })
}

/// Resident memory of this process in KiB, from `/proc/self/smaps_rollup`, which is exact; the
/// counters in `statm` and `status` lag behind by hundreds of pages. 0 if the kernel does not
/// report it.
#[must_use]
pub fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    text.lines().find_map(rss).unwrap_or(0)
}

/// The value of the `Rss` line, KiB.
fn rss(line: &str) -> Option<u64> {
    line.strip_prefix("Rss:")?.trim().strip_suffix("kB")?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_resident() {
        let before = resident_kib();
        let written = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_kib();
        assert!(written.iter().all(|byte| *byte == 1));
        // Another test may have given back as much as half of it meanwhile.
        assert!(before > 0 && after > before + 32 * 1024, "{before} to {after}");
    }

    #[test]
    fn the_line_is_read_as_the_kernel_writes_it() {
        assert_eq!(rss("Rss:               97436 kB"), Some(97_436));
        assert_eq!(rss("Pss:               97436 kB"), None);
    }
}
