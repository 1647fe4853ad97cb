//! The imports of a module: host functions, and stubs for functions that this host does not have.

use crate::home::StoreState;
use crate::trap::carry;
use std::sync::Arc;
use touchstone_executor::adapter::{self, HostCaller};
use touchstone_executor::guest::{FunctionImport, MEMORY};
use touchstone_executor::host::{HostFunction, HostState, parameters};
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

fn host_function(store: &mut StoreContextMut<'_, StoreState>, function: HostFunction) -> Func {
    let answer = move |guest: Guest<'_>, numbers: [u64; 3]| {
        adapter::answer(&mut WaitingGuest(guest), function, &parameters(numbers)).map_err(carry)
    };
    match function {
        HostFunction::Malloc => Func::wrap(store, move |guest: Guest<'_>, size: u32| {
            answer(guest, [size.into(), 0, 0]).map(|pointer| pointer as u32)
        }),
        HostFunction::Free => Func::wrap(store, move |guest: Guest<'_>, pointer: u32| {
            answer(guest, [pointer.into(), 0, 0]).map(drop)
        }),
        HostFunction::MaxLogLevel => {
            Func::wrap(store, |guest: Guest<'_>| guest.data().host.max_log_level())
        }
        HostFunction::Log => {
            Func::wrap(store, move |guest: Guest<'_>, level: u32, target: u64, message: u64| {
                answer(guest, [level.into(), target, message]).map(drop)
            })
        }
        HostFunction::InputLength => {
            Func::wrap(store, |guest: Guest<'_>| guest.data().host.input_len())
        }
        HostFunction::Input => Func::wrap(store, move |guest: Guest<'_>, pointer: u64| {
            answer(guest, [pointer, 0, 0]).map(drop)
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
    Func::new(store, ty, move |guest: Guest<'_>, params, places| {
        let values = parameters(params.iter().map(|value| match value {
            Val::I32(value) => value.cast_unsigned().into(),
            Val::I64(value) => value.cast_unsigned(),
            _ => 0,
        }));
        let result = adapter::answer(&mut WaitingGuest(guest), function, &values).map_err(carry)?;
        for (place, ty) in places.iter_mut().zip(&results) {
            *place = match ty {
                ValueType::I64 => Val::I64(result.cast_signed()),
                _ => Val::I32(result as i32),
            };
        }
        Ok(())
    })
}

/// A guest that waits for a host function.
struct WaitingGuest<'a>(Guest<'a>);

impl WaitingGuest<'_> {
    /// The guest's memory. A start function runs before the store knows it.
    fn memory(&self) -> Option<Memory> {
        self.0.data().memory.or_else(|| self.0.get_export(MEMORY)?.into_memory())
    }
}

impl HostCaller for WaitingGuest<'_> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        match self.memory() {
            Some(memory) => {
                let (bytes, state) = memory.data_and_store_mut(&mut self.0);
                (bytes, &mut state.host)
            }
            None => (&mut [], &mut self.0.data_mut().host),
        }
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory().is_some_and(|memory| memory.grow(&mut self.0, pages.into()).is_ok())
    }

    /// A guest that mostly calls the host uses little fuel.
    fn check_time(&mut self) -> Result<(), Trap> {
        self.0.data().clock.check()
    }
}
