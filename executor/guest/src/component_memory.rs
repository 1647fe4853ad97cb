//! The memories inside a component, for hosts that provide them with their content.
//!
//! A runtime that requests memory from a host states the limits of the memory, not its module.
//! Therefore each core module that defines a memory gets a distinct maximum size.

use crate::info::ALL_PAGES;
use crate::{
    ComponentInfo, CoreModule, Error, MemoryLimits, Patch, Result, Segment, info, rewrite,
};
use std::ops::Range;
use touchstone_memory::InitialContent;
use wasm_encoder::{Component, ComponentSectionId, RawSection};
use wasmparser::{Parser, Payload};

/// A memory that may grow to within so many pages of that is taken for one without a
/// limit: so much is the largest size lowered at most.
const LAST_PAGES: u32 = 64;

/// One memory of a component.
#[derive(Debug, Clone)]
pub struct ComponentMemory {
    /// Its largest size in pages of 64 KiB, in the component
    /// [`without_data`](super::GuestModule::without_data); it identifies the memory. A memory
    /// that may grow to 4 GiB grows to a few pages less, if other such memories precede it.
    pub largest: u32,
    /// Its initial size and content.
    pub content: InitialContent,
}

/// `true` if all active data of a module lies in a memory of these limits. Otherwise it stays in
/// the module, so that the runtime tells at the instantiation, if there is one and elements do not
/// trap before.
fn fits(module: &CoreModule, memory: MemoryLimits) -> bool {
    let mut places = module.segments.iter().filter_map(Segment::place);
    places.all(|at| at.end <= memory.initial_bytes())
}

/// The memories of the core modules, in their order.
pub(super) fn list(wasm: &[u8], info: &ComponentInfo) -> Result<Vec<ComponentMemory>> {
    info.with_memory()
        .zip(limits(info).map_err(Error::unhostable)?)
        .map(|((module, memory), limits)| {
            let segments = if fits(module, memory) { &module.segments[..] } else { &[] };
            let content = info::content(memory.initial_bytes(), segments, wasm)?;
            Ok(ComponentMemory { largest: limits.largest(), content })
        })
        .collect()
}

/// The component without data in those modules where it fits, and with limits that tell the
/// memories apart.
pub(super) fn without_data(wasm: &[u8], info: &ComponentInfo) -> Result<Vec<u8>> {
    let mut changes = Vec::new();
    for ((module, memory), limits) in
        info.with_memory().zip(limits(info).map_err(Error::unhostable)?)
    {
        let mut patch = Patch::of(&wasm[module.bytes.clone()])?;
        patch.set_memory(limits)?;
        if fits(module, memory) {
            rewrite::leave_out_data(&mut patch)?;
        }
        changes.push((module.bytes.clone(), patch.finish()?));
    }
    rewritten(wasm, 0, &changes, &|_| Ok(Vec::new()))
}

/// The limits that the memories get, if what they contain after instantiation is known from
/// the bytes: that of their own module's data segments.
pub(super) fn known_limits(info: &ComponentInfo) -> Option<Vec<MemoryLimits>> {
    // A start function, or a data segment of a module that imports the memory, may write
    // to the memory of another module. Of a segment that does not fit, the runtime tells.
    let is_changed = |module: &CoreModule| {
        let none = MemoryLimits { minimum: 0, maximum: None };
        module.has_start || !fits(module, module.memory.unwrap_or(none))
    };
    if info.modules.iter().any(is_changed) { None } else { limits(info).ok() }
}

/// The memories that come with their content, in the component
/// [`resettable`](super::GuestModule::resettable): all or none.
pub(super) fn known(wasm: &[u8], info: &ComponentInfo) -> Result<Vec<ComponentMemory>> {
    known_limits(info).map_or(Ok(Vec::new()), |_| list(wasm, info))
}

/// The limits that the memories get, or why a host cannot bring the memories along.
pub(super) fn limits(info: &ComponentInfo) -> Result<Vec<MemoryLimits>, String> {
    if let Some(reason) = info.unknown_content() {
        return Err(reason);
    }
    let mut all: Vec<MemoryLimits> = Vec::new();
    for (_, memory) in info.with_memory() {
        let is_taken = |largest: u32| all.iter().any(|other| other.largest() == largest);
        let largest = if memory.largest() > ALL_PAGES - LAST_PAGES {
            let mut lower = (ALL_PAGES - LAST_PAGES + 1..=memory.largest()).rev();
            let free = lower.find(|largest| !is_taken(*largest));
            free.filter(|largest| *largest >= memory.minimum).ok_or_else(|| {
                "the component has more memories without a limit than can be told apart".to_owned()
            })?
        } else {
            memory.largest()
        };
        if is_taken(largest) {
            return Err(format!(
                "the component has two memories of at most {largest} pages, which a host cannot \
                 tell apart"
            ));
        }
        all.push(MemoryLimits { minimum: memory.minimum, maximum: Some(largest) });
    }
    Ok(all)
}

/// The component with other modules in the places of some; all else is carried over
/// byte for byte. `wasm` starts at `offset` of the outermost component. `added` gives the sections
/// that are added at the end of the component that starts at a place.
pub(super) fn rewritten(
    wasm: &[u8],
    offset: usize,
    changes: &[(Range<usize>, Vec<u8>)],
    added: &dyn Fn(usize) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut component = Component::new();
    // How deep inside nested ones; they are dealt with as a whole.
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let is_outside = depth == 0;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        let Some((id, range)) = payload.as_section().filter(|_| is_outside) else { continue };
        let here = offset + range.start..offset + range.end;
        let old = &wasm[range];
        let new;
        let data = if let Some((_, module)) = changes.iter().find(|(place, _)| *place == here) {
            module
        } else if id == ComponentSectionId::Component as u8 {
            new = rewritten(old, here.start, changes, added)?;
            &new
        } else {
            old
        };
        component.section(&RawSection { id, data });
    }
    let mut component = component.finish();
    component.extend(added(offset)?);
    Ok(component)
}

