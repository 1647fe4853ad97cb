//! A pool of this project's own: instances that are reset in place, shared by all
//! threads, for runtimes that have no pool or none that resets like this.

use crate::Features;
use crate::abi::Abi;
use crate::artifact::Artifact;
use crate::config::{Config, EffectiveConfig};
use crate::contract::{Engine, Execution, ExportId, Instance, Module, RawCall, RawCaller};
use crate::error::{Error, Result};
use crate::folder::ArtifactFolder;
use crate::guest::GuestModule;
use crate::memory::{self, Padded, Shelf};
use crate::outcome::Outcome;
use crate::strategy::{InstanceFrom, Strategy};
use crate::support::Support;
use parking_lot::Mutex;
use std::sync::Arc;

/// An engine with Touchstone's pool added to it: it offers `pooling_tracked` wherever the engine
/// offers `instance_reuse_tracked`.
pub struct WithPool(pub Box<dyn Engine>);

/// The strategy of the instances in Touchstone's pool; `None` when the strategy is
/// not that of such a pool.
fn pooled(strategy: Strategy) -> Option<Strategy> {
    strategy.is_touchstone_pool().then_some(Strategy { instance: InstanceFrom::Reuse, ..strategy })
}

/// What an engine says of the instances, said of the pool.
fn of_pool(support: Support) -> Support {
    match support {
        Support::Unsupported { reason } => Support::Unsupported { reason },
        _ => Support::Emulated {
            how: "Touchstone's pool with instances of instance_reuse_tracked, reset when one is given \
                  back",
        },
    }
}

impl Engine for WithPool {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn execution(&self) -> Execution {
        self.0.execution()
    }

    fn executes_like(&self) -> Option<&'static str> {
        self.0.executes_like()
    }

    fn features(&self) -> Features {
        self.0.features()
    }

    fn period(&self, strategy: Strategy) -> u64 {
        self.0.period(pooled(strategy).unwrap_or(strategy))
    }

    fn support(&self, strategy: Strategy) -> Support {
        match pooled(strategy) {
            Some(inner) => of_pool(self.0.support(inner)),
            None => self.0.support(strategy),
        }
    }

    fn support_for(&self, strategy: Strategy, guest: &GuestModule) -> Support {
        match pooled(strategy) {
            Some(inner) => of_pool(self.0.support_for(inner, guest)),
            None => self.0.support_for(strategy, guest),
        }
    }

    fn maps_regions(&self, strategy: Strategy) -> Support {
        match pooled(strategy) {
            Some(inner) => of_pool(self.0.maps_regions(inner)),
            None => self.0.maps_regions(strategy),
        }
    }

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        self.0.artifact_class(pooled(strategy).unwrap_or(strategy))
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        let Some(inner) = pooled(strategy) else {
            return self.0.compile(guest, strategy, config);
        };
        // The refusal should name what was asked for.
        self.check(strategy, guest)?;
        self.0.compile(guest, inner, config)
    }

    fn restore(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        folder: &ArtifactFolder,
    ) -> Result<Option<Artifact>> {
        self.0.restore(guest, pooled(strategy).unwrap_or(strategy), config, folder)
    }

    fn stage(&self, artifact: &Artifact, strategy: Strategy) -> Result<()> {
        self.0.stage(artifact, pooled(strategy).unwrap_or(strategy))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        if config.region.is_some()
            && let Support::Unsupported { reason } = self.maps_regions(strategy)
        {
            return Err(Error::Unsupported { engine: self.id(), strategy, reason });
        }
        let Some(inner) = pooled(strategy) else {
            let module = self.0.load(guest, artifact, strategy, config)?;
            stay_first()?;
            return Ok(module);
        };
        self.check(strategy, guest)?;
        let module = self.0.load(guest, artifact, inner, config)?;
        stay_first()?;
        Ok(Box::new(Pool::new(module, config.instances as usize)))
    }

    fn raw(&self, guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
        match pooled(call.strategy) {
            Some(_) => Ok(None),
            None => self.0.raw(guest, call),
        }
    }

    fn has_meter(&self) -> bool {
        self.0.has_meter()
    }

    fn has_deadline(&self) -> bool {
        self.0.has_deadline()
    }

    fn limits_recursion(&self) -> bool {
        self.0.limits_recursion()
    }

    fn has_raw(&self, strategy: Strategy) -> bool {
        pooled(strategy).is_none() && self.0.has_raw(strategy)
    }
}

/// An engine that was used for the first time may have put its handler of SIGSEGV over
/// ours, before which memories of others must not wait for their next one.
fn stay_first() -> Result<()> {
    match memory::tracks_any() {
        true => {
            memory::reinstall_signal_handler().map_err(Error::system("cannot handle SIGSEGV first"))
        }
        false => Ok(()),
    }
}

/// A module whose instances are taken from a pool for each call.
struct Pool {
    module: Arc<Mutex<Box<dyn Module>>>,
    idle: Arc<Idle>,
}

/// Instances that nobody uses now.
type Idle = Shelf<Box<dyn Instance>>;

impl Pool {
    fn new(module: Box<dyn Module>, capacity: usize) -> Self {
        Self { module: Arc::new(Mutex::new(module)), idle: Arc::new(Shelf::new(capacity)) }
    }

    fn module(&self) -> parking_lot::MutexGuard<'_, Box<dyn Module>> {
        self.module.lock()
    }
}

impl Module for Pool {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.module().export(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        let (module, idle) = (Arc::clone(&self.module), Arc::clone(&self.idle));
        Ok(Box::new(Taken { instance: Padded(None), module, idle }))
    }

    fn probe(&mut self) -> Result<()> {
        self.module().probe()
    }

