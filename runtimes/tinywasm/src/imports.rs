//! Imports of a module: host functions, and stubs for everything else.

use crate::engine::ID;
use crate::memory::bytes;
use crate::trap::carry;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tinywasm::types::{FuncType, WasmType, WasmValue};
use tinywasm::{FuncContext, Function, Memory, Store};
use touchstone_executor::adapter::{self, HostCaller};
use touchstone_executor::guest::{FunctionImport, HOST_GROW, HOST_SIZE, HOST_SIZED};
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::host::{HostFunction, HostState, parameters};
use touchstone_executor::{Error, Result, TrapKind};

/// The instance as host functions see it while the guest runs.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// The guest's memory and its address.
    pub(crate) memory: Option<(Memory, *mut u8)>,
}

/// Holds the host's side during a call.
pub(crate) type Desk = Rc<RefCell<Option<Host>>>;

pub(crate) struct Imports {
    all: Vec<Import>,
    /// Pages that a memory may grow to where the host sizes it.
    largest: Option<u32>,
}

struct Import {
    name: Arc<(String, String)>,
    answer: ImportAnswer,
}

enum ImportAnswer {
    Host(HostFunction, FuncType),
    Missing(FuncType),
    /// `memory.size` of a memory that the host sizes.
    Size,
    /// `memory.grow` of such a memory, to at most this number of pages.
    Grow(u32),
}

impl Imports {
    /// Decides once for every import what answers it, also where one name stands several times
    /// (with one type, else the module is refused): tinywasm's `table.fill` takes a function's
    /// address in the store for an index in the module, so that both must be the same.
    /// `largest` is of a memory that the host sizes.
    pub(crate) fn of(
        module: &tinywasm::Module,
        functions: &[FunctionImport],
        largest: Option<u32>,
    ) -> Result<Self> {
        let failed = |reason: String| Error::runtime(ID, "link the module")(reason);
        let mut imports = Vec::new();
        for (import, known) in module.imports().zip(functions) {
            let tinywasm::types::ImportType::Func(ty) = import.ty else {
                return Err(failed(format!("{}.{} is no function", import.module, import.name)));
            };
            let signature = known.signature.as_ref();
            let host =
                signature.and_then(|found| HostFunction::find(import.module, import.name, found));
            let answer = match host {
                Some(function) => ImportAnswer::Host(function, ty.clone()),
                None => ImportAnswer::Missing(ty.clone()),
            };
            let name = Arc::new((import.module.to_owned(), import.name.to_owned()));
            imports.push(Import { name, answer });
        }
        if let Some(largest) = largest {
            let sizing =
                [(HOST_SIZE, ImportAnswer::Size), (HOST_GROW, ImportAnswer::Grow(largest))];
            for (name, answer) in sizing {
                let name = Arc::new((HOST_SIZED.to_owned(), name.to_owned()));
                imports.push(Import { name, answer });
            }
        }
        Ok(Self { all: imports, largest })
    }

    /// Pages that a memory may grow to where the host sizes it.
    pub(crate) fn largest(&self) -> Option<u32> {
        self.largest
    }

    /// The imports in a store. tinywasm links them by name for each instance.
    pub(crate) fn define(&self, store: &mut Store, desk: &Desk) -> tinywasm::Imports {
        let mut imports = tinywasm::Imports::new();
        for Import { name, answer } in &self.all {
            let function = match answer {
                ImportAnswer::Host(function, ty) => {
                    host_function(store, desk, *function, ty, self.largest)
                }
                ImportAnswer::Missing(ty) => missing(store, name, ty),
                ImportAnswer::Size => size(store, desk),
                ImportAnswer::Grow(largest) => grow(store, desk, *largest),
            };
            imports.define(&name.0, &name.1, function);
        }
        imports
    }
}

type HostResult<T> = tinywasm::Result<T>;
type Guest<'a> = FuncContext<'a>;

fn missing(store: &mut Store, name: &Arc<(String, String)>, ty: &FuncType) -> Function {
    let name = Arc::clone(name);
    tinywasm::HostFunction::from_untyped(
        store,
        ty,
        move |_: Guest<'_>, _: &[WasmValue]| -> HostResult<Vec<WasmValue>> {
            let (module, name) = (*name).clone();
            Err(carry(TrapKind::MissingImport { module, name }))
        },
    )
}

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

/// A host function. tinywasm passes the parameters of typed ones in the same way.
fn host_function(
    store: &mut Store,
    desk: &Desk,
    function: HostFunction,
    ty: &FuncType,
    largest: Option<u32>,
) -> Function {
    let desk = Rc::clone(desk);
    let result = ty.results().first().copied();
    tinywasm::HostFunction::from_untyped(
        store,
        ty,
        move |mut guest: Guest<'_>, params: &[WasmValue]| -> HostResult<Vec<WasmValue>> {
            let numbers = parameters(params.iter().map(|value| match value {
                WasmValue::I32(value) => value.cast_unsigned().into(),
                WasmValue::I64(value) => value.cast_unsigned(),
                _ => 0,
            }));
            let mut desk = desk.borrow_mut();
            let Some(host) = desk.as_mut() else {
                return Err(tinywasm::Error::Other("no host is attached".to_owned()));
            };
            let mut waiting = WaitingGuest { host, store: guest.store_mut(), largest };
            let number = adapter::answer(&mut waiting, function, &numbers).map_err(carry)?;
            Ok(match result {
                None => Vec::new(),
                Some(WasmType::I64) => vec![WasmValue::I64(number.cast_signed())],
                Some(_) => vec![WasmValue::I32(number as i32)],
            })
        },
    )
}

/// A guest that waits for a host function.
struct WaitingGuest<'a> {
    host: &'a mut Host,
    store: &'a mut Store,
    largest: Option<u32>,
}

impl HostCaller for WaitingGuest<'_> {
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
}
