//! The imports of a component, wired into Wasmtime.

use super::preview2;
use crate::data::StoreData;
use touchstone_executor::{Trap, TrapKind};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType, Type};
use wasmtime::{Engine, Result, StoreContextMut};

/// The import by which a component asks for its input.
const INPUT: &str = "input";
/// Stands for the component itself in the place of an import.
const ROOT: &str = "root";

/// Answers every import of the component: `input` by the host, WASI preview 2 where the build has
/// it, functions that no
/// host function answers by stubs that trap with their name.
pub(crate) fn link(component: &Component) -> Result<Linker<StoreData>> {
    let engine = component.engine();
    let mut linker = Linker::new(engine);
    let ty = component.component_type();
    if ty.imports(engine).any(|(name, _)| preview2::answers(name)) {
        preview2::link(&mut linker)?;
    }
    for (name, import) in ty.imports(engine) {
        match &import.ty {
            _ if preview2::answers(name) => {}
            ComponentItem::ComponentFunc(ty) if name == INPUT && gives_bytes(ty) => {
                linker.root().func_wrap(
                    name,
                    |store: StoreContextMut<'_, StoreData>, (): ()| {
                        Ok((store.data().input_bytes().to_vec(),))
                    },
                )?;
            }
            item => stub(engine, &mut linker.root(), ROOT, name, item)?,
        }
    }
    Ok(linker)
}

/// `true` for `func() -> list<u8>`.
fn gives_bytes(ty: &ComponentFunc) -> bool {
    let results: Vec<Type> = ty.results().collect();
    let bytes = matches!(&results[..], [Type::List(list)] if list.ty() == Type::U8);
    bytes && ty.params().len() == 0 && !ty.async_()
}

fn stub(
    engine: &Engine,
    linker: &mut LinkerInstance<'_, StoreData>,
    place: &str,
    name: &str,
    item: &ComponentItem,
) -> Result<()> {
    match item {
        ComponentItem::ComponentFunc(_) => {
            let (module, import) = (place.to_owned(), name.to_owned());
            let kind = TrapKind::MissingImport { module, name: import };
            linker.func_new(name, move |_, _, _, _| Err(Trap::new(kind.clone()).into()))
        }
        ComponentItem::ComponentInstance(instance) => {
            let mut inside = linker.instance(name)?;
            for (inner, export) in instance.exports(engine) {
                stub(engine, &mut inside, name, inner, &export.ty)?;
            }
            Ok(())
        }
        // Nobody can make one but the functions that are stubs.
        ComponentItem::Resource(_) => {
            linker.resource(name, ResourceType::host::<()>(), |_, _| Ok(()))
        }
        ComponentItem::Type(_) => Ok(()),
        ComponentItem::CoreFunc(_) | ComponentItem::Module(_) | ComponentItem::Component(_) => {
            wasmtime::bail!("the import {place}.{name} is no function")
        }
    }
}
