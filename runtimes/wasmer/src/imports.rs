//! What a module imports: host functions, and stubs for all that this host does
//! not have.

use crate::memory::bytes;
use crate::rewrite::CLOCK;
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::guest::FunctionImport;
use touchstone_executor::host::{Answer, Clock, HostFunction, HostState, Parameters, parameters};
use touchstone_executor::{Error, Result, Signature, Trap, TrapKind, ValueType};
use wasmer::{Extern, ExternType, Function, FunctionEnv, FunctionEnvMut, FunctionType, Memory};
use wasmer::{RuntimeError, Store, Type, Value};

/// What host functions see of their instance.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// Known once the module is instantiated, before any of its code runs.
    pub(crate) memory: Option<Memory>,
    /// When the guest is to be stopped.
    pub(crate) clock: Clock,
}

/// The imports of a module, in its order.
pub(crate) struct Imports(Vec<Import>);

enum Import {
    Host(HostFunction),
    Clock,
    Missing { name: Arc<(String, String)>, ty: FunctionType },
}

impl Imports {
    /// Decides once for every import what answers it.
    pub(crate) fn of(module: &wasmer::Module, functions: &[FunctionImport]) -> Result<Self> {
        let mut functions = functions.iter();
        let decide = |import: wasmer::ImportType| {
            let (module, name) = (import.module(), import.name());
            let ExternType::Function(ty) = import.ty() else {
                return Err(Error::runtime(ID, "link the module")("it imports no function"));
            };
            // Rewriting puts the clock behind the guest's own.
            let Some(known) = functions.next() else {
                return match (module, name) {
                    CLOCK => Ok(Import::Clock),
                    _ => Err(Error::Misuse("an import that the guest does not have")),
                };
            };
            let signature = known.signature.as_ref();
            let host = signature.and_then(|found| HostFunction::find(module, name, found));
            Ok(host.map_or_else(
                || Import::Missing {
                    name: Arc::new((module.to_owned(), name.to_owned())),
                    ty: ty.clone(),
                },
                Import::Host,
            ))
        };
        module.imports().map(decide).collect::<Result<_>>().map(Self)
    }

    /// The imports in a store. By position and not by name: a module may import
    /// one name with two types, and nothing has to be looked up.
    pub(crate) fn define(&self, store: &mut Store, env: &FunctionEnv<Host>) -> Vec<Extern> {
        self.0
            .iter()
            .map(|import| {
                Extern::Function(match import {
                    Import::Host(function) => host_function(store, env, *function),
                    Import::Clock => Function::new_typed_with_env(store, env, clock),
                    Import::Missing { name, ty } => missing(store, name, ty),
                })
            })
            .collect()
    }
}

fn missing(store: &mut Store, name: &Arc<(String, String)>, ty: &FunctionType) -> Function {
    let name = Arc::clone(name);
    Function::new(store, ty.clone(), move |_| {
        let (module, name) = (*name).clone();
        let trap = Trap::new(TrapKind::MissingImport { module, name });
        Err(RuntimeError::user(Box::new(trap)))
    })
}

type Guest<'a> = FunctionEnvMut<'a, Host>;

fn host_function(store: &mut Store, env: &FunctionEnv<Host>, function: HostFunction) -> Function {
    match function {
        HostFunction::Malloc => Function::new_typed_with_env(
            store,
            env,
            move |mut guest: Guest<'_>, size: u32| -> Result<u32, Trap> {
                let size = parameters([size.into()]);
                answer(&mut guest, function, &size).map(|pointer| pointer as u32)
            },
        ),
        HostFunction::Free => {
            Function::new_typed_with_env(store, env, |mut guest: Guest<'_>, pointer: u32| {
                let freed = with_memory(&mut guest, |memory, host| host.free(memory, pointer));
                in_time(&guest, freed)
            })
        }
        HostFunction::MaxLogLevel => {
            Function::new_typed_with_env(store, env, |guest: Guest<'_>| {
                guest.data().state.max_log_level()
            })
        }
        HostFunction::Log => Function::new_typed_with_env(
            store,
            env,
            |mut guest: Guest<'_>, level: u32, target: u64, message: u64| {
                let logged = with_memory(&mut guest, |memory, host| {
                    host.log(memory, level, target, message)
                });
                in_time(&guest, logged)
            },
        ),
        HostFunction::InputLength => {
            Function::new_typed_with_env(store, env, |guest: Guest<'_>| {
                guest.data().state.input_len()
            })
        }
        HostFunction::Input => {
            Function::new_typed_with_env(store, env, |mut guest: Guest<'_>, pointer: u64| {
                let copied = with_memory(&mut guest, |memory, host| host.input(memory, pointer));
                in_time(&guest, copied)
            })
        }
        HostFunction::Wasi(_) | HostFunction::Storage(_) => untyped(store, env, function),
    }
}

/// A function that is answered over the memory, untyped.
fn untyped(store: &mut Store, env: &FunctionEnv<Host>, function: HostFunction) -> Function {
    let Signature { params, results } = function.signature();
    let number = |ty: &ValueType| match ty {
        ValueType::I64 => Type::I64,
        _ => Type::I32,
    };
    let params: Vec<_> = params.iter().map(number).collect();
    let types: Vec<_> = results.iter().map(number).collect();
    let ty = FunctionType::new(params, types);
    Function::new_with_env(store, env, ty, move |mut guest: Guest<'_>, params| {
        let values = parameters(params.iter().map(|value| match value {
            Value::I32(value) => value.cast_unsigned().into(),
            Value::I64(value) => value.cast_unsigned(),
            _ => 0,
        }));
        let result = answer(&mut guest, function, &values)
            .map_err(|trap| RuntimeError::user(Box::new(trap)))?;
        let typed = |ty: &ValueType| match ty {
            ValueType::I64 => Value::I64(result.cast_signed()),
            _ => Value::I32(result as i32),
        };
        Ok(results.iter().map(typed).collect())
    })
}

fn with_memory<T>(guest: &mut Guest<'_>, work: impl FnOnce(&mut [u8], &mut HostState) -> T) -> T {
    let (host, store) = guest.data_and_store_mut();
    match &host.memory {
        // SAFETY: the guest waits for this call to return, and `work` can reach
        // neither the store nor the memory but through its two arguments.
        Some(memory) => work(unsafe { bytes(memory, &store) }, &mut host.state),
        None => work(&mut [], &mut host.state),
    }
}

/// What a host function answered, unless the guest's time is over: a guest that lets the host work
/// comes to few loops.
fn in_time<T>(guest: &Guest<'_>, answered: Result<T, Trap>) -> Result<T, Trap> {
    answered.and_then(|answer| guest.data().clock.check().map(|()| answer))
}

/// Answers a function over the memory, which grows if the answer needs room.
fn answer(guest: &mut Guest<'_>, function: HostFunction, values: &Parameters) -> Result<u64, Trap> {
    loop {
        let answered = with_memory(guest, |memory, host| host.answer(function, memory, values));
        let pages = match answered? {
            Answer::Result(result) => return in_time(guest, Ok(result)),
            Answer::NeedsMemory { pages } => pages,
        };
        let (host, mut store) = guest.data_and_store_mut();
        let grown =
            host.memory.as_ref().is_some_and(|memory| memory.grow(&mut store, pages).is_ok());
        if !grown {
            return Err(function.full(pages));
        }
    }
}

fn clock(guest: Guest<'_>) -> Result<(), Trap> {
    guest.data().clock.check()
}
