//! The content that data segments give a memory; passive segments, and whether a module drops any.

use super::info::Segment;
use crate::error::{Error, Result, SegmentTrap};
use std::collections::BTreeSet;
use touchstone_memory::InitialContent;
use wasmparser::{DataKind, ElementKind, Operator};

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

/// The passive segments of a module, and all that an instruction drops. To drop one that
/// is active or declared changes nothing: that is done since instantiation.
#[derive(Default)]
pub(super) struct Passive {
    data: BTreeSet<u32>,
    elements: BTreeSet<u32>,
    dropped_data: BTreeSet<u32>,
    dropped_elements: BTreeSet<u32>,
}

impl Passive {
    pub(super) fn data(&mut self, index: u32, kind: &DataKind<'_>) {
        if let DataKind::Passive = kind {
            self.data.insert(index);
        }
    }

    pub(super) fn element(&mut self, index: u32, kind: &ElementKind<'_>) {
        if let ElementKind::Passive = kind {
            self.elements.insert(index);
        }
    }

    pub(super) fn operator(&mut self, operator: &Operator<'_>) {
        match *operator {
            Operator::DataDrop { data_index } => self.dropped_data.insert(data_index),
            Operator::ElemDrop { elem_index } => self.dropped_elements.insert(elem_index),
            _ => false,
        };
    }

    /// `true` if any of them is dropped; known after the whole module.
    pub(super) fn any_dropped(&self) -> bool {
        !self.dropped_data.is_disjoint(&self.data)
            || !self.dropped_elements.is_disjoint(&self.elements)
    }
}
