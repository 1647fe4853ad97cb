//! Entries of a component: beside each exported function one more, which first brings the
//! state of the core instances back and then calls it. A host that calls the first function
//! of each use by its entry saves a call of the function that resets.
//!
//! A function's parameters are written to memory before it runs, and the guest's allocator makes
//! room for them. So whichever runs first, the allocator or the function, brings the state back.

use crate::component_reset::{Added, EXPORT};
use crate::core_reset::DRIVEN;
use crate::{ComponentInfo, Patch, Result, StateCall, core_reset};
use std::collections::HashMap;
use wasm_encoder::{
    BlockType, CanonicalOption, ComponentTypeRef, ConstExpr, ExportKind, Function, ValType,
};

/// An exported function of the outermost component, as far as an entry of it has to know.
#[derive(Debug, Clone)]
pub(super) struct Lifted {
    /// Its name.
    pub(super) export: String,
    /// The type that the export states; otherwise it has that of the function.
    pub(super) ascribed: Option<ComponentTypeRef>,
    pub(super) lift: Lift,
    /// Parameters and results of the core function.
    pub(super) params: Vec<ValType>,
    pub(super) results: Vec<ValType>,
}

/// How a function of a component is made of a core function.
#[derive(Debug, Clone)]
pub(super) struct Lift {
    /// Index of the function that is made.
    pub(super) function: u32,
    pub(super) core_function: u32,
    pub(super) ty: u32,
    pub(super) options: Vec<CanonicalOption>,
}

impl Lift {
    /// `None` where it has an option that entries do not know.
    pub(super) fn of(
        function: u32,
        core_function: u32,
        ty: u32,
        options: &[wasmparser::CanonicalOption],
    ) -> Option<Self> {
        use wasmparser::CanonicalOption::{CompactUTF16, Memory, PostReturn, Realloc, UTF8, UTF16};
        let is_known = |option: &wasmparser::CanonicalOption| {
            matches!(option, UTF8 | UTF16 | CompactUTF16 | Memory(_) | Realloc(_) | PostReturn(_))
        };
        let options = options.iter().map(|option| is_known(option).then(|| (*option).into()));
        let options = options.collect::<Option<_>>()?;
        Some(Self { function, core_function, ty, options })
    }

    /// The function that makes room for parameters.
    fn allocator(&self) -> Option<u32> {
        self.options.iter().find_map(|option| match option {
            CanonicalOption::Realloc(index) => Some(*index),
            _ => None,
        })
    }
}

impl ComponentInfo {
    /// The names of the entries of exported functions in the component
    /// [`resettable`](super::GuestModule::resettable): each has the function's type, and brings the
    /// state back before it calls the function, as
    /// [`StateCall::Restore`](super::StateCall::Restore) does. No function has one if
    /// components inside this one have state as well, if handles have to be put in order, or
    /// tables may have grown.
    pub fn entries(&self) -> HashMap<&str, String> {
        let entered = self.entered().iter().enumerate();
        entered.map(|(place, lifted)| (&*lifted.export, entry(place))).collect()
    }

    /// The functions that have entries.
    pub(super) fn entered(&self) -> &[Lifted] {
        let tables = self.writes_tables() && self.modules.iter().any(|module| module.tables > 0);
        let is_alone = self.reset_functions() == [EXPORT];
        if is_alone && !tables && !self.has_resources() { &self.lifted } else { &[] }
    }
}

/// Export of [`module`] for [`entered`].
const ENTERED: &str = "entered";

/// Name of the function `() -> u32` of a component with [entries](ComponentInfo::entries) that
/// tells how many calls have come through one so far: a call that failed may have done so before.
/// In a module with [entries](super::GuestModule::with_entries), the name of a global.
pub fn entered() -> String {
    format!("{EXPORT}-entered")
}

/// The name of an entry. Names of exports can be any, so it has their place.
fn entry(place: usize) -> String {
    format!("{EXPORT}-e{place}")
}

impl Added {
    /// Adds the entries of functions; `instances` are those of core modules with state.
    pub(super) fn enter(&mut self, functions: &[Lifted], instances: &[u32]) -> Result<()> {
        let mut allocators: Vec<u32> =
            functions.iter().filter_map(|function| function.lift.allocator()).collect();
        allocators.sort_unstable();
        allocators.dedup();
        let module = module(instances.len(), allocators.len(), functions)?;
        let reset = |instance: &u32| self.core_function(*instance, core_reset::EXPORT);
        let mut given: Vec<u32> = instances.iter().map(reset).collect();
        given.extend(&allocators);
        given.extend(functions.iter().map(|function| function.lift.core_function));
        let names: Vec<String> = (0..given.len()).map(|at| at.to_string()).collect();
        let instance = self.instantiate(&module, &names, &given);
        let own = names[instances.len()..].iter();
        let own: Vec<u32> = own.map(|name| self.core_function(instance, name)).collect();
        let (own_allocators, own_functions) = own.split_at(allocators.len());
        let counts = self.core_function(instance, ENTERED);
        let counts = self.lift_number(counts, []);
        self.export(&entered(), counts, None);
        for (place, (function, own)) in functions.iter().zip(own_functions).enumerate() {
            let options = function.lift.options.iter().map(|option| match option {
                CanonicalOption::Realloc(index) => {
                    let at = allocators.binary_search(index);
                    CanonicalOption::Realloc(at.map_or(*index, |at| own_allocators[at]))
                }
                option => *option,
            });
            let lifted = self.lift(*own, function.lift.ty, options);
            self.export(&entry(place), lifted, function.ascribed);
        }
        Ok(())
    }
}

