//! Reads a script into steps that run on any engine.

use super::adapt::{Adapted, Entry};
use super::expect::{Expected, Pattern};
use super::prepare::{Prepared, Refusal, Wanted, prepare, refusal};
use super::suite::Source;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use wasm_encoder::ValType;
use wast::core::WastArgCore;
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::token::Id;
use wast::{QuoteWat, QuoteWatTest, Wast, WastArg, WastDirective, WastExecute, WastInvoke, Wat};

/// The reason for calls that are left out because of an argument or a result.
const HOST_REFERENCE: &str = "a reference that only a host can make";

#[derive(Debug)]
pub struct Script {
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub struct Step {
    /// Line of the script, from 1.
    pub line: usize,
    /// `false` for modules and calls that prepare later assertions.
    pub assertion: bool,
    pub task: Task,
}

#[derive(Debug)]
pub enum Task {
    /// Make an instance, which becomes the current one.
    Instantiate {
        /// A name for later steps.
        name: Option<String>,
        module: Arc<Wanted>,
    },
    Call {
        /// The instance's name; `None` for the current one.
        module: Option<String>,
        /// The call, or the reason why it cannot be made.
        call: Result<Call, &'static str>,
        expected: Expected,
    },
    /// Name an instance for modules that import from it. Those are not driven, so their effect on
    /// it is unknown.
    Register {
        name: String,
        /// The instance's name; `None` for the current one.
        module: Option<String>,
    },
    /// Check that the module cannot be instantiated.
    CannotInstantiate(Arc<Wanted>),
    Refuse(Refusal),
    /// Nothing, for this reason.
    NotDriven(&'static str),
}

/// A call in the convention `Plain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub export: String,
    pub input: Vec<u8>,
}

/// Reads a script. Fails if its text cannot be parsed.
pub fn read(source: &Source) -> Result<Script> {
    let failed = || format!("the script {} cannot be read", source.id());
    // Some scripts have names with look-alike letters.
    let mut lexer = Lexer::new(source.text);
    lexer.allow_confusing_unicode(true);
    let buffer = ParseBuffer::new_with_lexer(lexer).with_context(failed)?;
    let wast: Wast<'_> = parser::parse(&buffer).with_context(failed)?;
    let mut asked = Asked::default();
    wast.directives.iter().for_each(|directive| asked.look(directive));
    let mut reader = Reader {
        source,
        asked,
        lines: source.text.match_indices('\n').map(|(at, _)| at).collect(),
        steps: Vec::new(),
        instances: HashMap::new(),
        definitions: HashMap::new(),
    };
    for directive in wast.directives {
        reader.take(directive);
    }
    Ok(Script { steps: reader.steps })
}

/// Names of functions and globals that the script uses, in any module.
#[derive(Default)]
struct Asked<'a> {
    functions: HashSet<&'a str>,
    globals: HashSet<&'a str>,
}

