//! Substrate's compressed runtime blobs.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::io::Read;

/// The eight bytes before a zstd frame that mark a compressed Substrate
/// runtime (`sp-maybe-compressed-blob`).
pub const PREFIX: [u8; 8] = [82, 188, 83, 118, 70, 219, 142, 5];

/// Largest module that is unpacked, bytes: Substrate's own limit. A few
/// kilobytes of zstd can hold gigabytes.
pub const MAX_UNPACKED: usize = 50 * 1024 * 1024;

/// The module inside a blob; a raw module comes back as it is. Fails when the frame is damaged or
/// holds more than [`MAX_UNPACKED`] bytes.
pub fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    let Some(frame) = bytes.strip_prefix(&PREFIX) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let damaged = |reason: String| Error::Blob { reason };
    // The decoder's own messages are dumps of its state.
    let decoder = ruzstd::decoding::StreamingDecoder::new(frame)
        .map_err(|_| damaged("no zstd frame follows the prefix".to_owned()))?;
    let mut module = Vec::new();
    decoder
        .take(MAX_UNPACKED as u64 + 1)
        .read_to_end(&mut module)
        .map_err(|_| damaged("the zstd frame is damaged or cut off".to_owned()))?;
    if module.len() > MAX_UNPACKED {
        return Err(damaged(format!("it holds more than {MAX_UNPACKED} bytes")));
    }
    Ok(Cow::Owned(module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut blob = PREFIX.to_vec();
        blob.extend(compress_to_vec(content, CompressionLevel::Fastest));
        blob
    }

    #[test]
    fn a_raw_module_is_not_copied() {
        assert!(matches!(unpack(b"\0asm\x01\0\0\0").unwrap(), Cow::Borrowed(_)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "packs 400 KB: too slow")]
    fn a_blob_is_unpacked() {
        let content: Vec<u8> = (0..100_000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        assert_eq!(unpack(&packed(&content)).unwrap(), content);
    }

    #[test]
    #[cfg_attr(miri, ignore = "packs 50 MiB: too slow")]
    fn a_bomb_and_a_damaged_frame_are_refused() {
        assert!(matches!(unpack(&packed(&vec![0; MAX_UNPACKED + 1])), Err(Error::Blob { .. })));
        let mut blob = packed(b"some module that is long enough to be cut");
        blob.truncate(blob.len() / 2);
        assert!(matches!(unpack(&blob), Err(Error::Blob { .. })));
        assert!(matches!(unpack(&PREFIX), Err(Error::Blob { .. })));
    }
}
