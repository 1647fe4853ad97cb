//! An engine without a runtime, for tests of a harness. It returns programmed answers and
//! failures, and keeps a journal of the calls.

use crate::adapter::UNPREPARED;
use crate::call::EnforcedLimits;
use crate::contract::{CallState, Exports};
use crate::guest::GuestModule;
use crate::measured::MeasuredEngine;
use crate::pool::loaded;
use crate::{
    Abi, Artifact, CallOptions, Config, EffectiveConfig, Engine, Error, Execution, ExportId,
    Instance, Module, Outcome, Result, Strategy, Support, Trap,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A call of a mock.
#[derive(Debug)]
#[allow(missing_docs, reason = "most names are those of the types")]
pub struct MockCall<'a> {
    pub export: &'a str,
    pub input: &'a [u8],
    pub strategy: Strategy,
    /// Number of earlier calls of this instance, as a leaky instance would know.
    pub calls_before: u64,
}

/// The answer of a mock.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The export returns this.
    Output(Vec<u8>),
    /// The guest traps.
    Trap(Trap),
    /// The host side fails.
    Fail(String),
}

/// State that a strategy of a mock does not restore between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leak {
    /// A byte of the memory.
    Memory,
    /// The global.
    Global,
}

/// State that every call changes, of mocks that have some.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MockState {
    memory: Vec<u8>,
    global: u32,
}

impl MockState {
    fn new() -> Self {
        Self { memory: vec![0; crate::guest::WASM_PAGE], global: 1 }
    }

    /// Makes it clean again, but for what leaks.
    fn reset(&mut self, leak: Option<Leak>) {
        let Self { memory, global } = Self::new();
        match leak {
            Some(Leak::Memory) => self.global = global,
            Some(Leak::Global) => self.memory = memory,
            None => *self = Self { memory, global },
        }
    }

    /// A call that writes a byte where its input says and counts itself.
    fn call(&mut self, input: &[u8]) {
        let at = input.iter().fold(0_usize, |at, byte| at.wrapping_mul(31) + usize::from(*byte));
        let at = at % self.memory.len();
        self.memory[at] = self.memory[at].wrapping_add(1);
        self.global = self.global.wrapping_add(1);
    }
}

