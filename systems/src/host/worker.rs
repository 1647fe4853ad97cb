//! A thread's side of the host: it makes calls, each on a clean instance.

use super::catalogue::{Catalogue, Loaded, TO_JSON, Which};
use super::{Refusal, values};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::{ExportId, Instance, Outcome, Trap, TrapKind};

/// A call, as a request states it.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The contract.
    pub contract: String,
    /// The function.
    pub function: String,
    /// The codec of the body.
    pub codec: Option<String>,
    /// Who provides the contract's imports.
    pub target: Option<String>,
    /// The parameters.
    pub body: hyper::body::Bytes,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The list of the results.
    Text(String),
    /// The results' bytes.
    Bytes(Vec<u8>),
}

/// In which state a call finds its instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// As a new one.
    #[default]
    Clean,
    /// As the call before left it. A host must not do so: it shows what cleaning costs.
    Used,
}

/// How calls are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conduct {
    /// The state of instances.
    pub state: State,
    /// How much longer every 200th call of a thread takes, for tests of measurements.
    pub stall: Duration,
}

/// Calls from one that takes longer to the next.
const STALL_EVERY: u64 = 200;

/// A thread's side of the host.
pub struct Worker {
    catalogue: Arc<Catalogue>,
    conduct: Conduct,
    kept: HashMap<Which, Kept>,
    calls: u64,
}

/// A loaded guest with the thread's instance of it.
struct Kept {
    loaded: Arc<Loaded>,
    instance: Option<Box<dyn Instance>>,
    is_prepared: bool,
}

impl Worker {
    /// A worker without instances; it makes them when they are needed.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>, conduct: Conduct) -> Self {
        Self { catalogue, conduct, kept: HashMap::new(), calls: 0 }
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// When there is no such function, the body does not fit, or the guest traps.
    pub fn answer(&mut self, call: &Call) -> Result<Output, Refusal> {
        self.calls += 1;
        if !self.conduct.stall.is_zero() && self.calls.is_multiple_of(STALL_EVERY) {
            std::thread::sleep(self.conduct.stall);
        }
        let contract = self.catalogue.contract(&call.contract, call.target.as_deref())?;
        let function = self.kept(contract)?.loaded.function(&call.function)?;
        let Some(ty) = &function.ty else {
            return self.run(contract, function.export, &call.body).map(Output::Bytes);
        };
        let json = self.json(call)?;
        let input = values::arguments(&json, ty)?;
        let output = self.run(contract, function.export, &input)?;
        values::results(&output, ty).map(Output::Text)
    }

    /// The body as JSON.
    fn json(&mut self, call: &Call) -> Result<String, Refusal> {
        let Some(codec) = &call.codec else {
            return Err(Refusal::Missing { header: "X-Codec", known: self.catalogue.codecs() });
        };
        let codec = self.catalogue.codec(codec)?;
        let function = self.kept(codec)?.loaded.function(TO_JSON)?;
        let body = std::str::from_utf8(&call.body).map_err(|error| {
            Refusal::Body(format!("it is no UTF-8 from byte {} on", error.valid_up_to()))
        })?;
        let input = Value::String(body.to_owned()).to_string();
        let answer = self.run(codec, function.export, input.as_bytes())?;
        let answer = serde_json::from_slice(&answer);
        let answer: Value = answer.map_err(|error| Refusal::Failed(error.to_string()))?;
        if let Some(json) = answer.get("ok").and_then(Value::as_str) {
            return Ok(json.to_owned());
        }
        let refusal = answer.get("err").unwrap_or(&Value::Null);
        let number = |name| refusal.get(name).and_then(Value::as_u64).unwrap_or(0);
        let message = refusal.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        let place = format!("line {}, column {}", number("line"), number("column"));
        Err(Refusal::Body(format!("{} ({place})", message.trim())))
    }

    fn kept(&mut self, which: Which) -> Result<&mut Kept, Refusal> {
        if !self.kept.contains_key(&which) {
            let loaded = self.catalogue.loaded(which)?;
            self.kept.insert(which, Kept { loaded, instance: None, is_prepared: false });
        }
        self.kept.get_mut(&which).ok_or_else(|| Refusal::Failed("nothing was loaded".to_owned()))
    }

    fn run(&mut self, which: Which, export: ExportId, input: &[u8]) -> Result<Vec<u8>, Refusal> {
        let state = self.conduct.state;
        let kept = self.kept(which)?;
        let called = kept.call(export, input, state);
        // What failed once is not used again.
        if !matches!(called, Ok((Outcome::Returned, _))) {
            kept.instance = None;
        }
        match called.map_err(|error| Refusal::Failed(error.to_string()))? {
            (Outcome::Returned, output) => Ok(output),
            (Outcome::Trapped(trap), _) => Err(trapped(trap)),
        }
    }
}

impl Kept {
    fn call(
        &mut self,
        export: ExportId,
        input: &[u8],
        state: State,
    ) -> touchstone_executor::Result<(Outcome, Vec<u8>)> {
        let instance = match &mut self.instance {
            Some(instance) => instance,
            none => {
                self.is_prepared = false;
                none.insert(self.loaded.module.new_instance()?)
            }
        };
        let mut output = Vec::new();
        let outcome = match state {
            State::Clean => instance.call(export, input, &mut output)?,
            State::Used => {
                if !self.is_prepared {
                    instance.prepare()?;
                    self.is_prepared = true;
                }
                instance.invoke(export, input, &mut output)?
            }
        };
        Ok((outcome, output))
    }
}

fn trapped(trap: Trap) -> Refusal {
    match trap.kind {
        TrapKind::BadInput { reason } => Refusal::Body(reason),
        // The thread that waits for the answer knows the limit.
        TrapKind::DeadlineExceeded => Refusal::TooLong(0),
        TrapKind::MissingImport { module, name } => Refusal::NoTarget(format!("{module}.{name}")),
        _ => Refusal::Trapped(touchstone_executor::text::harmless(&trap.to_string())),
    }
}
