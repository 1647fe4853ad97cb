//! Clean instances of a component: a new one for each call, or one that is reset in place.

use super::codec::{Codec, Decoded};
use super::in_place::InPlace;
use super::loaded::{ComponentData, Function};
use super::shape::Shape;
use super::{json, json_text, preview2};
use crate::data::{self, StoreData};
use crate::tenancy::{Kept, Tenancy};
use crate::{meter, trap};
use std::sync::Arc;
use touchstone_executor::adapter::{CallState, UNPREPARED, outcome};
use touchstone_executor::memory::UsedOn;
use touchstone_executor::{Abi, CallOptions, Error, ExportId, Instance, Outcome, Result, TrapKind};
use wasmtime::Store;
use wasmtime::component::{self, Func, Type, TypedFunc, Val};

const FOREIGN: Error = Error::FOREIGN_HANDLE;

/// Instantiates in `prepare`, and drops in `finish` or resets there.
pub(crate) struct ComponentInstance {
    // Dropped before what gives memories back.
    used_on: UsedOn,
    shared: Arc<ComponentData>,
    /// Clean unless the state says that it is used.
    live: Option<Live>,
    state: CallState,
    /// Left by the last instance.
    kept: Option<Kept>,
    typed: Option<TypedInput>,
    /// Serves call after call, in a store of its own; `None` after it broke.
    codec: Option<Codec>,
}

/// A store and the instance in it.
struct Live {
    tenancy: Tenancy,
    instance: component::Instance,
    /// `true` until a call traps.
    well: bool,
    /// Its reset, if it serves more than one call.
    in_place: Option<InPlace>,
}

impl Live {
    fn new(shared: &ComponentData, mut tenancy: Tenancy) -> Result<Self> {
        let entered = shared.start_clock(&mut tenancy.store);
        shared.fill(&mut tenancy.store)?;
        let failed =
            |error| trap::of_instantiation(shared.guest.engine, "instantiate the component", error);
        let instance =
            tenancy.instantiate(|store| shared.pre.instantiate(store)).map_err(failed)?;
        let Some(plan) = &shared.in_place else {
            return Ok(Self { tenancy, instance, well: true, in_place: None });
        };
        drop(entered);
        shared.stop_clock(&mut tenancy.store);
        let in_place = Some(InPlace::new(plan, &mut tenancy.store, instance)?);
        // What was used so far is not the call's.
        shared.fill(&mut tenancy.store)?;
        Ok(Self { tenancy, instance, well: true, in_place })
    }

    /// The same in a store of its own.
    fn alone(shared: &ComponentData) -> Result<Self> {
        Self::new(shared, Tenancy::new(shared.pre.engine(), shared.guest.new_host(), 1))
    }

    fn call(
        &mut self,
        shared: &ComponentData,
        function: &Function,
        abi: Abi,
        input: &[u8],
        values: &[Val],
    ) -> Result<wasmtime::Result<Option<Val>>> {
        let store = &mut self.tenancy.store;
        if let (Some(in_place), false) = (&mut self.in_place, self.well) {
            in_place.failed(store);
        }
        let way = self.in_place.as_ref().map_or(function.index, |own| own.way(function));
        let func = self.instance.get_func(&mut *store, way).ok_or(FOREIGN)?;
        let _entered = shared.start_clock(store);
        let ended = match (abi, function.shape) {
            (Abi::Plain, Shape::Nothing) => call_nothing(store, func).map(|()| None),
            (Abi::Input, Shape::Nothing) => {
                store.data_mut().set_input(input);
                call_nothing(store, func).map(|()| None)
            }
            (Abi::Bytes, Shape::Bytes) => call_bytes(store, func, input).map(|()| None),
            (Abi::Typed, Shape::Nothing | Shape::Bytes | Shape::Data)
            | (Abi::Codec, Shape::Data) => func.call(&mut *store, values, &mut []).map(|()| None),
            (Abi::Typed | Abi::Wasi, Shape::Answer) => {
                let mut results = [Val::Bool(false)];
                let called = func.call(&mut *store, values, &mut results);
                let [answer] = results;
                called.map(|()| Some(answer))
            }
            _ => return Err(FOREIGN),
        };
        self.well &= ended.is_ok();
        if let (Some(in_place), Ok(_)) = (&mut self.in_place, &ended) {
            in_place.returned();
        }
        Ok(ended)
    }
}

