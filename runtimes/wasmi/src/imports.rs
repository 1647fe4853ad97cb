//! The imports of a module, answered by host functions.

use crate::home::StoreState;
use crate::running::{from_wasmi, to_wasmi};
use crate::trap::carry;
use std::sync::Arc;
use touchstone_executor::adapter::{self, HostCaller, HostState, wrap_host_function};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, HostFunction, Result, Trap};
use wasmi::{Caller, Extern, ExternType, Func, FuncType, Memory, StoreContextMut, ValType};

/// The imports of a module, in its order.
pub(crate) struct Imports(Vec<Import>);

enum Import {
    Memory,
    Function(Arc<HostFunction>, FuncType),
}

impl Imports {
    /// Finds the answer to each import.
    pub(crate) fn of(
        engine: &'static str,
        module: &wasmi::Module,
        functions: &[Arc<HostFunction>],
    ) -> Result<Self> {
        let refuse = || Error::runtime(engine, "link the module")("it imports a table or a global");
        let mut functions = functions.iter();
        let decide = |import: wasmi::ImportType<'_>| match import.ty() {
            ExternType::Memory(_) => Ok(Import::Memory),
            ExternType::Func(ty) => {
                let function = functions.next().ok_or_else(refuse)?;
                Ok(Import::Function(Arc::clone(function), ty.clone()))
            }
            _ => Err(refuse()),
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
                    Import::Function(function, ty) => {
                        Extern::Func(define(store, Arc::clone(function), ty))
                    }
                })
            })
            .collect()
    }
}

type Guest<'a> = Caller<'a, StoreState>;

/// A function in a store. wasmi allocates in each call of a function whose types it knows only as
/// values.
fn define(
    store: &mut StoreContextMut<'_, StoreState>,
    function: Arc<HostFunction>,
    ty: &FuncType,
) -> Func {
    wrap_host_function! {
        match ty of ValType, function, Guest<'_> => WaitingGuest, carry,
        |closure| Func::wrap(store, closure),
        else untyped(store, function, ty)
    }
}

/// A function with parameters of any number and type.
fn untyped(
    store: &mut StoreContextMut<'_, StoreState>,
    function: Arc<HostFunction>,
    ty: &FuncType,
) -> Func {
    Func::new(store, ty.clone(), move |guest: Guest<'_>, params, places| {
        let give = |place: usize, value| places[place] = to_wasmi(value);
        let params = params.iter().map(from_wasmi);
        adapter::answer(&mut WaitingGuest(guest), &function, params, give).map_err(carry)
    })
}

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
