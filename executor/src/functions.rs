//! Host functions: what a guest's imports are answered by.
//!
//! A host makes a table of [`Functions`] and passes it in [`Config`](crate::Config). Every engine,
//! strategy and calling convention answers imports from this table. The functions of Substrate's
//! allocator, of the log, of the input and of WASI are such tables too: [`Functions::standard`] has
//! them, [`storage::functions`](crate::storage::functions) has those of a storage.

mod call;
mod closure;
mod standard;
mod state;
#[cfg(test)]
mod tests;

pub use call::HostCall;
pub use closure::{HostClosure, HostValue, HostValues};
pub use state::State;

pub(crate) use state::States;

use crate::abi::in_words;
use crate::{Error, Result, Signature, Trap, TrapKind, text};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use touchstone_guest::FunctionImport;

/// The code of a host function.
type Body = dyn Fn(&mut HostCall<'_>) -> Result<(), Trap> + Send + Sync;

/// One host function, or the stub of an import that the host does not have.
pub struct HostFunction {
    module: String,
    name: String,
    signature: Signature,
    body: Box<Body>,
}

impl HostFunction {
    /// The module that it is imported from.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its type.
    #[inline]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    #[inline]
    pub(crate) fn run(&self, call: &mut HostCall<'_>) -> Result<(), Trap> {
        (self.body)(call)
    }

    pub(crate) fn refuse(&self, reason: impl fmt::Display) -> Trap {
        TrapKind::HostFunction { name: self.name.clone(), reason: reason.to_string() }.into()
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, name, signature, .. } = self;
        write!(f, "{module}.{name}: {signature}")
    }
}

/// The answer to imports that no host function answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Imports {
    /// Loading the module fails with [`Error::MissingImports`], which names all of them.
    #[default]
    Error,
    /// A stub that ends the call with [`TrapKind::MissingImport`].
    Trap,
    /// A stub that does nothing and returns zeros and null references.
    Zero,
}

impl Imports {
    const ALL: [Self; 3] = [Self::Error, Self::Trap, Self::Zero];

    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Trap => "trap",
            Self::Zero => "zero",
        }
    }
}

impl fmt::Display for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Imports {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|imports| imports.name() == name);
        found.ok_or_else(|| format!("'{}' is none of error, trap, zero", text::name(name)))
    }
}

/// A table of host functions. A clone shares the functions.
///
/// ```
/// use touchstone_executor::{Config, Functions, HostCall, State};
///
/// let calls = State::new(0_u32);
/// let mut functions = Functions::standard();
/// functions.wrap("env", "add", |_: &mut HostCall<'_>, a: i32, b: i32| Ok(a.wrapping_add(b)));
/// functions.wrap("env", "count", move |call: &mut HostCall<'_>| {
///     let calls = call.state(&calls);
///     *calls += 1;
///     Ok(*calls)
/// });
/// let config = Config { functions, ..Config::default() };
/// # assert!(config.functions.find("env", "add").is_some());
/// ```
#[derive(Clone, Default)]
pub struct Functions {
    modules: Arc<BTreeMap<String, BTreeMap<String, Arc<HostFunction>>>>,
}

impl Functions {
    /// An empty table.
    pub fn none() -> Self {
        Self::default()
    }