/// The values of the last call by [`Abi::Typed`], for the next with the same input.
struct TypedInput {
    export: u32,
    input: Vec<u8>,
    values: Vec<Val>,
}

impl ComponentInstance {
    /// Nothing but a codec is made before the first call is prepared.
    pub(crate) fn new(shared: &Arc<ComponentData>) -> Result<Self> {
        let codec = shared.new_codec()?;
        let (used_on, shared) = (UsedOn::default(), Arc::clone(shared));
        let state = CallState::Idle;
        Ok(Self { used_on, shared, live: None, state, kept: None, typed: None, codec })
    }
}

impl TypedInput {
    /// Makes the values of an input, if they are not those of the last call.
    fn keep(
        kept: &mut Option<Self>,
        export: u32,
        function: &Function,
        input: &[u8],
    ) -> Result<(), TrapKind> {
        if kept.as_ref().is_some_and(|kept| kept.export == export && kept.input == input) {
            return Ok(());
        }
        let types: Vec<Type> = function.ty.params().map(|(_, ty)| ty).collect();
        let values = json::params(&types, input)?;
        *kept = Some(Self { export, input: input.to_vec(), values });
        Ok(())
    }
}

/// Lets the codec make the value of an input.
fn decode(
    codec: &mut Option<Codec>,
    shared: &ComponentData,
    export: u32,
    function: &Function,
    input: &[u8],
) -> Result<Result<Val, TrapKind>> {
    let plan = function.plan.as_ref().map_err(|_| FOREIGN)?;
    if codec.is_none() {
        *codec = shared.new_codec()?;
    }
    let working = codec.as_mut().ok_or(FOREIGN)?;
    Ok(match working.decode(export, plan, input) {
        Decoded::Value(value) => Ok(value),
        Decoded::Refused(kind) => Err(kind),
        Decoded::Broken(kind) => {
            *codec = None;
            Err(kind)
        }
    })
}

/// Makes the call again on another instance if it has failed because it needed more handles
/// than an instance can have that is reset in place. A trap of the guest never is such a
/// failure; the first call is as if it had not been.
fn again_without_bound(
    live: &mut Live,
    ended: wasmtime::Result<Option<Val>>,
    shared: &ComponentData,
    function: &Function,
    call: impl Fn(&mut Live) -> Result<wasmtime::Result<Option<Val>>>,
) -> Result<wasmtime::Result<Option<Val>>> {
    let is_bounded = live.in_place.as_ref().is_some_and(InPlace::is_bounded);
    if !is_bounded || ended.as_ref().map_or_else(trap::is_trap, |_| true) {
        return Ok(ended);
    }
    let mut bounded = std::mem::replace(live, Live::alone(shared)?);
    let (old, new) = (&mut bounded.tenancy.store, &mut live.tenancy.store);
    old.data_mut().hand_over_call(new.data_mut());
    data::begin(shared.guest.engine, new)?;
    let ended = call(live)?;
    // What it fails of now is something else, and was so before.
    let is_cured = ended.as_ref().map_or_else(trap::is_trap, |_| true);
    if let (true, Some(in_place)) = (is_cured, &bounded.in_place) {
        in_place.raise(&function.handles);
    }
    Ok(ended)
}

/// Runs a program of WASI. An exit with code 0 is a return.
fn program(
    id: &'static str,
    live: &mut Live,
    input: &[u8],
    output: &mut Vec<u8>,
    call: impl Fn(&mut Live) -> Result<wasmtime::Result<Option<Val>>>,
) -> Result<Outcome> {
    preview2::begin(live.tenancy.store.data_mut(), input)
        .map_err(Error::runtime(id, "begin a program"))?;
    let ended = call(live)?;
    Ok(match preview2::end(live.tenancy.store.data_mut(), ended, output) {
        Ok(0) => Outcome::Returned,
        Ok(code) => Outcome::Trapped(TrapKind::Exit { code }.into()),
        Err(error) => Outcome::Trapped(trap::of_component(error)),
    })
}

