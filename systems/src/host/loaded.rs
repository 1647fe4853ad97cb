//! A loaded guest: its functions and idle instances.

use super::worker::State;
use super::{Guest, Refusal};
use hyper::body::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use touchstone_executor::adapter::ALLOCATOR;
use touchstone_executor::guest::{FunctionExport, FunctionType, text};
use touchstone_executor::{Abi, ExportId, Instance, Module, Outcome};

pub(super) struct Loaded {
    module: Arc<dyn Module>,
    functions: HashMap<String, Result<Function, Refusal>>,
    /// The functions with their types, one line each.
    pub(super) listing: Bytes,
    /// Idle instances, at most one per thread.
    idle: Mutex<Vec<Idle>>,
}

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) export: ExportId,
    /// Its type if it takes values; `None` for bytes.
    pub(super) ty: Option<Arc<FunctionType>>,
}

/// An instance between two calls.
struct Idle {
    /// The only thread that uses it.
    thread: usize,
    instance: Box<dyn Instance>,
    is_prepared: bool,
}

impl Loaded {
    pub(super) fn new(Guest { module, guest, .. }: Guest) -> Self {
        let info = guest.info();
        let types = info.component.as_ref().map(|own| &own.functions);
        // Once for all functions: the search goes through all exports.
        let has_allocator = info.exports.iter().any(|export| export.name == ALLOCATOR);
        let lacks = types.is_none() && !has_allocator;
        let (mut functions, mut listing) = (HashMap::new(), String::new());
        for (at, export) in info.exports.iter().enumerate() {
            let ty = types.and_then(|types| types.get(at));
            let function = match (refusal(export), lacks) {
                (Some(reason), _) => Err(not_callable(&export.name, reason)),
                (None, true) => Err(not_callable(&export.name, NO_ALLOCATOR)),
                (None, false) => function(&*module, &export.name, ty),
            };
            list(&mut listing, export, ty, function.as_ref().err());
            functions.insert(export.name.clone(), function);
        }
        Self { module, functions, listing: listing.into(), idle: Mutex::default() }
    }

    pub(super) fn function(&self, name: &str) -> Result<Function, Refusal> {
        match self.functions.get(name) {
            Some(function) => function.clone(),
            None => Err(Refusal::Unknown {
                kind: "function",
                name: text::name(name),
                similar: text::similar(name, self.functions.keys().map(String::as_str)),
            }),
        }
    }

    pub(super) fn call(
        &self,
        thread: usize,
        export: ExportId,
        input: &[u8],
        state: State,
    ) -> touchstone_executor::Result<(Outcome, Vec<u8>)> {
        let idle = {
            let mut idle = self.idle.lock();
            let own = idle.iter().position(|idle| idle.thread == thread);
            own.map(|own| idle.swap_remove(own))
        };
        let mut own = match idle {
            Some(own) => own,
            None => Idle { thread, instance: self.module.new_instance()?, is_prepared: false },
        };
        let mut output = Vec::new();
        let outcome = own.call(export, input, &mut output, state)?;
        // A failed instance is not used again.
        if outcome == Outcome::Returned {
            self.idle.lock().push(own);
        }
        Ok((outcome, output))
    }
}

impl Idle {
    fn call(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        state: State,
    ) -> touchstone_executor::Result<Outcome> {
        match state {
            State::Clean => self.instance.call(export, input, output),
            State::Used => {
                if !self.is_prepared {
                    self.instance.prepare()?;
                    self.is_prepared = true;
                }
                self.instance.invoke(export, input, output, None)
            }
        }
    }
}

/// The reason why a module's functions cannot take bytes.
const NO_ALLOCATOR: &str =
    "its module does not export 'alloc: (i32) -> (i32)', which gives the buffer of the input";

/// The reason why no request can name an export.
fn refusal(export: &FunctionExport) -> Option<&'static str> {
    let name = export.name.as_str();
    let is_sent = name.trim_matches([' ', '\t']) == name
        && !name.chars().any(|c| c.is_ascii_control() && c != '\t');
    (!is_sent).then_some("no header can hold its name")
}

fn not_callable(name: &str, reason: &str) -> Refusal {
    Refusal::NotCallable { name: text::name(name), reason: reason.to_owned() }
}

