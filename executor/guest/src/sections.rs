//! The sections of a module as bytes: replaced, extended, and put in their order.

use super::info::{ALL_PAGES, MemoryLimits};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode};
use wasm_encoder::{
    CodeSection, DataSection, ElementSection, Encode, ExportSection, FunctionSection,
    GlobalSection, MemorySection, MemoryType, RawSection, SectionId, StartSection, TableSection,
    TagSection, TypeSection,
};
use wasmparser::{
    BinaryReader, CodeSectionReader, DataSectionReader, ElementSectionReader, ExportSectionReader,
    FunctionSectionReader, GlobalSectionReader, MemorySectionReader, Parser, Payload,
    TableSectionReader, TagSectionReader, TypeSectionReader,
};

/// The sections of a module, in the order in which a module must have them.
#[derive(Clone, Default)]
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
                && let Some(id) = ORDER.into_iter().find(|known| *known as u8 == id)
            {
                sections.push((id, Cow::Borrowed(&wasm[range])));
            }
        }
        // They may stand anywhere; at the end they are in nobody's way.
        sections.append(&mut custom_sections);
        Ok(Self(sections))
    }

    /// The sections: what they are, and their content.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SectionId, &[u8])> {
        self.0.iter().map(|(id, content)| (*id, &content[..]))
    }

    /// Encodes these sections once more, where the module has them.
    pub(super) fn reencode(
        &mut self,
        reencoder: &mut impl Reencode<Error = Infallible>,
        which: &[SectionId],
    ) -> Result<()> {
        for (id, content) in self.0.iter_mut().filter(|(id, _)| which.contains(id)) {
            *content = reencoded(reencoder, *id, content)?.into();
        }
        Ok(())
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

    pub(super) fn custom(&mut self, section: &(impl Encode + ?Sized)) {
        self.0.push((SectionId::Custom, content(section).into()));
    }

    pub(super) fn remove(&mut self, id: SectionId) {
        self.0.retain(|(other, _)| *other != id);
    }

    /// Puts a section in the place where it belongs, over an old one if there is one. An empty
    /// section goes.
    pub(super) fn replace(&mut self, id: SectionId, section: &impl Encode) {
        match content(section) {
            content if content == [0] && id != SectionId::Start => self.remove(id),
            content => self.put(id, content),
        }
    }

    pub(super) fn put(&mut self, id: SectionId, content: Vec<u8>) {
        self.remove(id);
        let place =
            self.0.iter().position(|(other, _)| order(*other) > order(id)).unwrap_or(self.0.len());
        self.0.insert(place, (id, Cow::Owned(content)));
    }

    pub(super) fn prepend(&mut self, id: SectionId, section: &impl Encode) {
        self.merge(id, &content(section), |old, new| [new, old].concat());
    }

    pub(super) fn append(&mut self, id: SectionId, section: &impl Encode) {
        self.append_content(id, &content(section));
    }

    pub(super) fn append_content(&mut self, id: SectionId, content: &[u8]) {
        self.merge(id, content, |old, new| [old, new].concat());
    }

    fn merge(&mut self, id: SectionId, new: &[u8], join: fn(&[u8], &[u8]) -> Vec<u8>) {
        let (more, new) = leading_number(new);
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

/// The content of a section, which its encoding begins with the size of.
fn content(section: &(impl Encode + ?Sized)) -> Vec<u8> {
    let mut encoded = Vec::new();
    section.encode(&mut encoded);
    leading_number(&encoded).1.to_vec()
}

/// The content of a section with other indices or expressions; of a section without any, as it is.
pub(super) fn reencoded(
    reencoder: &mut impl Reencode<Error = Infallible>,
    id: SectionId,
    old: &[u8],
) -> Result<Vec<u8>> {
    let bytes = BinaryReader::new(old, 0);
    macro_rules! encode {
        ($section:ident, $reader:ident, $parse:ident) => {{
            let mut new = $section::new();
            reencoder.$parse(&mut new, $reader::new(bytes)?).map_err(unknown)?;
            content(&new)
        }};
    }
    Ok(match id {
        SectionId::Type => encode!(TypeSection, TypeSectionReader, parse_type_section),
        SectionId::Function => {
            encode!(FunctionSection, FunctionSectionReader, parse_function_section)
        }
        SectionId::Table => encode!(TableSection, TableSectionReader, parse_table_section),
        SectionId::Memory => encode!(MemorySection, MemorySectionReader, parse_memory_section),
        SectionId::Tag => encode!(TagSection, TagSectionReader, parse_tag_section),
        SectionId::Global => encode!(GlobalSection, GlobalSectionReader, parse_global_section),
        SectionId::Export => encode!(ExportSection, ExportSectionReader, parse_export_section),
        SectionId::Element => encode!(ElementSection, ElementSectionReader, parse_element_section),
        SectionId::Code => encode!(CodeSection, CodeSectionReader, parse_code_section),
        SectionId::Data => encode!(DataSection, DataSectionReader, parse_data_section),
        SectionId::Start => {
            let start = reencoder.start_section(leading_number(old).0).map_err(unknown)?;
            content(&StartSection { function_index: start })
        }
        _ => old.to_vec(),
    })
}

/// The error of a module that cannot be encoded again.
pub(super) fn unknown(error: ReencodeError) -> Error {
    Error::unhostable(format!("it cannot be rewritten: {error}"))
}

/// The LEB128 number that bytes begin with, and the bytes after it. They are of a module that was
/// validated, so that the number fits.
pub(super) fn leading_number(bytes: &[u8]) -> (u32, &[u8]) {
    let size = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
    let (number, rest) = bytes.split_at(size);
    let value = number.iter().rev().fold(0, |value, byte| value << 7 | u32::from(byte & 0x7f));
    (value, rest)
}

/// Sections in the order that a module has them; the name section comes last.
const ORDER: [SectionId; 14] = {
    use SectionId::*;
    [
        Type, Import, Function, Table, Memory, Tag, Global, Export, Start, Element, DataCount,
        Code, Data, Custom,
    ]
};

fn order(id: SectionId) -> Option<usize> {
    ORDER.iter().position(|known| *known == id)
}
