//! A built guest under every strategy that native code has, for the tests of the guests.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy};

/// Runs a test under every strategy there is.
pub(crate) fn everywhere(name: &str, test: impl Fn(&dyn Module, &mut dyn Instance)) {
    let engine = touchstone_native::engines().remove(0);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built");
    let bytes = std::fs::read(format!("{folder}/{name}.wasm")).unwrap();
    let guest = GuestModule::new(name, &bytes, HeapPages::default()).unwrap();
    let config = Config::default();
    for strategy in Strategy::all() {
        if engine.support_for(strategy, &guest).is_supported() {
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            test(&*module, &mut *module.new_instance().unwrap());
        }
    }
}

/// Calls an export and gives its output; the outcome where it trapped.
pub(crate) fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    (export, abi): (&str, Abi),
    input: &[u8],
) -> Result<Vec<u8>, Outcome> {
    let export = module.export(export, abi).unwrap();
    let mut output = Vec::new();
    match instance.call(export, input, &mut output).unwrap() {
        Outcome::Returned => Ok(output),
        trapped => Err(trapped),
    }
}
