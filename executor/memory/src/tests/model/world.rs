//! Properties that all memories of a row have in common.

use crate::tests::test_support::kinds;
use crate::{InitialContent, KEEP_RESIDENT, MemoryTemplate, ResetMethod, host_page};
use proptest::prelude::*;
use proptest::sample::select;

/// Host pages that a memory may grow by.
pub(super) const GROWTH: usize = 40;

/// The kind of a row's memories.
#[derive(Debug, Clone, Copy)]
pub(super) struct World {
    pub(super) reset: ResetMethod,
    content: Content,
    /// Host pages of a clean memory.
    pages: usize,
    /// Idle memories that are kept beside one for each thread.
    pub(super) keep: usize,
    /// Quarters of the mappings of a process that other memories take.
    pub(super) crowd: isize,
    /// `true` if the kernel logs page faults, where it can.
    pub(super) logs: bool,
    /// `true` if the memories are told that threads are noted.
    pub(super) notes: bool,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    /// All zero: no image.
    Empty,
    /// Data in every page.
    Dense,
    /// A little data in places far apart, each a mapping of its own.
    Sparse,
}

impl World {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let limit = prop_oneof![
            Just(KEEP_RESIDENT),
            Just(24 * host_page()),
            Just(3 * host_page()),
            Just(0),
        ];
        let reset = limit.prop_flat_map(|limit| select(Vec::from_iter(kinds(limit))));
        let content =
            prop_oneof![Just(Content::Empty), Just(Content::Dense), Just(Content::Sparse)];
        // Those of one word of bits, of a few, and of more runs than a memory may have.
        let pages = prop_oneof![
            2 => 1_usize..20,
            8 => 60_usize..140,
            1 => Just(700),
        ];
        let crowd = prop_oneof![8 => Just(0), 1 => 1_isize..4];
        let logs = prop_oneof![3 => Just(true), 1 => Just(false)];
        (reset, content, pages, 0_usize..3, crowd, logs, any::<bool>()).prop_map(
            |(reset, content, pages, keep, crowd, logs, notes)| Self {
                reset,
                content,
                pages,
                keep,
                crowd,
                logs,
                notes,
            },
        )
    }

    /// Bytes of a clean memory.
    pub(super) fn size(&self) -> usize {
        self.pages * host_page()
    }

    /// Bytes of addresses: more than a memory grows to, so that some are always closed.
    pub(super) fn reserved(&self) -> usize {
        self.size() + (GROWTH + 1) * host_page()
    }

    /// The bytes of a clean memory.
    pub(super) fn clean(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        match self.content {
            Content::Empty => {}
            Content::Dense => {
                for (index, byte) in bytes.iter_mut().enumerate() {
                    *byte = (index % 251) as u8;
                }
            }
            // More than 64 KiB apart.
            Content::Sparse => {
                for part in bytes.chunks_mut(20 * host_page()) {
                    let at = part.len() / 2;
                    part[at] = 5;
                }
                bytes[self.size() - 1] = 7;
            }
        }
        bytes
    }

    /// Every other one is of segments: memories that keep pages then map the image from their start
    /// on.
    pub(super) fn template(&self) -> MemoryTemplate {
        let (clean, page) = (self.clean(), host_page());
        let pages = clean.chunks(page).enumerate().map(|(number, bytes)| (number * page, bytes));
        let segments = pages.filter(|(_, bytes)| bytes.iter().any(|byte| *byte > 0));
        let content = match (self.pages + self.keep).is_multiple_of(2) {
            true => InitialContent::from_segments(clean.len(), segments).unwrap(),
            false => InitialContent::capture(&clean),
        };
        MemoryTemplate::new(content, self.reset).unwrap()
    }
}