type Leaks = dyn Fn(Strategy) -> Option<Leak> + Send + Sync;
type Behaviour = dyn Fn(&MockCall<'_>) -> Answer + Send + Sync;
type Supported = dyn Fn(Strategy) -> Support + Send + Sync;

/// A programmable engine. Clones share their journal.
#[derive(Clone)]
pub struct MockEngine {
    id: &'static str,
    execution: Execution,
    latency: Duration,
    behaviour: Arc<Behaviour>,
    supported: Arc<Supported>,
    leaks: Option<Arc<Leaks>>,
    journal: Arc<Mutex<Vec<String>>>,
}

impl MockEngine {
    /// An engine that supports everything and returns its input. It claims to be
    /// native code, so that its speed is not checked.
    pub fn new(id: &'static str) -> Self {
        Self {
            id,
            execution: Execution::Native,
            latency: Duration::ZERO,
            behaviour: Arc::new(|call| Answer::Output(call.input.to_vec())),
            supported: Arc::new(|_| Support::Native),
            leaks: None,
            journal: Arc::default(),
        }
    }

    /// Sets the claimed execution.
    #[must_use]
    pub fn executing(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Makes every call take at least this long, by spinning.
    #[must_use]
    pub fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Sets the answer of calls.
    #[must_use]
    pub fn answering(
        mut self,
        behaviour: impl Fn(&MockCall<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        self.behaviour = Arc::new(behaviour);
        self
    }

    /// Sets the support of strategies.
    #[must_use]
    pub fn supporting(
        mut self,
        supported: impl Fn(Strategy) -> Support + Send + Sync + 'static,
    ) -> Self {
        self.supported = Arc::new(supported);
        self
    }

    /// Gives instances a memory and a global. Every call changes them and appends their values
    /// to the output. Strategies restore both, except the given leaks.
    #[must_use]
    pub fn leaking(
        mut self,
        leaks: impl Fn(Strategy) -> Option<Leak> + Send + Sync + 'static,
    ) -> Self {
        self.leaks = Some(Arc::new(leaks));
        self
    }

    /// The journal: `compile`, `load pooling`, `instance`, `call f`.
    pub fn journal(&self) -> Vec<String> {
        self.journal.lock().clone()
    }
}

impl Engine for MockEngine {
    fn id(&self) -> &'static str {
        self.id
    }

    fn version(&self) -> &str {
        "mock 1.0"
    }

    fn execution(&self) -> Execution {
        self.execution
    }

    fn support(&self, strategy: Strategy) -> Support {
        (self.supported)(strategy)
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.journal.lock().push(format!("compile {}", guest.name()));
        Ok(Artifact::new(self, guest, strategy, config, ()).sized(guest.wasm().len()))
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        artifact.open::<()>(self, guest, strategy, config)?;
        self.journal.lock().push(format!("load {strategy}"));
        let module = MockModule { engine: self.clone(), strategy, exports: Exports::of(guest) };
        loaded(strategy, config, Box::new(module))
    }
}

impl MeasuredEngine for MockEngine {}

struct MockModule {
    engine: MockEngine,
    strategy: Strategy,
    exports: Exports,
}

impl Module for MockModule {
    fn export(&self, name: &str, abi: Abi) -> Result<ExportId> {
        self.exports.find(name, abi)
    }

    fn new_instance(&self) -> Result<Box<dyn Instance>> {
        self.engine.journal.lock().push("instance".to_owned());
        Ok(Box::new(MockInstance {
            engine: self.engine.clone(),
            strategy: self.strategy,
            exports: self.exports.clone(),
            calls: 0,
            content: self.engine.leaks.is_some().then(MockState::new),
            state: CallState::Idle,
        }))
    }

    fn effective(&self) -> EffectiveConfig {
        EffectiveConfig::new().with("execution", "mock")
    }
}

struct MockInstance {
    engine: MockEngine,
    strategy: Strategy,
    exports: Exports,
    calls: u64,
    content: Option<MockState>,
    state: CallState,
}

impl Instance for MockInstance {
    fn prepare(&mut self) -> Result<()> {
        if let (Some(content), Some(leaks)) = (&mut self.content, &self.engine.leaks) {
            content.reset(leaks(self.strategy));
        }
        self.state = CallState::Prepared;
        Ok(())
    }

    fn invoke(
        &mut self,
        export: ExportId,
        input: &[u8],
        output: &mut Vec<u8>,
        options: Option<CallOptions<'_>>,
    ) -> Result<Outcome> {
        if self.state == CallState::Idle {
            return Err(UNPREPARED);
        }
        options.map_or(Ok(()), |options| EnforcedLimits::default().check(&options))?;
        let own = self.exports.get(export.index()).filter(|_| self.exports.has(export));
        let name = own.map(|own| own.name.as_str()).ok_or(Error::FOREIGN_HANDLE)?;
        self.state = CallState::Used;
        let started = Instant::now();
        let answer = (self.engine.behaviour)(&MockCall {
            export: name,
            input,
            strategy: self.strategy,
            calls_before: self.calls,
        });
        self.calls += 1;
        while started.elapsed() < self.engine.latency {
            std::hint::spin_loop();
        }
        output.clear();
        if let Some(content) = &mut self.content {
            content.call(input);
        }
        match answer {
            Answer::Output(bytes) => {
                output.extend(bytes);
                if let Some(content) = &self.content {
                    output.extend(content.global.to_le_bytes());
                }
                Ok(Outcome::Returned)
            }
            Answer::Trap(trap) => Ok(Outcome::Trapped(trap)),
            Answer::Fail(reason) => {
                Err(Error::Runtime { engine: self.engine.id, action: "answer", reason })
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.state = CallState::Idle;
        Ok(())
    }

    fn memory(&mut self) -> Option<&[u8]> {
        self.content.as_ref().map(|content| &*content.memory)
    }
}
