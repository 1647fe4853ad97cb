//! A static look at a component: what it exports, which core modules are in it,
//! and what an instance of it takes.

use super::info::{
    FunctionExport, MemoryLimits, ModuleInfo, Segment, constant, invalid, unhostable,
};
use super::refusal::image_refusal;
use crate::error::{Error, Result};
use std::ops::Range;
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, DataKind,
    Encoding, Instance, Operator, Parser, Payload, ValidPayload, Validator, WasmFeatures,
};

/// First bytes of a component: the magic number, the version, the layer.
pub(super) const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// What is known about a component without running it, beside its exports.
#[derive(Debug, Clone, Default)]
pub struct ComponentInfo {
    /// The core modules in it, nested ones included, in the order of their bytes.
    pub modules: Vec<CoreModule>,
    /// What one instance takes; `None` where it instantiates what it is only given
    /// at run time.
    pub needs: Option<Needs>,
}

/// A core module inside a component.
#[derive(Debug, Clone, Default)]
pub struct CoreModule {
    /// Where it lies in the component.
    pub bytes: Range<usize>,
    /// The memory that it defines.
    pub memory: Option<MemoryLimits>,
    /// Largest number of entries of any of its tables.
    pub table_elements: u64,
    /// Number of tables that it defines.
    pub tables: u32,
    /// Whether any instruction grows a table.
    pub grows_tables: bool,
    /// Active data segments; their bytes are places in the component.
    pub segments: Vec<Segment>,
    /// Whether a start function runs at each instantiation.
    pub has_start: bool,
}

/// What one instance of a component takes of a runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Instances of core modules.
    pub instances: u32,
    /// Memories.
    pub memories: u32,
    /// Tables.
    pub tables: u32,
}

impl ComponentInfo {
    /// The core modules that define a memory.
    pub fn with_memory(&self) -> impl Iterator<Item = (&CoreModule, MemoryLimits)> {
        self.modules.iter().filter_map(|module| Some((module, module.memory?)))
    }

    /// Why the initial memories cannot be told from the bytes alone.
    #[must_use]
    pub fn image_refusal(&self) -> Option<String> {
        self.with_memory().find_map(|(module, _)| image_refusal(module.has_start, &module.segments))
    }
}

/// Validates a component and looks at it.
///
/// # Errors
///
/// When it does not validate.
pub(super) fn read(wasm: &[u8]) -> Result<ModuleInfo> {
    let mut reader = Reader::default();
    let features = WasmFeatures::WASM2 | WasmFeatures::COMPONENT_MODEL;
    let mut validator = Validator::new_with_features(features);
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(invalid)?;
        // The parser takes the end of the bytes for the end of what is nested.
        if let Payload::ModuleSection { unchecked_range, .. }
        | Payload::ComponentSection { unchecked_range, .. } = &payload
            && unchecked_range.end > wasm.len()
        {
            let reason = "it is cut off inside a nested module or component".to_owned();
            return Err(Error::Invalid { reason, offset: unchecked_range.start });
        }
        if let ValidPayload::Func(function, body) = validator.payload(&payload).map_err(invalid)? {
            function.into_validator(Default::default()).validate(&body).map_err(invalid)?;
        }
        reader.take(payload)?;
    }
    let component = ComponentInfo { modules: reader.modules, needs: reader.needs };
    Ok(ModuleInfo { exports: reader.exports, component: Some(component), ..ModuleInfo::default() })
}

/// What is being read.
enum Level {
    /// A component, with its index spaces so far.
    Component(Spaces),
    /// A core module, by its place in the list of modules.
    Module(usize),
}

/// Index spaces of a component; `None` is what only the run time knows.
struct Spaces {
    modules: Vec<Option<usize>>,
    components: Vec<Option<Needs>>,
    needs: Option<Needs>,
}

impl Spaces {
    const EMPTY: Self = Self {
        modules: Vec::new(),
        components: Vec::new(),
        needs: Some(Needs { instances: 0, memories: 0, tables: 0 }),
    };

    /// Something that comes from outside.
    fn unknown(&mut self, kind: ComponentExternalKind) {
        match kind {
            ComponentExternalKind::Module => self.modules.push(None),
            ComponentExternalKind::Component => self.components.push(None),
            _ => {}
        }
    }

    fn add(&mut self, more: Option<Needs>) {
        self.needs = match (self.needs, more) {
            (Some(all), Some(more)) => Some(Needs {
                instances: all.instances.saturating_add(more.instances),
                memories: all.memories.saturating_add(more.memories),
                tables: all.tables.saturating_add(more.tables),
            }),
            _ => None,
        };
    }
}

