//! The raw reference: the same call through the interface of the bindings.
//!
//! Engine, module and linker are made once. Each call makes a store and an instance, places header
//! and input at the heap base, calls, reads the output and drops everything.

use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, copy_output};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Error, Result, Signature, ValueType};
use wasm3::{CompilationMode, Config, Engine, FuncType, Linker, Module, Store, ValType};

/// Parts of all calls, made once.
struct Setup {
    engine: Engine,
    module: Module,
    linker: Linker<()>,
}

// SAFETY: the three share one environment by a count that is not atomic. They never leave this
// value, and stores made from them are dropped in the call that made them.
unsafe impl Send for Setup {}

pub(crate) fn caller(
    id: &'static str,
    eager: bool,
    guest: &GuestModule,
    call: &RawCall<'_>,
) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    let failed = |error: wasm3::Error| Error::runtime(id, "set up its raw interface")(error);
    let mut config = Config::new();
    config.stack_size(crate::machine::VALUE_STACK as usize).compilation_mode(if eager {
        CompilationMode::Eager
    } else {
        CompilationMode::Lazy
    });
    let engine = Engine::new(&config);
    let module = Module::new(&engine, guest.wasm()).map_err(failed)?;
    let mut linker = Linker::new(&engine);
    for import in &guest.info().imports {
        let Some(ty) = import.signature.as_ref().and_then(function_type) else { continue };
        let stub = |_: wasm3::Caller<'_, ()>, _: &[_], _: &mut [_]| {
            Err(wasm3::Error::new("the raw reference has no host functions"))
        };
        linker.func_new(&import.module, &import.name, ty, stub).map_err(failed)?;
    }
    let setup = Setup { engine, module, linker };
    Ok(Some(frame.caller(id, move |frame, output| -> Result<(), wasm3::Error> {
        let Setup { engine, module, linker } = &setup;
        let mut store = Store::new(engine, ());
        let instance = linker.instantiate_and_start(&mut store, module)?;
        let missing = || wasm3::Error::new("an export is missing");
        let memory = instance.get_memory(&store).ok_or_else(missing)?;
        let function = instance.get_typed_func::<(u32, u32), u64>(&store, &frame.export)?;
        for (address, bytes) in frame.parts() {
            memory.write(&mut store, address as usize, bytes)?;
        }
        let packed = function.call(&mut store, (frame.pointer(), frame.length()))?;
        copy_output(memory.data(&store), packed, output).ok_or_else(missing)
    })))
}

/// `None` for vectors, which Wasm3 does not have.
fn function_type(signature: &Signature) -> Option<FuncType> {
    let types = |types: &[ValueType]| -> Option<Vec<ValType>> {
        types
            .iter()
            .map(|ty| match ty {
                ValueType::I32 => Some(ValType::I32),
                ValueType::I64 => Some(ValType::I64),
                ValueType::F32 => Some(ValType::F32),
                ValueType::F64 => Some(ValType::F64),
                ValueType::V128 => None,
                ValueType::FuncRef => Some(ValType::FuncRef),
                ValueType::ExternRef => Some(ValType::ExternRef),
            })
            .collect()
    };
    Some(FuncType::new(types(&signature.params)?, types(&signature.results)?))
}
