//! A thread of the host that makes calls, each on a clean instance.

use super::loaded::Loaded;
use super::pool::Ask;
use super::{Catalogue, Refusal, values};
use hyper::body::Bytes;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::{Error, ExportId, Outcome, Trap, TrapKind};

pub(super) struct Call {
    pub(super) contract: String,
    pub(super) function: String,
    pub(super) codec: Option<String>,
    /// Provider of the contract's imports.
    pub(super) target: Option<String>,
    pub(super) body: Bytes,
    /// `true` for JSON results.
    pub(super) json: bool,
}

/// The answer of a thread, and its media type.
pub(super) struct Output(pub(super) &'static str, pub(super) Bytes);

pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// State of the instance before a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// As new.
    #[default]
    Clean,
    /// As left by the previous call. For measurements only: it shows the cost of cleaning.
    Used,
}

/// The way in which calls are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conduct {
    pub state: State,
    /// Delay of every 200th call of a thread, for tests of measurements.
    pub stall: Duration,
}

/// Calls between two delayed ones.
const STALL_EVERY: u64 = 200;

/// The function of a codec.
const TO_JSON: &str = "to-json";

pub(super) struct Worker {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) conduct: Conduct,
    pub(super) thread: usize,
    /// Longest answer, bytes.
    pub(super) most_bytes: usize,
    pub(super) calls: u64,
}

impl Worker {
    pub(super) fn answer(&mut self, ask: &Ask) -> Result<Output, Refusal> {
        let output = match ask {
            Ask::List(contract) => {
                Output(TEXT, self.catalogue.contract(contract, None)?.listing.clone())
            }
            Ask::Call(call) => self.call(call)?,
        };
        if output.1.len() > self.most_bytes {
            return Err(Refusal::TooMuch(self.most_bytes));
        }
        Ok(output)
    }

    fn call(&mut self, call: &Call) -> Result<Output, Refusal> {
        self.calls += 1;
        if !self.conduct.stall.is_zero() && self.calls.is_multiple_of(STALL_EVERY) {
            std::thread::sleep(self.conduct.stall);
        }
        let contract = self.catalogue.contract(&call.contract, call.target.as_deref())?;
        let function = contract.function(&call.function)?;
        let Some(ty) = &function.ty else {
            let output = self.run(&contract, function.export, &call.body)?;
            return Ok(Output("application/octet-stream", output.into()));
        };
        let json = self.json(call)?;
        let input = values::arguments(&json, ty)?;
        let output = self.run(&contract, function.export, &input)?;
        Ok(if call.json {
            Output("application/json", values::in_json(output, ty).into())
        } else {
            Output(TEXT, values::results(&output, ty)?.into())
        })
    }

    fn json(&self, call: &Call) -> Result<String, Refusal> {
        let Some(codec) = &call.codec else {
            return Err(Refusal::Missing { header: "X-Codec", known: self.catalogue.codecs() });
        };
        let codec = self.catalogue.codec(codec)?;
        let function = codec.function(TO_JSON)?;
        let body = std::str::from_utf8(&call.body).map_err(|error| {
            Refusal::Body(format!("it is no UTF-8 from byte {} on", error.valid_up_to()))
        })?;
        let input = Value::String(body.to_owned()).to_string();
        let answer = self.run(&codec, function.export, input.as_bytes())?;
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

    fn run(&self, guest: &Loaded, export: ExportId, input: &[u8]) -> Result<Vec<u8>, Refusal> {
        let called = guest.call(self.thread, export, input, self.conduct.state);
        match called {
            Ok((Outcome::Returned, output)) => Ok(output),
            Ok((Outcome::Trapped(trap), _)) => Err(trapped(trap)),
            Err(Error::WrongArguments(reason)) => Err(Refusal::Body(reason)),
            Err(error) => Err(Refusal::Failed(error.to_string())),
        }
    }
}

fn trapped(trap: Trap) -> Refusal {
    match trap.kind {
        TrapKind::BadInput { reason } => Refusal::Body(reason),
        // The waiting thread knows the limit.
        TrapKind::DeadlineExceeded => Refusal::TooLong(0),
        TrapKind::MissingImport { module, name } => Refusal::NoTarget(format!("{module}.{name}")),
        _ => Refusal::Trapped(touchstone_executor::guest::text::harmless(&trap.to_string())),
    }
}
