//! The raw reference: the same call through WasmEdge's own Rust interface.
//!
//! Written along the interface's documentation: compiled and loaded once, with one store. Each call
//! makes an instance, places header and input at the heap base, calls, reads the output and drops
//! the instance.

use crate::signals::{self, FaultRange, while_running};
use std::collections::HashMap;
use touchstone_executor::adapter::{RawCall, RawCaller, RawFrame, Scratch};
use touchstone_executor::guest::{GuestModule, MEMORY};
use touchstone_executor::{CodeFrom, Error, Result, ValueType};
use wasmedge_sdk::config::{CommonConfigOptions, CompilerConfigOptions, ConfigBuilder};
use wasmedge_sdk::error::{CoreError, CoreExecutionError};
use wasmedge_sdk::{
    AsInstance, CallingFrame, Compiler, CompilerOptimizationLevel, CompilerOutputFormat,
    ImportObject, ImportObjectBuilder, Instance, Module, Store, ValType, WasmValue,
};
use wasmedge_types::{FuncType, RunMode};

pub(crate) fn caller(
    id: &'static str,
    compiled: bool,
    guest: &GuestModule,
    call: &RawCall<'_>,
) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    if compiled {
        signals::guard(id)?;
    }
    let (module, mut store) = set_up(compiled, guest, call.strategy.code)
        .map_err(Error::runtime(id, "set up its raw interface"))?;
    Ok(Some(frame.caller(id, move |frame, output| -> Result<(), String> {
        let run = || -> Result<(), Box<dyn std::error::Error>> {
            let mut instance = store.register_active_module(&module)?;
            let mut memory = instance.get_memory_mut(MEMORY)?;
            for (address, bytes) in frame.parts() {
                memory.set_data(bytes, address)?;
            }
            let [pointer, length] = [frame.pointer(), frame.length()].map(u32::cast_signed);
            let params = [WasmValue::from_i32(pointer), WasmValue::from_i32(length)];
            let mut function = instance.get_func_mut(&frame.export)?;
            let results = store.executor().call_func(&mut function, params)?;
            let packed = results.first().ok_or("no result")?.to_i64() as u64;
            let memory = instance.get_memory_ref(MEMORY)?;
            output.clear();
            output.extend(memory.get_data(packed as u32, (packed >> 32) as u32)?);
            Ok(())
        };
        while_running(FaultRange::Anywhere, run).map_err(|error| error.to_string())
    })))
}

type Imports = Store<'static, ImportObject<()>>;

fn set_up(
    compiled: bool,
    guest: &GuestModule,
    code: CodeFrom,
) -> Result<(Module, Imports), Box<dyn std::error::Error>> {
    let mode = if compiled { RunMode::Aot } else { RunMode::Interpreter };
    let config = ConfigBuilder::new(CommonConfigOptions::default().run_mode(mode))
        .with_compiler_config(
            CompilerConfigOptions::default()
                .optimization_level(CompilerOptimizationLevel::O3)
                .out_format(CompilerOutputFormat::Wasm),
        )
        .build()?;
    let module = if compiled {
        let folder = Scratch::new()?;
        let file =
            Compiler::new(Some(&config))?.compile_from_bytes(guest.wasm(), "raw", folder.path())?;
        match code {
            CodeFrom::InProcess => Module::from_bytes(Some(&config), std::fs::read(file)?)?,
            CodeFrom::Precompiled => Module::from_file(Some(&config), file)?,
        }
    } else {
        Module::from_bytes(Some(&config), guest.wasm())?
    };
    let mut offered: HashMap<String, ImportObjectBuilder<()>> = HashMap::new();
    for import in &guest.info().imports {
        let signature = import.signature.clone().unwrap_or_default();
        let types = |types: &[ValueType]| types.iter().map(value_type).collect::<Vec<_>>();
        let ty = FuncType::new(types(&signature.params), types(&signature.results));
        let module = &import.module;
        let builder = match offered.remove(module) {
            Some(builder) => builder,
            None => ImportObjectBuilder::new(module, ())?,
        };
        let builder = offered.entry(module.clone()).or_insert(builder);
        builder.with_func_by_type(&import.name, ty, stub)?;
    }
    // Leaked, because the store borrows them and is moved into a closure.
    let offered = offered
        .into_iter()
        .map(|(name, builder)| (name, Box::leak(Box::new(builder.build()))))
        .collect();
    Ok((module, Store::new(Some(&config), offered)?))
}

fn value_type(ty: &ValueType) -> ValType {
    match ty {
        ValueType::I32 => ValType::I32,
        ValueType::I64 => ValType::I64,
        ValueType::F32 => ValType::F32,
        ValueType::F64 => ValType::F64,
        ValueType::V128 => ValType::V128,
        ValueType::FuncRef => ValType::FuncRef,
        ValueType::ExternRef => ValType::ExternRef,
    }
}

/// The raw reference has no host functions.
fn stub(
    _: &mut (),
    _: &mut Instance,
    _: &mut CallingFrame,
    _: Vec<WasmValue>,
) -> Result<Vec<WasmValue>, CoreError> {
    Err(CoreError::Execution(CoreExecutionError::HostFuncFailed))
}
