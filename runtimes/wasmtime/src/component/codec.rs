//! A codec component: it makes values of bytes, by a description of their type.
//!
//! Its interfaces are those of `test-runtime/wit/codec.wit`.

use super::json::json_name;
use super::shape::word;
use crate::engine::Compiler;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Config, Error, InstanceFrom, MemoryFrom, Result, Strategy, TrapKind};
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, ComponentType, Func, Instance,
    InstancePre, Lift, Linker, Lower, ResourceAny, Type, TypedFunc, Val, types,
};
use wasmtime::{Engine, Store};

const REFLECT: &str = "touchstone:json/reflect@0.1.0";
const DESERIALIZER: &str = "touchstone:json/deserializer@0.1.0";

/// A type, as far as codecs know of types.
pub(crate) enum Plan {
    String,
    U32,
    List(Box<Plan>),
    Tuple(Vec<Plan>),
    Record(Vec<Field>),
}

/// A field of a record.
pub(crate) struct Field {
    /// Its name in the component.
    pub(crate) name: String,
    /// Its name in JSON.
    pub(crate) json: String,
    pub(crate) plan: Plan,
}

impl Plan {
    /// # Errors
    ///
    /// When there is a type in it that codecs do not know: its name.
    pub(crate) fn of(ty: &Type) -> Result<Self, &'static str> {
        Ok(match ty {
            Type::String => Self::String,
            Type::U32 => Self::U32,
            Type::List(list) => Self::List(Box::new(Self::of(&list.ty())?)),
            Type::Tuple(tuple) => {
                Self::Tuple(tuple.types().map(|ty| Self::of(&ty)).collect::<Result<_, _>>()?)
            }
            Type::Record(record) => {
                let field = |field: types::Field<'_>| {
                    let (name, json) = (field.name.to_owned(), json_name(field.name));
                    Ok::<_, &'static str>(Field { name, json, plan: Self::of(&field.ty)? })
                };
                Self::Record(record.fields().map(field).collect::<Result<_, _>>()?)
            }
            other => return Err(word(other)),
        })
    }
}

/// A compiled codec.
pub(crate) struct CodecModule {
    id: &'static str,
    pre: InstancePre<()>,
    handles: Handles,
}

/// The functions of a codec.
struct Handles {
    ty_string: ComponentExportIndex,
    ty_u32: ComponentExportIndex,
    ty_tuple: ComponentExportIndex,
    ty_record: ComponentExportIndex,
    ty_list: ComponentExportIndex,
    into_string: ComponentExportIndex,
    into_u32: ComponentExportIndex,
    into_tuple: ComponentExportIndex,
    into_record: ComponentExportIndex,
    into_list: ComponentExportIndex,
    from_list: ComponentExportIndex,
}

impl Handles {
    /// Each found by its interface and name.
    fn find(find: impl Fn(&str, &str) -> Result<ComponentExportIndex>) -> Result<Self> {
        Ok(Self {
            ty_string: find(REFLECT, "[static]ty.string")?,
            ty_u32: find(REFLECT, "[static]ty.u32")?,
            ty_tuple: find(REFLECT, "[static]ty.tuple")?,
            ty_record: find(REFLECT, "[static]ty.record")?,
            ty_list: find(REFLECT, "[static]ty.list")?,
            into_string: find(REFLECT, "[static]value.into-string")?,
            into_u32: find(REFLECT, "[static]value.into-u32")?,
            into_tuple: find(REFLECT, "[static]value.into-tuple")?,
            into_record: find(REFLECT, "[static]value.into-record")?,
            into_list: find(REFLECT, "[static]value.into-list")?,
            from_list: find(DESERIALIZER, "from-list")?,
        })
    }
}