#[cfg(test)]
mod tests {
    use crate::{ComponentMemory, GuestModule, HeapPages, Needs};

    fn guest(text: &str) -> GuestModule {
        let bytes = wat::parse_str(text).unwrap();
        GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
    }

    /// One memory outside, two of one module in a component inside.
    const NESTED: &str = r#"(component
        (core module $outer (memory 1) (data (i32.const 3) "outer"))
        (component $inside
            (core module $inner (memory 2) (table 5 funcref) (data (i32.const 70000) "inner"))
            (core instance (instantiate $inner))
            (core instance (instantiate $inner)))
        (core instance (instantiate $outer))
        (instance (instantiate $inside))
        (core module $bounded (memory 1 3))
        (core instance (instantiate $bounded)))"#;

    #[test]
    fn what_an_instance_takes_is_counted_through_nested_components() {
        let guest = guest(NESTED);
        let component = guest.info().component.as_ref().unwrap();
        assert_eq!(component.needs, Some(Needs { instances: 4, memories: 4, tables: 2 }));
        assert_eq!(component.modules.len(), 3);
        assert_eq!(component.modules[1].table_elements, 5);
    }

    #[test]
    fn memories_are_told_apart_by_their_largest_size() {
        let guest = guest(NESTED);
        let memories = guest.component_memories().unwrap();
        let largest: Vec<u32> = memories.iter().map(|memory| memory.largest).collect();
        assert_eq!(largest, [65_536, 65_535, 3]);
        // A limit of its own is never raised.
        let modules = "(core module (memory 1 65500)) (core module (memory 1))
            (core module (memory 1 65500)) (core module (memory 1 65536))";
        let limited = self::guest(&format!("(component {modules})"));
        let limited = limited.component_memories().unwrap();
        let largest: Vec<u32> = limited.iter().map(|memory| memory.largest).collect();
        assert_eq!(largest, [65_500, 65_536, 65_499, 65_535]);
        let read = |memory: &ComponentMemory, at: usize| {
            let mut bytes = vec![0; memory.content.size()];
            memory.content.write(&mut bytes);
            bytes[at..][..5].to_vec()
        };
        assert_eq!(read(&memories[0], 3), b"outer");
        assert_eq!(read(&memories[1], 70_000), b"inner");
        // What is left is a valid component with the same modules and no data.
        let bytes = guest.without_data().unwrap();
        let stripped = GuestModule::new("stripped", &bytes, HeapPages::default()).unwrap();
        let component = stripped.info().component.as_ref().unwrap();
        let maxima: Vec<_> = component.with_memory().map(|(_, memory)| memory.maximum).collect();
        assert_eq!(maxima, [Some(65_536), Some(65_535), Some(3)]);
        assert!(component.modules.iter().all(|module| module.segments.is_empty()));
        assert_eq!(component.needs, guest.info().component.as_ref().unwrap().needs);
    }

    #[test]
    fn what_cannot_be_told_from_the_bytes_is_refused() {
        let refusal = |text: &str| guest(text).without_data().unwrap_err().to_string();
        let starts = refusal(
            "(component (core module (memory 1) (func $f) (start $f) (data (i32.const 0) \"x\")))",
        );
        assert!(starts.contains("start function"), "{starts}");
        let alike = refusal("(component (core module (memory 1 2)) (core module (memory 0 2)))");
        assert!(alike.contains("two memories"), "{alike}");
        // A start function of a module without a memory changes nothing.
        let guest = guest("(component (core module (func $f) (start $f)))");
        assert!(guest.without_data().is_ok());
    }

    /// Whatever is still a component can be looked at and rewritten.
    #[test]
    #[cfg_attr(miri, ignore = "validates thousands of components: too slow")]
    fn damaged_components_are_refused_and_nothing_panics() {
        let bytes = wat::parse_str(NESTED).unwrap();
        let look = |bytes: &[u8]| match GuestModule::new("damaged", bytes, HeapPages::default()) {
            Ok(guest) => {
                let memories = guest.component_memories().is_ok();
                let stripped = guest.without_data();
                let is_component = guest.info().component.is_some();
                assert!(!is_component || !memories || stripped.is_ok());
                let component = guest.info().component.as_ref();
                let refusal = component.and_then(|component| component.reset_refusal());
                assert_eq!(refusal.is_none(), guest.resettable().is_ok());
                if let (Some(component), Ok(bytes)) = (component, guest.resettable())
                    && !component.reset_functions().is_empty()
                {
                    GuestModule::new("resettable", &bytes, HeapPages::default()).unwrap();
                }
                true
            }
            Err(_) => false,
        };
        assert!(look(&bytes));
        let cut = (0..bytes.len()).filter(|end| look(&bytes[..*end])).count();
        // The end of the last section but one is an end, too.
        assert!(cut < 20, "{cut} of {} lengths", bytes.len());
        let mut valid = 0;
        for at in 0..bytes.len() {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                valid += usize::from(look(&damaged));
            }
        }
        assert!(valid > 0);
    }
}
