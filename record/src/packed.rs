//! Record files that are packed as one zstd frame.

use anyhow::{Context, Result, ensure};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Read;

/// Largest content of a packed file, bytes. A few kilobytes of zstd can hold gigabytes.
pub const MOST_UNPACKED: usize = 64 << 20;

/// The first bytes of a zstd frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub fn packed(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

/// `true` if a content begins as a packed file does.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The content of a file that may be packed.
/// Fails when the frame is damaged, followed by something, or above [`MOST_UNPACKED`] bytes.
pub fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !is_packed(&bytes) {
        return Ok(bytes);
    }
    let mut rest = bytes.as_slice();
    let mut content = Vec::new();
    // The decoder's own messages are dumps of its state.
    let damaged = "the zstd frame is damaged or cut off";
    let decoder = StreamingDecoder::new(&mut rest).ok().context(damaged)?;
    let read = decoder.take(MOST_UNPACKED as u64 + 1).read_to_end(&mut content);
    read.ok().context(damaged)?;
    ensure!(
        content.len() <= MOST_UNPACKED,
        "the zstd frame holds more than {} MiB",
        MOST_UNPACKED >> 20
    );
    ensure!(rest.is_empty(), "{} bytes follow the zstd frame", rest.len());
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: Vec<u8>) -> String {
        format!("{:#}", unpacked(bytes).unwrap_err())
    }

    #[test]
    fn a_frame_is_read_whole_or_not_at_all() {
        let content = b"{\"kind\":\"run\"}\n".repeat(1000);
        let frame = packed(&content);
        assert!(frame.len() < content.len() / 10);
        assert_eq!(unpacked(frame.clone()).unwrap(), content);
        assert_eq!(unpacked(content.clone()).unwrap(), content);
        for length in [5, 8, frame.len() / 2, frame.len() - 1] {
            assert!(fault(frame[..length].to_vec()).contains("cut off"), "{length}");
        }
        assert!(fault([frame.clone(), vec![1]].concat()).contains("1 bytes follow"));
        assert!(fault([frame.clone(), frame].concat()).contains("follow"));
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let bomb = packed(&vec![b'\n'; MOST_UNPACKED + 1]);
        assert!(bomb.len() < 300 << 10, "{}", bomb.len());
        assert!(fault(bomb).contains("more than 64 MiB"));
    }
}
