//! A new instance of a component for each call.

use super::codec::{Codec, Decoded};
use super::json;
use super::loaded::{Function, Shared};
use super::shape::Shape;
use crate::tenancy::{Kept, Tenancy};
use crate::{meter, trap};
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::host::HostState;
use touchstone_executor::memory::UsedOn;
use touchstone_executor::{Error, ExportId, Instance, Outcome, Result, TrapKind};
use wasmtime::Store;
use wasmtime::component::{self, Func, Type, TypedFunc, Val};

const FOREIGN: Error = Error::Misuse("the export handle is of another module");
const UNPREPARED: Error = Error::Misuse("invoke without prepare");

/// Instantiates in `prepare`, drops in `finish`.
pub(crate) struct ComponentInstance {
    // Dropped before what gives memories back.
    used_on: UsedOn,
    shared: Arc<Shared>,
    live: Option<Live>,
    /// What the last instance left.
    kept: Option<Kept>,
    typed: Option<TypedInput>,
    /// Serves call after call, in a store of its own; `None` after it broke.
    codec: Option<Codec>,
}

/// A store and the instance in it.
struct Live {
    tenancy: Tenancy,
    instance: component::Instance,
    /// Whether no call has trapped so far.
    well: bool,
}

/// The values of the last call by [`Abi::Typed`], for the next with the same input.
struct TypedInput {
    export: u32,
    input: Vec<u8>,
    values: Vec<Val>,
}

impl ComponentInstance {
    /// Nothing but a codec is made before the first call is prepared.
    ///
    /// # Errors
    ///
    /// When the codec does not start.
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let codec = shared.new_codec()?;
        let (used_on, shared) = (UsedOn::default(), Arc::clone(shared));
        Ok(Self { used_on, shared, live: None, kept: None, typed: None, codec })
    }

    /// Makes the values of an input, if they are not those of the last call.
    fn keep(&mut self, index: u32, function: &Function, input: &[u8]) -> Result<(), TrapKind> {
        if self.typed.as_ref().is_some_and(|kept| kept.export == index && kept.input == input) {
            return Ok(());
        }
        let types: Vec<Type> = function.ty.params().map(|(_, ty)| ty).collect();
        let values = json::params(&types, input)?;
        self.typed = Some(TypedInput { export: index, input: input.to_vec(), values });
        Ok(())
    }

    /// Lets the codec make the value of an input.
    fn decode(
        &mut self,
        index: u32,
        function: &Function,
        input: &[u8],
    ) -> Result<Result<Val, TrapKind>> {
        let plan = function.plan.as_ref().map_err(|_| FOREIGN)?;
        if self.codec.is_none() {
            self.codec = self.shared.new_codec()?;
        }
        let codec = self.codec.as_mut().ok_or(FOREIGN)?;
        Ok(match codec.decode(index, plan, input) {
            Decoded::Value(value) => Ok(value),
            Decoded::Refused(kind) => Err(kind),
            Decoded::Broken(kind) => {
                self.codec = None;
                Err(kind)
            }
        })
    }
}

impl Instance for ComponentInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.used_on.begin();
        let shared = &self.shared;
        let (kept, engine) = (self.kept.take(), shared.pre.engine());
        let mut tenancy = Tenancy::next(kept, engine, shared.tenants, || shared.new_host());
        shared.start_clock(&mut tenancy.store);
        if shared.metered {
            meter::fill(shared.id, &mut tenancy.store)?;
        }
        let instance = tenancy
            .instantiate(|store| shared.pre.instantiate(store))
            .map_err(Error::runtime(shared.id, "instantiate the component"))?;
        self.live = Some(Live { tenancy, instance, well: true });
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        output.clear();
        self.used_on.go_on();
        let shared = Arc::clone(&self.shared);
        let function = shared.functions.get(export.index as usize).ok_or(FOREIGN)?;
        if self.live.is_none() {
            return Err(UNPREPARED);
        }
        // Values first: they are made of the input, and not by the guest.
        let made = match export.abi {
            Abi::Typed => self.keep(export.index, function, input).map(|()| None),
            Abi::Codec => self.decode(export.index, function, input)?.map(Some),
            _ => Ok(None),
        };
        let decoded = match made {
            Ok(decoded) => decoded,
            Err(kind) => return Ok(Outcome::Trapped(kind.into())),
        };
        let Live { tenancy, instance, well } = self.live.as_mut().ok_or(UNPREPARED)?;
        let store = &mut tenancy.store;
        let func = instance.get_func(&mut *store, function.index).ok_or(FOREIGN)?;
        shared.start_clock(store);
        let ended = match (export.abi, function.shape) {
            (Abi::Plain, Shape::Nothing) if !input.is_empty() => {
                let reason = format!("func() takes no bytes, the input has {}", input.len());
                return Ok(Outcome::Trapped(TrapKind::BadInput { reason }.into()));
            }
            (Abi::Plain, Shape::Nothing) => call_nothing(store, func),
            (Abi::Input, Shape::Nothing) => {
                store.data_mut().set_input(input);
                call_nothing(store, func)
            }
            (Abi::Bytes, Shape::Bytes) => call_bytes(store, func, input),
            (Abi::Typed, Shape::Nothing | Shape::Bytes | Shape::Data) => {
                let values = self.typed.as_ref().map_or(&[][..], |kept| &kept.values);
                func.call(&mut *store, values, &mut [])
            }
            (Abi::Codec, Shape::Data) => func.call(&mut *store, decoded.as_slice(), &mut []),
            _ => return Err(FOREIGN),
        };
        *well &= ended.is_ok();
        Ok(match ended {
            Ok(()) => Outcome::Returned,
            Err(error) => Outcome::Trapped(trap::of_component(error)),
        })
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        if let Some(live) = self.live.take() {
            self.kept = Some(live.tenancy.end(live.well));
        }
        Ok(())
    }

    fn operators(&mut self) -> Option<u64> {
        meter::used(&self.live.as_ref()?.tenancy.store)
    }
}

fn call_nothing(store: &mut Store<HostState>, func: Func) -> wasmtime::Result<()> {
    // SAFETY: the shape says that the component's own type of this export was found to
    // be `func()` when it was loaded.
    let func: TypedFunc<(), ()> = unsafe { TypedFunc::new_unchecked(func) };
    func.call(store, ())
}

fn call_bytes(store: &mut Store<HostState>, func: Func, input: &[u8]) -> wasmtime::Result<()> {
    // SAFETY: the shape says that the component's own type of this export was found to
    // be `func(list<u8>)` when it was loaded.
    let func: TypedFunc<(&[u8],), ()> = unsafe { TypedFunc::new_unchecked(func) };
    func.call(store, (input,))
}
