//! Entries of a component: beside each exported function one more, which first brings the
//! state of the core instances back and then calls it. A host that calls the first function
//! of each use by its entry saves a call of the function that resets.
//!
//! A function's parameters are written to memory before it runs, and the guest's allocator
//! makes room for them. So whichever runs first, the allocator or the function, brings the
//! state back.

use super::component::ComponentInfo;
use super::component_reset::{Added, EXPORT, next};
use super::core_reset::{self, DRIVEN, StateCall};
use std::collections::HashMap;
use wasm_encoder::{
    BlockType, CanonicalFunctionSection, CanonicalOption, CodeSection, ComponentExportKind,
    ComponentExportSection, ComponentTypeRef, ComponentTypeSection, ComponentValType, ConstExpr,
    EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    ImportSection, InstanceSection, Module, ModuleArg, ModuleSection, PrimitiveValType,
    TypeSection, ValType,
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
        let known = |option: &wasmparser::CanonicalOption| {
            Some(match option {
                wasmparser::CanonicalOption::UTF8 => CanonicalOption::UTF8,
                wasmparser::CanonicalOption::UTF16 => CanonicalOption::UTF16,
                wasmparser::CanonicalOption::CompactUTF16 => CanonicalOption::CompactUTF16,
                wasmparser::CanonicalOption::Memory(index) => CanonicalOption::Memory(*index),
                wasmparser::CanonicalOption::Realloc(index) => CanonicalOption::Realloc(*index),
                wasmparser::CanonicalOption::PostReturn(index) => {
                    CanonicalOption::PostReturn(*index)
                }
                _ => return None,
            })
        };
        let options = options.iter().map(known).collect::<Option<_>>()?;
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
    #[must_use]
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
#[must_use]
pub fn entered() -> String {
    format!("{EXPORT}-entered")
}

/// The name of an entry. Names of exports can be any, so it has their place.
fn entry(place: usize) -> String {
    format!("{EXPORT}-e{place}")
}

impl Added<'_> {
    /// Adds the entries of functions; `instances` are those of core modules with state.
    pub(super) fn enter(&mut self, functions: &[Lifted], instances: &[u32]) {
        let mut allocators: Vec<u32> =
            functions.iter().filter_map(|function| function.lift.allocator()).collect();
        allocators.sort_unstable();
        allocators.dedup();
        let module = module(instances.len() as u32, allocators.len() as u32, functions);
        self.component.section(&ModuleSection(&module));
        let module = next(&mut self.counts.modules);
        let resets = instances
            .iter()
            .map(|instance| self.core_function(*instance, core_reset::EXPORT))
            .collect::<Vec<_>>();
        let called = functions.iter().map(|function| function.lift.core_function);
        let items = resets.into_iter().chain(allocators.iter().copied()).chain(called);
        let items = items.enumerate().map(|(at, index)| (at.to_string(), ExportKind::Func, index));
        let mut made = InstanceSection::new();
        made.export_items(items.collect::<Vec<_>>());
        let items = next(&mut self.counts.core_instances);
        made.instantiate(module, [(DRIVEN, ModuleArg::Instance(items))]);
        self.component.section(&made);
        let instance = next(&mut self.counts.core_instances);
        let mut added = |at: usize| self.core_function(instance, &at.to_string());
        let own: Vec<u32> = (0..allocators.len() + functions.len()).map(&mut added).collect();
        let (own_allocators, own_functions) = own.split_at(allocators.len());
        let counts = self.core_function(instance, ENTERED);
        let mut types = ComponentTypeSection::new();
        let number = PrimitiveValType::U32.into();
        types.function().params([] as [(&str, ComponentValType); 0]).result(Some(number));
        self.component.section(&types);
        let ty = next(&mut self.counts.types);
        let mut lifted = CanonicalFunctionSection::new();
        lifted.lift(counts, ty, [] as [CanonicalOption; 0]);
        self.component.section(&lifted);
        let counts = next(&mut self.counts.functions);
        self.export(&entered(), counts);
        for (place, (function, own)) in functions.iter().zip(own_functions).enumerate() {
            let options = function.lift.options.iter().map(|option| match option {
                CanonicalOption::Realloc(index) => {
                    let at = allocators.iter().position(|allocator| allocator == index);
                    CanonicalOption::Realloc(at.map_or(*index, |at| own_allocators[at]))
                }
                option => *option,
            });
            let mut lifted = CanonicalFunctionSection::new();
            lifted.lift(*own, function.lift.ty, options.collect::<Vec<_>>());
            self.component.section(&lifted);
            let lifted = next(&mut self.counts.functions);
            let mut exports = ComponentExportSection::new();
            let kind = ComponentExportKind::Func;
            exports.export(entry(place), kind, lifted, function.ascribed);
            self.component.section(&exports);
            self.counts.functions += 1;
        }
    }
}

