//! A pool of this project's own: instances that are reset in place, shared by all
//! threads, for runtimes that have no pool or none that resets like this.

use crate::adapter::UNPREPARED;
use crate::guest::GuestModule;
use crate::memory::{Padded, Shelf};
use crate::{
    Abi, CallOptions, Config, EffectiveConfig, Engine, Error, ExportId, Instance, Module, Outcome,
    Result, Strategy, Support, memory,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// Checks before compiling and loading: refuses what [`support_for`](Engine::support_for) and, with
/// a region, [`maps_regions`](Engine::maps_regions) do not support. Fails with
/// [`Error::Unsupported`], with the reason.
pub fn admit(
    engine: &(impl Engine + ?Sized),
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
) -> Result<()> {
    admit_if(engine, engine.support_for(strategy, guest), strategy, config)
}

/// As [`admit`], for an engine that knows its support of the module without reading it again. Fails
/// with [`Error::Unsupported`], with the reason.
pub fn admit_if(
    engine: &(impl Engine + ?Sized),
    support: Support,
    strategy: Strategy,
    config: &Config,
) -> Result<()> {
    support.check(engine.id(), strategy)?;
    match config.region {
        Some(_) => engine.maps_regions(strategy).check(engine.id(), strategy),
        None => Ok(()),
    }
}

/// The end of loading: puts the module's instances into Touchstone's pool if the strategy says so.
/// Fails when the handler of SIGSEGV cannot be installed.
pub fn loaded(
    strategy: Strategy,
    config: &Config,
    module: Box<dyn Module>,
) -> Result<Box<dyn Module>> {
    // A runtime that was used for the first time may have put its handler of SIGSEGV before
    // Touchstone's, which memories of others need.
    if memory::tracks_any() {
        memory::reinstall_signal_handler().map_err(Error::system("cannot handle SIGSEGV first"))?;
    }
    if !strategy.pooled {
        return Ok(module);
    }
    let idle = Arc::new(Shelf::new(config.instances as usize));
    Ok(Box::new(Pool { module: Arc::new(Mutex::new(module)), idle }))
}

/// A module whose instances are taken from a pool for each call.
struct Pool {
    module: Arc<Mutex<Box<dyn Module>>>,
    idle: Arc<Idle>,
}

/// Instances that nobody uses now.
type Idle = Shelf<Box<dyn Instance>>;

impl Module for Pool {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.module.lock().export(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        let (module, idle) = (Arc::clone(&self.module), Arc::clone(&self.idle));
        Ok(Box::new(Taken { instance: Padded(None), module, idle }))
    }

    fn probe(&mut self) -> Result<()> {
        self.module.lock().probe()
    }

    fn effective(&self) -> EffectiveConfig {
        self.module.lock().effective().with(
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

impl Instance for Taken {
    fn prepare(&mut self) -> Result<()> {
        self.finish()?;
        // A new one while all are in use.
        let new = || self.module.lock().new_instance();
        let mut instance = self.idle.take().map_or_else(new, Ok)?;
        instance.prepare()?;
        *self.instance = Some(instance);
        Ok(())
    }

    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        self.instance.as_mut().ok_or(UNPREPARED)?.invoke(export, input, output, options)
    }

    fn finish(&mut self) -> Result<()> {
        let Some(mut instance) = self.instance.take() else { return Ok(()) };
        // An instance that cannot be reset is not given back; one that cannot be trimmed is
        // replaced at its next call.
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
    use crate::contract::Exports;
    use crate::guest::HeapPages;
    use crate::harness::mock::{Answer, MockEngine};

    fn strategy(name: &str) -> Strategy {
        name.parse().unwrap()
    }

    /// The journal of three calls, two of them at the same time.
    fn journal(name: &str) -> Vec<String> {
        let mock = MockEngine::new("mock")
            .answering(|call| Answer::Output(call.calls_before.to_le_bytes().to_vec()));
        let engine = mock.clone();
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
        assert_eq!(one.invoke(export, &[], &mut output, None).unwrap(), Outcome::Returned);
        assert_eq!(two.invoke(export, &[], &mut output, None).unwrap(), Outcome::Returned);
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
            ["compile guest", "load pooling_tracked", "instance", "instance"]
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
            fn invoke(
                &mut self,
                _: ExportId,
                _: &[u8],
                _: &mut Vec<u8>,
                _: Option<CallOptions<'_>>,
            ) -> Result<Outcome> {
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

        let module = Arc::new(Mutex::new(Box::new(Of) as Box<dyn Module>));
        let pool = Pool { module, idle: Arc::new(Shelf::new(8)) };
        let guest = GuestModule::new("guest", b"\0asm\x01\0\0\0", HeapPages::default()).unwrap();
        let export = Exports::of(&guest).handle(0, Abi::Plain);
        let mut output = Vec::new();
        let mut all: Vec<_> = (0..3).map(|_| pool.new_instance().unwrap()).collect();
        for instance in &mut all {
            instance.prepare().unwrap();
            let _ = instance.invoke(export, &[], &mut output, None).unwrap();
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
    fn a_region_is_refused_where_it_cannot_be_mapped() {
        let engine = MockEngine::new("mock");
        let wasm = wat::parse_str("(module)").unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let mut config = Config::default();
        assert!(admit(&engine, Strategy::POOL, &guest, &config).is_ok());
        config.region = Some(Arc::new(memory::Region::new(1).unwrap()));
        let refused = admit(&engine, Strategy::POOL, &guest, &config).unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
    }
}
