//! Encodes the sections of all modules as one module.

use super::part::{FUNCTIONS, GLOBALS, MEMORIES, Part, TABLES, TAGS};
use super::{Indices, MAIN, Plan};
use crate::error::Result;
use crate::sections::{Sections, reencoded, unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    DataCountSection, ElementSection, Elements, ImportSection, Instruction, MemorySection, NameMap,
    NameSection, SectionId,
};
use wasmparser::{
    BinaryReader, CustomSectionReader, KnownCustom, Name, NameSectionReader, Operator, TypeRef,
};

/// The merged module without a start function. Its constant expressions may read globals that
/// those of a valid module cannot.
///
/// `sections` are the types.
pub(super) fn merged<'a>(
    parts: &[Part<'a>],
    plan: &Plan<'_>,
    mut sections: Sections<'a>,
) -> Result<Vec<u8>> {
    let indices = |(part, new)| Encoder { part, new, references: BTreeSet::new() };
    let mut all: Vec<_> = parts.iter().zip(&plan.indices).map(indices).collect();
    let mut imports = ImportSection::new();
    for (part, import) in &plan.imports {
        let ty = all[*part].entity_type(import.ty).map_err(unknown)?;
        imports.import(&import.module, &import.name, ty);
    }
    sections.append(SectionId::Import, &imports);
    let mut memories = MemorySection::new();
    for (part, memory) in &plan.memories {
        if let TypeRef::Memory(ty) = parts[*part].ty(*memory) {
            memories.memory(ty.into());
        }
    }
    sections.append(SectionId::Memory, &memories);
    let (mut names, mut declared) = (BTreeMap::new(), BTreeSet::new());
    for (part, encoder) in parts.iter().zip(&mut all) {
        for (id, content) in part.sections.iter() {
            match id {
                SectionId::Type | SectionId::Import | SectionId::Memory | SectionId::Start => {}
                SectionId::Export if part.name != MAIN => {}
                SectionId::Custom => {
                    let custom = CustomSectionReader::new(BinaryReader::new(content, 0))?;
                    match custom.as_known() {
                        KnownCustom::Name(reader) => encoder.take_names(reader, &mut names),
                        _ => sections.custom(content),
                    }
                }
                SectionId::DataCount => {
                    let count = parts.last().map_or(0, |last| last.counts.data);
                    sections.replace(id, &DataCountSection { count });
                }
                _ => sections.append_content(id, &reencoded(encoder, id, content)?),
            }
        }
        // Code may refer to a function because it is exported.
        let exported = part.exports.values().filter(|item| item.space == FUNCTIONS);
        let exported = exported.map(|item| encoder.new[FUNCTIONS][item.index as usize]);
        declared.extend(exported.filter(|function| encoder.references.contains(function)));
    }
    if !declared.is_empty() {
        let mut elements = ElementSection::new();
        elements.declared(Elements::Functions(declared.into_iter().collect()));
        sections.append(SectionId::Element, &elements);
    }
    if !names.is_empty() {
        let (mut section, mut functions) = (NameSection::new(), NameMap::new());
        names.iter().for_each(|(function, name)| functions.append(*function, name));
        section.functions(&functions);
        sections.custom(&section.as_custom());
    }
    Ok(sections.finish())
}

/// Gives what a module names its new indices.
struct Encoder<'a> {
    part: &'a Part<'a>,
    new: &'a Indices,
    /// Functions to which its code refers.
    references: BTreeSet<u32>,
}

impl Encoder<'_> {
    fn take_names<'n>(&self, reader: NameSectionReader<'n>, names: &mut BTreeMap<u32, &'n str>) {
        for subsection in reader {
            let Ok(Name::Function(functions)) = subsection else { continue };
            for naming in functions.into_iter().map_while(Result::ok) {
                if let Some(new) = self.new[FUNCTIONS].get(naming.index as usize) {
                    names.insert(*new, naming.name);
                }
            }
        }
    }

    /// An item that validation has seen to exist.
    fn item(&self, space: usize, index: u32) -> Result<u32, ReencodeError> {
        Ok(self.new[space][index as usize])
    }
}

impl Reencode for Encoder<'_> {
    type Error = Infallible;

    fn type_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        Ok(self.part.before.types + index)
    }

    fn element_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        Ok(self.part.before.elements + index)
    }

    fn data_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        Ok(self.part.before.data + index)
    }

    fn function_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        self.item(FUNCTIONS, index)
    }

    fn table_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        self.item(TABLES, index)
    }

    fn memory_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        self.item(MEMORIES, index)
    }

    fn global_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        self.item(GLOBALS, index)
    }

    fn tag_index(&mut self, index: u32) -> Result<u32, ReencodeError> {
        self.item(TAGS, index)
    }

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, ReencodeError> {
        let instruction = utils::instruction(self, operator)?;
        if let Instruction::RefFunc(function) = instruction {
            self.references.insert(function);
        }
        Ok(instruction)
    }
}
