//! What a module imports: host functions, and stubs for all that this host does
//! not have.

use crate::engine::ID;
use crate::memory::bytes;
use crate::trap::carry;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tinywasm::types::{FuncType, WasmType, WasmValue};
use tinywasm::{FuncContext, Function, Memory, Store};
use touchstone_executor::guest::{FunctionImport, HOST_GROW, HOST_SIZE, HOST_SIZED};
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::host::{
    Answer as Answered, HostFunction, HostState, Parameters, parameters,
};
use touchstone_executor::{Error, Result, Signature, TrapKind, ValueType};

/// What host functions see of their instance, while the guest runs.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// The guest's memory and where it lies.
    pub(crate) memory: Option<(Memory, *mut u8)>,
}

/// Where the host's side is put for the time of a call.
pub(crate) type Desk = Rc<RefCell<Option<Host>>>;

/// The imports of a module, in its order.
pub(crate) struct Imports {
    all: Vec<Import>,
    /// Pages that a memory may grow to where the host sizes it.
    largest: Option<u32>,
}

struct Import {
    name: Arc<(String, String)>,
    answer: Answer,
}

enum Answer {
    Host(HostFunction),
    Missing(FuncType),
    /// Of a memory that the host sizes, to at most so many pages.
    Size,
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
            imports.push(Import {
                name: Arc::new((import.module.to_owned(), import.name.to_owned())),
                answer: host.map_or_else(|| Answer::Missing(ty.clone()), Answer::Host),
            });
        }
        if let Some(largest) = largest {
            for (name, answer) in [(HOST_SIZE, Answer::Size), (HOST_GROW, Answer::Grow(largest))] {
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
                Answer::Host(function) => host_function(store, desk, *function, self.largest()),
                Answer::Missing(ty) => missing(store, name, ty),
                Answer::Size => size(store, desk),
                Answer::Grow(largest) => grow(store, desk, *largest),
            };
            imports.define(&name.0, &name.1, function);
        }
        imports
    }
}

type Step<T> = tinywasm::Result<T>;
type Guest<'a> = FuncContext<'a>;

fn missing(store: &mut Store, name: &Arc<(String, String)>, ty: &FuncType) -> Function {
    let name = Arc::clone(name);
    tinywasm::HostFunction::from_untyped(
        store,
        ty,
        move |_: Guest<'_>, _: &[WasmValue]| -> Step<Vec<WasmValue>> {
            let (module, name) = (*name).clone();
            Err(carry(TrapKind::MissingImport { module, name }))
        },
    )
}

/// The guest's memory, while the guest runs.
fn memory(desk: &Desk) -> Option<Memory> {
    desk.borrow().as_ref()?.memory.map(|(memory, _)| memory)
}

/// What answers `memory.size` where the host sizes the memory.
fn size(store: &mut Store, desk: &Desk) -> Function {
    let desk = Rc::clone(desk);
    tinywasm::HostFunction::from(store, move |guest: Guest<'_>, (): ()| match memory(&desk) {
        Some(memory) => Ok((memory.len(guest.store())? / WASM_PAGE) as i32),
        None => Ok(0),
    })
}

/// What answers `memory.grow` there.
fn grow(store: &mut Store, desk: &Desk, largest: u32) -> Function {
    let desk = Rc::clone(desk);
    tinywasm::HostFunction::from(store, move |mut guest: Guest<'_>, pages: i32| {
        let grow =
            |memory| crate::memory::grow(memory, guest.store_mut(), pages.cast_unsigned(), largest);
        Ok(memory(&desk).and_then(grow).map_or(-1, u32::cast_signed))
    })
}

