//! The host functions, wired into Wasmtime.

use crate::data::StoreData;
use crate::deadline::{check, code, in_host};
use crate::live::{from_raw, from_wasmtime, to_raw, to_wasmtime};
use crate::module::are;
use std::cell::Cell;
use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::sync::Arc;
use touchstone_executor::adapter::{self, HostCaller, HostState};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{HostFunction, Trap, Value};
use wasmtime::{
    Caller, Extern, ExternType, FuncType, Linker, Memory, Module, ModuleExport, Result, ValRaw,
    ValType,
};

/// Answers every import of the module by its host function. `by_signal`: calls are stopped by a
/// signal, which the host's code does not obey.
pub(crate) fn link(
    module: &Module,
    functions: &[Arc<HostFunction>],
    by_signal: bool,
) -> Result<Linker<StoreData>> {
    let mut linker = Linker::new(module.engine());
    if by_signal {
        linker.func_wrap(code::HOST, code::CHECK, || -> Result<()> { Ok(check()?) })?;
    }
    let mut seen = HashSet::new();
    let memory = module.get_export_index(MEMORY);
    for (import, function) in module.imports().zip(functions) {
        // A module may import the same function twice.
        if !seen.insert((import.module().to_owned(), import.name().to_owned())) {
            continue;
        }
        let ExternType::Func(ty) = import.ty() else {
            wasmtime::bail!("the import {}.{} is no function", import.module(), import.name());
        };
        let (place, name) = (import.module(), import.name());
        let body = Body { function: Arc::clone(function), memory, by_signal };
        define(&mut linker, place, name, ty, body)?;
    }
    Ok(linker)
}

/// A host function and what its calls need.
struct Body {
    function: Arc<HostFunction>,
    memory: Option<ModuleExport>,
    by_signal: bool,
}

impl Body {
    #[inline]
    fn answer(
        &self,
        caller: Caller<'_, StoreData>,
        params: impl Iterator<Item = Value>,
        give: impl FnMut(usize, Value),
    ) -> Result<(), Trap> {
        let mut guest = WaitingGuest { caller, export: self.memory };
        let function = || adapter::answer(&mut guest, &self.function, params, give);
        if self.by_signal { in_host(function) } else { function() }
    }
}

fn define(
    linker: &mut Linker<StoreData>,
    module: &str,
    name: &str,
    ty: FuncType,
    body: Body,
) -> Result<()> {
    let [params, results]: [Vec<ValType>; 2] = [ty.params().collect(), ty.results().collect()];
    let known = body.function.signature();
    if !are(&params, &known.params) || !are(&results, &known.results) {
        linker.func_new(module, name, ty, move |caller, params, places| {
            // Other references than these two are of stubs, which do not look at parameters.
            let params = params.iter().map_while(|value| from_wasmtime(*value).ok());
            let give = |place: usize, value| places[place] = to_wasmtime(value);
            Ok(body.answer(caller, params, give)?)
        })?;
        return Ok(());
    }
    // Not by `func_new`: it makes values of everything, and looks types up.
    let call = move |caller: Caller<'_, StoreData>, values: &mut [MaybeUninit<ValRaw>]| {
        let places = Cell::from_mut(values).as_slice_of_cells();
        let params = body.function.signature().params.iter().zip(places).map(|(ty, place)| {
            // SAFETY: Wasmtime passes the parameters of the function's type, which was found to be
            // this signature, in the first places. All are read before a result is written.
            from_raw(*ty, unsafe { place.get().assume_init() })
        });
        let give = |place: usize, value| places[place].set(MaybeUninit::new(to_raw(value)));
        body.answer(caller, params, give).map_err(stopped)
    };
    // SAFETY: the body writes a result for each of the function's type, of that type, in the first
    // places. It has no references, so that nothing has to be rooted.
    unsafe { linker.func_new_unchecked(module, name, ty, call) }?;
    Ok(())
}

/// The error that carries a trap.
#[cold]
fn stopped(trap: Trap) -> wasmtime::Error {
    trap.into()
}

struct WaitingGuest<'a> {
    caller: Caller<'a, StoreData>,
    export: Option<ModuleExport>,
}

impl WaitingGuest<'_> {
    /// The memory. Its handle is looked up once for each instance.
    #[inline]
    fn memory(&mut self) -> Option<Memory> {
        match self.caller.data().memory {
            Some(memory) => Some(memory),
            None => self.find_memory(),
        }
    }

    #[cold]
    fn find_memory(&mut self) -> Option<Memory> {
        let export = self.export?;
        let found = self.caller.get_module_export(&export).and_then(Extern::into_memory);
        self.caller.data_mut().memory = found;
        found
    }
}

impl HostCaller for WaitingGuest<'_> {
    #[inline]
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match self.memory() {
            Some(memory) => {
                let (bytes, data) = memory.data_and_store_mut(&mut self.caller);
                (bytes, &mut data.host)
            }
            None => (&mut [], &mut self.caller.data_mut().host),
        }
    }

    #[inline]
    fn host(&mut self) -> &mut HostState {
        &mut self.caller.data_mut().host
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory().is_some_and(|memory| memory.grow(&mut self.caller, pages.into()).is_ok())
    }
}