impl CodecModule {
    /// Compiles a codec with the compiler that the guests have, and Wasmtime's own memories.
    pub(crate) fn new(
        id: &'static str,
        compiler: Compiler,
        guest: &GuestModule,
        config: &Config,
    ) -> Result<Self> {
        let failed = || Error::runtime(id, "load the codec");
        let config = Config { deadline: None, metered: false, ..config.clone() };
        let strategy = Strategy::new(InstanceFrom::Recreate, MemoryFrom::CopyOnWrite);
        let settings =
            settings::for_compiling(compiler, strategy, &config, guest.info()).map_err(failed())?;
        let engine = Engine::new(&settings).map_err(failed())?;
        let component = Component::new(&engine, guest.wasm()).map_err(failed())?;
        let handles = Handles::find(|interface, name| {
            let interface_index = component.get_export_index(None, interface);
            interface_index
                .and_then(|interface| component.get_export_index(Some(&interface), name))
                .ok_or_else(|| {
                    Error::unhostable(format!(
                        "{} is not a codec: it does not export {name} in {interface}",
                        guest.name()
                    ))
                })
        })?;
        let pre = Linker::new(&engine).instantiate_pre(&component).map_err(failed())?;
        Ok(Self { id, pre, handles })
    }
}

/// A codec at work: an instance that serves call after call.
pub(crate) struct Codec {
    store: Store<()>,
    /// The types that were described so far, each for an export.
    types: Vec<(u32, ResourceAny)>,
    into_string: TypedFunc<(ResourceAny,), (String,)>,
    into_u32: TypedFunc<(ResourceAny,), (u32,)>,
    into_tuple: TypedFunc<(ResourceAny,), (Vec<ResourceAny>,)>,
    into_record: TypedFunc<(ResourceAny,), (Vec<ResourceAny>,)>,
    into_list: TypedFunc<(ResourceAny,), (Vec<ResourceAny>,)>,
    /// Its type is that of [`FromList`].
    from_list: Func,
}

type FromList<'a> = TypedFunc<(&'a [u8], ResourceAny), (Result<ResourceAny, Refusal>,)>;

/// Why and where a codec refused bytes.
#[derive(Debug, ComponentType, Lift)]
#[component(record)]
struct Refusal {
    reason: Reason,
    message: String,
    line: u32,
    column: u32,
}

#[derive(Debug, Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "Wasmtime makes them of the numbers that it reads")]
enum Reason {
    #[component(name = "syntax")]
    Syntax,
    #[component(name = "truncated")]
    Truncated,
    #[component(name = "mismatch")]
    Mismatch,
}

/// The result of a call: a value, a refusal, or a codec that is broken.
pub(crate) enum Decoded {
    Value(Val),
    Refused(TrapKind),
    Broken(TrapKind),
}

impl Codec {
    /// A new instance that knows the types of the exports that are listed.
    pub(crate) fn new<'a>(
        module: &Arc<CodecModule>,
        plans: impl Iterator<Item = (u32, &'a Plan)>,
    ) -> Result<Self> {
        Self::start(module, plans).map_err(Error::runtime(module.id, "start the codec"))
    }

    fn start<'a>(
        module: &CodecModule,
        plans: impl Iterator<Item = (u32, &'a Plan)>,
    ) -> wasmtime::Result<Self> {
        let mut store = Store::new(module.pre.engine(), ());
        // It is a part of the host, and compiled without checks of a deadline.
        let instance = module.pre.instantiate(&mut store)?;
        let mut types = Vec::new();
        for (export, plan) in plans {
            types.push((export, module.describe(&mut store, instance, plan)?));
        }
        let handles = &module.handles;
        let from_list = instance
            .get_func(&mut store, handles.from_list)
            .ok_or_else(|| wasmtime::format_err!("from-list is no function"))?;
        let _: FromList<'_> = from_list.typed(&store)?;
        Ok(Self {
            into_string: instance.get_typed_func(&mut store, handles.into_string)?,
            into_u32: instance.get_typed_func(&mut store, handles.into_u32)?,
            into_tuple: instance.get_typed_func(&mut store, handles.into_tuple)?,
            into_record: instance.get_typed_func(&mut store, handles.into_record)?,
            into_list: instance.get_typed_func(&mut store, handles.into_list)?,
            from_list,
            store,
            types,
        })
    }

