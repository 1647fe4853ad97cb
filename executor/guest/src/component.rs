//! Static inspection of a component: its exports, its core modules, and the resources of an
//! instance.

use super::component_entries::{Lift, Lifted};
use super::component_memory;
use super::component_reset;
use super::component_types::{FunctionType, Types};
use super::core_reset;
use super::info::{self, FunctionExport, MemoryLimits, ModuleInfo, Segment};
use super::read;
use super::refusal::image_refusal;
use super::spaces::{Part, Spaces};
use crate::error::{Error, Result, unhostable};
use std::collections::HashMap;
use std::ops::Range;
use wasm_encoder::ValType;
use wasmparser::types::TypesRef;
use wasmparser::{
    ComponentExternalKind, ComponentTypeRef, Encoding, Parser, Payload, ValidPayload, Validator,
    WasmFeatures,
};

/// First bytes of a component: the magic number, the version, the layer.
pub(super) const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// Instances of modules and components in one instance of a component: so many modules a store of
/// Wasmtime allows, and compilers take as much memory as there are instances.
const INSTANCES: u32 = 10_000;

/// Modules and components in a component, and how deep they may lie in each other: reading and
/// rewriting take time and stack for each.
const PARTS: usize = 10_000;
const DEPTH: usize = 100;

/// Stands between an exported interface and a function of it.
pub const INNER: char = '#';

/// Properties of a component, known without running it, except its exports.
#[derive(Debug, Clone, Default)]
pub struct ComponentInfo {
    /// The core modules in it, nested ones included, in the order of their bytes.
    pub modules: Vec<CoreModule>,
    /// Resources of one instance; `None` if the component instantiates arguments that are known
    /// only at run time.
    pub needs: Option<Needs>,
    /// The types of the exported functions, in the order of the exports.
    pub functions: Vec<FunctionType>,
    /// The components, each after those inside it: the outermost is the last.
    pub(super) parts: Vec<Part>,
    /// Names of the imported instances: the interfaces that it needs.
    pub interfaces: Vec<String>,
    /// The functions that the outermost component makes of core functions and exports.
    pub(super) lifted: Vec<Lifted>,
    /// An export, of whichever module or component, under a name that is kept for rewriting.
    pub(super) reserved: Option<String>,
}

/// A core module inside a component.
#[derive(Debug, Clone, Default)]
pub struct CoreModule {
    /// Place of its bytes in the component.
    pub bytes: Range<usize>,
    /// The memory that it defines.
    pub memory: Option<MemoryLimits>,
    /// Largest number of entries of any of its tables.
    pub table_elements: u64,
    /// Number of tables that it defines.
    pub tables: u32,
    /// `true` if any instruction grows a table.
    pub grows_tables: bool,
    /// `true` if any instruction writes a table's entries or grows it, wherever the table
    /// is defined.
    pub writes_tables: bool,
    /// Mutable globals that it defines.
    pub mutable_globals: u32,
    /// `true` if any instruction drops a passive segment.
    pub drops_segments: bool,
    /// Active data segments, also of a memory that it imports; their bytes are places in
    /// the component.
    pub segments: Vec<Segment>,
    /// `true` if a start function runs at each instantiation.
    pub has_start: bool,
}

/// Resources of one instance of a component: instances of core modules, memories and tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the resources")]
pub struct Needs {
    pub instances: u32,
    pub memories: u32,
    pub tables: u32,
}

impl ComponentInfo {
    /// The core modules that define a memory.
    pub fn with_memory(&self) -> impl Iterator<Item = (&CoreModule, MemoryLimits)> {
        self.modules.iter().filter_map(|module| Some((module, module.memory?)))
    }

    /// The reason why a host cannot provide the initial memories; `None` if it can.
    pub fn image_refusal(&self) -> Option<String> {
        component_memory::limits(self).err()
    }

    /// The reason why the data of a core module lies in too many places for an image; `None` if
    /// none does.
    pub fn scattered(&self) -> Option<String> {
        self.modules.iter().find_map(|module| info::scattered(&module.segments))
    }

