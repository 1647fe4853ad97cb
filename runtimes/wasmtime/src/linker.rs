//! The host functions, wired into Wasmtime.

use std::collections::HashSet;
use touchstone_executor::guest::{FunctionImport, ModuleInfo};
use touchstone_executor::host::{Answer, HostFunction, HostState, Parameters, parameters};
use touchstone_executor::{Signature, Trap, TrapKind, ValueType};
use wasmtime::{
    Caller, Extern, ExternType, FuncType, Linker, Memory, Module, ModuleExport, Result, Val,
};

/// Answers every import of the module: known ones by host functions, the rest
/// by stubs that trap with their name.
pub(crate) fn link(module: &Module, info: &ModuleInfo) -> Result<Linker<HostState>> {
    let mut linker = Linker::new(module.engine());
    let mut seen = HashSet::new();
    let memory = module.get_export_index(touchstone_executor::guest::MEMORY);
    for (import, known) in module.imports().zip(&info.imports) {
        // A module may import the same function twice.
        if !seen.insert((import.module().to_owned(), import.name().to_owned())) {
            continue;
        }
        match host_function(known) {
            Some(function @ (HostFunction::Wasi(_) | HostFunction::Storage(_))) => {
                untyped(&mut linker, &import, function, memory)?;
            }
            Some(function) => provide(&mut linker, function, memory)?,
            None => stub(&mut linker, &import)?,
        }
    }
    Ok(linker)
}

fn host_function(import: &FunctionImport) -> Option<HostFunction> {
    HostFunction::find(&import.module, &import.name, import.signature.as_ref()?)
}

fn stub(linker: &mut Linker<HostState>, import: &wasmtime::ImportType<'_>) -> Result<()> {
    let ty = function_type(import)?;
    let kind = TrapKind::MissingImport {
        module: import.module().to_owned(),
        name: import.name().to_owned(),
    };
    linker.func_new(import.module(), import.name(), ty, move |_, _, _| {
        Err(Trap::new(kind.clone()).into())
    })?;
    Ok(())
}

/// The export's handle was resolved when linking: a host call looks nothing up
/// by name.
fn memory_of(
    caller: &mut Caller<'_, HostState>,
    memory: Option<ModuleExport>,
    function: HostFunction,
) -> Result<Memory, Trap> {
    match memory.and_then(|export| caller.get_module_export(&export)) {
        Some(Extern::Memory(memory)) => Ok(memory),
        _ => Err(function.refuse("the module has no memory")),
    }
}

fn provide(
    linker: &mut Linker<HostState>,
    function: HostFunction,
    memory: Option<ModuleExport>,
) -> Result<()> {
    type Host<'a> = Caller<'a, HostState>;
    let name = function.name();
    match function {
        HostFunction::Malloc => linker.func_wrap(
            "env",
            name,
            move |mut caller: Host<'_>, size: u32| -> Result<u32> {
                let memory = memory_of(&mut caller, memory, function)?;
                let size = parameters([size.into()]);
                Ok(answer(&mut caller, Some(memory), function, &size)? as u32)
            },
        )?,
        HostFunction::Free => linker.func_wrap(
            "env",
            name,
            move |mut caller: Host<'_>, pointer: u32| -> Result<()> {
                let memory = memory_of(&mut caller, memory, function)?;
                let (bytes, host) = memory.data_and_store_mut(&mut caller);
                Ok(host.free(bytes, pointer)?)
            },
        )?,
        HostFunction::MaxLogLevel => {
            linker.func_wrap("env", name, |caller: Host<'_>| caller.data().max_log_level())?
        }
        HostFunction::Log => linker.func_wrap(
            "env",
            name,
            move |mut caller: Host<'_>, level: u32, target: u64, message: u64| -> Result<()> {
                let memory = memory_of(&mut caller, memory, function)?;
                let (bytes, host) = memory.data_and_store_mut(&mut caller);
                Ok(host.log(bytes, level, target, message)?)
            },
        )?,
        HostFunction::InputLength => {
            linker.func_wrap("env", name, |caller: Host<'_>| caller.data().input_len())?
        }
        HostFunction::Input => linker.func_wrap(
            "env",
            name,
            move |mut caller: Host<'_>, pointer: u64| -> Result<()> {
                let memory = memory_of(&mut caller, memory, function)?;
                let (bytes, host) = memory.data_and_store_mut(&mut caller);
                Ok(host.input(bytes, pointer)?)
            },
        )?,
        HostFunction::Wasi(_) | HostFunction::Storage(_) => {
            wasmtime::bail!("{name} is linked with its type")
        }
    };
    Ok(())
}

/// Links a function that is answered over the memory, untyped.
fn untyped(
    linker: &mut Linker<HostState>,
    import: &wasmtime::ImportType<'_>,
    function: HostFunction,
    memory: Option<ModuleExport>,
) -> Result<()> {
    let ty = function_type(import)?;
    let Signature { results, .. } = function.signature();
    linker.func_new(import.module(), import.name(), ty, move |mut caller, params, places| {
        let values = parameters(params.iter().map(|value| match value {
            Val::I64(value) => value.cast_unsigned(),
            value => value.unwrap_i32().cast_unsigned().into(),
        }));
        let memory = memory_of(&mut caller, memory, function).ok();
        let result = answer(&mut caller, memory, function, &values)?;
        for (place, ty) in places.iter_mut().zip(&results) {
            *place = match ty {
                ValueType::I64 => Val::I64(result.cast_signed()),
                _ => Val::I32(result as i32),
            };
        }
        Ok(())
    })?;
    Ok(())
}

fn function_type(import: &wasmtime::ImportType<'_>) -> Result<FuncType> {
    match import.ty() {
        ExternType::Func(ty) => Ok(ty),
        _ => wasmtime::bail!("the import {}.{} is no function", import.module(), import.name()),
    }
}

/// Answers a function over the memory, which grows if the answer needs room.
fn answer(
    caller: &mut Caller<'_, HostState>,
    memory: Option<Memory>,
    function: HostFunction,
    values: &Parameters,
) -> Result<u64, Trap> {
    loop {
        let answered = match memory {
            Some(memory) => {
                let (bytes, host) = memory.data_and_store_mut(&mut *caller);
                host.answer(function, bytes, values)
            }
            None => caller.data_mut().answer(function, &mut [], values),
        };
        let pages = match answered? {
            Answer::Result(result) => return Ok(result),
            Answer::NeedsMemory { pages } => pages,
        };
        if memory.is_none_or(|memory| memory.grow(&mut *caller, pages.into()).is_err()) {
            return Err(function.full(pages));
        }
    }
}
