//! The imports of a component, wired into Wasmtime.

use super::preview2;
use crate::data::StoreData;
use std::sync::Arc;
use touchstone_executor::adapter::{self, HostCaller, HostState};
use touchstone_executor::guest::{FunctionImport, text};
use touchstone_executor::{Config, Error, Imports, Signature, Trap, TrapKind, Value, ValueType};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType, Type, Val};
use wasmtime::{Engine, StoreContextMut};

/// The import by which a component asks for its input.
const INPUT: &str = "input";
/// Stands for the component itself in the place of an import.
const ROOT: &str = "root";

/// Answers every import of the component: `input` by the host, WASI preview 2 where the build has
/// it, functions of numbers by the host functions of the interface's name, or of `root`. The others
/// are missing.
pub(crate) fn link(
    id: &'static str,
    component: &Component,
    config: &Config,
) -> Result<Linker<StoreData>, Error> {
    let engine = component.engine();
    let failed = || Error::runtime(id, "link the component");
    let mut linker = Linker::new(engine);
    let ty = component.component_type();
    if ty.imports(engine).any(|(name, _)| preview2::answers(name)) {
        preview2::link(&mut linker).map_err(failed())?;
    }
    let mut answers = Answers { engine, config, missing: Vec::new() };
    for (name, import) in ty.imports(engine) {
        match &import.ty {
            _ if preview2::answers(name) => {}
            ComponentItem::ComponentFunc(ty) if name == INPUT && gives_bytes(ty) => {
                let give = |store: StoreContextMut<'_, StoreData>, (): ()| {
                    Ok((store.data().input_bytes().to_vec(),))
                };
                linker.root().func_wrap(name, give).map_err(failed())?;
            }
            item => answers.define(&mut linker.root(), ROOT, name, item).map_err(failed())?,
        }
    }
    if config.imports == Imports::Error && !answers.missing.is_empty() {
        return Err(Error::MissingImports { imports: answers.missing });
    }
    Ok(linker)
}

/// `true` for `func() -> list<u8>`.
fn gives_bytes(ty: &ComponentFunc) -> bool {
    let results: Vec<Type> = ty.results().collect();
    let bytes = matches!(&results[..], [Type::List(list)] if list.ty() == Type::U8);
    bytes && ty.params().len() == 0 && !ty.async_()
}

/// The answers to imports.
struct Answers<'a> {
    engine: &'a Engine,
    config: &'a Config,
    /// Functions that the host does not have.
    missing: Vec<String>,
}

impl Answers<'_> {
    fn define(
        &mut self,
        linker: &mut LinkerInstance<'_, StoreData>,
        place: &str,
        name: &str,
        item: &ComponentItem,
    ) -> wasmtime::Result<()> {
        match item {
            ComponentItem::ComponentFunc(ty) => self.function(linker, place, name, ty),
            ComponentItem::ComponentInstance(instance) => {
                let mut inside = linker.instance(name)?;
                for (inner, export) in instance.exports(self.engine) {
                    self.define(&mut inside, name, inner, &export.ty)?;
                }
                Ok(())
            }
            // Nobody can make one but the functions that are missing.
            ComponentItem::Resource(_) => {
                linker.resource(name, ResourceType::host::<()>(), |_, _| Ok(()))
            }
            ComponentItem::Type(_) => Ok(()),
            ComponentItem::CoreFunc(_) | ComponentItem::Module(_) | ComponentItem::Component(_) => {
                wasmtime::bail!("the import {place}.{name} is no function")
            }
        }
    }

    fn function(
        &mut self,
        linker: &mut LinkerInstance<'_, StoreData>,
        place: &str,
        name: &str,
        ty: &ComponentFunc,
    ) -> wasmtime::Result<()> {
        let signature = if ty.async_() { None } else { signature(ty) };
        let import = FunctionImport { module: place.to_owned(), name: name.to_owned(), signature };
        if let Some(function) = self.config.functions.answer(&import) {
            let function = Arc::clone(function);
            return linker.func_new(name, move |store, ty, params, results| {
                let types: Vec<Type> = ty.results().collect();
                let give = |index: usize, value| results[index] = of_type(&types[index], value);
                let params = params.iter().filter_map(number);
                Ok(adapter::answer(&mut Waiting(store), &function, params, give)?)
            });
        }
        let [module, function] = [place, name].map(text::name);
        self.missing.push(format!("{module}.{function}, a function of a component"));
        let kind = TrapKind::MissingImport { module: import.module, name: import.name };
        let gives_zeros = self.config.imports == Imports::Zero;
        linker.func_new(name, move |_, ty, _, results| {
            for (result, ty) in results.iter_mut().zip(ty.results()) {
                let zero = gives_zeros.then(|| zero(&ty)).flatten();
                *result = zero.ok_or_else(|| Trap::new(kind.clone()))?;
            }
            if gives_zeros { Ok(()) } else { Err(Trap::new(kind.clone()).into()) }
        })
    }
}

