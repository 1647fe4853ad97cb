//! Prepares a script's module: a guest, or a reason why there is none.

use super::adapt::{Adapted, adapt};
use super::suite::Group;
use std::collections::HashSet;
use touchstone::record;
use touchstone_executor::guest::{Error, GuestModule, HeapPages, ModuleInfo};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// A module that a script instantiates.
#[derive(Debug)]
pub struct Wanted {
    /// As far as it is known.
    pub prepared: Prepared,
    /// Modules that it imports from. A module that is not driven may have changed them.
    pub imports: Vec<String>,
}

#[derive(Debug)]
pub enum Prepared {
    Guest {
        guest: Box<GuestModule>,
        adapted: Adapted,
        /// `true` if version 1.0 has all used features, so that no engine may refuse it.
        basic: bool,
    },
    /// The reason: a feature is off.
    Unsupported(String),
    /// The reason: the contract cannot express it.
    NotDriven(String),
    /// The reason why a valid module was refused.
    Failed(String),
}

/// The result for a module that must be refused.
#[derive(Debug)]
pub enum Refusal {
    /// The harness refuses it for the right reason.
    Ours,
    /// The harness accepts it; an engine must refuse it.
    Engine(Box<GuestModule>),
    /// The harness refuses it for another reason: a feature is off.
    Hidden(String),
    /// Valid since a later version.
    Outdated,
}

/// Prepares a module under the features of the script.
pub(super) fn prepare(
    wasm: Vec<u8>,
    called: &HashSet<&str>,
    read: &HashSet<&str>,
    features: WasmFeatures,
) -> Wanted {
    let imports = imports(&wasm);
    let basic = validate(&wasm, WasmFeatures::WASM1).is_ok();
    let prepared = match adapt(wasm, called, read) {
        Ok(adapted) => prepared(adapted, basic, features),
        Err(reason) => Prepared::NotDriven(reason),
    };
    Wanted { prepared, imports }
}

fn prepared(mut adapted: Adapted, basic: bool, features: WasmFeatures) -> Prepared {
    match GuestModule::new("script", &adapted.wasm, HeapPages::default()) {
        Ok(guest) => {
            // The guest has its own copy.
            adapted.wasm = Vec::new();
            Prepared::Guest { guest: Box::new(guest), adapted, basic }
        }
        Err(Error::Unhostable { reason }) => Prepared::Unsupported(reason),
        Err(error) => match (validate(&adapted.wasm, features), &error) {
            // The missing feature, the same for different modules.
            (Ok(()), Error::Invalid { reason, .. }) => {
                Prepared::Unsupported(without_numbers(reason))
            }
            (Ok(()), _) => Prepared::Unsupported(error.to_string()),
            (Err(_), _) => Prepared::Failed(error.to_string()),
        },
    }
}

/// Names of the modules that a module imports from, as far as they can be read.
fn imports(wasm: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Ok(Payload::ImportSection(section)) = payload {
            let imports = section.into_imports().filter_map(Result::ok);
            names.extend(imports.map(|import| import.module.to_owned()));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Examines a module that must be refused.
pub(super) fn refusal(wasm: &[u8], group: Group) -> Refusal {
    match GuestModule::new("script", wasm, HeapPages::default()) {
        Ok(_) if group.old && validate(wasm, WasmFeatures::WASM1).is_err() => Refusal::Outdated,
        // Imports are defined inside the module, whatever their type.
        Ok(_) if ModuleInfo::read(wasm).is_ok_and(|info| !info.supplied.is_empty()) => {
            Refusal::Hidden("what it imports is defined inside of it".to_owned())
        }
        Ok(guest) => Refusal::Engine(Box::new(guest)),
        Err(Error::Unhostable { reason }) => Refusal::Hidden(reason),
        Err(Error::Invalid { reason, offset }) => match validate(wasm, group.features) {
            Err((same, place)) if (&*same, place) == (&*reason, offset) => Refusal::Ours,
            _ => Refusal::Hidden(without_numbers(&reason)),
        },
        // Not even a module's header.
        Err(_) => Refusal::Ours,
    }
}

/// The first line of a reason, without a trailing offset, and with `N` for numbers outside words.
pub(super) fn without_numbers(reason: &str) -> String {
    let mut text = String::new();
    let mut before = ' ';
    let line = reason.lines().next().unwrap_or_default();
    for letter in record::without_offset(line).chars().take(160) {
        if !letter.is_ascii_digit() {
            text.push(letter);
            before = letter;
        } else if before.is_alphabetic() {
            // As in `i64`.
            text.push(letter);
        } else if before != '0' {
            text.push('N');
            before = '0';
        }
    }
    text
}

fn validate(wasm: &[u8], features: WasmFeatures) -> Result<(), (String, usize)> {
    Validator::new_with_features(features)
        .validate_all(wasm)
        .map(drop)
        .map_err(|error| (error.message().to_owned(), error.offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_at_two_places_is_one_reason() {
        let refused = |offset: &str| {
            format!("x failed: gc types need a feature (at offset {offset})\nCaused by: y")
        };
        let reasons = ["0xbe", "0x1f", "27"].map(|offset| without_numbers(&refused(offset)));
        assert_eq!(reasons, ["x failed: gc types need a feature"; 3]);
        assert_eq!(without_numbers("at most 65536 pages of i64"), "at most N pages of i64");
    }
}