    /// The functions that the calling conventions need: the host's allocator, log and input of the
    /// import module `env`, WASI preview 1, and waPC without a handler of host calls.
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Functions> = LazyLock::new(|| {
            let mut functions = standard::functions();
            functions.extend(&crate::wasi::functions());
            functions.extend(&crate::wapc::functions(|_, _| Err(crate::wapc::NO_HANDLER.into())));
            functions
        });
        STANDARD.clone()
    }

    /// Adds a function of any signature. It replaces one of the same name.
    ///
    /// ```
    /// use touchstone_executor::{Functions, Signature, Value, ValueType};
    ///
    /// let signature = Signature::new(&[ValueType::F64], &[ValueType::F64]);
    /// Functions::none().add("math", "negate", signature, |call| match *call.params() {
    ///     [Value::F64(bits)] => call.give(&[Value::F64((-f64::from_bits(bits)).to_bits())]),
    ///     _ => Err(call.refuse("one number is expected")),
    /// });
    /// ```
    pub fn add(
        &mut self,
        module: &str,
        name: &str,
        signature: Signature,
        body: impl Fn(&mut HostCall<'_>) -> Result<(), Trap> + Send + Sync + 'static,
    ) -> &mut Self {
        let (module, name) = (module.to_owned(), name.to_owned());
        self.insert(Arc::new(HostFunction { module, name, signature, body: Box::new(body) }))
    }

    /// Adds a closure whose parameters and result are numbers. It replaces a function of the same
    /// name. The closure's first parameter is the call; its type has to be written out.
    pub fn wrap<P, R>(
        &mut self,
        module: &str,
        name: &str,
        closure: impl HostClosure<P, R>,
    ) -> &mut Self {
        let signature = closure.signature();
        self.add(module, name, signature, move |call| closure.run(call))
    }

    /// Adds all functions of another table. They replace those of the same names.
    pub fn extend(&mut self, others: &Self) -> &mut Self {
        for function in others.iter() {
            self.insert(Arc::clone(function));
        }
        self
    }

    /// The same table with the functions of another one.
    #[must_use]
    pub fn with(mut self, others: &Self) -> Self {
        self.extend(others);
        self
    }

    fn insert(&mut self, function: Arc<HostFunction>) -> &mut Self {
        let modules = Arc::make_mut(&mut self.modules);
        let names = modules.entry(function.module.clone()).or_default();
        names.insert(function.name.clone(), function);
        self
    }

    /// The function of a name.
    pub fn find(&self, module: &str, name: &str) -> Option<&Arc<HostFunction>> {
        self.modules.get(module)?.get(name)
    }

    /// All functions, sorted by module and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<HostFunction>> {
        self.modules.values().flat_map(BTreeMap::values)
    }

    /// The function of an import, if name and type fit.
    pub fn answer(&self, import: &FunctionImport) -> Option<&Arc<HostFunction>> {
        let found = self.find(&import.module, &import.name)?;
        (import.signature.as_ref() == Some(&found.signature)).then_some(found)
    }

    /// A function for each import, in order: the host's, or a stub. Fails with
    /// [`Error::MissingImports`], if stubs are not wanted.
    pub fn resolve(
        &self,
        imports: &[FunctionImport],
        missing: Imports,
    ) -> Result<Box<[Arc<HostFunction>]>> {
        let lacking = || imports.iter().filter(|import| self.answer(import).is_none());
        if missing == Imports::Error && lacking().next().is_some() {
            return Err(Error::MissingImports {
                imports: lacking().map(|of| self.missing(of)).collect(),
            });
        }
        let resolved = imports.iter().map(|import| match self.answer(import) {
            Some(function) => Arc::clone(function),
            None => Arc::new(stub(import, missing)),
        });
        Ok(resolved.collect())
    }

    /// An import in a message, with the type or the closest name that the host has.
    fn missing(&self, import: &FunctionImport) -> String {
        let FunctionImport { module, name, signature } = import;
        let remark = match self.find(module, name) {
            Some(function) => format!("; the host's has the type {}", function.signature),
            None => {
                let names: Vec<_> =
                    self.iter().map(|f| format!("{}.{}", f.module, f.name)).collect();
                let names = names.iter().map(String::as_str);
                let mut near = text::similar(&format!("{module}.{name}"), names);
                near.truncate(1);
                text::near(&near)
            }
        };
        let ty = in_words(signature.as_ref());
        format!("{}.{} {ty}{remark}", text::name(module), text::name(name))
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn stub(import: &FunctionImport, missing: Imports) -> HostFunction {
    let FunctionImport { module, name, signature } = import.clone();
    let trap = Trap::from(TrapKind::MissingImport { module: module.clone(), name: name.clone() });
    let body: Box<Body> = match (missing, &signature) {
        // The results are zeros unless the body gives others.
        (Imports::Zero, Some(_)) => Box::new(|_| Ok(())),
        _ => Box::new(move |_| Err(trap.clone())),
    };
    HostFunction { module, name, signature: signature.unwrap_or_default(), body }
}