#[derive(Default)]
struct Reader {
    levels: Vec<Level>,
    modules: Vec<CoreModule>,
    exports: Vec<FunctionExport>,
    needs: Option<Needs>,
}

impl Reader {
    fn take(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            // A module's or a component's own comes after the section that holds it.
            Payload::Version { encoding: Encoding::Component, .. } if self.levels.is_empty() => {
                self.levels.push(Level::Component(Spaces::EMPTY));
                return Ok(());
            }
            Payload::ModuleSection { unchecked_range, .. } => {
                self.levels.push(Level::Module(self.modules.len()));
                self.modules.push(CoreModule { bytes: unchecked_range, ..CoreModule::default() });
                return Ok(());
            }
            Payload::ComponentSection { .. } => {
                self.levels.push(Level::Component(Spaces::EMPTY));
                return Ok(());
            }
            Payload::End(_) => {
                self.end();
                return Ok(());
            }
            _ => {}
        }
        let (last, outer) = match self.levels.split_last_mut() {
            Some((last, outer)) => (last, outer),
            None => return unhostable("it is neither a module nor a component"),
        };
        match last {
            Level::Module(index) => self.modules[*index].take(payload),
            Level::Component(spaces) => {
                if let (true, Payload::ComponentExportSection(section)) =
                    (outer.is_empty(), &payload)
                {
                    for export in section.clone() {
                        let export = export.map_err(invalid)?;
                        if export.kind == ComponentExternalKind::Func {
                            let name = export.name.name.to_owned();
                            self.exports.push(FunctionExport {
                                name,
                                signature: None,
                                imported: false,
                            });
                        }
                    }
                }
                spaces.take(payload, outer, &self.modules)
            }
        }
    }

    fn end(&mut self) {
        let ended = self.levels.pop();
        match (ended, self.levels.last_mut()) {
            (Some(Level::Module(index)), Some(Level::Component(parent))) => {
                parent.modules.push(Some(index));
            }
            (Some(Level::Component(spaces)), Some(Level::Component(parent))) => {
                parent.components.push(spaces.needs);
            }
            (Some(Level::Component(root)), None) => self.needs = root.needs,
            _ => {}
        }
    }
}

impl Spaces {
    fn take(
        &mut self,
        payload: Payload<'_>,
        outer: &[Level],
        modules: &[CoreModule],
    ) -> Result<()> {
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section {
                    let Instance::Instantiate { module_index, .. } = instance.map_err(invalid)?
                    else {
                        continue;
                    };
                    let module = self.modules.get(module_index as usize).copied().flatten();
                    self.add(module.map(|index| modules[index].needs()));
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    let ComponentInstance::Instantiate { component_index, .. } =
                        instance.map_err(invalid)?
                    else {
                        continue;
                    };
                    self.add(self.components.get(component_index as usize).copied().flatten());
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    match alias.map_err(invalid)? {
                        ComponentAlias::InstanceExport { kind, .. } => self.unknown(kind),
                        ComponentAlias::Outer { kind, count, index } => {
                            self.outer(kind, outer, count, index);
                        }
                        ComponentAlias::CoreInstanceExport { .. } => {}
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    self.unknown(import.map_err(invalid)?.ty.kind());
                }
            }
            Payload::ComponentExportSection(section) => {
                // Each export gives what it exports a second index.
                for export in section {
                    self.unknown(export.map_err(invalid)?.kind);
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
                let needs = from.and_then(|spaces| spaces.components.get(index).copied().flatten());
                self.components.push(needs);
            }
            ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => {}
        }
    }
}

impl CoreModule {
    fn needs(&self) -> Needs {
        Needs { instances: 1, memories: self.memory.is_some().into(), tables: self.tables }
    }

    fn take(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::MemorySection(section) => {
                for memory in section {
                    // Validation has seen that there is one at most, with 32 bits.
                    self.memory = Some(MemoryLimits::of(&memory.map_err(invalid)?));
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let ty = table.map_err(invalid)?.ty;
                    self.tables += 1;
                    let largest = ty.maximum.unwrap_or(ty.initial).max(ty.initial);
                    self.table_elements = self.table_elements.max(largest);
                }
            }
            Payload::StartSection { .. } => self.has_start = true,
            Payload::CodeSectionEntry(body) => {
                for operator in body.get_operators_reader().map_err(invalid)? {
                    let operator = operator.map_err(invalid)?;
                    self.grows_tables |= matches!(operator, Operator::TableGrow { .. });
                }
            }
            Payload::DataSection(section) => {
                for data in section {
                    let data = data.map_err(invalid)?;
                    if let DataKind::Active { offset_expr, .. } = data.kind {
                        let end = data.range.end;
                        self.segments.push(Segment {
                            offset: constant(&offset_expr),
                            bytes: end - data.data.len()..end,
                        });
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