/// Parameters and results of a function that makes room.
const ALLOCATOR: ([ValType; 4], [ValType; 1]) = ([ValType::I32; 4], [ValType::I32]);

/// A module that imports functions that reset, allocators and functions, by numbers, and
/// exports allocators and functions that call these, by numbers as well.
fn module(resets: u32, allocators: u32, functions: &[Lifted]) -> Module {
    const RESET: u32 = 0;
    const ALLOCATES: u32 = 1;
    const NOTHING: u32 = 2;
    const COUNTS: u32 = 3;
    const FIRST: u32 = 4;
    /// `true` if the state has been brought back for the call that comes or runs.
    const IS_BACK: u32 = 0;
    /// How many functions were entered so far.
    const COUNT: u32 = 1;
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function(ALLOCATOR.0, ALLOCATOR.1);
    types.ty().function([], []);
    types.ty().function([], [ValType::I32]);
    for function in functions {
        types.ty().function(function.params.iter().copied(), function.results.iter().copied());
    }
    // Type and number of parameters of what is called.
    let allocator = (ALLOCATES, ALLOCATOR.0.len());
    let params = functions.iter().map(|function| function.params.len());
    let called: Vec<(u32, usize)> =
        std::iter::repeat_n(allocator, allocators as usize).chain((FIRST..).zip(params)).collect();
    let mut imports = ImportSection::new();
    let types_called = called.iter().map(|(ty, _)| *ty);
    let imported = std::iter::repeat_n(RESET, resets as usize).chain(types_called);
    for (at, ty) in imported.enumerate() {
        imports.import(DRIVEN, &at.to_string(), EntityType::Function(ty));
    }
    let mut globals = GlobalSection::new();
    let ty = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
    globals.global(ty, &ConstExpr::i32_const(0));
    globals.global(ty, &ConstExpr::i32_const(0));
    let (mut defined, mut exports, mut bodies) =
        (FunctionSection::new(), ExportSection::new(), CodeSection::new());
    let bring_back = resets + called.len() as u32;
    defined.function(NOTHING);
    let mut body = Function::new([]);
    let mut code = body.instructions();
    code.global_get(IS_BACK).if_(BlockType::Empty).return_().end();
    for reset in 0..resets {
        code.i32_const(StateCall::Restore as i32).call(reset).drop();
    }
    code.i32_const(1).global_set(IS_BACK).end();
    bodies.function(&body);
    for (at, (ty, params)) in (0..).zip(called) {
        let mut body = Function::new([]);
        let mut code = body.instructions();
        code.call(bring_back);
        if at >= allocators {
            // The next entry is of another use.
            code.i32_const(0).global_set(IS_BACK);
            code.global_get(COUNT).i32_const(1).i32_add().global_set(COUNT);
        }
        for param in 0..params as u32 {
            code.local_get(param);
        }
        code.call(resets + at).end();
        bodies.function(&body);
        defined.function(ty);
        exports.export(&at.to_string(), ExportKind::Func, bring_back + 1 + at);
    }
    let mut body = Function::new([]);
    body.instructions().global_get(COUNT).end();
    exports.export(ENTERED, ExportKind::Func, bring_back + bodies.len());
    bodies.function(&body);
    defined.function(COUNTS);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&defined).section(&globals);
    module.section(&exports).section(&bodies);
    module
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
