//! The host functions, wired into Wasmtime.

use std::collections::HashSet;
use touchstone_executor::adapter::{self, HostCaller};
use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::host::{HostFunction, HostState, Parameters, parameters};
use touchstone_executor::{Signature, Trap, ValueType};
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
        match adapter::host_function(known) {
            Ok(function @ (HostFunction::Wasi(_) | HostFunction::Storage(_))) => {
                untyped(&mut linker, &import, function, memory)?;
            }
            Ok(function) => provide(&mut linker, function, memory)?,
            Err(trap) => stub(&mut linker, &import, trap)?,
        }
    }
    Ok(linker)
}

fn stub(
    linker: &mut Linker<HostState>,
    import: &wasmtime::ImportType<'_>,
    trap: Trap,
) -> Result<()> {
    let ty = function_type(import)?;
    let name = import.name();
    linker.func_new(import.module(), name, ty, move |_, _, _| Err(trap.clone().into()))?;
    Ok(())
}

/// A guest that waits for a host function. The handle of its memory was resolved when linking: a
/// host call looks nothing up by name.
struct WaitingGuest<'a, 'b> {
    caller: &'a mut Caller<'b, HostState>,
    memory: Option<Memory>,
}

impl HostCaller for WaitingGuest<'_, '_> {
    #[inline]
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match self.memory {
            Some(memory) => memory.data_and_store_mut(&mut *self.caller),
            None => (&mut [], self.caller.data_mut()),
        }
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory.is_some_and(|memory| memory.grow(&mut *self.caller, pages.into()).is_ok())
    }
}

#[inline]
fn answer(
    caller: &mut Caller<'_, HostState>,
    memory: Option<ModuleExport>,
    function: HostFunction,
    parameters: &Parameters,
) -> Result<u64> {
    let memory = match memory.and_then(|export| caller.get_module_export(&export)) {
        Some(Extern::Memory(memory)) => Some(memory),
        _ => None,
    };
    Ok(adapter::answer(&mut WaitingGuest { caller, memory }, function, parameters)?)
}

fn provide(
    linker: &mut Linker<HostState>,
    function: HostFunction,
    memory: Option<ModuleExport>,
) -> Result<()> {
    type Host<'a> = Caller<'a, HostState>;
    let name = function.name();
    let answer = move |mut caller: Host<'_>, numbers: [u64; 3]| {
        answer(&mut caller, memory, function, &parameters(numbers))
    };
    match function {
        HostFunction::Malloc => {
            linker.func_wrap("env", name, move |caller: Host<'_>, size: u32| {
                answer(caller, [size.into(), 0, 0]).map(|pointer| pointer as u32)
            })?
        }
        HostFunction::Free => {
            linker.func_wrap("env", name, move |caller: Host<'_>, pointer: u32| {
                answer(caller, [pointer.into(), 0, 0]).map(drop)
            })?
        }
        HostFunction::MaxLogLevel => {
            linker.func_wrap("env", name, |caller: Host<'_>| caller.data().max_log_level())?
        }
        HostFunction::Log => linker.func_wrap(
            "env",
            name,
            move |caller: Host<'_>, level: u32, target: u64, message: u64| {
                answer(caller, [level.into(), target, message]).map(drop)
            },
        )?,
        HostFunction::InputLength => {
            linker.func_wrap("env", name, |caller: Host<'_>| caller.data().input_len())?
        }
        HostFunction::Input => {
            linker.func_wrap("env", name, move |caller: Host<'_>, pointer: u64| {
                answer(caller, [pointer, 0, 0]).map(drop)
            })?
        }
        HostFunction::Wasi(_) | HostFunction::Storage(_) => {
            wasmtime::bail!("{name} is linked with its type")
        }
    };
    Ok(())
}

/// Links a host function with its parameters as numbers.
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