impl ComponentInstance {
    /// Runs an export of a prepared instance.
    fn run(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        self.used_on.go_on();
        let shared = &*self.shared;
        if !shared.guest.exports.has(export) {
            return Err(FOREIGN);
        }
        let function = shared.functions.get(export.index() as usize).ok_or(FOREIGN)?;
        let live = self.live.as_mut().filter(|_| self.state != CallState::Idle);
        let live = live.ok_or(UNPREPARED)?;
        // Values first: they are made of the input, and not by the guest.
        let made = match export.abi() {
            Abi::Plain if function.shape == Shape::Nothing && !input.is_empty() => {
                let reason = format!("func() takes no bytes, the input has {}", input.len());
                Err(TrapKind::BadInput { reason })
            }
            Abi::Typed => {
                TypedInput::keep(&mut self.typed, export.index(), function, input).map(|()| None)
            }
            Abi::Codec => {
                decode(&mut self.codec, shared, export.index(), function, input)?.map(Some)
            }
            _ => Ok(None),
        };
        let decoded = match made {
            Ok(decoded) => decoded,
            Err(kind) => return Ok(Outcome::Trapped(kind.into())),
        };
        let values = match (&decoded, &self.typed) {
            (Some(decoded), _) => std::slice::from_ref(decoded),
            (None, Some(typed)) if export.abi() == Abi::Typed => &typed.values,
            _ => &[],
        };
        if let Some(in_place) = &mut live.in_place {
            let is_first = self.state == CallState::Prepared;
            in_place.bound(&mut live.tenancy.store, &function.handles, is_first);
        }
        self.state = CallState::Used;
        let call = |live: &mut Live| live.call(shared, function, export.abi(), input, values);
        if export.abi() == Abi::Wasi {
            return program(shared.guest.engine, live, input, output, call);
        }
        let ended = call(live)?;
        let ended = again_without_bound(live, ended, shared, function, call)?;
        match ended {
            Ok(answer) => {
                if let Some(answer) = answer {
                    json_text::write(&answer, output);
                }
                Ok(Outcome::Returned)
            }
            Err(error) => outcome(Err(trap::of_component(error))),
        }
    }
}

impl Instance for ComponentInstance {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        self.used_on.begin();
        let shared = &self.shared;
        match &mut self.live {
            Some(live) => shared.fill(&mut live.tenancy.store)?,
            None => {
                let (kept, engine) = (self.kept.take(), shared.pre.engine());
                let tenancy =
                    Tenancy::next(kept, engine, shared.tenants, || shared.guest.new_host());
                self.live = Some(Live::new(shared, tenancy)?);
            }
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        output.clear();
        let Some(options) = options else { return self.run(export, input, output) };
        self.shared.enforced_limits().check(&options)?;
        if let Err(trap) = options.check_interrupt() {
            return Ok(Outcome::Trapped(trap));
        }
        let store = &mut self.live.as_mut().ok_or(UNPREPARED)?.tenancy.store;
        // SAFETY: dropping the guard leaves the call, while the options are lent.
        unsafe { store.data_mut().enter(options) };
        let entered = Entered(self);
        if let Some(live) = &mut entered.0.live {
            data::begin(entered.0.shared.guest.engine, &mut live.tenancy.store)?;
        }
        entered.0.run(export, input, output)
    }

    fn finish(&mut self) -> Result<()> {
        self.used_on.end();
        if let Some(Live { tenancy, well, in_place: Some(in_place), .. }) = &mut self.live {
            if self.state == CallState::Used {
                // The state stays what it is until all is done: after a panic on the way,
                // nobody takes the instance for a clean one.
                self.shared.stop_clock(&mut tenancy.store);
                let reset = if *well { in_place.reset(&mut tenancy.store) } else { Ok(false) };
                if matches!(reset, Ok(true)) {
                    tenancy.store.data_mut().reset();
                } else {
                    self.live = None;
                }
                self.state = CallState::Idle;
                return reset.map(drop);
            }
        } else if let Some(live) = self.live.take() {
            self.kept = Some(live.tenancy.end(live.well));
        }
        self.state = CallState::Idle;
        Ok(())
    }

    fn trim(&mut self) -> Result<()> {
        if self.state == CallState::Idle
            && let Some(in_place) = self.live.as_mut().and_then(|live| live.in_place.as_mut())
        {
            let trimmed = in_place.trim();
            if trimmed.is_err() {
                self.live = None;
            }
            return trimmed;
        }
        Ok(())
    }

    fn operators(&mut self) -> Option<u64> {
        match self.state {
            CallState::Idle => None,
            _ => meter::used(&self.live.as_ref()?.tenancy.store),
        }
    }
}