    /// Makes the value of an export's parameter.
    pub(crate) fn decode(&mut self, export: u32, plan: &Plan, input: &[u8]) -> Decoded {
        let Some((_, ty)) = self.types.iter().find(|(known, _)| *known == export) else {
            return Decoded::Broken(refused("the codec does not know the type".to_owned()));
        };
        // SAFETY: `start` has seen that the function is of this type.
        let from_list: FromList<'_> = unsafe { TypedFunc::new_unchecked(self.from_list) };
        let made = match from_list.call(&mut self.store, (input, *ty)) {
            Ok((Ok(value),)) => self.value(plan, value),
            Ok((Err(refusal),)) => {
                let Refusal { reason, message, line, column } = refusal;
                let place = format!("line {line}, column {column}");
                return Decoded::Refused(refused(format!("{message} ({reason:?}, {place})")));
            }
            Err(error) => Err(error),
        };
        match made {
            Ok(value) => Decoded::Value(value),
            Err(error) => Decoded::Broken(refused(format!("the codec failed: {error:#}"))),
        }
    }

    /// Each conversion takes the value over, so that nothing stays behind.
    fn value(&mut self, plan: &Plan, value: ResourceAny) -> wasmtime::Result<Val> {
        let store = &mut self.store;
        Ok(match plan {
            Plan::String => Val::String(self.into_string.call(store, (value,))?.0),
            Plan::U32 => Val::U32(self.into_u32.call(store, (value,))?.0),
            Plan::List(element) => {
                let (values,) = self.into_list.call(store, (value,))?;
                let values = values.into_iter().map(|value| self.value(element, value));
                Val::List(values.collect::<wasmtime::Result<_>>()?)
            }
            Plan::Tuple(elements) => {
                let (values,) = self.into_tuple.call(store, (value,))?;
                same_length(elements.len(), values.len())?;
                let values = elements.iter().zip(values);
                let values = values.map(|(plan, value)| self.value(plan, value));
                Val::Tuple(values.collect::<wasmtime::Result<_>>()?)
            }
            Plan::Record(fields) => {
                let (values,) = self.into_record.call(store, (value,))?;
                same_length(fields.len(), values.len())?;
                let values = fields.iter().zip(values);
                let values = values.map(|(field, value)| {
                    Ok((field.name.clone(), self.value(&field.plan, value)?))
                });
                Val::Record(values.collect::<wasmtime::Result<_>>()?)
            }
        })
    }
}

fn same_length(expected: usize, found: usize) -> wasmtime::Result<()> {
    if expected == found {
        return Ok(());
    }
    wasmtime::bail!("it gave {found} values where the type has {expected}")
}

fn refused(reason: String) -> TrapKind {
    TrapKind::BadInput { reason }
}

impl CodecModule {
    /// Tells an instance about a type.
    fn describe(
        &self,
        store: &mut Store<()>,
        instance: Instance,
        plan: &Plan,
    ) -> wasmtime::Result<ResourceAny> {
        let handles = &self.handles;
        match plan {
            Plan::String => make(store, instance, handles.ty_string, ()),
            Plan::U32 => make(store, instance, handles.ty_u32, ()),
            Plan::List(element) => {
                let element = self.describe(store, instance, element)?;
                make(store, instance, handles.ty_list, (element,))
            }
            Plan::Tuple(elements) => {
                let elements = elements.iter().map(|plan| self.describe(store, instance, plan));
                let elements = elements.collect::<wasmtime::Result<Vec<_>>>()?;
                make(store, instance, handles.ty_tuple, (elements,))
            }
            Plan::Record(fields) => {
                let field = |field: &Field| {
                    Ok((field.json.clone(), self.describe(store, instance, &field.plan)?))
                };
                let fields = fields.iter().map(field).collect::<wasmtime::Result<Vec<_>>>()?;
                make(store, instance, handles.ty_record, (fields,))
            }
        }
    }
}

fn make<P: ComponentNamedList + Lower>(
    store: &mut Store<()>,
    instance: Instance,
    function: ComponentExportIndex,
    params: P,
) -> wasmtime::Result<ResourceAny> {
    let function: TypedFunc<P, (ResourceAny,)> = instance.get_typed_func(&mut *store, function)?;
    Ok(function.call(store, params)?.0)
}
