//! The data file `benches/swap.toml`, and the names of what is measured with it.

use super::Method;
use crate::case::{self, Case};
use crate::files;
use crate::plan::{Filter, cores};
use crate::record::data;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{Abi, Execution};

#[derive(Debug, Clone)]
pub struct SwapPlan {
    pub kinds: [Arc<Case>; 2],
    pub load: LoadPlan,
    /// Methods whose memory over many swaps is read, a regular expression; all if there is none.
    pub soak: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    pub threads: usize,
    pub replacements: u64,
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
    let own = || files::project("benches/swap.toml");
    given.map_or_else(own, Path::to_owned)
}

/// Reads the file, which may name only `cases`. Fails if it cannot be read or is wrong.
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

pub type Way = (Arc<dyn MeasuredEngine>, Option<Method>);

/// The ways that a filter selects by their names, `<engine>/<method>` or `<engine>/under_load`.
/// Fails with similar names if it selects none.
pub fn ways(all: &[Arc<dyn MeasuredEngine>], filter: &Filter) -> Result<Vec<Way>> {
    let methods = Method::ALL.into_iter().map(Some).chain([None]);
    let of =
        |engine: Arc<dyn MeasuredEngine>| methods.clone().map(move |way| (engine.clone(), way));
    let name = |(engine, way): &Way| {
        let way = way.map_or_else(|| "under_load".to_owned(), |method| method.to_string());
        format!("{}/{way}", engine.id())
    };
    filter.select("no method", engines(all).0.into_iter().flat_map(of), name)
}
