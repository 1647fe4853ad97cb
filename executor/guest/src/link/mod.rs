//! A module and the libraries that answer its imports, merged into one module.
//!
//! | import | answer |
//! |---|---|
//! | `NAME.f` of the main module or of a later library | export `f` of the library `NAME` |
//! | `main.f` of a library | export `f` of the main module |
//! | `env.f` of a library | the same if the main module has such an export, else none |
//!
//! Other imports stay imports; those of one name and type become one. The main module's first
//! memory counts as exported under the name `memory`. It is the first memory of the merged module,
//! which the host reads and writes.

mod merge;
mod part;
mod types;

use crate::error::{Error, LinkError, Result, unhostable};
use crate::patch::Patch;
use crate::{blob, constructors, feature, info, supplied, text};
use part::{FUNCTIONS, Import, Item, MEMORIES, Part, SPACES};
use std::borrow::Cow;
use std::collections::HashMap;
use types::Types;
use wasmparser::TypeRef;

/// Name under which libraries import from the main module.
const MAIN: &str = "main";
/// The same, for what the main module exports: toolchains import a memory or a table from it.
const ENVIRONMENT: &str = "env";
/// Most re-exports between an import and its definition.
const LONGEST_CHAIN: usize = 100;

/// One module of a main module and libraries, which answer imports from the name they are given
/// with.
///
/// Each library is seen by the libraries behind it and by the main module. Libraries import the
/// exports of the main module from `main` or `env`, and its first memory as `main.memory` or
/// `env.memory` even if it is not exported. An import from `env` stays one if the main module has
/// no such export.
///
/// Data of a library in the main module's memory has to lie where the main module keeps nothing
/// (`--global-base` of `wasm-ld`). A library with a memory of its own makes a module with several
/// memories, which not every engine runs.
///
/// Only the main module's exports remain. Segments are placed in the order of the libraries, the
/// main module's last; after all of them, start functions run in the same order.
///
/// Fails with
/// * [`LinkError::Library`] where a library is no valid core module, needs a dynamic linker, or
///   imports host functions that would use another memory than its own.
/// * [`LinkError::Import`] for an import without an answer.
/// * [`LinkError::Unlinkable`] for names that are not unique, for imports from a later library or
///   in a circle, and where the result is not valid.
///
/// ```
/// use touchstone_guest::{GuestModule, HeapPages, link};
///
/// let main = wat::parse_str(
///     r#"(module (import "math" "twice" (func $twice (param i32) (result i32)))
///          (func (export "run") (result i32) (call $twice (i32.const 21))))"#,
/// )?;
/// let math = wat::parse_str(
///     r#"(module (func (export "twice") (param i32) (result i32)
///          (i32.add (local.get 0) (local.get 0))))"#,
/// )?;
/// let linked = link(&main, &[("math", &math)])?;
/// let guest = GuestModule::new("linked", &linked, HeapPages::default())?;
/// assert!(guest.info().imports.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn link(main: &[u8], libraries: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let mut modules = Vec::new();
    for (place, (name, wasm)) in libraries.iter().enumerate() {
        if *name == MAIN || libraries[..place].iter().any(|(other, _)| other == name) {
            return unlinkable(format!(
                "two of them are called '{}'; the guest itself is 'main'",
                text::name(name)
            ));
        }
        let wasm = core_module(wasm).and_then(|wasm| match supplied::is_dynamic(&wasm)? {
            true => unhostable("it has a section dylink.0: build it as a static library"),
            false => Ok(wasm),
        });
        modules.push((*name, wasm.map_err(|error| library_error(name, error))?));
    }
    modules.push((MAIN, core_module(main)?));
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (name, wasm) in &modules {
        let before = parts.last().map(|last| last.counts).unwrap_or_default();
        parts.push(Part::of(name, wasm, before)?);
    }
    let types = Types::of(&parts)?;
    let plan = Linker::new(&parts, &types).plan()?;
    let merged = merge::merged(&parts, &plan, types.sections.clone())?;
    let mut patch = Patch::of(&merged)?;
    // Constant expressions may read an imported global, but hardly one of the module itself.
    supplied::fold_known(&mut patch)?;
    constructors::start_with(&mut patch, &plan.starts);
    let linked = patch.finish()?;
    match feature::needed(&linked) {
        Err(Error::Invalid { reason, .. }) => {
            unlinkable(format!("the result does not validate: {reason}"))
        }
        other => other.map(|_| linked),
    }
}

