//! Index spaces of a component while it is read, and what is left of them at its end.

use super::component::{CoreModule, Level, Needs};
use super::component_entries::Lift;
use crate::error::Result;
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, ExternalKind, Instance, Payload,
};

/// A component, the outermost or a nested one, as far as a rewriter has to know it.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    /// Where its bytes start in the outermost component.
    pub(super) start: usize,
    /// Resources of one instance of it; `None` where only the run time knows.
    pub(super) needs: Option<Needs>,
    /// Instances of modules and components in one instance of it, with itself. What it is given and
    /// instantiates counts as one.
    pub(super) instances: u32,
    /// Instances of known components that lie in each other in one instance of it, itself included.
    pub(super) depth: u32,
    /// Core instances of modules: their index and their module's place.
    pub(super) core: Vec<(u32, usize)>,
    /// Instances of components: their index and the place of their part, which is before this one.
    pub(super) nested: Vec<(u32, usize)>,
    pub(super) counts: Counts,
    /// Functions that it makes of core functions.
    pub(super) lifts: Vec<Lift>,
    /// `true` if it defines resource types.
    pub(super) has_resources: bool,
}

/// Lengths of index spaces.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) modules: u32,
    pub(super) core_instances: u32,
    pub(super) core_functions: u32,
    pub(super) types: u32,
    pub(super) functions: u32,
    pub(super) instances: u32,
}

/// Index spaces of a component; `None` is what only the run time knows.
pub(super) struct Spaces {
    modules: Vec<Option<usize>>,
    /// By their place among the parts that have been read.
    components: Vec<Option<usize>>,
    part: Part,
}

impl Spaces {
    pub(super) fn new(start: usize) -> Self {
        let needs = Some(Needs::default());
        let part = Part { start, needs, instances: 1, depth: 1, ..Part::default() };
        Self { modules: Vec::new(), components: Vec::new(), part }
    }

    /// A core module inside this component has ended.
    pub(super) fn module(&mut self, index: usize) {
        self.modules.push(Some(index));
    }

    /// A component inside this one has ended.
    pub(super) fn component(&mut self, part: usize) {
        self.components.push(Some(part));
    }

    /// This component has ended.
    pub(super) fn finish(mut self) -> Part {
        self.part.counts.modules = self.modules.len() as u32;
        self.part
    }

    /// Something that comes from outside, or gets a second index.
    fn other(&mut self, kind: ComponentExternalKind) {
        let counts = &mut self.part.counts;
        match kind {
            ComponentExternalKind::Module => self.modules.push(None),
            ComponentExternalKind::Component => self.components.push(None),
            ComponentExternalKind::Func => counts.functions += 1,
            ComponentExternalKind::Type => counts.types += 1,
            ComponentExternalKind::Instance => counts.instances += 1,
            ComponentExternalKind::Value => {}
        }
    }

    fn add(&mut self, more: Option<Needs>) {
        self.part.needs = match (self.part.needs, more) {
            (Some(all), Some(more)) => Some(Needs {
                instances: all.instances.saturating_add(more.instances),
                memories: all.memories.saturating_add(more.memories),
                tables: all.tables.saturating_add(more.tables),
            }),
            _ => None,
        };
    }

    pub(super) fn take(
        &mut self,
        payload: Payload<'_>,
        outer: &[Level],
        modules: &[CoreModule],
        parts: &[Part],
    ) -> Result<()> {
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section {
                    let index = self.part.counts.core_instances;
                    self.part.counts.core_instances += 1;
                    let Instance::Instantiate { module_index, .. } = instance? else {
                        continue;
                    };
                    let module = self.modules.get(module_index as usize).copied().flatten();
                    self.add(module.map(|module| modules[module].needs()));
                    self.part.instances = self.part.instances.saturating_add(1);
                    self.part.core.extend(module.map(|module| (index, module)));
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    let index = self.part.counts.instances;
                    self.part.counts.instances += 1;
                    let ComponentInstance::Instantiate { component_index, args } = instance? else {
                        continue;
                    };
                    let known = |index: u32| self.components.get(index as usize).copied().flatten();
                    let part = known(component_index);
                    let of = |part: Option<usize>| part.map_or(1, |part| parts[part].instances);
                    // It may instantiate what it is given wherever it instantiates anything.
                    let given =
                        args.iter().filter(|arg| arg.kind == ComponentExternalKind::Component);
                    let most = given
                        .map(|arg| of(known(arg.index)))
                        .fold(1, u32::saturating_add)
                        .saturating_mul(of(part));
                    self.part.instances = self.part.instances.saturating_add(most);
                    self.add(part.and_then(|part| parts[part].needs));
                    if let Some(part) = part {
                        self.part.depth = self.part.depth.max(parts[part].depth + 1);
                        self.part.nested.push((index, part));
                    }
                }
            }
            Payload::ComponentTypeSection(section) => {
                for ty in section {
                    self.part.counts.types += 1;
                    let is_resource = matches!(ty?, ComponentType::Resource { .. });
                    self.part.has_resources |= is_resource;
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    match function? {
                        CanonicalFunction::Lift { core_func_index, type_index, options } => {
                            let function = self.part.counts.functions;
                            self.part.counts.functions += 1;
                            let lift = Lift::of(function, core_func_index, type_index, &options);
                            self.part.lifts.extend(lift);
                        }
                        _ => self.part.counts.core_functions += 1,
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    match alias? {
                        ComponentAlias::InstanceExport { kind, .. } => self.other(kind),
                        ComponentAlias::Outer { kind, count, index } => {
                            self.outer(kind, outer, count, index);
                        }
                        ComponentAlias::CoreInstanceExport { kind, .. } => {
                            let is_function =
                                matches!(kind, ExternalKind::Func | ExternalKind::FuncExact);
                            self.part.counts.core_functions += u32::from(is_function);
                        }
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    self.other(import?.ty.kind());
                }
            }
            Payload::ComponentExportSection(section) => {
                // Each export gives what it exports a second index.
                for export in section {
                    self.other(export?.kind);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An alias of what an enclosing component has; 0 is this one itself.
    fn outer(&mut self, kind: ComponentOuterAliasKind, outer: &[Level], count: u32, index: u32) {
        let from = match (count as usize).checked_sub(1) {
            None => Some(&*self),
            Some(up) => match outer.iter().rev().nth(up) {
                Some(Level::Component(spaces)) => Some(spaces),
                _ => None,
            },
        };
        let index = index as usize;
        match kind {
            ComponentOuterAliasKind::CoreModule => {
                let module = from.and_then(|spaces| spaces.modules.get(index).copied().flatten());
                self.modules.push(module);
            }
            ComponentOuterAliasKind::Component => {
                let part = from.and_then(|spaces| spaces.components.get(index).copied().flatten());
                self.components.push(part);
            }
            ComponentOuterAliasKind::Type => self.part.counts.types += 1,
            ComponentOuterAliasKind::CoreType => {}
        }
    }
}
