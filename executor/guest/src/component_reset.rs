//! Components whose instances can be reset in place: each component in it that has core
//! instances with state gets a function that saves and restores that state, and the
//! outermost component exports them all.
//!
//! One function for all of them is not possible: a component must not be entered by a component
//! that contains it, or that it contains.

use crate::component::HEADER;
use crate::core_reset::{DRIVEN, HANDLE, RUN};
use crate::spaces::{Counts, Part};
use crate::{ComponentInfo, CoreModule, MemoryLimits, Result, component_memory, core_reset};
use wasm_encoder::{
    CanonicalOption, ComponentBuilder, ComponentExportKind, ComponentTypeRef, ExportKind,
    ModuleArg, PrimitiveValType, ValType,
};

/// Names of added exports begin with this. Behind it stand the component instances inside
/// which the function is, from the outermost to the innermost.
pub(super) const EXPORT: &str = "touchstone-reset";
/// Functions that are exported at most.
const MOST: u32 = 1000;
/// Instances that may lie in each other: the names of functions are as long as they lie deep.
const DEPTH: u32 = 100;
/// Mutable globals of a module: one function copies all of them, and a function has a largest size.
const GLOBALS: u32 = 100_000;
/// Most tables that a module may have, and most modules and instances that a component may have
/// (wasmparser's `limits.rs`).
const TABLES: u32 = 100;
const PARTS: u32 = 1000;
/// Modules and instances that are added to a component at most.
const ADDED_PARTS: u32 = 4;

/// `true` if the name of an export, of whichever component, is kept for added ones. Names are the
/// same in upper and lower case, and for some validators also without hyphens.
pub(super) fn is_kept(name: &str) -> bool {
    let plain = |name: &str| name.replace('-', "").to_ascii_lowercase();
    plain(name).starts_with(&plain(EXPORT))
}

impl ComponentInfo {
    /// The reason why an instance cannot be reset in place; `None` if it can.
    pub fn reset_refusal(&self) -> Option<String> {
        let any = |what: fn(&CoreModule) -> bool| self.modules.iter().any(what);
        let is_full = |part: &Part| {
            part.counts.modules.max(part.counts.core_instances + part.counts.instances)
                > PARTS - ADDED_PARTS
        };
        let reason: &str = if self.needs.is_none() {
            "the component instantiates what it is given at run time, whose state cannot be \
             brought back in place"
        } else if any(|module| module.drops_segments) {
            "a module in the component drops passive segments (data.drop or elem.drop), which \
             cannot be brought back in place"
        } else if self.has_resources() && any(|module| module.has_start) {
            "the component has resources and a start function, which may take handles that a \
             reset in place would have to keep"
        } else if let Some(name) = &self.reserved {
            &format!("the component exports '{name}', a name that a reset in place needs")
        } else if self.parts.iter().any(is_full)
            || self.writes_tables() && any(|module| module.tables > TABLES / 2)
        {
            "the component has too many modules, instances or tables to add what a reset in place \
             needs"
        } else if self.parts.last().is_some_and(|root| root.depth > DEPTH) {
            &format!("instances in the component lie more than {DEPTH} deep in each other")
        } else if any(|module| module.mutable_globals > GLOBALS) {
            &format!(
                "a module in the component has more than {GLOBALS} mutable globals to be brought \
                 back"
            )
        } else if self.resets().last().is_some_and(|resets| *resets > MOST) {
            &format!("more than {MOST} instances in the component have state to be brought back")
        } else {
            return None;
        };
        Some(reason.to_owned())
    }

    /// `true` if any component in it, or itself, defines resources: without one there are no
    /// handles, for nobody makes those of a host's.
    pub fn has_resources(&self) -> bool {
        self.parts.iter().any(|part| part.has_resources)
    }

    /// Takes handles of the host's resources into account, if it may get any: with a host that
    /// makes some.
    pub(super) fn count_host_handles(&mut self) {
        if !self.interfaces.is_empty() {
            self.parts.iter_mut().for_each(|part| part.has_resources = true);
        }
    }

    /// The added exports of the component [`resettable`](super::GuestModule::resettable):
    /// `func(call: u32, handles: u32) -> u32`. The first parameter and the result are those of
    /// [`StateCall`](super::StateCall). The second one is the largest number of handles at a time
    /// since the instance was clean. The function traps if more are in use now, or were since then.
    pub fn reset_functions(&self) -> Vec<String> {
        self.parts.last().map(|root| self.names(root)).unwrap_or_default()
    }

