//! The imports of a module: host functions, and stubs for functions that this host does not have.

use crate::home::StoreState;
use crate::trap::carry;
use std::sync::Arc;
use touchstone_executor::guest::{FunctionImport, MEMORY};
use touchstone_executor::host::{
    Answer as Answered, HostFunction, HostState, Parameters, parameters,
};
use touchstone_executor::{Error, Result, Signature, Trap, TrapKind, ValueType};
use wasmi::{Caller, Extern, ExternType, Func, FuncType, Memory, StoreContextMut, Val, ValType};

/// The imports of a module, in its order.
pub(crate) struct Imports(Vec<Import>);

enum Import {
    Memory,
    Host(HostFunction),
    Missing { name: Arc<(String, String)>, ty: FuncType },
}

impl Imports {
    /// Finds the answer to each import.
    pub(crate) fn of(
        engine: &'static str,
        module: &wasmi::Module,
        functions: &[FunctionImport],
    ) -> Result<Self> {
        let mut functions = functions.iter();
        let decide = |import: wasmi::ImportType<'_>| match import.ty() {
            ExternType::Memory(_) => Ok(Import::Memory),
            ExternType::Func(ty) => {
                let (module, name) = (import.module(), import.name());
                let signature = functions.next().and_then(|known| known.signature.as_ref());
                let host = signature.and_then(|found| HostFunction::find(module, name, found));
                Ok(host.map_or_else(
                    || Import::Missing {
                        name: Arc::new((module.to_owned(), name.to_owned())),
                        ty: ty.clone(),
                    },
                    Import::Host,
                ))
            }
            _ => Err(Error::runtime(engine, "link the module")("it imports a table or a global")),
        };
        module.imports().map(decide).collect::<Result<_>>().map(Self)
    }

    /// The imports in a store, by position: a module may import one name with two types.
    pub(crate) fn define(
        &self,
        store: &mut StoreContextMut<'_, StoreState>,
        memory: Option<Memory>,
    ) -> Vec<Extern> {
        self.0
            .iter()
            .filter_map(|import| {
                Some(match import {
                    Import::Memory => Extern::Memory(memory?),
                    Import::Host(function) => Extern::Func(host_function(store, *function)),
                    Import::Missing { name, ty } => Extern::Func(missing(store, name, ty)),
                })
            })
            .collect()
    }
}

fn missing(
    store: &mut StoreContextMut<'_, StoreState>,
    name: &Arc<(String, String)>,
    ty: &FuncType,
) -> Func {
    let name = Arc::clone(name);
    Func::new(store, ty.clone(), move |_, _, _| {
        let (module, name) = (*name).clone();
        Err(carry(TrapKind::MissingImport { module, name }))
    })
}

type Guest<'a> = Caller<'a, StoreState>;
type Answer<T> = Result<T, wasmi::Error>;

fn host_function(store: &mut StoreContextMut<'_, StoreState>, function: HostFunction) -> Func {
    match function {
        HostFunction::Malloc => Func::wrap(store, move |mut guest: Guest<'_>, size: u32| {
            let size = parameters([size.into()]);
            answer(&mut guest, function, &size).map(|pointer| pointer as u32)
        }),
        HostFunction::Free => Func::wrap(store, |mut guest: Guest<'_>, pointer: u32| {
            let (memory, host) = memory_and_host(&mut guest);
            let freed = host.free(memory, pointer);
            in_time(&guest, freed)
        }),
        HostFunction::MaxLogLevel => {
            Func::wrap(store, |guest: Guest<'_>| guest.data().host.max_log_level())
        }
        HostFunction::Log => {
            Func::wrap(store, |mut guest: Guest<'_>, level: u32, target: u64, message: u64| {
                let (memory, host) = memory_and_host(&mut guest);
                let logged = host.log(memory, level, target, message);
                in_time(&guest, logged)
            })
        }
        HostFunction::InputLength => {
            Func::wrap(store, |guest: Guest<'_>| guest.data().host.input_len())
        }
        HostFunction::Input => Func::wrap(store, |mut guest: Guest<'_>, pointer: u64| {
            let (memory, host) = memory_and_host(&mut guest);
            let copied = host.input(memory, pointer);
            in_time(&guest, copied)
        }),
        HostFunction::Wasi(_) | HostFunction::Storage(_) => untyped(store, function),
    }
}

/// A function with parameters of any number and type.
fn untyped(store: &mut StoreContextMut<'_, StoreState>, function: HostFunction) -> Func {
    let Signature { params, results } = function.signature();
    let number = |ty: &ValueType| match ty {
        ValueType::I64 => ValType::I64,
        _ => ValType::I32,
    };
    let ty = FuncType::new(params.iter().map(number), results.iter().map(number));
    Func::new(store, ty, move |mut guest: Guest<'_>, params, places| {
        let values = parameters(params.iter().map(|value| match value {
            Val::I32(value) => value.cast_unsigned().into(),
            Val::I64(value) => value.cast_unsigned(),
            _ => 0,
        }));
        let result = answer(&mut guest, function, &values)?;
        for (place, ty) in places.iter_mut().zip(&results) {
            *place = match ty {
                ValueType::I64 => Val::I64(result.cast_signed()),
                _ => Val::I32(result as i32),
            };
        }
        Ok(())
    })
}

/// The answer of a host function, or a trap if the deadline has passed: a guest that mostly calls
/// the host uses little fuel.
fn in_time<T>(guest: &Guest<'_>, answered: Result<T, Trap>) -> Answer<T> {
    let answered = answered.and_then(|answer| guest.data().clock.check().map(|()| answer));
    answered.map_err(carry)
}

/// Answers a function on the memory, which grows if the answer needs more.
fn answer(guest: &mut Guest<'_>, function: HostFunction, values: &Parameters) -> Answer<u64> {
    loop {
        let (bytes, host) = memory_and_host(guest);
        let pages = match host.answer(function, bytes, values).map_err(carry)? {
            Answered::Result(result) => return in_time(guest, Ok(result)),
            Answered::NeedsMemory { pages } => pages,
        };
        let grown =
            memory(guest).is_some_and(|memory| memory.grow(&mut *guest, u64::from(pages)).is_ok());
        if !grown {
            return Err(carry(function.full(pages)));
        }
    }
}

/// The guest's memory. A start function runs before the store knows it.
fn memory(guest: &Guest<'_>) -> Option<Memory> {
    guest.data().memory.or_else(|| guest.get_export(MEMORY)?.into_memory())
}

fn memory_and_host<'a>(guest: &'a mut Guest<'_>) -> (&'a mut [u8], &'a mut HostState) {
    match memory(guest) {
        Some(memory) => {
            let (bytes, state) = memory.data_and_store_mut(guest);
            (bytes, &mut state.host)
        }
        None => (&mut [], &mut guest.data_mut().host),
    }
}
