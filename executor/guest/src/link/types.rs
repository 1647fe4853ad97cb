//! The types of all modules, and which of them are equal.

use super::part::Part;
use crate::error::Result;
use crate::feature::Feature;
use crate::features::validated_with;
use crate::patch::unknown;
use std::collections::HashMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode};
use wasm_encoder::{EntityType, Module, RefType, TypeSection, ValType};
use wasmparser::{Parser, Payload, TypeRef, Validator};

/// The types of the merged module.
pub(super) struct Types {
    /// Their section.
    pub(super) section: TypeSection,
    /// The first type that is equal to each.
    equal: Vec<u32>,
    /// The first type that is equal to the type that each extends.
    extended: Vec<Option<u32>>,
}

impl Types {
    /// Reads the types of all modules.
    pub(super) fn of(parts: &[Part<'_>]) -> Result<Self> {
        let mut section = TypeSection::new();
        for part in parts {
            for payload in Parser::new(0).parse_all(part.wasm) {
                if let Payload::TypeSection(types) = payload? {
                    let mut moved = Moved(part.before.types);
                    moved.parse_type_section(&mut section, types).map_err(unknown)?;
                }
            }
        }
        let mut module = Module::new();
        module.section(&section);
        let all = validated_with(Feature::ALL.into_iter().collect());
        let validated = Validator::new_with_features(all).validate_all(module.as_slice())?;
        let types = validated.as_ref();
        let (mut first, mut equal, mut extended) = (HashMap::new(), Vec::new(), Vec::new());
        for index in 0..types.core_type_count_in_module() {
            let id = types.core_type_at_in_module(index);
            equal.push(*first.entry(id).or_insert(index));
            let parent = types.supertype_of(id);
            extended.push(parent.and_then(|parent| first.get(&parent).copied()));
        }
        Ok(Self { section, equal, extended })
    }

    /// `true` if an item of the type `found` in one module answers an import of the type `wanted`
    /// in another one.
    pub(super) fn fit(
        &self,
        (importer, wanted): (&Part<'_>, TypeRef),
        (exporter, found): (&Part<'_>, TypeRef),
    ) -> Result<bool> {
        Ok(match (self.entity(importer, wanted)?, self.entity(exporter, found)?) {
            (EntityType::Function(wanted), EntityType::Function(found)) => {
                let mut types =
                    std::iter::successors(Some(found), |ty| self.extended[*ty as usize]);
                types.any(|ty| ty == wanted)
            }
            (EntityType::Memory(wanted), EntityType::Memory(found)) => {
                let has_limits =
                    within((wanted.minimum, wanted.maximum), (found.minimum, found.maximum));
                let (minimum, maximum) = (wanted.minimum, wanted.maximum);
                has_limits && wanted == wasm_encoder::MemoryType { minimum, maximum, ..found }
            }
            (EntityType::Table(wanted), EntityType::Table(found)) => {
                let has_limits =
                    within((wanted.minimum, wanted.maximum), (found.minimum, found.maximum));
                let (minimum, maximum) = (wanted.minimum, wanted.maximum);
                has_limits && wanted == wasm_encoder::TableType { minimum, maximum, ..found }
            }
            // Validation of the merged module compares references where they are read.
            (EntityType::Global(wanted), EntityType::Global(found))
                if !wanted.mutable && !found.mutable =>
            {
                let are_references = matches!(
                    (wanted.val_type, found.val_type),
                    (ValType::Ref(RefType { .. }), ValType::Ref(_))
                );
                wanted == found || are_references
            }
            (wanted, found) => wanted == found,
        })
    }

    /// A type with the first equal type in the place of each.
    fn entity(&self, part: &Part<'_>, ty: TypeRef) -> Result<EntityType> {
        Equal(part.before.types, &self.equal).entity_type(ty).map_err(unknown)
    }
}

/// `true` if the limits of an item are within those of an import.
fn within(wanted: (u64, Option<u64>), found: (u64, Option<u64>)) -> bool {
    let is_limited = |most| found.1.is_some_and(|maximum| maximum <= most);
    found.0 >= wanted.0 && wanted.1.is_none_or(is_limited)
}

/// Types behind those of the modules before.
struct Moved(u32);

impl Reencode for Moved {
    type Error = Infallible;

    fn type_index(&mut self, ty: u32) -> Result<u32, ReencodeError> {
        Ok(self.0 + ty)
    }
}

/// The first equal type in the place of each.
struct Equal<'a>(u32, &'a [u32]);

impl Reencode for Equal<'_> {
    type Error = Infallible;

    fn type_index(&mut self, ty: u32) -> Result<u32, ReencodeError> {
        Ok(self.1[(self.0 + ty) as usize])
    }
}
