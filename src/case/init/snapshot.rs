//! The run of the export, and the resulting module.

use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use wasmi::{
    Config, Engine, ExternType, Instance, Linker, Module, Store, StoreLimits, StoreLimitsBuilder,
    TrapCode, Val,
};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

/// Units of wasmi's fuel, about one per instruction: seconds on any machine. Not a time, so that
/// the result does not depend on the machine.
const FUEL: u64 = 1_000_000_000;
/// Largest memory, bytes.
const MEMORY: usize = 1 << 30;

/// Runs `export`, which the module has with the signature `() -> ()`.
pub(super) fn take(wasm: &[u8], export: &str) -> Result<Vec<u8>, String> {
    let unsupported = |reason: String| format!("the module cannot be pre-initialised: {reason}");
    let mut wizer = Wizer::new();
    wizer.init_func(export);
    let (context, instrumented) =
        wizer.instrument(wasm).map_err(|error| unsupported(format!("{error:#}")))?;

    let engine = Engine::new(Config::default().consume_fuel(true));
    let module =
        Module::new(&engine, &instrumented).map_err(|error| unsupported(error.to_string()))?;
    let mut store = Store::new(&engine, StoreLimitsBuilder::new().memory_size(MEMORY).build());
    store.limiter(|limits| limits);
    store.set_fuel(FUEL).expect("the engine consumes fuel");
    let linker = linker(&engine, &module).map_err(unsupported)?;
    let ended = linker.instantiate_and_start(&mut store, &module).and_then(|instance| {
        instance.get_typed_func::<(), ()>(&store, export)?.call(&mut store, ())?;
        Ok(instance)
    });
    let instance = ended.map_err(|error| failure(export, &error))?;

    let mut state = Left { store: &store, instance };
    at_once(wizer.snapshot(&context, &mut state)).map_err(|error| unsupported(format!("{error:#}")))
}

/// A stub for each import. Memories, tables and globals are definitions by now.
fn linker(engine: &Engine, module: &Module) -> Result<Linker<StoreLimits>, String> {
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    for import in module.imports() {
        let ExternType::Func(ty) = import.ty() else { continue };
        let (module, name) = (import.module(), import.name());
        let called = Called { module: module.to_owned(), name: name.to_owned() };
        let stub = linker.func_new(module, name, ty.clone(), move |_, _, _| {
            Err(wasmi::Error::host(called.clone()))
        });
        stub.map_err(|error| error.to_string())?;
    }
    Ok(linker)
}

/// The reason why the guest did not return.
fn failure(export: &str, error: &wasmi::Error) -> String {
    if let Some(Called { module, name }) = error.downcast_ref() {
        return format!(
            "'{export}' calls the import {module}.{name}; pre-initialisation has no host functions"
        );
    }
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => {
            format!("'{export}' does not end within {FUEL} units of fuel")
        }
        _ => format!("'{export}' traps: {error}"),
    }
}

#[derive(Debug, Clone)]
struct Called {
    module: String,
    name: String,
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the import {}.{}", self.module, self.name)
    }
}

impl wasmi::errors::HostError for Called {}

/// The state after the run. Names are those of exports that Wizer added.
struct Left<'a> {
    store: &'a Store<StoreLimits>,
    instance: Instance,
}

impl InstanceState for Left<'_> {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global = self.instance.get_global(self.store, name).expect("Wizer exported it");
        match global.get(self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(value) => SnapshotVal::F32(value.to_bits()),
            Val::F64(value) => SnapshotVal::F64(value.to_bits()),
            _ => unreachable!("wasmi has no vectors here, and Wizer refuses mutable references"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(self.store, name).expect("Wizer exported it");
        contents(memory.data(self.store));
    }
}

/// The result of a future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("the state of an instance is there without waiting"),
    }
}
