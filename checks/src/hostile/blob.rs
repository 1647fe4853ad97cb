//! Hostile compressed blobs, built by hand (RFC 8878).

use super::bench::Bench;
use anyhow::{Result, bail};
use touchstone_executor::guest::{GuestModule, HeapPages, MAX_UNPACKED, PREFIX};

/// The number at the start of a frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// Largest unpacked size of a block, bytes.
const BLOCK: u32 = 128 * 1024;

/// A frame without a size: this window descriptor, and blocks that repeat one byte.
fn frame(window: u8, blocks: u32) -> Vec<u8> {
    let mut blob = PREFIX.to_vec();
    blob.extend(MAGIC);
    blob.extend([0, window]);
    for block in 0..blocks {
        let last = u32::from(block + 1 == blocks);
        let repeat = 1;
        blob.extend(&(BLOCK << 3 | repeat << 1 | last).to_le_bytes()[..3]);
        blob.push(0);
    }
    blob
}

/// Names and blobs: 2 GiB of zeros, a window of 1.9 TiB, a claim of 2^64 - 1 bytes.
fn blobs() -> [(&'static str, Vec<u8>); 3] {
    let mut claims = PREFIX.to_vec();
    claims.extend(MAGIC);
    // A single segment with a size of eight bytes.
    claims.push(0b1110_0000);
    claims.extend(u64::MAX.to_le_bytes());
    claims.extend(&frame(0, 1)[PREFIX.len() + MAGIC.len() + 2..]);
    [
        ("2 GiB", frame(8 << 3, 16 * 1024)),
        ("a window of terabytes", frame(31 << 3 | 7, 1)),
        ("a claim of 2^64 bytes", claims),
    ]
}

/// Tries to unpack them.
pub(super) fn make(bench: &mut Bench<'_>) -> Result<()> {
    for (name, blob) in blobs() {
        debug_assert!(blob.len() < MAX_UNPACKED);
        match GuestModule::new(name, &blob, HeapPages::default()) {
            Err(error) => bench.refused(&error.into()),
            Ok(_) => bail!("{name} was taken for a module"),
        }
    }
    Ok(())
}