    /// The interface of WASI preview 2 that it imports first.
    pub fn preview2(&self) -> Option<&str> {
        let is_wasi = |name: &&String| {
            name.starts_with("wasi:")
                && name.rsplit_once('@').is_some_and(|(_, version)| version.starts_with("0.2."))
        };
        self.interfaces.iter().find(is_wasi).map(String::as_str)
    }

    /// The reason why the bytes alone do not determine the initial memories.
    pub(super) fn unknown_content(&self) -> Option<String> {
        self.with_memory().find_map(|(module, _)| image_refusal(module.has_start, &module.segments))
    }
}

pub(super) fn read(wasm: &[u8]) -> Result<ModuleInfo> {
    let features = super::feature::BASIC | WasmFeatures::SIMD | WasmFeatures::COMPONENT_MODEL;
    let read = read_with(wasm, features);
    if let Err(Error::Invalid { .. }) = &read
        && read_with(wasm, features | WasmFeatures::GC_TYPES).is_ok()
    {
        return unhostable(
            "a module in the component uses references to the host's objects (externref)",
        );
    }
    read
}

fn read_with(wasm: &[u8], features: WasmFeatures) -> Result<ModuleInfo> {
    let mut reader = Reader::default();
    let mut validator = Validator::new_with_features(features);
    let mut outermost = None;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        // The parser takes the end of the bytes for the end of what is nested.
        if let Payload::ModuleSection { unchecked_range, .. }
        | Payload::ComponentSection { unchecked_range, .. } = &payload
            && unchecked_range.end > wasm.len()
        {
            let reason = "it is cut off inside a nested module or component".to_owned();
            return Err(Error::Invalid { reason, offset: unchecked_range.start });
        }
        reader.check_size()?;
        match validator.payload(&payload)? {
            ValidPayload::Func(function, body) => {
                function.into_validator(Default::default()).validate(&body)?;
            }
            // The last one is that of the whole.
            ValidPayload::End(types) => outermost = Some(types),
            _ => {}
        }
        reader.take(payload)?;
    }
    let needs = reader.parts.last().and_then(|part| part.needs);
    if reader.parts.last().is_some_and(|root| root.instances > INSTANCES) {
        return unhostable(format!(
            "an instance of the component would have more than {INSTANCES} instances in it"
        ));
    }
    let Some(outermost) = outermost else { return unhostable("it ends before the component does") };
    let lifted = reader.lifted(outermost.as_ref());
    let Reader { modules, parts, interfaces, reserved, exports, .. } = reader;
    let types = Types::new(outermost.as_ref());
    let exported = exports.iter().flat_map(|name| types.functions(name));
    let (names, functions): (Vec<String>, Vec<FunctionType>) = exported.unzip();
    if types.are_too_large() {
        return unhostable("the types of the component's functions are too large");
    }
    let export = |name| FunctionExport { name, signature: None, imported: false };
    let exports = names.into_iter().map(export).collect();
    let component =
        ComponentInfo { modules, needs, functions, parts, interfaces, lifted, reserved };
    Ok(ModuleInfo { exports, component: Some(component), ..ModuleInfo::default() })
}

/// A component or module that is being read.
pub(super) enum Level {
    /// A component, with its index spaces so far.
    Component(Spaces),
    /// A core module, by its place in the list of modules, with its sections so far.
    Module(usize, Box<read::Reader>),
}

#[derive(Default)]
struct Reader {
    levels: Vec<Level>,
    modules: Vec<CoreModule>,
    /// Names of the functions and instances that the outermost component exports.
    exports: Vec<String>,
    /// Functions that it exports: name, index, and the type that the export states.
    exported: Vec<(String, u32, Option<ComponentTypeRef>)>,
    parts: Vec<Part>,
    interfaces: Vec<String>,
    reserved: Option<String>,
}

