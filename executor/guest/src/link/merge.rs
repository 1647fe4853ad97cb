//! Encodes the sections of all modules as one module.

use super::part::{FUNCTIONS, GLOBALS, MEMORIES, Part, SPACES, TABLES, TAGS};
use super::types::Types;
use super::{MAIN, Plan};
use crate::error::Result;
use crate::patch::unknown;
use crate::sections::Sections;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, Elements, ExportSection,
    FunctionSection, GlobalSection, ImportSection, Instruction, MemorySection, NameMap,
    NameSection, SectionId, TableSection, TagSection,
};
use wasmparser::{
    BinaryReader, CodeSectionReader, KnownCustom, Name, NameSectionReader, Operator, Parser,
    Payload, TypeRef,
};

/// The merged module without a start function, and the start functions of all. Its constant
/// expressions may read globals that those of a valid module cannot.
pub(super) fn merged(
    parts: &[Part<'_>],
    plan: &Plan<'_>,
    types: &Types,
) -> Result<(Vec<u8>, Vec<u32>)> {
    let mut sections = Sections::default();
    sections.append(SectionId::Type, &types.section);
    let data = parts.last().map_or(0, |last| last.counts().data);
    let indices = |(part, new)| Indices { part, new, data, references: BTreeSet::new() };
    let mut all: Vec<_> = parts.iter().zip(&plan.indices).map(indices).collect();
    let mut imports = ImportSection::new();
    for (part, import) in &plan.imports {
        let ty = all[*part].entity_type(import.ty).map_err(unknown)?;
        imports.import(import.module, import.name, ty);
    }
    sections.append(SectionId::Import, &imports);
    let mut memories = MemorySection::new();
    for (part, memory) in &plan.memories {
        if let TypeRef::Memory(ty) = parts[*part].items[MEMORIES][*memory as usize] {
            memories.memory(ty.into());
        }
    }
    sections.append(SectionId::Memory, &memories);
    let (mut names, mut declared) = (BTreeMap::new(), BTreeSet::new());
    for (part, indices) in parts.iter().zip(&mut all) {
        for payload in Parser::new(0).parse_all(part.wasm) {
            match payload? {
                Payload::CustomSection(custom) => match custom.as_known() {
                    KnownCustom::Name(reader) => indices.take_names(reader, &mut names),
                    // Of the main module only. It says where the main module's data begins.
                    KnownCustom::Dylink0(_) => sections.custom(&part.wasm[custom.range()]),
                    _ => {}
                },
                payload => indices.encode(payload, &mut sections).map_err(unknown)?,
            }
        }
        // Code may refer to a function because it is exported.
        let exported = part.exports.values().filter(|item| item.space == FUNCTIONS);
        let exported = exported.map(|item| indices.new[FUNCTIONS][item.index as usize]);
        declared.extend(exported.filter(|function| indices.references.contains(function)));
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
    let start = |(part, indices): (&Part<'_>, &Indices<'_>)| {
        part.start.map(|start| indices.new[FUNCTIONS][start as usize])
    };
    Ok((sections.finish(), parts.iter().zip(&all).filter_map(start).collect()))
}

/// The new indices of a module.
struct Indices<'a> {
    part: &'a Part<'a>,
    new: &'a [Vec<u32>; SPACES],
    /// Data segments of all modules.
    data: u32,
    /// Functions to which its code refers.
    references: BTreeSet<u32>,
}

impl Indices<'_> {
    /// Adds a section to those of the modules before. Types, imports and memories are there.
    fn encode(
        &mut self,
        payload: Payload<'_>,
        sections: &mut Sections<'_>,
    ) -> Result<(), ReencodeError> {
        match payload {
            Payload::FunctionSection(section) => {
                let mut functions = FunctionSection::new();
                self.parse_function_section(&mut functions, section)?;
                sections.append(SectionId::Function, &functions);
            }
            Payload::TableSection(section) => {
                let mut tables = TableSection::new();
                self.parse_table_section(&mut tables, section)?;
                sections.append(SectionId::Table, &tables);
            }
            Payload::TagSection(section) => {
                let mut tags = TagSection::new();
                self.parse_tag_section(&mut tags, section)?;
                sections.append(SectionId::Tag, &tags);
            }
            Payload::GlobalSection(section) => {
                let mut globals = GlobalSection::new();
                self.parse_global_section(&mut globals, section)?;
                sections.append(SectionId::Global, &globals);
            }
            Payload::ExportSection(section) if self.part.name == MAIN => {
                let mut exports = ExportSection::new();
                self.parse_export_section(&mut exports, section)?;
                sections.append(SectionId::Export, &exports);
            }
            Payload::ElementSection(section) => {
                let mut elements = ElementSection::new();
                self.parse_element_section(&mut elements, section)?;
                sections.append(SectionId::Element, &elements);
            }
            Payload::CodeSectionStart { range, .. } => {
                let reader = BinaryReader::new(&self.part.wasm[range.clone()], range.start);
                let mut code = CodeSection::new();
                self.parse_code_section(&mut code, CodeSectionReader::new(reader)?)?;
                sections.append(SectionId::Code, &code);
            }
            Payload::DataSection(section) => {
                let mut data = DataSection::new();
                self.parse_data_section(&mut data, section)?;
                sections.append(SectionId::Data, &data);
            }
            Payload::DataCountSection { .. } => {
                sections.replace(SectionId::DataCount, &DataCountSection { count: self.data });
            }
            _ => {}
        }
        Ok(())
    }

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

impl Reencode for Indices<'_> {
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
