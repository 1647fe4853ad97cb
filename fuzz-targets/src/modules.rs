//! Modules and the blobs around them.

use touchstone_executor::guest::{GuestModule, HeapPages, MAX_UNPACKED, PREFIX, unpack};
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
}

fn assert_valid(form: &str, bytes: &[u8]) {
    if let Err(error) = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes) {
        panic!("an accepted module is not valid {form}: {error}");
    }
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