    /// The functions of each part.
    fn resets(&self) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for part in &self.parts {
            let nested = part.nested.iter().map(|(_, nested)| all[*nested]);
            let own = u32::from(self.is_driven(part));
            all.push(nested.fold(own, u32::saturating_add));
        }
        all
    }

    fn names(&self, part: &Part) -> Vec<String> {
        let own = self.is_driven(part).then(|| EXPORT.to_owned());
        let nested = part.nested.iter().flat_map(|(instance, nested)| {
            let inside = self.names(&self.parts[*nested]).into_iter();
            inside.map(|name| outer_name(*instance, &name))
        });
        own.into_iter().chain(nested).collect()
    }

    /// `true` if a part has a function of its own: for core instances with state, and for a
    /// table of handles, which it takes core functions to use.
    fn is_driven(&self, part: &Part) -> bool {
        let has_handles = self.has_resources() && part.counts.core_functions > 0;
        has_handles || self.stateful(part).next().is_some()
    }

    /// The core instances with state.
    fn stateful(&self, part: &Part) -> impl Iterator<Item = u32> {
        let instances = part.core.iter();
        instances.filter(|(_, module)| self.has_state(&self.modules[*module])).map(|(at, _)| *at)
    }

    fn has_state(&self, module: &CoreModule) -> bool {
        let writes_tables = module.tables > 0 && self.writes_tables();
        module.memory.is_some() || module.mutable_globals > 0 || writes_tables
    }

    /// `true` if any module writes tables: they may be those of another module.
    pub(super) fn writes_tables(&self) -> bool {
        self.modules.iter().any(|module| module.writes_tables)
    }
}

/// The name by which a component exports what an instance inside it exports.
fn outer_name(instance: u32, name: &str) -> String {
    format!("{EXPORT}-i{instance}{}", name.strip_prefix(EXPORT).unwrap_or(name))
}

/// The component with the functions. `limits` are those of memories that come with their content;
/// without them the modules write it.
pub(super) fn resettable(
    wasm: &[u8],
    info: &ComponentInfo,
    limits: Option<Vec<MemoryLimits>>,
) -> Result<Vec<u8>> {
    let mut limits = limits.into_iter().flatten();
    let mut changes = Vec::new();
    for module in &info.modules {
        let limits = module.memory.and_then(|_| limits.next());
        if info.has_state(module) {
            let core = &wasm[module.bytes.clone()];
            let changed = core_reset::resettable(core, info.writes_tables(), limits)?;
            changes.push((module.bytes.clone(), changed));
        }
    }
    component_memory::rewritten(wasm, 0, &changes, &|start| {
        let Some(part) = info.parts.iter().find(|part| part.start == start) else {
            return Ok(Vec::new());
        };
        let mut added = Added { sections: ComponentBuilder::default(), first: part.counts };
        added.add(info, part)?;
        let functions = info.entered();
        if start == 0 && !functions.is_empty() {
            added.enter(functions, &info.stateful(part).collect::<Vec<_>>())?;
        }
        Ok(added.sections.finish().split_off(HEADER.len()))
    })
}

/// Sections that are added to a component, whose index spaces are so long before. An index that
/// the builder returns begins at 0.
pub(super) struct Added {
    pub(super) sections: ComponentBuilder,
    pub(super) first: Counts,
}

impl Added {
    fn add(&mut self, info: &ComponentInfo, part: &Part) -> Result<()> {
        if info.is_driven(part) {
            let instances: Vec<u32> = info.stateful(part).collect();
            let function = self.drive(&instances, info.has_resources())?;
            self.export(EXPORT, function, None);
        }
        for (instance, nested) in &part.nested {
            for name in info.names(&info.parts[*nested]) {
                let kind = ComponentExportKind::Func;
                let function = self.sections.alias_export(*instance, &name, kind);
                let function = self.first.functions + function;
                self.export(&outer_name(*instance, &name), function, None);
            }
        }
        Ok(())
    }

    pub(super) fn export(&mut self, name: &str, function: u32, ty: Option<ComponentTypeRef>) {
        self.sections.export(name, ComponentExportKind::Func, function, ty);
    }

    /// A function that calls those of the core instances.
    fn drive(&mut self, instances: &[u32], handles: bool) -> Result<u32> {
        let reset = |instance: &u32| self.core_function(*instance, core_reset::EXPORT);
        let mut driven: Vec<u32> = instances.iter().map(reset).collect();
        let mut names: Vec<String> = (0..driven.len()).map(|at| at.to_string()).collect();
        if handles {
            let ty = self.first.types + self.sections.type_resource(None, ValType::I32, None);
            driven.push(self.first.core_functions + self.sections.resource_new(ty));
            driven.push(self.first.core_functions + self.sections.resource_drop(ty));
            names.extend(HANDLE.map(str::to_owned));
        }
        let driver = core_reset::driver(instances.len() as u32, handles)?;
        let instance = self.instantiate(&driver, &names, &driven);
        let run = self.core_function(instance, RUN);
        let params = [("call", PrimitiveValType::U32), ("handles", PrimitiveValType::U32)];
        Ok(self.lift_number(run, params))
    }