/// A call with options.
struct Entered<'a>(&'a mut ComponentInstance);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(live) = &mut self.0.live {
            data::end(self.0.shared.guest.engine, &mut live.tenancy.store);
            live.tenancy.store.data_mut().leave();
        }
    }
}

fn call_nothing(store: &mut Store<StoreData>, func: Func) -> wasmtime::Result<()> {
    // SAFETY: the shape says that the component's own type of this export was found to
    // be `func()` when it was loaded.
    let func: TypedFunc<(), ()> = unsafe { TypedFunc::new_unchecked(func) };
    func.call(store, ())
}

fn call_bytes(store: &mut Store<StoreData>, func: Func, input: &[u8]) -> wasmtime::Result<()> {
    // SAFETY: the shape says that the component's own type of this export was found to
    // be `func(list<u8>)` when it was loaded.
    let func: TypedFunc<(&[u8],), ()> = unsafe { TypedFunc::new_unchecked(func) };
    func.call(store, (input,))
}

#[cfg(test)]
mod tests {
    use super::super::loaded::LoadedComponent;
    use super::*;
    use crate::engine::{Compiler, Wasmtime};
    use touchstone_executor::adapter::LoadedGuest;
    use touchstone_executor::guest::{GuestModule, HeapPages};
    use touchstone_executor::{Config, Engine as _, Module};
    use wasmtime::component::Component;

