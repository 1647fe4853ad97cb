//! What is known of a script's module before any engine sees it: whether the harness
//! takes it, and if not, whether that is right.

use super::adapt::{Adapted, adapt};
use super::suite::Group;
use std::collections::HashSet;
use touchstone::record;
use touchstone_executor::Error;
use touchstone_executor::guest::{GuestModule, HeapPages, ModuleInfo};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// A module that a script wants an instance of.
#[derive(Debug)]
pub struct Wanted {
    /// As far as it is known.
    pub prepared: Prepared,
    /// Modules that it imports from. One that is not driven may have changed what is theirs.
    pub imports: Vec<String>,
}

/// What is known of a module before any engine sees it.
#[derive(Debug)]
pub enum Prepared {
    /// One that engines get.
    Guest {
        /// The guest.
        guest: Box<GuestModule>,
        /// Its exports.
        adapted: Adapted,
        /// Whether version 1.0 has all that it uses, so that no engine may refuse it.
        basic: bool,
    },
    /// One that needs a feature that is off here.
    Unsupported(String),
    /// One that needs something else than a contract for hosts has.
    NotDriven(String),
    /// One that should have been taken.
    Failed(String),
}

/// What became of a module that has to be refused.
#[derive(Debug)]
pub enum Refusal {
    /// The harness refuses it, for the right reason, before any engine sees it.
    Ours,
    /// The harness takes it; an engine must not.
    Engine(Box<GuestModule>),
    /// The harness refuses it for a feature that is off here, which hides the reason.
    Hidden(String),
    /// It has become valid since.
    Outdated,
}

/// Prepares a module. `features` are those of the script.
pub(super) fn prepare(
    wasm: Vec<u8>,
    called: &HashSet<&str>,
    read: &HashSet<&str>,
    features: WasmFeatures,
) -> Wanted {
    let imports = imports(&wasm);
    Wanted { prepared: prepared(wasm, called, read, features), imports }
}

/// Names of the modules that a module imports from, as far as it can be read.
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

fn prepared(
    wasm: Vec<u8>,
    called: &HashSet<&str>,
    read: &HashSet<&str>,
    features: WasmFeatures,
) -> Prepared {
    let basic = validate(&wasm, WasmFeatures::WASM1).is_ok();
    let mut adapted = match adapt(wasm, called, read) {
        Ok(adapted) => adapted,
        Err(reason) => return Prepared::NotDriven(reason),
    };
    match GuestModule::new("script", &adapted.wasm, HeapPages::default()) {
        Ok(guest) => {
            // The guest has a copy.
            adapted.wasm = Vec::new();
            Prepared::Guest { guest: Box::new(guest), adapted, basic }
        }
        Err(Error::Unhostable { reason }) => Prepared::Unsupported(reason),
        Err(error) => match validate(&adapted.wasm, features) {
            Ok(()) => Prepared::Unsupported(feature(&error)),
            Err(_) => Prepared::Failed(error.to_string()),
        },
    }
}

/// Looks at a module that has to be refused.
pub(super) fn refusal(wasm: &[u8], group: Group) -> Refusal {
    match GuestModule::new("script", wasm, HeapPages::default()) {
        Ok(_) if group.old && validate(wasm, WasmFeatures::WASM1).is_err() => Refusal::Outdated,
        // Whatever type its imports have, they are defined inside of it.
        Ok(_) if ModuleInfo::read(wasm).is_ok_and(|info| !info.supplied.is_empty()) => {
            Refusal::Hidden("what it imports is defined inside of it".to_owned())
        }
        Ok(guest) => Refusal::Engine(Box::new(guest)),
        Err(Error::Unhostable { reason }) => Refusal::Hidden(reason),
        Err(Error::Invalid { reason, offset }) => match validate(wasm, group.features) {
            Err((same, place)) if (&*same, place) == (&*reason, offset) => Refusal::Ours,
            _ => Refusal::Hidden(without_numbers(&reason)),
        },
        // It does not even begin like a module.
        Err(_) => Refusal::Ours,
    }
}

/// A reason that modules share: the feature that is off.
fn feature(error: &Error) -> String {
    match error {
        Error::Invalid { reason, .. } => without_numbers(reason),
        other => other.to_string(),
    }
}

/// A reason in a form that is the same for different places: its first line without the offset
/// that it may end with, and with `N` for numbers that are no part of a word.
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