/// A valid core module, unpacked.
fn core_module(wasm: &[u8]) -> Result<Cow<'_, [u8]>> {
    let wasm = blob::unpack(wasm)?;
    if info::is_component(&wasm)? {
        return unhostable("it is a component, and only core modules are linked");
    }
    feature::needed(&wasm)?;
    Ok(wasm)
}

/// New indices, by space and old index.
type Indices = [Vec<u32>; SPACES];

/// The merged module's index spaces.
struct Plan<'a> {
    /// Of each part.
    indices: Vec<Indices>,
    /// Imports that stay, each with its part.
    imports: Vec<(usize, &'a Import)>,
    /// Memories that are defined, each with its part.
    memories: Vec<(usize, Item)>,
    starts: Vec<u32>,
}

/// Gives each item its index, and each import its answer.
struct Linker<'a> {
    /// The libraries, then the main module.
    parts: &'a [Part<'a>],
    types: &'a Types,
    plan: Plan<'a>,
    /// Lengths of the merged module's index spaces so far.
    counts: [u32; SPACES],
    /// The exports that answer imports, each with its part.
    answers: HashMap<(usize, Item), (usize, Item)>,
}

impl<'a> Linker<'a> {
    fn new(parts: &'a [Part<'a>], types: &'a Types) -> Self {
        let lengths = |part: &Part<'_>| part.items.each_ref().map(|items| vec![0; items.len()]);
        let indices = parts.iter().map(lengths).collect();
        let plan = Plan { indices, imports: Vec::new(), memories: Vec::new(), starts: Vec::new() };
        Self { parts, types, plan, counts: [0; SPACES], answers: HashMap::new() }
    }

    fn plan(mut self) -> Result<Plan<'a>> {
        self.take_imports()?;
        self.place_definitions()?;
        for (at, answer) in &self.answers {
            let new = self.index(self.definition(*answer)?);
            self.plan.indices[at.0][at.1.space][at.1.index as usize] = new;
        }
        self.check_host_functions()?;
        for (part, own) in self.parts.iter().enumerate() {
            let start = own.start.map(|index| (part, Item { space: FUNCTIONS, index }));
            self.plan.starts.extend(start.map(|start| self.index(start)));
        }
        Ok(self.plan)
    }

    /// Finds the answers of imports; those without one stay, the main module's first.
    fn take_imports(&mut self) -> Result<()> {
        let main = self.parts.len() - 1;
        let mut named = HashMap::new();
        for part in std::iter::once(main).chain(0..main) {
            for import in &self.parts[part].imports {
                if let Some(answer) = self.answer(part, import)? {
                    self.answers.insert((part, import.item), answer);
                    continue;
                }
                let name = (&import.module, &import.name, import.item.space);
                match named.get(&name) {
                    Some((other, new)) if self.is_shared((part, import), *other)? => {
                        self.plan.indices[part][import.item.space][import.item.index as usize] =
                            *new;
                    }
                    _ => {
                        let new = self.place(part, import.item);
                        self.plan.imports.push((part, import));
                        named.entry(name).or_insert(((part, import.ty), new));
                    }
                }
            }
        }
        Ok(())
    }

    /// Places all that is defined, the main module's first memory before other memories.
    fn place_definitions(&mut self) -> Result<()> {
        for (part, own) in self.parts.iter().enumerate() {
            for (space, items) in own.items.iter().enumerate() {
                for index in own.imported[space]..items.len() as u32 {
                    let item = Item { space, index };
                    match space {
                        MEMORIES => self.plan.memories.push((part, item)),
                        _ => {
                            self.place(part, item);
                        }
                    }
                }
            }
        }
        let main = self.parts.len() - 1;
        if !self.parts[main].items[MEMORIES].is_empty() {
            let first = self.definition((main, Item { space: MEMORIES, index: 0 }))?;
            self.plan.memories.sort_by_key(|memory| *memory != first);
            let mut imports = self.plan.imports.iter();
            if self.plan.memories.first() == Some(&first)
                && let Some((user, import)) =
                    imports.find(|(_, import)| import.item.space == MEMORIES)
            {
                let user = self.parts[*user].title();
                return unlinkable(format!(
                    "{user} imports the memory {import}, which none of them exports"
                ));
            }
        }
        for at in 0..self.plan.memories.len() {
            let (part, memory) = self.plan.memories[at];
            self.place(part, memory);
        }
        Ok(())
    }

    /// Gives an item the next index.
    fn place(&mut self, part: usize, item: Item) -> u32 {
        let new = self.counts[item.space];
        self.counts[item.space] += 1;
        self.plan.indices[part][item.space][item.index as usize] = new;
        new
    }

    /// The index of an item that is placed.
    fn index(&self, (part, item): (usize, Item)) -> u32 {
        self.plan.indices[part][item.space][item.index as usize]
    }

    /// The definition of an item, or the import that stays.
    fn definition(&self, mut at: (usize, Item)) -> Result<(usize, Item)> {
        for _ in 0..LONGEST_CHAIN {
            match self.answers.get(&at) {
                Some(answer) => at = *answer,
                None => return Ok(at),
            }
        }
        unlinkable("the modules import something from each other that none defines")
    }

    /// Host functions use the first memory: a library with another one must not call them.
    fn check_host_functions(&self) -> Result<()> {
        for (part, import) in &self.plan.imports {
            let own = &self.parts[*part];
            let memory = self.plan.indices[*part][MEMORIES].first();
            if memory.is_some_and(|memory| *memory != 0) && own.takes_address(import.ty) {
                let error = Error::unhostable(format!(
                    "it imports {import}, a host function, which would use the main module's \
                     memory instead of its own; build it with --import-memory"
                ));
                return Err(library_error(own.name, error));
            }
        }
        Ok(())
    }

    /// The export that answers an import of a module; `None` if it stays an import.
    fn answer(&self, part: usize, import: &Import) -> Result<Option<(usize, Item)>> {
        let main = self.parts.len() - 1;
        let library = self.parts[..main].iter().position(|library| library.name == import.module);
        let of = match library {
            Some(library) if library < part => library,
            _ if part != main && [MAIN, ENVIRONMENT].contains(&&*import.module) => main,
            None => return Ok(None),
            Some(_) => {
                let (user, library) = (self.parts[part].title(), text::name(&import.module));
                return unlinkable(format!(
                    "{user} imports {import}, and '{library}' is not linked before it"
                ));
            }
        };
        let exporter = &self.parts[of];
        match exporter.exports.get(&import.name).copied() {
            Some(found) if found.space == import.item.space => {
                self.check((part, import), (of, exporter.ty(found)))?;
                Ok(Some((of, found)))
            }
            _ if of == main && import.module == ENVIRONMENT => Ok(None),
            found => {
                let found = found.map(|found| exporter.ty(found));
                Err(self.mismatch((part, import), of, found))
            }
        }
    }

    /// `true` if an import is the same as that of another module, which has this name too. Only
    /// functions may have several types, because a host tells them apart.
    fn is_shared(&self, import: (usize, &Import), other: (usize, TypeRef)) -> Result<bool> {
        match other.1 {
            TypeRef::Func(_) => self.fit(import, other),
            _ => self.check(import, other).map(|()| true),
        }
    }

    fn fit(&self, import: (usize, &Import), found: (usize, TypeRef)) -> Result<bool> {
        let (user, of) = (&self.parts[import.0], &self.parts[found.0]);
        self.types.fit((user, import.1.ty), (of, found.1))
    }

    fn check(&self, import: (usize, &Import), found: (usize, TypeRef)) -> Result<()> {
        match self.fit(import, found)? {
            true => Ok(()),
            false => Err(self.mismatch(import, found.0, Some(found.1))),
        }
    }

    /// The error of an import that a module should export, and has with this type, or not at all.
    fn mismatch(&self, import: (usize, &Import), of: usize, found: Option<TypeRef>) -> Error {
        let ((user, import), of) = ((&self.parts[import.0], import.1), &self.parts[of]);
        let near = || text::similar(&import.name, of.exports.keys().map(String::as_str));
        Error::from(LinkError::Import {
            importer: user.title(),
            import: import.to_string(),
            wanted: user.shown(import.ty),
            exporter: of.title(),
            found: found.map(|found| of.shown(found)),
            near: if found.is_none() { near() } else { Vec::new() },
        })
    }
}

fn unlinkable<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::from(LinkError::Unlinkable { reason: reason.into() }))
}

/// The error of a library, whatever it is linked to.
fn library_error(name: &str, error: Error) -> Error {
    Error::from(LinkError::Library { name: text::name(name), error })
}
