//! The sections of a module as bytes: replaced, extended, and put in their order.

use super::info::{ALL_PAGES, MemoryLimits};
use crate::error::Result;
use std::borrow::Cow;
use wasm_encoder::{Encode, MemorySection, MemoryType, RawSection, SectionId};
use wasmparser::{BinaryReader, MemorySectionReader, Parser, Payload};

/// The sections of a module, in the order in which a module must have them.
#[derive(Default)]
pub(super) struct Sections<'a>(Vec<(SectionId, Cow<'a, [u8]>)>);

impl<'a> Sections<'a> {
    pub(super) fn of(wasm: &'a [u8]) -> Result<Self> {
        let (mut sections, mut custom_sections) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            if let Payload::CustomSection(custom) = &payload {
                if ["name", "dylink.0"].contains(&custom.name()) {
                    custom_sections.push((SectionId::Custom, Cow::Borrowed(&wasm[custom.range()])));
                }
            } else if let Some((id, range)) = payload.as_section()
                && let Some(id) = section_id(id)
            {
                sections.push((id, Cow::Borrowed(&wasm[range])));
            }
        }
        // They may stand anywhere; at the end they are in nobody's way.
        sections.append(&mut custom_sections);
        Ok(Self(sections))
    }

    pub(super) fn get(&self, id: SectionId) -> Option<&[u8]> {
        self.0.iter().find(|(other, _)| *other == id).map(|(_, content)| &content[..])
    }

    /// Gives the module's first memory these limits. The others can grow to `others` pages, or to
    /// their own maximum if that is lower.
    pub(super) fn limit_memories(&mut self, limits: MemoryLimits, others: u32) -> Result<()> {
        let mut memories = MemorySection::new();
        if let Some(content) = self.get(SectionId::Memory) {
            for memory in MemorySectionReader::new(BinaryReader::new(content, 0))? {
                let memory = memory?;
                let mut ty = MemoryType { memory64: memory.memory64, ..memory_type(limits) };
                if memories.is_empty() {
                    // The limit of 32-bit addresses holds for all.
                    ty.maximum = ty.maximum.or(memory.memory64.then_some(ALL_PAGES.into()));
                } else {
                    let most = u64::from(others).max(memory.initial);
                    ty.minimum = memory.initial;
                    ty.maximum = Some(memory.maximum.map_or(most, |maximum| maximum.min(most)));
                }
                memories.memory(ty);
            }
        } else {
            memories.memory(memory_type(limits));
        }
        self.replace(SectionId::Memory, &memories);
        Ok(())
    }

    /// Adds a custom section.
    pub(super) fn custom(&mut self, section: &(impl Encode + ?Sized)) {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        self.0.push((SectionId::Custom, without_size(&encoded).to_vec().into()));
    }

    pub(super) fn remove(&mut self, id: SectionId) {
        self.0.retain(|(other, _)| *other != id);
    }

    /// Puts a section in the place where it belongs, over an old one if there is one.
    pub(super) fn replace(&mut self, id: SectionId, section: &impl Encode) {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        self.put(id, without_size(&encoded).to_vec());
    }

    pub(super) fn put(&mut self, id: SectionId, content: Vec<u8>) {
        self.remove(id);
        let place =
            self.0.iter().position(|(other, _)| order(*other) > order(id)).unwrap_or(self.0.len());
        self.0.insert(place, (id, Cow::Owned(content)));
    }

    pub(super) fn prepend(&mut self, id: SectionId, section: &impl Encode) {
        self.merge(id, section, |old, new| [new, old].concat());
    }

    pub(super) fn append(&mut self, id: SectionId, section: &impl Encode) {
        self.merge(id, section, |old, new| [old, new].concat());
    }

    fn merge(&mut self, id: SectionId, section: &impl Encode, join: fn(&[u8], &[u8]) -> Vec<u8>) {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        let (more, new) = leading_number(without_size(&encoded));
        if more == 0 {
            return;
        }
        let (count, old) = self.get(id).map_or((0, &[][..]), leading_number);
        let mut content = Vec::new();
        (count + more).encode(&mut content);
        content.extend(join(old, new));
        self.put(id, content);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        let mut module = wasm_encoder::Module::new();
        for (id, data) in &self.0 {
            module.section(&RawSection { id: *id as u8, data });
        }
        module.finish()
    }
}

pub(super) fn memory_type(limits: MemoryLimits) -> MemoryType {
    MemoryType {
        minimum: limits.minimum.into(),
        maximum: limits.maximum.map(Into::into),
        memory64: false,
        shared: false,
        page_size_log2: None,
    }
}

/// The content of an encoded section, which begins with its size.
fn without_size(encoded: &[u8]) -> &[u8] {
    leading_number(encoded).1
}

/// The LEB128 number that bytes begin with, and the bytes after it. They are of a module that was
/// validated, so that the number fits.
pub(super) fn leading_number(bytes: &[u8]) -> (u32, &[u8]) {
    let size = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
    let (number, rest) = bytes.split_at(size);
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | u32::from(byte & 0x7f));
    (value, rest)
}

fn section_id(id: u8) -> Option<SectionId> {
    use SectionId::*;
    [
        Type, Import, Function, Table, Memory, Global, Export, Start, Element, Code, Data,
        DataCount, Tag,
    ]
    .into_iter()
    .find(|known| *known as u8 == id)
}

/// Place of a section in a module; the name section comes last.
fn order(id: SectionId) -> u8 {
    use SectionId::*;
    match id {
        Type => 1,
        Import => 2,
        Function => 3,
        Table => 4,
        Memory => 5,
        Tag => 6,
        Global => 7,
        Export => 8,
        Start => 9,
        Element => 10,
        DataCount => 11,
        Code => 12,
        Data => 13,
        Custom => 14,
    }
}