fn host_function(
    store: &mut Store,
    desk: &Desk,
    function: HostFunction,
    largest: Option<u32>,
) -> Function {
    use tinywasm::HostFunction as Inner;
    let desk = Rc::clone(desk);
    match function {
        HostFunction::Malloc => Inner::from(store, move |mut guest: Guest<'_>, size: i32| {
            let size = parameters([size.cast_unsigned().into()]);
            answer(&desk, &mut guest, function, &size, largest).map(|pointer| pointer as i32)
        }),
        HostFunction::Free => Inner::from(store, move |mut guest: Guest<'_>, pointer: i32| {
            with_memory(&desk, &mut guest, |memory, host| host.free(memory, pointer as u32))?
                .map_err(carry)
        }),
        HostFunction::MaxLogLevel => Inner::from(store, move |mut guest: Guest<'_>, (): ()| {
            with_memory(&desk, &mut guest, |_, host| host.max_log_level() as i32)
        }),
        HostFunction::Log => Inner::from(
            store,
            move |mut guest: Guest<'_>, (level, target, message): (i32, i64, i64)| {
                with_memory(&desk, &mut guest, |memory, host| {
                    host.log(memory, level as u32, target as u64, message as u64)
                })?
                .map_err(carry)
            },
        ),
        HostFunction::InputLength => Inner::from(store, move |mut guest: Guest<'_>, (): ()| {
            with_memory(&desk, &mut guest, |_, host| host.input_len() as i64)
        }),
        HostFunction::Input => Inner::from(store, move |mut guest: Guest<'_>, pointer: i64| {
            with_memory(&desk, &mut guest, |memory, host| host.input(memory, pointer as u64))?
                .map_err(carry)
        }),
        HostFunction::Wasi(_) | HostFunction::Storage(_) => untyped(store, desk, function, largest),
    }
}

/// A function that is answered over the memory, untyped.
fn untyped(
    store: &mut Store,
    desk: Desk,
    function: HostFunction,
    largest: Option<u32>,
) -> Function {
    let Signature { params, results } = function.signature();
    let number = |ty: &ValueType| match ty {
        ValueType::I64 => WasmType::I64,
        _ => WasmType::I32,
    };
    let params: Vec<_> = params.iter().map(number).collect();
    let types: Vec<_> = results.iter().map(number).collect();
    tinywasm::HostFunction::from_untyped(
        store,
        &FuncType::new(&params, &types),
        move |mut guest: Guest<'_>, params: &[WasmValue]| -> Step<Vec<WasmValue>> {
            let values = parameters(params.iter().map(|value| match value {
                WasmValue::I32(value) => value.cast_unsigned().into(),
                WasmValue::I64(value) => value.cast_unsigned(),
                _ => 0,
            }));
            let result = answer(&desk, &mut guest, function, &values, largest)?;
            let typed = |ty: &ValueType| match ty {
                ValueType::I64 => WasmValue::I64(result.cast_signed()),
                _ => WasmValue::I32(result as i32),
            };
            Ok(results.iter().map(typed).collect())
        },
    )
}

fn with_memory<T>(
    desk: &Desk,
    guest: &mut Guest<'_>,
    work: impl FnOnce(&mut [u8], &mut HostState) -> T,
) -> Step<T> {
    let mut desk = desk.borrow_mut();
    let Some(host) = desk.as_mut() else {
        return Err(tinywasm::Error::Other("no host is attached".to_owned()));
    };
    match &host.memory {
        Some((memory, base)) => {
            let size = memory.len(guest.store())?;
            // SAFETY: base and size are those of the memory that the store has,
            // which is borrowed until `work` is done: tinywasm does not run.
            Ok(work(unsafe { bytes(*base, size) }, &mut host.state))
        }
        None => Ok(work(&mut [], &mut host.state)),
    }
}

/// Answers a function over the memory, which grows if the answer needs room.
fn answer(
    desk: &Desk,
    guest: &mut Guest<'_>,
    function: HostFunction,
    values: &Parameters,
    largest: Option<u32>,
) -> Step<u64> {
    loop {
        let answered =
            with_memory(desk, guest, |memory, host| host.answer(function, memory, values))?;
        let pages = match answered.map_err(carry)? {
            Answered::Result(result) => return Ok(result),
            Answered::NeedsMemory { pages } => pages,
        };
        let grown = memory(desk).is_some_and(|memory| {
            crate::memory::grow_by_host(memory, guest.store_mut(), pages, largest)
        });
        if !grown {
            return Err(carry(function.full(pages)));
        }
    }
}
