//! Modules and the blobs around them.

use touchstone::inspect::inspect;
use touchstone::plain;
use touchstone_executor::ValueType;
use touchstone_executor::guest::{
    ADDED, GuestModule, HeapPages, MAX_UNPACKED, PREFIX, link, unpack,
};
use wasmparser::{Validator, WasmFeatures};

/// Loads a module. One that is accepted has to stay a valid module in every form that
/// executors are given it in.
///
/// # Panics
///
/// When it does not.
pub fn module(bytes: &[u8]) {
    let Ok(guest) = GuestModule::new("fuzz", bytes, HeapPages::default()) else { return };
    assert_valid("as it is", guest.wasm());
    if guest.info().component.is_some() {
        // What is made of its memories is refused, or made.
        let _ = guest.component_memories();
        return;
    }
    if let Ok(bytes) = guest.with_imported_memory() {
        assert_valid("with an imported memory", &bytes);
    }
    if let Ok(bytes) = guest.without_data() {
        assert_valid("without data", &bytes);
    }
    if let Ok(counting) = guest.counting() {
        assert_valid("counting", counting.wasm());
    }
    // Linked with itself: its own imports are answered, or an error says why not.
    let library = guest.info().imports.first().map_or("library", |import| &import.module);
    if let Ok(linked) = link(guest.wasm(), &[(library, bytes)]) {
        assert_valid("linked", &linked);
        let _ = GuestModule::new("linked", &linked, HeapPages::default());
    }
}

fn assert_valid(form: &str, bytes: &[u8]) {
    if let Err(error) = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes) {
        panic!("an accepted module is not valid {form}: {error}");
    }
}

/// Inspects a module, valid or not. What is hosted has to be valid, and has the same functions.
///
/// # Panics
///
/// When it is not, or has not.
pub fn inspection(bytes: &[u8]) {
    let Ok(found) = inspect(bytes) else { return };
    let Ok(guest) = GuestModule::new("fuzz", bytes, HeapPages::default()) else { return };
    assert_eq!((&found.invalid, &found.refused), (&None, &None));
    if !found.is_component {
        let functions = found.exports.iter().filter(|export| export.kind == "func");
        let known = guest.info().exports.iter().filter(|of| !of.name.starts_with(ADDED));
        assert_eq!(functions.count(), known.count());
    }
}

/// Reads texts, one a line, as the parameters of a function whose type the first line names.
///
/// # Panics
///
/// When accepted parameters have another size than those of the function.
pub fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().map(str::to_owned);
    let types = lines.next().unwrap_or_default();
    let types: Vec<ValueType> = types
        .chars()
        .take(1000)
        .map(|letter| match letter {
            'i' => ValueType::I32,
            'I' => ValueType::I64,
            'f' => ValueType::F32,
            'v' => ValueType::V128,
            'r' => ValueType::ExternRef,
            _ => ValueType::F64,
        })
        .collect();
    let texts: Vec<String> = lines.collect();
    if let Ok(input) = plain::parameters(&types, &texts) {
        assert_eq!(input.len(), types.iter().map(|ty| ty.size()).sum::<usize>());
    }
    let _ = plain::json(&texts);
}

/// Unpacks what stands after a blob's prefix.
///
/// # Panics
///
/// When more comes out than may.
pub fn blob(frame: &[u8]) {
    let blob = [&PREFIX, frame].concat();
    if let Ok(module) = unpack(&blob) {
        assert!(module.len() <= MAX_UNPACKED, "{} bytes were unpacked", module.len());
    }
}
