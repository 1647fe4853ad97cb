//! The data file `benches/swap.toml`, and the comparisons that it requests.

use super::{Kind, Method};
use crate::case::{self, Case};
use crate::plan::{Compare, Names, cores, refusal};
use crate::record::{Contender, Executor, Match, Means, Purpose, Refusal, Work, data};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{Abi, Execution};

/// The content of `benches/swap.toml`.
#[derive(Debug, Clone)]
pub struct SwapPlan {
    /// A case for each kind of message.
    pub kinds: [Arc<Case>; 2],
    /// The load and the replacements.
    pub load: LoadPlan,
    /// Methods whose memory over many swaps is read, a regular expression; all if there is none.
    pub soak: Option<String>,
}

/// The load and the number of replacements.
#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    /// Threads that call.
    pub threads: usize,
    /// Number of replacements.
    pub replacements: u64,
    /// Pause after each replacement.
    pub pause: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kinds: [String; 2],
    replacements: u64,
    pause_us: u64,
    soak: Option<String>,
}

/// The path of the messages: that of a given file, or of `benches/swap.toml` in the project.
pub fn file(given: Option<&Path>) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/swap.toml");
    given.map_or_else(own, Path::to_owned)
}

/// Reads the file. It may name only `cases`. Fails if the file cannot be read or is wrong; the
/// message names it.
pub fn load(path: &Path, cases: &[Case]) -> Result<SwapPlan> {
    let file = data::read(path, "the swap plan")?;
    parse(file, cases).with_context(|| format!("the swap plan {} is invalid", path.display()))
}

fn parse(file: File, cases: &[Case]) -> Result<SwapPlan> {
    ensure!(file.replacements > 0, "'replacements' must be at least 1");
    let [first, second] = &file.kinds;
    ensure!(first != second, "'kinds' must name two different cases");
    let find = |name: &str| {
        let case = case::find(cases, name)?;
        ensure!(case.codec.is_none(), "'{name}' needs a codec, which swaps do not support");
        ensure!(case.abi != Abi::Wasi, "'{name}' is a WASI program, which swaps do not support");
        Ok(Arc::new(case.clone()))
    };
    Ok(SwapPlan {
        soak: file.soak,
        kinds: [find(first)?, find(second)?],
        load: LoadPlan {
            threads: cores(),
            replacements: file.replacements,
            pause: Duration::from_micros(file.pause_us),
        },
    })
}

/// An engine that is left out, and why.
pub type LeftOut = (Arc<dyn MeasuredEngine>, String);

/// The engines whose modules are swapped, and those that are left out.
pub fn engines(all: &[Arc<dyn MeasuredEngine>]) -> (Vec<Arc<dyn MeasuredEngine>>, Vec<LeftOut>) {
    let (mut engines, mut left_out) = (Vec::new(), Vec::new());
    for engine in all {
        let like = engine.executes_like();
        let like = like.filter(|like| all.iter().any(|other| other.id() == *like));
        let reason = match (engine.execution(), like) {
            (Execution::Native, _) => {
                "its guests are part of this program: there is no module to replace".to_owned()
            }
            (_, Some(like)) => format!("it executes guest code as {like} does"),
            _ => {
                engines.push(Arc::clone(engine));
                continue;
            }
        };
        left_out.push((Arc::clone(engine), reason));
    }
    (engines, left_out)
}

/// Comparisons, each with its method.
pub type Compares = Vec<(Method, Compare)>;

impl SwapPlan {
    /// The comparisons of one engine, each with its method: every method with the same messages
    /// sorted by kind, and with recompiling. Unsupported methods are refused with the reason.
    pub fn compares(
        &self,
        engine: &Arc<dyn MeasuredEngine>,
        kinds: &[Kind; 2],
    ) -> Result<(Compares, Vec<Refusal>)> {
        let [first, second] = self
            .kinds
            .each_ref()
            .map(|case| Work { case: case.name.clone(), guest: case.guests[0].to_string() });
        let names = Names { cases: self.kinds.to_vec(), engines: vec![Arc::clone(engine)] };
        let (mut compares, mut refusals) = (Vec::new(), Vec::new());
        let mut recompile = None;
        for method in Method::ALL {
            let strategy = match method.strategy(&**engine, kinds) {
                Ok(strategy) => strategy,
                Err(refused) => {
                    refusals.push(refusal(&**engine, refused.status, refused.reason));
                    continue;
                }
            };
            let executor = Executor { engine: engine.id().to_owned(), strategy };
            let side = |means| Contender { executor: executor.clone(), threads: 1, means };
            let subject = side(Means::Swap { method: method.to_string() });
            let sorted = side(Means::Sorted { method: method.to_string() });
            for baseline in std::iter::once(sorted).chain(recompile.clone()) {
                let of = Match {
                    purpose: Purpose::Swap,
                    case: first.case.clone(),
                    guest: first.guest.clone(),
                    second: Some(second.clone()),
                    subject: subject.clone(),
                    baseline,
                };
                compares.push((method, names.compare(&of)?));
            }
            if method == Method::Recompile {
                recompile = Some(subject);
            }
        }
        Ok((compares, refusals))
    }
}
