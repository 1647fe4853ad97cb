//! A live instance: imports, memory, calls and traps.

use crate::ID;
use std::sync::Arc;
use touchstone_executor::adapter::{self, Disposable, HostCaller, HostState, Live, LoadedGuest};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, HostFunction, Reference, Result, Trap, TrapKind, Value};
use wasmi::errors::{ErrorKind, HostError, InstantiationError::ElementSegmentDoesNotFit};
use wasmi::{Caller, Extern, F32, F64, Func, FuncType, Instance, Memory, Nullable, Store};
use wasmi::{TrapCode as Code, Val};

pub(crate) struct ModuleData {
    pub(crate) guest: LoadedGuest,
    pub(crate) module: wasmi::Module,
}

/// A store with the instance in it.
pub(crate) struct LiveInstance {
    store: Store<HostState>,
    instance: Instance,
    memory: Option<Memory>,
    shared: Arc<ModuleData>,
}

impl Disposable for LiveInstance {
    type Shared = ModuleData;
    type Kept = ();

    fn new(shared: &Arc<ModuleData>, _: Option<()>) -> Result<Self> {
        let mut store = Store::new(shared.module.engine(), shared.guest.new_host());
        let imports = shared.module.imports().zip(&shared.guest.functions);
        let imports: Vec<Extern> = imports
            .filter_map(|(import, function)| {
                Some(define(&mut store, import.ty().func()?, function))
            })
            .collect();
        let instance = Instance::new(&mut store, &shared.module, &imports)
            .map_err(|error| Error::of_instantiation(find_trap("instantiate the module", error)))?;
        let memory = instance.get_memory(&store, MEMORY);
        Ok(Self { store, instance, memory, shared: Arc::clone(shared) })
    }

    fn into_kept(self) {}
}

impl Live for LiveInstance {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let Some(memory) = self.memory else { return (&mut [], self.store.data_mut()) };
        memory.data_and_store_mut(&mut self.store)
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.memory.is_some_and(|memory| memory.grow(&mut self.store, pages.into()).is_ok())
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let function = self.instance.get_func(&self.store, self.shared.guest.export_name(index)?);
        let function = function.ok_or(Error::FOREIGN_HANDLE)?;
        let params: Vec<Val> = params.iter().map(to_wasmi).collect();
        let mut values = vec![Val::I32(0); results.len()];
        if let Err(error) = function.call(&mut self.store, &params, &mut values) {
            return find_trap("run the guest", error).map(Err);
        }
        results.iter_mut().zip(&values).for_each(|(result, value)| *result = from_wasmi(value));
        Ok(Ok(()))
    }
}

/// The host function of an import.
fn define(store: &mut Store<HostState>, ty: &FuncType, function: &Arc<HostFunction>) -> Extern {
    let function = Arc::clone(function);
    let answer = move |guest: Caller<'_, HostState>, params: &[Val], results: &mut [Val]| {
        let give = |place: usize, value: Value| results[place] = to_wasmi(&value);
        let params = params.iter().map(from_wasmi);
        adapter::answer(&mut WaitingGuest(guest), &function, params, give).map_err(carry)
    };
    Func::new(store, ty.clone(), answer).into()
}

/// A guest that waits for a host function.
struct WaitingGuest<'a>(Caller<'a, HostState>);

fn memory_of(guest: &WaitingGuest<'_>) -> Option<Memory> {
    guest.0.get_export(MEMORY).and_then(Extern::into_memory)
}

impl HostCaller for WaitingGuest<'_> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let Some(memory) = memory_of(self) else { return (&mut [], self.0.data_mut()) };
        memory.data_and_store_mut(&mut self.0)
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        memory_of(self).is_some_and(|memory| memory.grow(&mut self.0, pages.into()).is_ok())
    }
}

/// The contract passes numbers, and of references only null.
fn to_wasmi(value: &Value) -> Val {
    match value {
        Value::I32(value) => Val::I32(*value),
        Value::I64(value) => Val::I64(*value),
        Value::F32(bits) => Val::F32(F32::from_bits(*bits)),
        Value::F64(bits) => Val::F64(F64::from_bits(*bits)),
        _ => Val::FuncRef(Nullable::Null),
    }
}

fn from_wasmi(value: &Val) -> Value {
    match value {
        Val::I32(value) => Value::I32(*value),
        Val::I64(value) => Value::I64(*value),
        Val::F32(value) => Value::F32(value.to_bits()),
        Val::F64(value) => Value::F64(value.to_bits()),
        other => Value::FuncRef(Reference::null_if(matches!(other, Val::FuncRef(Nullable::Null)))),
    }
}

/// A trap of a host function inside wasmi's error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct CarriedTrap(Trap);

impl HostError for CarriedTrap {}

fn carry(trap: Trap) -> wasmi::Error {
    wasmi::Error::host(CarriedTrap(trap))
}

/// The trap in an error of wasmi, or the host's failure.
fn find_trap(action: &'static str, error: wasmi::Error) -> Result<Trap> {
    if let Some(CarriedTrap(trap)) = error.downcast_ref() {
        return Ok(trap.clone());
    }
    let kind = match (error.as_trap_code(), error.kind()) {
        (Some(Code::UnreachableCodeReached), _) => TrapKind::Unreachable,
        (Some(Code::MemoryOutOfBounds), _) => TrapKind::MemoryOutOfBounds,
        (Some(Code::TableOutOfBounds), _)
        | (None, ErrorKind::Instantiation(ElementSegmentDoesNotFit { .. })) => {
            TrapKind::TableOutOfBounds
        }
        (Some(Code::IndirectCallToNull | Code::BadSignature), _) => TrapKind::BadIndirectCall,
        (Some(Code::IntegerDivisionByZero), _) => TrapKind::DivisionByZero,
        (Some(Code::IntegerOverflow | Code::BadConversionToInteger), _) => TrapKind::BadArithmetic,
        (Some(Code::StackOverflow), _) => TrapKind::StackOverflow,
        (Some(code), _) => return Ok(Trap::with_detail(TrapKind::Other, code.trap_message())),
        (None, _) => return Err(Error::runtime(ID, action)(error)),
    };
    Ok(kind.into())
}
