//! Imports of a module, answered by host functions.

use crate::engine::ID;
use crate::memory::bytes;
use crate::running::{from_tinywasm, to_tinywasm};
use crate::trap::carry;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tinywasm::types::{FuncType, WasmValue};
use tinywasm::{FuncContext, Function, Memory, Store};
use touchstone_executor::adapter::{self, Clock, HostCaller, HostState};
use touchstone_executor::guest::{HOST_GROW, HOST_SIZE, HOST_SIZED, WASM_PAGE};
use touchstone_executor::{Error, HostFunction, Result, Trap, Value};

/// The instance as host functions see it while the guest runs.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// The guest's memory and its address.
    pub(crate) memory: Option<(Memory, *mut u8)>,
    pub(crate) clock: Clock,
}

/// Holds the host's side during a call.
pub(crate) type Desk = Rc<RefCell<Option<Host>>>;

pub(crate) struct Imports {
    all: Vec<Import>,
    /// Pages that a memory may grow to where the host sizes it.
    pub(crate) largest: Option<u32>,
}

struct Import {
    module: String,
    name: String,
    answer: Answer,
}

enum Answer {
    Function(Arc<HostFunction>, FuncType),
    /// `memory.size` of a memory that the host sizes.
    Size,
    /// `memory.grow` of such a memory, to at most this number of pages.
    Grow(u32),
}

impl Imports {
    /// Finds the answer to each import, also where one name stands several times (with one type,
    /// else the module is refused): tinywasm's `table.fill` takes a function's address in the store
    /// for an index in the module, so that both must be the same. `largest` is of a memory that the
    /// host sizes.
    pub(crate) fn of(
        module: &tinywasm::Module,
        functions: &[Arc<HostFunction>],
        largest: Option<u32>,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for (import, function) in module.imports().zip(functions) {
            let (module, name) = (import.module.to_owned(), import.name.to_owned());
            let tinywasm::types::ImportType::Func(ty) = import.ty else {
                let reason = format!("{module}.{name} is no function");
                return Err(Error::runtime(ID, "link the module")(reason));
            };
            let answer = Answer::Function(Arc::clone(function), ty.clone());
            all.push(Import { module, name, answer });
        }
        if let Some(largest) = largest {
            for (name, answer) in [(HOST_SIZE, Answer::Size), (HOST_GROW, Answer::Grow(largest))] {
                let (module, name) = (HOST_SIZED.to_owned(), name.to_owned());
                all.push(Import { module, name, answer });
            }
        }
        Ok(Self { all, largest })
    }

    /// The imports in a store. tinywasm links them by name for each instance.
    pub(crate) fn define(&self, store: &mut Store, desk: &Desk) -> tinywasm::Imports {
        let mut imports = tinywasm::Imports::new();
        for Import { module, name, answer } in &self.all {
            let function = match answer {
                Answer::Function(function, ty) => {
                    define(store, desk, Arc::clone(function), ty, self.largest)
                }
                Answer::Size => size(store, desk),
                Answer::Grow(largest) => grow(store, desk, *largest),
            };
            imports.define(module, name, function);
        }
        imports
    }
}

type Guest<'a> = FuncContext<'a>;

/// The guest's memory, while the guest runs.
fn memory(desk: &Desk) -> Option<Memory> {
    desk.borrow().as_ref()?.memory.map(|(memory, _)| memory)
}

/// Answers `memory.size` where the host sizes the memory.
fn size(store: &mut Store, desk: &Desk) -> Function {
    let desk = Rc::clone(desk);
    tinywasm::HostFunction::from(store, move |guest: Guest<'_>, (): ()| match memory(&desk) {
        Some(memory) => Ok((memory.len(guest.store())? / WASM_PAGE) as i32),
        None => Ok(0),
    })
}

/// Answers `memory.grow` where the host sizes the memory.
fn grow(store: &mut Store, desk: &Desk, largest: u32) -> Function {
    let desk = Rc::clone(desk);
    tinywasm::HostFunction::from(store, move |mut guest: Guest<'_>, pages: i32| {
        let grow =
            |memory| crate::memory::grow(memory, guest.store_mut(), pages.cast_unsigned(), largest);
        Ok(memory(&desk).and_then(grow).map_or(-1, u32::cast_signed))
    })
}

/// A host function in a store. tinywasm passes the parameters of typed ones in the same way.
fn define(
    store: &mut Store,
    desk: &Desk,
    function: Arc<HostFunction>,
    ty: &FuncType,
    largest: Option<u32>,
) -> Function {
    let desk = Rc::clone(desk);
    let answer = move |mut guest: Guest<'_>, params: &[WasmValue]| {
        let mut desk = desk.borrow_mut();
        let Some(host) = desk.as_mut() else {
            return Err(tinywasm::Error::Other("no host is attached".to_owned()));
        };
        let mut waiting = WaitingGuest { host, store: guest.store_mut(), largest };
        let mut results = Vec::with_capacity(function.signature().results.len());
        let give = |_, value: Value| results.push(to_tinywasm(value));
        let params = params.iter().copied().map(from_tinywasm);
        adapter::answer(&mut waiting, &function, params, give).map_err(carry)?;
        Ok(results)
    };
    tinywasm::HostFunction::from_untyped(store, ty, answer)
}

struct WaitingGuest<'a> {
    host: &'a mut Host,
    store: &'a mut Store,
    largest: Option<u32>,
}

impl HostCaller for WaitingGuest<'_> {
    fn host(&mut self) -> &mut HostState {
        &mut self.host.state
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let bytes: &mut [u8] = match &self.host.memory {
            Some((memory, base)) => {
                let size = memory.len(self.store).unwrap_or(0);
                // SAFETY: base and size are those of the memory in the store, which the result
                // borrows with `self`: tinywasm does not run meanwhile.
                unsafe { bytes(*base, size) }
            }
            None => &mut [],
        };
        (bytes, &mut self.host.state)
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.host.memory.is_some_and(|(memory, _)| {
            crate::memory::grow_by_host(memory, self.store, pages, self.largest)
        })
    }
    /// A guest that mostly calls the host uses little fuel.
    fn check_time(&mut self) -> Result<(), Trap> {
        self.host.clock.check()
    }
}