impl Reader {
    /// The exported functions that the outermost component makes of core functions.
    fn lifted(&self, types: TypesRef<'_>) -> Vec<Lifted> {
        let lifts = self.parts.last().map_or(&[][..], |root| &root.lifts);
        let lifts: HashMap<u32, &Lift> = lifts.iter().map(|lift| (lift.function, lift)).collect();
        let lifted = self.exported.iter().filter_map(|(export, index, ascribed)| {
            let lift = Lift::clone(lifts.get(index)?);
            let ty = types[types.core_function_at(lift.core_function)].unwrap_func();
            let all = |types: &[wasmparser::ValType]| {
                types.iter().map(|ty| ValType::try_from(*ty).ok()).collect::<Option<_>>()
            };
            let (params, results) = (all(ty.params())?, all(ty.results())?);
            let ascribed = match ascribed {
                None => None,
                Some(ComponentTypeRef::Func(ty)) => Some(wasm_encoder::ComponentTypeRef::Func(*ty)),
                Some(_) => return None,
            };
            Some(Lifted { export: export.clone(), ascribed, lift, params, results })
        });
        lifted.collect()
    }

    /// Before validation goes on, which takes longer with each part.
    fn check_size(&self) -> Result<()> {
        if self.modules.len() + self.parts.len() + self.levels.len() > PARTS {
            return unhostable(format!("it has more than {PARTS} modules and components in it"));
        }
        if self.levels.len() > DEPTH {
            return unhostable(format!("modules or components lie more than {DEPTH} deep in it"));
        }
        Ok(())
    }

    fn take(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            // A module's or a component's own comes after the section that holds it.
            Payload::Version { encoding: Encoding::Component, .. } if self.levels.is_empty() => {
                self.levels.push(Level::Component(Spaces::new(0)));
            }
            Payload::ModuleSection { unchecked_range, .. } => {
                self.levels.push(Level::Module(self.modules.len(), Box::default()));
                self.modules.push(CoreModule { bytes: unchecked_range, ..CoreModule::default() });
            }
            Payload::ComponentSection { unchecked_range, .. } => {
                self.levels.push(Level::Component(Spaces::new(unchecked_range.start)));
            }
            Payload::End(_) => self.end(),
            payload => self.take_section(payload)?,
        }
        Ok(())
    }

    fn take_section(&mut self, payload: Payload<'_>) -> Result<()> {
        use ComponentExternalKind::{Func, Instance};
        let Some((last, outer)) = self.levels.split_last_mut() else {
            return unhostable("it is neither a module nor a component");
        };
        match last {
            Level::Module(_, reader) => {
                if let Payload::ExportSection(section) = &payload {
                    for export in section.clone() {
                        let name = export?.name;
                        if name == core_reset::EXPORT {
                            self.reserved = Some(name.to_owned());
                        }
                    }
                }
                reader.take(payload)
            }
            Level::Component(spaces) => {
                match &payload {
                    Payload::ComponentExportSection(section) => {
                        for export in section.clone() {
                            let export = export?;
                            let name = export.name.name.to_owned();
                            if component_reset::is_kept(&name) {
                                self.reserved = Some(name.clone());
                            }
                            if outer.is_empty() && export.kind == Func {
                                self.exported.push((name.clone(), export.index, export.ty));
                            }
                            if outer.is_empty() && matches!(export.kind, Func | Instance) {
                                self.exports.push(name);
                            }
                        }
                    }
                    Payload::ComponentImportSection(section) if outer.is_empty() => {
                        for import in section.clone() {
                            let import = import?;
                            if import.ty.kind() == Instance {
                                self.interfaces.push(import.name.name.to_owned());
                            }
                        }
                    }
                    _ => {}
                }
                spaces.take(payload, outer, &self.modules, &self.parts)
            }
        }
    }

    fn end(&mut self) {
        let ended = self.levels.pop();
        match (ended, self.levels.last_mut()) {
            (Some(Level::Module(index, reader)), Some(Level::Component(parent))) => {
                let bytes = self.modules[index].bytes.clone();
                self.modules[index] = reader.core_module(bytes);
                parent.module(index);
            }
            (Some(Level::Component(spaces)), parent) => {
                if let Some(Level::Component(parent)) = parent {
                    parent.component(self.parts.len());
                }
                self.parts.push(spaces.finish());
            }
            _ => {}
        }
    }
}

impl CoreModule {
    pub(super) fn needs(&self) -> Needs {
        Needs { instances: 1, memories: self.memory.is_some().into(), tables: self.tables }
    }
}
