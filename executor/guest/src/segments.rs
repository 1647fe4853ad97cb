//! The content that data segments give a memory.

use super::info::Segment;
use crate::error::{Error, Result, SegmentTrap};
use touchstone_memory::InitialContent;

/// The content of a memory of `size` bytes. The segments' bytes lie in `wasm`.
pub(super) fn content(size: usize, segments: &[Segment], wasm: &[u8]) -> Result<InitialContent> {
    let place = |segment: &Segment| segment.offset.unwrap_or_default() as usize;
    let placed = segments.iter().map(|segment| (place(segment), &wasm[segment.bytes.clone()]));
    InitialContent::from_segments(size, placed).map_err(|_| Error::Segment(SegmentTrap::Memory))
}

/// The reason why data segments lie too scattered for an image; `None` where they do not.
pub(super) fn scattered(segments: &[Segment]) -> Option<String> {
    InitialContent::scattered(segments.iter().filter_map(Segment::place))
}
