//! A guest's code with its wasmi engine, one for each thread that makes instances reset in place.
//!
//! wasmi keeps the stacks of running calls behind one spin lock per engine, takes that lock twice a
//! call, and counts a reference to the engine in each. Instances of one engine on several threads
//! therefore wait for each other in every call. An engine cannot run another engine's code, and a
//! translation is large and slow, so the instances made on one thread share an engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Error, InstanceFrom, Result, Strategy};

/// A guest as one wasmi engine has translated it.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) engine: wasmi::Engine,
    pub(crate) module: wasmi::Module,
}

/// Codes of one guest. Instances reset in place [`take`](Self::take) that of their thread;
/// instances for one call share the [`first`](Self::first), which is the artifact's.
///
/// The guest is translated again for each further thread that has instances at the same time. Code
/// without instances goes to the next thread that needs some.
pub(crate) struct Codes {
    id: &'static str,
    guest: GuestModule,
    strategy: Strategy,
    pub(crate) first: Code,
    taken: Mutex<Vec<Taken>>,
    /// The most codes without instances that are kept.
    keep: usize,
}

/// Code of one thread.
struct Taken {
    code: Code,
    /// The thread that made the last instance.
    thread: Option<ThreadId>,
    /// Instances that run the code.
    instances: usize,
}

impl Codes {
    /// Translates the guest once. At most `keep` codes are kept without instances.
    /// Fails when the module cannot be rewritten or wasmi refuses it.
    pub(crate) fn new(
        id: &'static str,
        config: &wasmi::Config,
        guest: &GuestModule,
        strategy: Strategy,
        keep: usize,
    ) -> Result<Arc<Self>> {
        let first = translate(id, config, guest, strategy)?;
        let taken = Mutex::new(vec![Taken { code: first.clone(), thread: None, instances: 0 }]);
        Ok(Arc::new(Self { id, guest: guest.clone(), strategy, first, taken, keep }))
    }

    /// The code of this thread: that of its other instances, else one without instances, else a new
    /// one.
    /// Fails as for [`new`](Self::new).
    pub(crate) fn take(self: &Arc<Self>) -> Result<SharedCode> {
        let thread = Some(std::thread::current().id());
        let known = {
            let mut taken = self.taken();
            let own = taken.iter().position(|taken| taken.thread == thread);
            let found = own.or_else(|| taken.iter().position(|taken| taken.instances == 0));
            found.map(|index| {
                let taken = &mut taken[index];
                taken.thread = thread;
                taken.instances += 1;
                taken.code.clone()
            })
        };
        let new = || -> Result<Code> {
            // Without the lock: only this thread can add its own.
            let config = self.first.engine.config();
            let code = translate(self.id, config, &self.guest, self.strategy)?;
            self.taken().push(Taken { code: code.clone(), thread, instances: 1 });
            Ok(code)
        };
        Ok(SharedCode { code: known.map_or_else(new, Ok)?, home: Arc::clone(self) })
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
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
        // Touchstone's memory has to be imported.
        InstanceFrom::Reuse => wasmi::Module::new(&engine, guest.with_imported_memory()?),
        _ => wasmi::Module::new(&engine, guest.wasm()),
    };
    let module = module.map_err(Error::runtime(id, "translate the module"))?;
    Ok(Code { engine, module })
}

/// The code of an instance, counted until it is dropped.
pub(crate) struct SharedCode {
    code: Code,
    home: Arc<Codes>,
}

impl std::ops::Deref for SharedCode {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl Drop for SharedCode {
    fn drop(&mut self) {
        let mut all = self.home.taken();
        let own =
            all.iter().position(|taken| wasmi::Engine::same(&taken.code.engine, &self.code.engine));
        let Some(own) = own else { return };
        all[own].instances -= 1;
        let unused = all.iter().filter(|taken| taken.instances == 0).count();
        if all[own].instances == 0 && unused > self.home.keep {
            all.swap_remove(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use touchstone_executor::guest::HeapPages;
    use wasmi::Engine;

    const GUEST: &str = r#"(module (memory (export "memory") 1) (func (export "f")))"#;

    fn codes(keep: usize) -> Arc<Codes> {
        let wasm = wat::parse_str(GUEST).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let strategy = "instance_reuse_tracked".parse().unwrap();
        Codes::new("wasmi", &wasmi::Config::default(), &guest, strategy, keep).unwrap()
    }

    fn elsewhere(codes: &Arc<Codes>) -> SharedCode {
        thread::scope(|scope| scope.spawn(|| codes.take().unwrap()).join().unwrap())
    }

    #[test]
    fn instances_of_one_thread_share_an_engine_and_no_others() {
        let codes = codes(8);
        let artifact = &codes.first.engine;
        let (one, two) = (codes.take().unwrap(), codes.take().unwrap());
        // The artifact's translation is used.
        assert!(Engine::same(&one.engine, artifact));
        assert!(Engine::same(&two.engine, artifact));
        let (three, four) = (elsewhere(&codes), elsewhere(&codes));
        assert!(!Engine::same(&three.engine, artifact));
        assert!(!Engine::same(&four.engine, artifact));
        assert!(!Engine::same(&four.engine, &three.engine));
        // One of two is left, so no other thread may have it.
        drop(one);
        assert!(!Engine::same(&elsewhere(&codes).engine, artifact));
        assert!(Engine::same(&codes.take().unwrap().engine, artifact));
    }

    #[test]
    fn code_without_instances_goes_to_another_thread() {
        let codes = codes(1);
        let artifact = codes.first.engine.clone();
        let (one, two) = (codes.take().unwrap(), elsewhere(&codes));
        let second = two.engine.clone();
        drop(two);
        assert!(Engine::same(&elsewhere(&codes).engine, &second));
        drop(one);
        // As many are kept as may be: the one that came back first.
        assert_eq!(codes.taken().len(), 1);
        let one = codes.take().unwrap();
        assert!(Engine::same(&one.engine, &second) && !Engine::same(&one.engine, &artifact));
    }
}
