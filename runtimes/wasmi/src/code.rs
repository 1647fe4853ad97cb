//! A guest's code and the wasmi engine that it belongs to, one for each instance that
//! is reset in place.
//!
//! wasmi keeps the stacks of all running calls behind one spin lock per engine, takes
//! that lock twice a call, and counts a reference to the engine up and down in each.
//! Instances of one engine on several threads therefore wait for each other in every
//! call. An engine cannot run the code of another one, so an engine for each instance
//! means a translation for each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Error, InstanceFrom, Result, Strategy};

/// A guest as one wasmi engine has translated it.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) engine: wasmi::Engine,
    pub(crate) module: wasmi::Module,
}

/// Codes of one guest. Instances that are reset in place [`take`](Self::take) one each;
/// those that live for one call share the [`first`](Self::first).
///
/// The first one is that of the artifact; each further instance that lives at the same
/// time has the guest translated again. An instance that is replaced, for instance
/// because a table grew, hands its code to the next one.
pub(crate) struct Codes {
    id: &'static str,
    guest: GuestModule,
    strategy: Strategy,
    first: Code,
    /// Codes that no instance has taken, and how many of them are kept.
    idle: Mutex<Vec<Code>>,
    keep: usize,
}

impl Codes {
    /// Translates the guest once. At most `keep` codes that were taken wait idle.
    ///
    /// # Errors
    ///
    /// When the module cannot be rewritten or wasmi refuses it.
    pub(crate) fn new(
        id: &'static str,
        config: &wasmi::Config,
        guest: &GuestModule,
        strategy: Strategy,
        keep: usize,
    ) -> Result<Arc<Self>> {
        let first = translate(id, config, guest, strategy)?;
        let idle = Mutex::new(vec![first.clone()]);
        Ok(Arc::new(Self { id, guest: guest.clone(), strategy, first, idle, keep }))
    }

    /// The artifact's code.
    pub(crate) fn first(&self) -> &Code {
        &self.first
    }

    /// An idle code, or a new one.
    ///
    /// # Errors
    ///
    /// As for [`new`](Self::new).
    pub(crate) fn take(self: &Arc<Self>) -> Result<OwnCode> {
        let idle = self.idle().pop();
        let code = match idle {
            Some(code) => code,
            None => translate(self.id, self.first.engine.config(), &self.guest, self.strategy)?,
        };
        Ok(OwnCode { code, home: Arc::clone(self) })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Code>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Validates and translates a guest on a new engine.
fn translate(
    id: &'static str,
    config: &wasmi::Config,
    guest: &GuestModule,
    strategy: Strategy,
) -> Result<Code> {
    let engine = wasmi::Engine::new(config);
    let module = match strategy.instance {
        // Only a memory that is imported can be one of Touchstone's.
        InstanceFrom::Reuse => wasmi::Module::new(&engine, guest.with_imported_memory()?),
        _ => wasmi::Module::new(&engine, guest.wasm()),
    };
    let module = module.map_err(Error::runtime(id, "translate the module"))?;
    Ok(Code { engine, module })
}

/// A code that nobody else runs, given back when it is dropped.
pub(crate) struct OwnCode {
    code: Code,
    home: Arc<Codes>,
}

impl std::ops::Deref for OwnCode {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl Drop for OwnCode {
    fn drop(&mut self) {
        let mut idle = self.home.idle();
        if idle.len() < self.home.keep {
            idle.push(self.code.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::HeapPages;

    const GUEST: &str = r#"(module (memory (export "memory") 1) (func (export "f")))"#;

    #[test]
    fn each_has_an_engine_of_its_own_and_hands_it_on() {
        let wasm = wat::parse_str(GUEST).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let strategy = "instance_reuse_tracked".parse().unwrap();
        let codes = Codes::new("wasmi", &wasmi::Config::default(), &guest, strategy, 1).unwrap();
        let artifact = codes.first().engine.clone();
        let (one, two) = (codes.take().unwrap(), codes.take().unwrap());
        // The artifact's translation is used, and only once.
        assert!(wasmi::Engine::same(&one.engine, &artifact));
        assert!(!wasmi::Engine::same(&two.engine, &artifact));
        let second = two.engine.clone();
        drop(two);
        drop(one);
        // As many are kept as may be: the one that came back first.
        assert!(wasmi::Engine::same(&codes.take().unwrap().engine, &second));
        assert_eq!(codes.idle().len(), 1);
    }
}
