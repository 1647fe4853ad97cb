//! Imports of a module: host functions, and stubs for everything else.

use crate::memory::bytes;
use crate::rewrite::CLOCK;
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::adapter::{self, HostCaller};
use touchstone_executor::guest::FunctionImport;
use touchstone_executor::host::{Clock, HostFunction, HostState, parameters};
use touchstone_executor::{Error, Result, Signature, Trap, TrapKind, ValueType};
use wasmer::{Extern, ExternType, Function, FunctionEnv, FunctionEnvMut, FunctionType, Memory};
use wasmer::{RuntimeError, Store, Type, Value};

/// The instance as host functions see it.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// Known once the module is instantiated, before any of its code runs.
    pub(crate) memory: Option<Memory>,
    /// Stops the guest at its deadline.
    pub(crate) clock: Clock,
}

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
    let answer = move |guest: Guest<'_>, numbers: [u64; 3]| {
        adapter::answer(&mut WaitingGuest(guest), function, &parameters(numbers))
    };
    match function {
        HostFunction::Malloc => {
            Function::new_typed_with_env(store, env, move |guest: Guest<'_>, size: u32| {
                answer(guest, [size.into(), 0, 0]).map(|pointer| pointer as u32)
            })
        }
        HostFunction::Free => {
            Function::new_typed_with_env(store, env, move |guest: Guest<'_>, pointer: u32| {
                answer(guest, [pointer.into(), 0, 0]).map(drop)
            })
        }
        HostFunction::MaxLogLevel => {
            Function::new_typed_with_env(store, env, move |guest: Guest<'_>| {
                answer(guest, [0; 3]).map(|level| level as u32)
            })
        }
        HostFunction::Log => Function::new_typed_with_env(
            store,
            env,
            move |guest: Guest<'_>, level: u32, target: u64, message: u64| {
                answer(guest, [level.into(), target, message]).map(drop)
            },
        ),
        HostFunction::InputLength => {
            Function::new_typed_with_env(store, env, move |guest: Guest<'_>| answer(guest, [0; 3]))
        }
        HostFunction::Input => {
            Function::new_typed_with_env(store, env, move |guest: Guest<'_>, pointer: u64| {
                answer(guest, [pointer, 0, 0]).map(drop)
            })
        }
        HostFunction::Wasi(_) | HostFunction::Storage(_) => untyped(store, env, function),
    }
}

/// A host function with its parameters as numbers.
fn untyped(store: &mut Store, env: &FunctionEnv<Host>, function: HostFunction) -> Function {
    let Signature { params, results } = function.signature();
    let number = |ty: &ValueType| match ty {
        ValueType::I64 => Type::I64,
        _ => Type::I32,
    };
    let params: Vec<_> = params.iter().map(number).collect();
    let types: Vec<_> = results.iter().map(number).collect();
    let ty = FunctionType::new(params, types);
    Function::new_with_env(store, env, ty, move |guest: Guest<'_>, params| {
        let values = parameters(params.iter().map(|value| match value {
            Value::I32(value) => value.cast_unsigned().into(),
            Value::I64(value) => value.cast_unsigned(),
            _ => 0,
        }));
        let result = adapter::answer(&mut WaitingGuest(guest), function, &values)
            .map_err(|trap| RuntimeError::user(Box::new(trap)))?;
        let typed = |ty: &ValueType| match ty {
            ValueType::I64 => Value::I64(result.cast_signed()),
            _ => Value::I32(result as i32),
        };
        Ok(results.iter().map(typed).collect())
    })
}

/// A guest that waits for a host function.
struct WaitingGuest<'a>(Guest<'a>);

impl HostCaller for WaitingGuest<'_> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let (host, store) = self.0.data_and_store_mut();
        let bytes: &mut [u8] = match &host.memory {
            // SAFETY: the guest waits for this call to return, and the result borrows `self`, by
            // which alone anybody reaches store and memory.
            Some(memory) => unsafe { bytes(memory, &store) },
            None => &mut [],
        };
        (bytes, &mut host.state)
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        let (host, mut store) = self.0.data_and_store_mut();
        host.memory.as_ref().is_some_and(|memory| memory.grow(&mut store, pages).is_ok())
    }

    /// A guest that lets the host work comes to few loops.
    fn check_time(&mut self) -> Result<(), Trap> {
        self.0.data().clock.check()
    }
}

fn clock(guest: Guest<'_>) -> Result<(), Trap> {
    guest.data().clock.check()
}