/// A function on bytes where possible, otherwise on values.
fn function(
    module: &dyn Module,
    name: &str,
    ty: Option<&FunctionType>,
) -> Result<Function, Refusal> {
    let refused =
        |error: touchstone_executor::Error| not_callable(name, &text::harmless(&error.to_string()));
    let bytes = module.export(name, Abi::Bytes);
    match (bytes, ty) {
        (Ok(export), _) => Ok(Function { export, ty: None }),
        (Err(error), None) => Err(refused(error)),
        (Err(_), Some(ty)) => {
            let export = module.export(name, Abi::Typed).map_err(refused)?;
            Ok(Function { export, ty: Some(Arc::new(ty.clone())) })
        }
    }
}

/// Appends a function's line.
fn list(
    listing: &mut String,
    export: &FunctionExport,
    ty: Option<&FunctionType>,
    refusal: Option<&Refusal>,
) {
    // Writing to a string cannot fail.
    let _ = write!(listing, "{}: ", text::harmless(&export.name));
    let _ = match (ty, &export.signature) {
        (Some(ty), _) => write!(listing, "{ty}"),
        (None, Some(signature)) => write!(listing, "{signature}"),
        (None, None) => write!(listing, "a type with other types than numbers"),
    };
    if let Some(Refusal::NotCallable { reason, .. }) = refusal {
        let _ = write!(listing, " (not callable: {reason})");
    }
    listing.push('\n');
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use touchstone_executor::adapter::Exports;
    use touchstone_executor::guest::{GuestModule, HeapPages};
    use touchstone_executor::{EffectiveConfig, Error};

    /// A module that counts look-ups of exports and makes no instances.
    pub(in super::super) struct Asked {
        exports: Exports,
        pub(in super::super) count: Arc<AtomicUsize>,
    }

    impl Module for Asked {
        fn export(&self, name: &str, abi: Abi) -> touchstone_executor::Result<ExportId> {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.exports.find(name, abi)
        }

        fn new_instance(&self) -> touchstone_executor::Result<Box<dyn Instance>> {
            Err(Error::Misuse("it makes no instances"))
        }

        fn effective(&self) -> EffectiveConfig {
            EffectiveConfig::default()
        }
    }

    /// A guest of a text, and its number of look-ups.
    pub(in super::super) fn guest(wat: &str) -> (Guest, Arc<AtomicUsize>) {
        let wasm = wat::parse_str(wat).unwrap();
        let guest = GuestModule::new("module", &wasm, HeapPages::default()).unwrap();
        let count = Arc::<AtomicUsize>::default();
        let module = Asked { exports: Exports::of(&guest), count: Arc::clone(&count) };
        let bytes = wasm.len();
        (Guest { guest, module: Arc::new(module), bytes }, count)
    }

    fn listing(loaded: &Loaded) -> &str {
        std::str::from_utf8(&loaded.listing).unwrap()
    }

    #[test]
    fn a_module_is_asked_once_for_each_export() {
        let functions = |count: usize| -> String {
            let one = |at| format!(r#"(func (export "f{at}") (param i32 i32))"#);
            (0..count).map(one).collect()
        };
        for count in [100, 1000] {
            let alloc = r#"(func (export "alloc") (param i32) (result i32) i32.const 0)"#;
            let (with, asked) = guest(&format!("(module {}{alloc})", functions(count)));
            let loaded = Loaded::new(with);
            assert!(loaded.function("f99").is_ok());
            assert_eq!(asked.load(Ordering::Relaxed), count + 1);
            let (without, asked) = guest(&format!("(module {})", functions(count)));
            let loaded = Loaded::new(without);
            assert!(matches!(loaded.function("f99"), Err(Refusal::NotCallable { .. })));
            assert_eq!(asked.load(Ordering::Relaxed), 0);
            assert_eq!(listing(&loaded).lines().count(), count);
        }
    }

    #[test]
    fn functions_that_nobody_can_call_are_listed_with_the_reason() {
        let (guest, _) = guest(
            r#"(module
                (func (export "alloc") (param i32) (result i32) i32.const 0)
                (func (export "f") (param i32 i32))
                (func (export "g") (param i64))
                (func (export "h\n") (param i32 i32)))"#,
        );
        let loaded = Loaded::new(guest);
        let lines: Vec<&str> = listing(&loaded).lines().collect();
        assert_eq!(lines[1], "f: (i32, i32) -> ()");
        for (line, begin) in [
            (lines[0], "alloc: (i32) -> (i32) (not callable: "),
            (lines[2], "g: (i64) -> () (not callable: "),
            (lines[3], "h\\n: (i32, i32) -> () (not callable: no header can hold its name)"),
        ] {
            assert!(line.starts_with(begin), "{line}");
        }
    }
}