/// Parameters and results of a function that makes room.
const ALLOCATOR: (&[ValType], &[ValType]) = (&[ValType::I32; 4], &[ValType::I32]);

/// A module that imports functions that reset, allocators and functions, by numbers, and
/// exports allocators and functions that call these, by the same numbers.
fn module(resets: usize, allocators: usize, functions: &[Lifted]) -> Result<Vec<u8>> {
    let mut patch = Patch::empty()?;
    let own = functions.iter().map(|function| (&*function.params, &*function.results));
    let called: Vec<_> = std::iter::repeat_n(ALLOCATOR, allocators).chain(own).collect();
    let number: &[ValType] = &[ValType::I32];
    let imported = std::iter::repeat_n((number, number), resets).chain(called.iter().copied());
    for (at, (params, results)) in imported.enumerate() {
        patch.import(DRIVEN, &at.to_string(), params, results);
    }
    let zero = ConstExpr::i32_const(0);
    // 1 if the state has been brought back for the call that comes or runs.
    let is_back = patch.global(ValType::I32, &zero);
    // How many functions were entered so far.
    let count = patch.global(ValType::I32, &zero);
    let mut body = Function::new([]);
    let mut code = body.instructions();
    code.global_get(is_back).if_(BlockType::Empty).return_().end();
    for reset in 0..resets as u32 {
        code.i32_const(StateCall::Restore as i32).call(reset).drop();
    }
    code.i32_const(1).global_set(is_back).end();
    let ty = patch.ty(&[], &[]);
    let bring_back = patch.function(ty, &body);
    for (at, (params, results)) in called.into_iter().enumerate() {
        let mut body = Function::new([]);
        let mut code = body.instructions();
        code.call(bring_back);
        if at >= allocators {
            // The next entry is of another use.
            code.i32_const(0).global_set(is_back);
            code.global_get(count).i32_const(1).i32_add().global_set(count);
        }
        for param in 0..params.len() as u32 {
            code.local_get(param);
        }
        let imported = resets + at;
        code.call(imported as u32).end();
        let ty = patch.ty(params, results);
        let function = patch.function(ty, &body);
        patch.export(&imported.to_string(), ExportKind::Func, function);
    }
    let mut body = Function::new([]);
    body.instructions().global_get(count).end();
    let ty = patch.ty(&[], number);
    let function = patch.function(ty, &body);
    patch.export(ENTERED, ExportKind::Func, function);
    patch.finish()
}

#[cfg(test)]
mod tests {
    use crate::{GuestModule, HeapPages};

    fn guest(text: &str) -> GuestModule {
        let bytes = wat::parse_str(text).unwrap();
        GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
    }

    /// A component with a memory; `more` comes at its end.
    fn with(state: &str, more: &str) -> GuestModule {
        guest(&format!(
            r#"(component
                (core module $m
                    (memory (export "memory") 1) {state}
                    (func (export "room") (param i32 i32 i32 i32) (result i32) (i32.const 8))
                    (func (export "none"))
                    (func (export "bytes") (param i32 i32))
                    (func (export "point") (param i32 i64) (result i32) (local.get 0)))
                (core instance $i (instantiate $m))
                (alias core export $i "memory" (core memory $memory))
                (alias core export $i "room" (core func $room))
                (func (export "none") (canon lift (core func $i "none")))
                (func (export "bytes") (param "b" (list u8))
                    (canon lift (core func $i "bytes") (memory $memory) (realloc $room)))
                (type $hidden (record (field "x" u32) (field "y" u64)))
                (export $point "point" (type $hidden))
                (type $take (func (param "p" $hidden) (result u32)))
                (type $taken (func (param "p" $point) (result u32)))
                (func $p (type $take) (canon lift (core func $i "point")))
                (export "take" (func $p) (func (type $taken)))
                {more})"#
        ))
    }

    /// The functions of the component, each with whether it has an entry.
    fn entered(guest: &GuestModule) -> Vec<bool> {
        let component = guest.info().component.as_ref().unwrap();
        let exports = guest.info().exports.iter();
        let entries = component.entries();
        exports.map(|export| entries.contains_key(&*export.name)).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn each_function_has_an_entry_of_its_type() {
        let guest = with("(global $g (mut i32) (i32.const 7))", "");
        assert_eq!(entered(&guest), [true; 3]);
        let bytes = guest.resettable().unwrap();
        let changed = GuestModule::new("changed", &bytes, HeapPages::default()).unwrap();
        let types = |guest: &GuestModule| {
            let component = guest.info().component.as_ref().unwrap();
            let exports = guest.info().exports.iter().map(|export| export.name.clone());
            exports.zip(component.functions.clone()).collect::<Vec<_>>()
        };
        let component = guest.info().component.as_ref().unwrap();
        for (name, ty) in types(&guest) {
            let entry = component.entries()[&*name].clone();
            let found = types(&changed).into_iter().find(|(name, _)| *name == entry);
            assert_eq!(found.map(|(_, ty)| format!("{ty:?}")), Some(format!("{ty:?}")));
        }
        assert!(!component.entries().contains_key("other"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn there_are_none_where_an_entry_could_not_bring_all_back() {
        let nested = "(component $c (core module $m (memory 1)) (core instance (instantiate $m)))
            (instance (instantiate $c))";
        let resource = "(type $r (resource (rep i32)))";
        let table = "(table 1 funcref) (func (table.set 0 (i32.const 0) (ref.null func)))";
        for guest in [with("", nested), with("", resource), with(table, "")] {
            assert_eq!(entered(&guest), [false; 3]);
            assert!(guest.resettable().is_ok());
        }
    }
}