    fn effective(&self) -> EffectiveConfig {
        self.module().effective().with(
            "pool",
            format!(
                "Touchstone's, shared by all threads: a thread gets the instance that it returned \
                 last. Up to {} idle instances, reset when returned. Instances that stay unused \
                 release their pages",
                self.idle.capacity()
            ),
        )
    }
}

/// A call's view of the pool: it has an instance between `prepare` and `finish`.
struct Taken {
    instance: Padded<Option<Box<dyn Instance>>>,
    module: Arc<Mutex<Box<dyn Module>>>,
    idle: Arc<Idle>,
}

impl Taken {
    /// From the pool, or a new one while all are in use.
    fn take(&self) -> Result<Box<dyn Instance>> {
        match self.idle.take() {
            Some(instance) => Ok(instance),
            None => self.module.lock().new_instance(),
        }
    }
}

impl Instance for Taken {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        let mut instance = self.take()?;
        instance.prepare()?;
        *self.instance = Some(instance);
        Ok(())
    }

    fn invoke(&mut self, export: ExportId, input: &[u8], output: &mut Vec<u8>) -> Result<Outcome> {
        match &mut *self.instance {
            Some(instance) => instance.invoke(export, input, output),
            None => Err(Error::Misuse("invoke without prepare")),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let Some(mut instance) = self.instance.take() else { return Ok(()) };
        // An instance that cannot be reset is not given back; one that cannot be trimmed is replaced
        // at its next call.
        instance.finish()?;
        self.idle.put(instance, |unused| drop(unused.trim()));
        Ok(())
    }

    fn operators(&mut self) -> Option<u64> {
        self.instance.as_mut()?.operators()
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.instance.as_mut()?.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::HeapPages;
    use crate::mock::{Answer, MockEngine};

    fn strategy(name: &str) -> Strategy {
        name.parse().unwrap()
    }

    /// What was done for three calls, two of them at the same time.
    fn journal(name: &str) -> Vec<String> {
        let mock = MockEngine::new("mock")
            .answering(|call| Answer::Output(call.calls_before.to_le_bytes().to_vec()));
        let engine = WithPool(Box::new(mock.clone()));
        let wasm = wat::parse_str("(module (func (export \"f\")))").unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let (strategy, config) = (strategy(name), Config::default());
        let artifact = engine.compile(&guest, strategy, &config).unwrap();
        let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
        let export = module.export("f", Abi::Plain).unwrap();
        let (mut one, mut two) = (module.new_instance().unwrap(), module.new_instance().unwrap());
        let mut output = Vec::new();
        one.prepare().unwrap();
        two.prepare().unwrap();
        assert_eq!(one.invoke(export, &[], &mut output).unwrap(), Outcome::Returned);
        assert_eq!(two.invoke(export, &[], &mut output).unwrap(), Outcome::Returned);
        assert_eq!(output, 0_u64.to_le_bytes());
        two.finish().unwrap();
        one.finish().unwrap();
        // The one given back last is taken.
        assert_eq!(two.call(export, &[], &mut output).unwrap(), Outcome::Returned);
        assert_eq!(output, 1_u64.to_le_bytes());
        mock.journal()
    }

    #[test]
    fn instances_go_round() {
        assert_eq!(
            journal("pooling_tracked"),
            ["compile guest", "load instance_reuse_tracked", "instance", "instance"]
        );
    }

    /// Instances that nobody needs let go of their pages once they are clean.
    #[test]
    fn unused_instances_are_trimmed() {
        use std::sync::atomic::{AtomicUsize, Ordering};

        static TRIMMED: AtomicUsize = AtomicUsize::new(0);

        /// An instance with pages to let go of once it is clean.
        struct Counting(bool);
        impl Instance for Counting {
            fn prepare(&mut self) -> Result<()> {
                Ok(())
            }
            fn invoke(&mut self, _: ExportId, _: &[u8], _: &mut Vec<u8>) -> Result<Outcome> {
                self.0 = true;
                Ok(Outcome::Returned)
            }
            fn finish(&mut self) -> Result<()> {
                self.0 = false;
                Ok(())
            }
            fn trim(&mut self) -> Result<()> {
                TRIMMED.fetch_add(usize::from(!self.0), Ordering::Relaxed);
                Ok(())
            }
        }

        struct Of;
        impl Module for Of {
            fn export(&self, _: &str, _: Abi) -> Result<ExportId> {
                Err(Error::Misuse("it has no names"))
            }
            fn new_instance(&self) -> Result<Box<dyn Instance>> {
                Ok(Box::new(Counting(false)))
            }
            fn effective(&self) -> EffectiveConfig {
                EffectiveConfig::new()
            }
        }

        let pool = Pool::new(Box::new(Of), 8);
        let export = ExportId::new(0, Abi::Plain);
        let mut output = Vec::new();
        let mut all: Vec<_> = (0..3).map(|_| pool.new_instance().unwrap()).collect();
        for instance in &mut all {
            instance.prepare().unwrap();
            let _ = instance.invoke(export, &[], &mut output).unwrap();
        }
        for instance in &mut all {
            instance.finish().unwrap();
        }
        for _ in 0..5000 {
            let _ = all[0].call(export, &[], &mut output).unwrap();
        }
        assert_eq!(TRIMMED.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_runtimes_own_pool_stays_its_own() {
        let engine = WithPool(Box::new(MockEngine::new("mock")));
        assert_eq!(engine.support(strategy("pooling_cow")), Support::Native);
        assert!(matches!(engine.support(strategy("pooling_tracked")), Support::Emulated { .. }));
        let none = MockEngine::new("mock").supporting(|_| Support::unsupported("not here"));
        let engine = WithPool(Box::new(none));
        assert_eq!(engine.support(strategy("pooling_tracked")), Support::unsupported("not here"));
    }
}