    /// An instance of a module that imports these core functions by these names.
    pub(super) fn instantiate(&mut self, module: &[u8], names: &[String], given: &[u32]) -> u32 {
        let module = self.first.modules + self.sections.core_module_raw(None, module);
        let items = names.iter().zip(given);
        let items = items.map(|(name, index)| (name.as_str(), ExportKind::Func, *index));
        let items = self.sections.core_instantiate_exports(None, items.collect::<Vec<_>>());
        let items = ModuleArg::Instance(self.first.core_instances + items);
        let instance = self.sections.core_instantiate(None, module, [(DRIVEN, items)]);
        self.first.core_instances + instance
    }

    /// An exported function of a core instance.
    pub(super) fn core_function(&mut self, instance: u32, name: &str) -> u32 {
        let kind = ExportKind::Func;
        self.first.core_functions + self.sections.core_alias_export(None, instance, name, kind)
    }

    /// The function of a core function with a `u32` as its result.
    pub(super) fn lift_number<const N: usize>(
        &mut self,
        function: u32,
        params: [(&str, PrimitiveValType); N],
    ) -> u32 {
        let (ty, mut encoder) = self.sections.type_function(None);
        encoder.params(params).result(Some(PrimitiveValType::U32.into()));
        self.lift(function, self.first.types + ty, [].into_iter())
    }

    pub(super) fn lift(
        &mut self,
        function: u32,
        ty: u32,
        options: impl ExactSizeIterator<Item = CanonicalOption>,
    ) -> u32 {
        self.first.functions + self.sections.lift_func(None, function, ty, options)
    }
}

#[cfg(test)]
mod tests {
    use crate::{GuestModule, HeapPages};

    fn guest(text: &str) -> GuestModule {
        let bytes = wat::parse_str(text).unwrap();
        GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
    }