impl<'a> Asked<'a> {
    fn look(&mut self, directive: &WastDirective<'a>) {
        match directive {
            WastDirective::Invoke(invoke)
            | WastDirective::AssertExhaustion { call: invoke, .. } => {
                self.functions.insert(invoke.name);
            }
            WastDirective::AssertReturn { exec, .. }
            | WastDirective::AssertTrap { exec, .. }
            | WastDirective::AssertException { exec, .. } => match exec {
                WastExecute::Invoke(invoke) => drop(self.functions.insert(invoke.name)),
                WastExecute::Get { global, .. } => drop(self.globals.insert(global)),
                WastExecute::Wat(_) => {}
            },
            _ => {}
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    asked: Asked<'a>,
    /// Offsets of line ends.
    lines: Vec<usize>,
    steps: Vec<Step>,
    /// The modules of instances by name; that of the current one is also there without a name.
    instances: HashMap<Option<String>, Arc<Wanted>>,
    /// Definitions by name; the last one is also there without a name.
    definitions: HashMap<Option<String>, Arc<Wanted>>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, directive: WastDirective<'a>) {
        let offset = directive.span().offset();
        let line = self.lines.partition_point(|end| *end < offset) + 1;
        let assertion = !matches!(
            directive,
            WastDirective::Module(_)
                | WastDirective::ModuleInstance { .. }
                | WastDirective::Register { .. }
                | WastDirective::Invoke(_)
        );
        let task = match directive {
            WastDirective::Module(mut module) => {
                let prepared = Arc::new(self.prepared(&mut module));
                self.instantiate(module.name(), prepared)
            }
            WastDirective::ModuleDefinition(mut module) => {
                let prepared = Arc::new(self.prepared(&mut module));
                self.definitions.insert(named(module.name()), Arc::clone(&prepared));
                self.definitions.insert(None, prepared);
                return;
            }
            WastDirective::ModuleInstance { instance, module, .. } => {
                match self.definitions.get(&named(module)) {
                    Some(prepared) => self.instantiate(instance, Arc::clone(prepared)),
                    None => Task::NotDriven("an instance of an unknown module"),
                }
            }
            WastDirective::Register { name, module, .. } => {
                Task::Register { name: name.to_owned(), module: named(module) }
            }
            WastDirective::Invoke(invoke) => self.call(&invoke, Expected::Anything),
            WastDirective::AssertReturn { exec, results, .. } => {
                let patterns: Option<Vec<_>> = results.iter().map(Pattern::of).collect();
                match (exec, patterns.map(Expected::Returns)) {
                    (WastExecute::Invoke(invoke), Some(expected)) => self.call(&invoke, expected),
                    (WastExecute::Invoke(invoke), None) => self.without(&invoke, HOST_REFERENCE),
                    (WastExecute::Get { module, global, .. }, Some(expected)) => {
                        self.get(module, global, expected)
                    }
                    (WastExecute::Get { .. }, None) => Task::NotDriven(HOST_REFERENCE),
                    (WastExecute::Wat(_), _) => Task::NotDriven("a module that has to return"),
                }
            }
            WastDirective::AssertTrap { exec, message, .. } => match exec {
                WastExecute::Invoke(invoke) => {
                    self.call(&invoke, Expected::Traps(message.to_owned()))
                }
                WastExecute::Wat(module) => {
                    let prepared = self.prepared(&mut QuoteWat::Wat(module));
                    Task::CannotInstantiate(Arc::new(prepared))
                }
                WastExecute::Get { .. } => Task::NotDriven("a global that has to trap"),
            },
            WastDirective::AssertExhaustion { call, message, .. } => {
                self.call(&call, Expected::Traps(message.to_owned()))
            }
            WastDirective::AssertInvalid { mut module, .. } => self.refused(&mut module),
            WastDirective::AssertMalformed { module: mut module @ QuoteWat::Wat(_), .. } => {
                self.refused(&mut module)
            }
            WastDirective::AssertMalformed { .. } => {
                Task::NotDriven("a malformed text: no executor here reads texts")
            }
            WastDirective::AssertInvalidCustom { .. }
            | WastDirective::AssertMalformedCustom { .. } => {
                Task::NotDriven("a custom section, which no executor here reads")
            }
            WastDirective::AssertUnlinkable { .. } => {
                Task::NotDriven("linking: the contract links nothing but host functions")
            }
            WastDirective::AssertException { exec: WastExecute::Invoke(invoke), .. } => {
                self.without(&invoke, "an exception: the contract has none")
            }
            WastDirective::AssertException { .. } => {
                Task::NotDriven("an exception outside of a call")
            }
            WastDirective::AssertSuspension { .. } => {
                Task::NotDriven("a suspension: the contract has none")
            }
            WastDirective::Thread(thread) => {
                for directive in thread.directives {
                    use WastDirective::{AssertReturn, AssertTrap};
                    if matches!(directive, AssertReturn { .. } | AssertTrap { .. }) {
                        let task = Task::NotDriven("threads that share a memory");
                        self.steps.push(Step { line, assertion, task });
                    }
                }
                return;
            }
            WastDirective::Wait { .. } => return,
        };
        self.steps.push(Step { line, assertion, task });
    }

    fn prepared(&self, module: &mut QuoteWat<'_>) -> Wanted {
        match module {
            QuoteWat::Wat(Wat::Component(_)) | QuoteWat::QuoteComponent(..) => {
                not_driven("a component")
            }
            module => match module.encode() {
                Ok(wasm) => prepare(
                    wasm,
                    &self.asked.functions,
                    &self.asked.globals,
                    self.source.group.features,
                ),
                Err(_) => not_driven("a text that the parser refuses"),
            },
        }
    }

    fn instantiate(&mut self, name: Option<Id<'_>>, module: Arc<Wanted>) -> Task {
        let name = named(name);
        self.instances.insert(name.clone(), Arc::clone(&module));
        self.instances.insert(None, Arc::clone(&module));
        Task::Instantiate { name, module }
    }

    fn refused(&self, module: &mut QuoteWat<'_>) -> Task {
        // A quoted invalid module is a text that must be parsed.
        let wasm = match module.to_test() {
            Ok(QuoteWatTest::Binary(wasm)) => Ok(wasm),
            Ok(QuoteWatTest::Text(_)) => module.encode(),
            Err(error) => Err(error),
        };
        match wasm {
            Ok(wasm) => Task::Refuse(refusal(&wasm, self.source.group)),
            Err(_) => Task::NotDriven("a text that the parser refuses"),
        }
    }

    /// The entries of an instance; `None` if it has none.
    fn of(&self, module: &Option<String>) -> Option<&Adapted> {
        match &self.instances.get(module)?.prepared {
            Prepared::Guest { adapted, .. } => Some(adapted),
            _ => None,
        }
    }

    fn call(&self, invoke: &WastInvoke<'_>, expected: Expected) -> Task {
        let module = named(invoke.module);
        let entries = self.of(&module).map(|adapted| &adapted.functions);
        let call = planned(entries, invoke.name, &invoke.args);
        Task::Call { module, call, expected }
    }

    /// A call that is left out.
    fn without(&self, invoke: &WastInvoke<'_>, reason: &'static str) -> Task {
        let (module, expected) = (named(invoke.module), Expected::Anything);
        Task::Call { module, call: Err(reason), expected }
    }

    fn get(&self, module: Option<Id<'_>>, global: &str, expected: Expected) -> Task {
        let module = named(module);
        let entries = self.of(&module).map(|adapted| &adapted.globals);
        let call = planned(entries, global, &[]);
        Task::Call { module, call, expected }
    }
}

fn named(id: Option<Id<'_>>) -> Option<String> {
    id.map(|id| id.name().to_owned())
}

fn not_driven(reason: &str) -> Wanted {
    Wanted { prepared: Prepared::NotDriven(reason.to_owned()), imports: Vec::new() }
}

/// The encoded call of an export.
fn planned(
    entries: Option<&BTreeMap<String, Entry>>,
    name: &str,
    args: &[WastArg<'_>],
) -> Result<Call, &'static str> {
    // Without a module, its own verdict is the reason.
    let Some(entries) = entries else { return Err("its module is not there") };
    let entry = entries.get(name).ok_or("an export with types that are not driven")?;
    if entry.params.len() != args.len() {
        return Err("arguments that do not fit");
    }
    let mut input = Vec::new();
    for (ty, arg) in entry.params.iter().zip(args) {
        let WastArg::Core(arg) = arg else { return Err("arguments that do not fit") };
        match (ty, arg) {
            (ValType::I32, WastArgCore::I32(value)) => input.extend(value.to_le_bytes()),
            (ValType::I64, WastArgCore::I64(value)) => input.extend(value.to_le_bytes()),
            (ValType::F32, WastArgCore::F32(value)) => input.extend(value.bits.to_le_bytes()),
            (ValType::F64, WastArgCore::F64(value)) => input.extend(value.bits.to_le_bytes()),
            (ValType::V128, WastArgCore::V128(value)) => input.extend(value.to_le_bytes()),
            (ValType::Ref(_), WastArgCore::RefNull(_)) => {}
            (ValType::Ref(_), _) => return Err(HOST_REFERENCE),
            _ => return Err("arguments that do not fit"),
        }
    }
    Ok(Call { export: entry.export.clone(), input })
}
