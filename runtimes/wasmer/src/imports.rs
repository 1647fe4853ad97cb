//! The imports of a module, answered by host functions.

use crate::memory::bytes;
use crate::rewrite::CLOCK;
use crate::running::{from_wasmer, to_wasmer};
use crate::settings::ID;
use std::sync::Arc;
use touchstone_executor::adapter::{self, Clock, HostCaller, HostState, wrap_host_function};
use touchstone_executor::{Error, HostFunction, Result, Trap, Value};
use wasmer::{Extern, ExternType, Function, FunctionEnv, FunctionEnvMut, FunctionType, Memory};
use wasmer::{RuntimeError, Store, Type};

/// The instance as host functions see it.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// Known once the module is instantiated, before any of its code runs.
    pub(crate) memory: Option<Memory>,
    /// Stops the guest at its deadline, and where somebody interrupts it.
    pub(crate) clock: Clock,
}

pub(crate) struct Imports(Vec<Import>);

enum Import {
    Function(Arc<HostFunction>, FunctionType),
    Clock,
}

impl Imports {
    /// Finds the answer to each import.
    pub(crate) fn of(module: &wasmer::Module, functions: &[Arc<HostFunction>]) -> Result<Self> {
        let mut functions = functions.iter();
        let decide = |import: wasmer::ImportType| {
            let ExternType::Function(ty) = import.ty() else {
                return Err(Error::runtime(ID, "link the module")("it imports no function"));
            };
            // Rewriting puts the clock behind the guest's own.
            match (functions.next(), (import.module(), import.name())) {
                (Some(function), _) => Ok(Import::Function(Arc::clone(function), ty.clone())),
                (None, CLOCK) => Ok(Import::Clock),
                (None, _) => Err(Error::Misuse("an import that the guest does not have")),
            }
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
                    Import::Function(function, ty) => define(store, env, function, ty),
                    Import::Clock => Function::new_typed_with_env(store, env, clock),
                })
            })
            .collect()
    }
}

type Guest<'a> = FunctionEnvMut<'a, Host>;

/// A function in a store. Wasmer allocates in each call of a function whose types it knows only as
/// values.
fn define(
    store: &mut Store,
    env: &FunctionEnv<Host>,
    function: &Arc<HostFunction>,
    ty: &FunctionType,
) -> Function {
    let function = Arc::clone(function);
    wrap_host_function! {
        match ty of Type, function, Guest<'_> => WaitingGuest, std::convert::identity::<Trap>,
        |closure| Function::new_typed_with_env(store, env, closure),
        else untyped(store, env, function, ty)
    }
}

/// A function with parameters of any number and type.
fn untyped(
    store: &mut Store,
    env: &FunctionEnv<Host>,
    function: Arc<HostFunction>,
    ty: &FunctionType,
) -> Function {
    Function::new_with_env(store, env, ty.clone(), move |guest: Guest<'_>, params| {
        let failed = |error: Error| RuntimeError::new(error.to_string());
        let params: Vec<Value> =
            params.iter().map(from_wasmer).collect::<Result<_>>().map_err(failed)?;
        let mut results = Vec::with_capacity(function.signature().results.len());
        let give = |_, value| results.push(to_wasmer(value));
        adapter::answer(&mut WaitingGuest(guest), &function, params, give)
            .map_err(|trap| RuntimeError::user(Box::new(trap)))?;
        Ok(results)
    })
}

struct WaitingGuest<'a>(Guest<'a>);

impl HostCaller for WaitingGuest<'_> {
    fn host(&mut self) -> &mut HostState {
        &mut self.0.data_mut().state
    }

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