    /// State outside and inside; instances of one component at two depths, and things in
    /// every index space that indices of added ones come after.
    const NESTED: &str = r#"(component $root
        (import "f" (func $f))
        (core func $lowered (canon lower (func $f)))
        (core module $outer
            (import "" "f" (func))
            (global (mut i64) (i64.const 1))
            (func (export "g")))
        (core instance $items (export "f" (func $lowered)))
        (core instance $o (instantiate $outer (with "" (instance $items))))
        (component $inside
            (core module $inner
                (memory 2) (table 5 funcref) (func (table.set 0 (i32.const 0) (ref.null func))))
            (core instance (instantiate $inner))
            (core instance (instantiate $inner)))
        (component $stateless
            (core module $inner (func (export "g")) (table 1 1 funcref))
            (core instance $i (instantiate $inner))
            (func (export "g") (canon lift (core func $i "g"))))
        (component $between
            (alias outer $root $inside (component $again))
            (type (list u8))
            (instance $again (instantiate $again)))
        (instance $one (instantiate $inside))
        (instance $none (instantiate $stateless))
        (instance $two (instantiate $between))
        (type $list (list u8))
        (export "list" (type $list))
        (alias export $none "g" (func $g))
        (export "g" (func $g))
        (func (export "h") (canon lift (core func $o "g"))))"#;

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn each_component_instance_with_state_gets_a_function() {
        let guest = guest(NESTED);
        let component = guest.info().component.as_ref().unwrap();
        // `$stateless` has a table, and modules write to tables: it may be that one.
        let names = [
            "touchstone-reset",
            "touchstone-reset-i0",
            "touchstone-reset-i1",
            "touchstone-reset-i2-i0",
        ];
        assert_eq!(component.reset_functions(), names);
        let bytes = guest.resettable().unwrap();
        let changed = GuestModule::new("changed", &bytes, HeapPages::default()).unwrap();
        let exports: Vec<_> =
            changed.info().exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!(exports, [&["g", "h"][..], &names].concat());
        // Once only.
        assert!(changed.resettable().unwrap_err().to_string().contains("touchstone-reset"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_component_without_state_stays_as_it_is() {
        let guest = guest(
            "(component (core module $m (func) (table 1 funcref) (global i32 (i32.const 1)))
               (core instance (instantiate $m)))",
        );
        assert_eq!(guest.info().component.as_ref().unwrap().reset_functions(), [""; 0]);
        assert_eq!(*guest.resettable().unwrap(), *guest.wasm());
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn chains_of_instances_and_globals_without_end_are_refused_by_name() {
        let mut text = "(component $c0 (core module $m (memory 1))
            (core instance (instantiate $m)))"
            .to_owned();
        for depth in 1..300 {
            text += &format!(
                "(component $c{depth} (alias outer $root $c{} (component $c))
                   (instance (instantiate $c)))",
                depth - 1
            );
        }
        let refusal = |text: &str| {
            let guest = guest(text);
            let refusal = guest.info().component.as_ref().unwrap().reset_refusal();
            assert_eq!(guest.resettable().is_err(), refusal.is_some());
            refusal
        };
        let deepest = |depth: u32| {
            refusal(&format!("(component $root {text} (instance (instantiate $c{depth})))"))
        };
        assert_eq!(deepest(90), None);
        assert!(deepest(299).unwrap().contains("more than 100 deep"));
        let globals = "(global (mut i32) (i32.const 0))".repeat(100_001);
        let refused = refusal(&format!(
            "(component (core module $m {globals}) (core instance (instantiate $m)))"
        ));
        assert!(refused.unwrap().contains("100000 mutable globals"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn instances_of_components_do_not_multiply_without_end() {
        let mut text = "(component $c0 (core module $m (memory 1))
            (core instance (instantiate $m)))"
            .to_owned();
        let mut deep = String::new();
        for depth in 1..40 {
            let inner = depth - 1;
            text += &format!(
                "(component $c{depth} (alias outer $root $c{inner} (component $c))
                   (instance (instantiate $c)) (instance (instantiate $c)))"
            );
            if depth == 10 {
                deep = format!("(component $root {text} (instance (instantiate $c10)))");
            }
        }
        let guest = guest(&deep);
        let refusal = guest.info().component.as_ref().unwrap().reset_refusal().unwrap();
        assert!(refusal.contains("1000"), "{refusal}");
        assert!(guest.resettable().is_err());
        let refused = |text: &str| {
            let bytes = wat::parse_str(text).unwrap();
            let read = GuestModule::new("guest", &bytes, HeapPages::default());
            assert!(read.unwrap_err().to_string().contains("more than 10000 instances"), "{text}");
        };
        refused(&format!("(component $root {text} (instance (instantiate $c39)))"));
        // Without a module, and by components that are given.
        refused(&format!(
            "(component $root {} (instance (instantiate $c39)))",
            text.replace("(core module $m (memory 1))", "")
                .replace("(core instance (instantiate $m))", "")
        ));
        let mut given = "(component $c0)
            (component $twice (import \"c\" (component $c))
                (instance (instantiate $c)) (instance (instantiate $c)))"
            .to_owned();
        for depth in 1..40 {
            given += &format!(
                "(component $c{depth} (alias outer $root $c{} (component $c))
                   (alias outer $root $twice (component $t))
                   (instance (instantiate $t (with \"c\" (component $c)))))",
                depth - 1
            );
        }
        refused(&format!("(component $root {given} (instance (instantiate $c39)))"));
    }

    #[test]
    fn what_leaves_no_room_for_a_reset_is_refused() {
        let refusal = |text: &str| {
            let guest = guest(text);
            guest.info().component.as_ref().unwrap().reset_refusal()
        };
        let tables = |count| {
            format!(
                "(component (core module $m {} (func (table.set 0 (i32.const 0) (ref.null func))))
                    (core instance (instantiate $m)))",
                "(table 1 funcref)".repeat(count)
            )
        };
        let instances = |count| {
            format!(
                "(component (core module $m (global (mut i32) (i32.const 0))) {})",
                "(core instance (instantiate $m))".repeat(count)
            )
        };
        for (allowed, refused) in [(tables(50), tables(51)), (instances(996), instances(997))] {
            assert_eq!(refusal(&allowed), None);
            let allowed = guest(&allowed);
            let bytes = allowed.resettable().unwrap();
            GuestModule::new("changed", &bytes, HeapPages::default()).unwrap();
            assert!(refusal(&refused).unwrap().contains("too many"));
        }
    }

    #[test]
    fn names_are_kept_in_any_case() {
        for name in ["touchstone-reset", "TOUCHSTONE-RESET", "touchstone-RESET-i0"] {
            let text = format!(
                "(component (core module $m (memory 1) (func (export \"f\")))
                    (core instance $i (instantiate $m))
                    (func (export \"{name}\") (canon lift (core func $i \"f\"))))"
            );
            let guest = guest(&text);
            let refusal = guest.info().component.as_ref().unwrap().reset_refusal().unwrap();
            assert!(refusal.contains(name), "{refusal}");
        }
    }
}