    const GUEST: &str = r#"(component
        (type $resource (resource (rep i32)))
        (core func $new (canon resource.new $resource))
        (core func $drop (canon resource.drop $resource))
        (core module $main
            (import "handle" "new" (func $new (param i32) (result i32)))
            (import "handle" "drop" (func $drop (param i32)))
            (memory 1)
            (table $table 1 funcref)
            (global $global (mut i32) (i32.const 0))
            (func (export "change")
                (global.set $global (i32.const 1)) (i32.store (i32.const 0) (i32.const 1)))
            (func (export "grow") (drop (memory.grow (i32.const 1))))
            (func (export "handle") (call $drop (call $new (i32.const 0))))
            (func (export "leak") (drop (call $new (i32.const 0))))
            (func (export "grow-table")
                (drop (table.grow $table (ref.null func) (i32.const 1))))
            (func (export "trap") unreachable))
        (core instance $main (instantiate $main (with "handle" (instance
            (export "new" (func $new))
            (export "drop" (func $drop))))))
        (func (export "change") (canon lift (core func $main "change")))
        (func (export "grow") (canon lift (core func $main "grow")))
        (func (export "handle") (canon lift (core func $main "handle")))
        (func (export "leak") (canon lift (core func $main "leak")))
        (func (export "grow-table") (canon lift (core func $main "grow-table")))
        (func (export "trap") (canon lift (core func $main "trap"))))"#;

    /// A component in the text format under a strategy that resets in place.
    fn loaded(text: &str, strategy: &str, config: &Config) -> LoadedComponent {
        let bytes = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
        let load = |engine: &_| {
            let wasm = guest.resettable()?;
            Component::new(engine, &wasm).map_err(Error::runtime("wasmtime", "compile"))
        };
        let (compiler, strategy) = (Compiler::Cranelift, strategy.parse().unwrap());
        let engine = Wasmtime::new("wasmtime", compiler);
        let artifact = engine.compile(&guest, strategy, config).unwrap();
        let opened = LoadedGuest::open::<()>(&engine, &guest, &artifact, strategy, config);
        LoadedComponent::new(compiler, opened.unwrap().0, load).unwrap()
    }

    #[test]
    fn an_instance_is_replaced_only_where_it_has_to_be() {
        let loaded = loaded(GUEST, "instance_reuse_cow", &Config::default());
        let mut instance = ComponentInstance::new(loaded.shared()).unwrap();
        for (name, stays) in [
            ("change", true),
            ("grow", true),
            // It needs more handles than a call was known to need, and only once.
            ("handle", false),
            ("handle", true),
            ("leak", false),
            ("leak", false),
            ("handle", true),
            ("grow-table", false),
            ("trap", false),
            ("change", true),
        ] {
            let export = loaded.export(name, Abi::Input).unwrap();
            let outcome = instance.call(export, b"", &mut Vec::new()).unwrap();
            assert_eq!(outcome == Outcome::Returned, name != "trap", "{name}");
            assert_eq!(instance.live.is_some(), stays, "{name}");
        }
    }

    /// Its functions trap unless they find what their names say. Each call of them is counted.
    const COUNTS: &str = r#"(component
        (core module $m
            (memory (export "memory") 1)
            (global $calls (mut i32) (i32.const 5))
            (global $room (mut i32) (i32.const 1024))
            (func (export "room") (param i32 i32 i32 i32) (result i32)
                (global.get $room)
                (global.set $room (i32.add (global.get $room) (local.get 3))))
            (func $count (param $found i32)
                (if (i32.ne (global.get $calls) (i32.add (i32.const 5) (local.get $found)))
                    (then unreachable))
                (if (i32.ne (i32.load (i32.const 0)) (local.get $found)) (then unreachable))
                (if (i32.ne (memory.size) (i32.add (i32.const 1) (local.get $found)))
                    (then unreachable))
                (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                (i32.store (i32.const 0) (i32.add (local.get $found) (i32.const 1)))
                (drop (memory.grow (i32.const 1)))
                (i32.store (i32.mul (i32.sub (memory.size) (i32.const 1)) (i32.const 65536))
                    (i32.const 1)))
            (func (export "first") (call $count (i32.const 0)))
            (func (export "second") (call $count (i32.const 1)))
            (func (export "first-bytes") (param $at i32) (param i32)
                (if (i32.ne (local.get $at) (i32.const 1024)) (then unreachable))
                (call $count (i32.const 0)))
            (func (export "second-bytes") (param $at i32) (param i32)
                (if (i32.ne (local.get $at) (i32.const 1027)) (then unreachable))
                (call $count (i32.const 1))))
        (core instance $i (instantiate $m))
        (alias core export $i "memory" (core memory $memory))
        (alias core export $i "room" (core func $room))
        (func (export "first") (canon lift (core func $i "first")))
        (func (export "second") (canon lift (core func $i "second")))
        (func (export "first-bytes") (param "b" (list u8))
            (canon lift (core func $i "first-bytes") (memory $memory) (realloc $room)))
        (func (export "second-bytes") (param "b" (list u8))
            (canon lift (core func $i "second-bytes") (memory $memory) (realloc $room))))"#;

    #[test]
    fn the_first_call_of_each_use_finds_a_clean_instance() {
        let deadline =
            Config { deadline: Some(std::time::Duration::from_secs(60)), ..Config::default() };
        // A deadline that ends a call is a trap, after which the instance is replaced.
        for config in [Config::default(), deadline] {
            for strategy in ["instance_reuse_cow", "instance_reuse_tracked"] {
                let loaded = loaded(COUNTS, strategy, &config);
                assert!(loaded.shared().in_place.as_ref().unwrap().enters.is_some());
                let mut instance = ComponentInstance::new(loaded.shared()).unwrap();
                let uses = [
                    &["first"][..],
                    &["first", "second"],
                    &[],
                    &["first-bytes", "second"],
                    &["first-bytes", "second-bytes"],
                    &["first"],
                    &["second"],
                    &["first", "second-bytes"],
                    &["first-bytes"],
                ];
                // A call that nobody can make comes before the first one.
                let foreign = self::loaded(COUNTS, strategy, &config);
                let foreign = foreign.export("first-bytes", Abi::Bytes).unwrap();
                for _ in 0..3 {
                    for calls in uses {
                        instance.prepare().unwrap();
                        assert!(instance.invoke(foreign, b"", &mut Vec::new(), None).is_err());
                        for name in calls {
                            let (abi, input) = match name.ends_with("bytes") {
                                true => (Abi::Bytes, &b"abc"[..]),
                                false => (Abi::Plain, &b""[..]),
                            };
                            let export = loaded.export(name, abi).unwrap();
                            let outcome =
                                instance.invoke(export, input, &mut Vec::new(), None).unwrap();
                            // "second" is the first call of its use, or the room is where a first
                            // call has left it.
                            let traps = *calls == ["second"]
                                || *calls == ["first", "second-bytes"] && *name == "second-bytes";
                            assert_eq!(outcome == Outcome::Returned, !traps, "{calls:?}");
                        }
                        instance.finish().unwrap();
                    }
                }
            }
        }
    }
}
