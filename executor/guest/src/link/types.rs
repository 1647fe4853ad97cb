//! The types of all modules, and which of them are equal.

use super::part::Part;
use crate::error::Result;
use crate::feature::{Feature, validated_with};
use crate::sections::{Sections, reencoded, unknown};
use std::collections::HashMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode};
use wasm_encoder::{EntityType, SectionId, ValType};
use wasmparser::{TypeRef, Validator};

/// The types of the merged module.
pub(super) struct Types {
    /// The sections with only them.
    pub(super) sections: Sections<'static>,
    /// The first type that is equal to each.
    equal: Vec<u32>,
    /// The first type that is equal to the type that each extends.
    extended: Vec<Option<u32>>,
}

impl Types {
    /// Reads the types of all modules.
    pub(super) fn of(parts: &[Part<'_>]) -> Result<Self> {
        let mut sections = Sections::default();
        for part in parts {
            if let Some(types) = part.sections.get(SectionId::Type) {
                let types =
                    reencoded(&mut Renamed(|ty| part.before.types + ty), SectionId::Type, types)?;
                sections.append_content(SectionId::Type, &types);
            }
        }
        let all = validated_with(Feature::ALL.into_iter().collect());
        let validated =
            Validator::new_with_features(all).validate_all(&sections.clone().finish())?;
        let types = validated.as_ref();
        let (mut first, mut equal, mut extended) = (HashMap::new(), Vec::new(), Vec::new());
        for index in 0..types.core_type_count_in_module() {
            let id = types.core_type_at_in_module(index);
            equal.push(*first.entry(id).or_insert(index));
            let parent = types.supertype_of(id);
            extended.push(parent.and_then(|parent| first.get(&parent).copied()));
        }
        Ok(Self { sections, equal, extended })
    }

    /// `true` if an item of the type `found` in one module answers an import of the type `wanted`
    /// in another one.
    pub(super) fn fit(
        &self,
        (importer, wanted): (&Part<'_>, TypeRef),
        (exporter, found): (&Part<'_>, TypeRef),
    ) -> Result<bool> {
        let (wanted, mut found) = (self.entity(importer, wanted)?, self.entity(exporter, found)?);
        match (wanted, &mut found) {
            (EntityType::Function(wanted), EntityType::Function(found)) => {
                let mut all = std::iter::successors(Some(*found), |ty| self.extended[*ty as usize]);
                *found = all.find(|ty| *ty == wanted).unwrap_or(*found);
            }
            (EntityType::Memory(wanted), EntityType::Memory(found)) => {
                narrow((wanted.minimum, wanted.maximum), &mut found.minimum, &mut found.maximum);
            }
            (EntityType::Table(wanted), EntityType::Table(found)) => {
                narrow((wanted.minimum, wanted.maximum), &mut found.minimum, &mut found.maximum);
            }
            // Validation of the merged module compares references where they are read.
            (EntityType::Global(wanted), EntityType::Global(found))
                if matches!(
                    (wanted.val_type, found.val_type),
                    (ValType::Ref(_), ValType::Ref(_))
                ) && !wanted.mutable =>
            {
                found.val_type = wanted.val_type;
            }
            _ => {}
        }
        Ok(wanted == found)
    }

    /// A type with the first equal type in the place of each.
    fn entity(&self, part: &Part<'_>, ty: TypeRef) -> Result<EntityType> {
        let equal = |index| self.equal[(part.before.types + index) as usize];
        Renamed(equal).entity_type(ty).map_err(unknown)
    }
}

/// Gives an item the limits of an import if its own are within these.
fn narrow(wanted: (u64, Option<u64>), minimum: &mut u64, maximum: &mut Option<u64>) {
    let is_limited = |most| maximum.is_some_and(|maximum| maximum <= most);
    if *minimum >= wanted.0 && wanted.1.is_none_or(is_limited) {
        (*minimum, *maximum) = wanted;
    }
}

/// Other types in the place of a module's.
struct Renamed<F>(F);

impl<F: Fn(u32) -> u32> Reencode for Renamed<F> {
    type Error = Infallible;

    fn type_index(&mut self, ty: u32) -> Result<u32, ReencodeError> {
        Ok(self.0(ty))
    }
}