/// A component that waits for a host function. None of its memories is the host's.
struct Waiting<'a>(StoreContextMut<'a, StoreData>);

impl HostCaller for Waiting<'_> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        (&mut [], &mut self.0.data_mut().host)
    }

    fn grow_memory(&mut self, _pages: u32) -> bool {
        false
    }
}

/// The type of a function of numbers.
fn signature(ty: &ComponentFunc) -> Option<Signature> {
    let params = ty.params().map(|(_, ty)| value_type(&ty)).collect::<Option<Vec<_>>>()?;
    let results = ty.results().map(|ty| value_type(&ty)).collect::<Option<Vec<_>>>()?;
    Some(Signature::new(&params, &results))
}

fn value_type(ty: &Type) -> Option<ValueType> {
    Some(match ty {
        Type::Bool
        | Type::S8
        | Type::U8
        | Type::S16
        | Type::U16
        | Type::S32
        | Type::U32
        | Type::Char => ValueType::I32,
        Type::S64 | Type::U64 => ValueType::I64,
        Type::Float32 => ValueType::F32,
        Type::Float64 => ValueType::F64,
        _ => return None,
    })
}

/// A number as the canonical ABI passes it.
fn number(value: &Val) -> Option<Value> {
    Some(match *value {
        Val::Bool(value) => Value::I32(value.into()),
        Val::S8(value) => Value::I32(value.into()),
        Val::U8(value) => Value::I32(value.into()),
        Val::S16(value) => Value::I32(value.into()),
        Val::U16(value) => Value::I32(value.into()),
        Val::S32(value) => Value::I32(value),
        Val::U32(value) => Value::I32(value.cast_signed()),
        Val::Char(value) => Value::I32(u32::from(value).cast_signed()),
        Val::S64(value) => Value::I64(value),
        Val::U64(value) => Value::I64(value.cast_signed()),
        Val::Float32(value) => Value::F32(value.to_bits()),
        Val::Float64(value) => Value::F64(value.to_bits()),
        _ => return None,
    })
}

/// A number of the component's type. As in the canonical ABI, the upper bits of a narrower type
/// are dropped; a number that is no character becomes the replacement character.
fn of_type(ty: &Type, value: Value) -> Val {
    match (ty, value) {
        (Type::Bool, Value::I32(value)) => Val::Bool(value != 0),
        (Type::S8, Value::I32(value)) => Val::S8(value as i8),
        (Type::U8, Value::I32(value)) => Val::U8(value as u8),
        (Type::S16, Value::I32(value)) => Val::S16(value as i16),
        (Type::U16, Value::I32(value)) => Val::U16(value as u16),
        (Type::S32, Value::I32(value)) => Val::S32(value),
        (Type::Char, Value::I32(value)) => {
            let number = char::from_u32(value.cast_unsigned());
            Val::Char(number.unwrap_or(char::REPLACEMENT_CHARACTER))
        }
        (Type::S64, Value::I64(value)) => Val::S64(value),
        (Type::U64, Value::I64(value)) => Val::U64(value.cast_unsigned()),
        (Type::Float32, Value::F32(bits)) => Val::Float32(f32::from_bits(bits)),
        (Type::Float64, Value::F64(bits)) => Val::Float64(f64::from_bits(bits)),
        (_, Value::I32(value)) => Val::U32(value.cast_unsigned()),
        // The signature has the other numbers for the types above alone.
        _ => Val::U32(0),
    }
}

/// A value of zeros, without elements; `None` for types that have none, such as resources.
fn zero(ty: &Type) -> Option<Val> {
    if let Some(number) = value_type(ty) {
        return Some(of_type(ty, Value::zero(number)));
    }
    // Of a case without content, nothing.
    let content = |ty: Option<Type>| ty.map_or(Some(None), |ty| Some(Some(Box::new(zero(&ty)?))));
    Some(match ty {
        Type::String => Val::String(String::new()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Enum(ty) => Val::Enum(ty.names().next()?.to_owned()),
        Type::Tuple(ty) => Val::Tuple(ty.types().map(|ty| zero(&ty)).collect::<Option<_>>()?),
        Type::Record(ty) => {
            let fields = ty.fields().map(|field| Some((field.name.to_owned(), zero(&field.ty)?)));
            Val::Record(fields.collect::<Option<_>>()?)
        }
        Type::Variant(ty) => {
            let first = ty.cases().next()?;
            Val::Variant(first.name.to_owned(), content(first.ty)?)
        }
        Type::Result(ty) => Val::Result(Ok(content(ty.ok())?)),
        _ => return None,
    })
}
