//! Engines at a glance.

use super::{failed_assertions, fastest, named};
use crate::record::{Estimate, Metric, Role};
use crate::report::Content;
use crate::report::markdown::{NOTHING, Table, code};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units::{self, grouped, time};
use std::collections::BTreeMap;

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let headings = [
        "Best clean empty call of the runtime's own",
        "Best of all",
        "Best clean call with JSON",
        "Execution / native",
        "Compile + load",
        "Failed assertions",
    ];
    let mut table = Table::new("Engine", headings);
    let empty = matrix.main_work(Role::EmptyCall);
    let payload = content.pages.payload.as_ref().map(Work::from);
    for engine in matrix.engines() {
        let is_own = |executor: &Executor| executor.engine == engine;
        let best = |work, wanted: &dyn Fn(&Executor) -> bool| fastest(matrix, work, wanted);
        let native = |executor: &Executor| is_own(executor) && matrix.is_native(executor);
        let cells = [
            empty.and_then(|work| best(work, &native)).map(named),
            empty.and_then(|work| best(work, &is_own)).map(named),
            payload.as_ref().and_then(|work| best(work, &is_own)).map(named),
            execution(matrix, engine),
            payload.as_ref().and_then(|work| compile_and_load(matrix, engine, work)),
            failed_assertions(matrix, engine)
                .map(|(failed, all)| format!("{} of {}", grouped(failed), grouped(all))),
        ];
        if cells.iter().any(Option::is_some) {
            table.row(code(engine), cells.map(|cell| cell.or(Some(NOTHING.to_owned()))));
        }
    }
    let table = table.finish();
    if table.is_empty() {
        return table;
    }
    let payload = payload.map_or_else(String::new, |work| {
        format!(" The call with JSON is {} on {}.", code(&work.case), code(&work.guest))
    });
    format!(
        "## Engines at a glance\n\n\"Execution / native\" is the geometric mean, over the suites that \
         every engine runs under one strategy, of the time on a used instance over the time of \
         native code. Compile + load is once per module.{payload}\n\n{table}"
    )
}

/// How many times slower than native code an engine executes: the geometric mean over suites
/// of the geometric means over their calls.
fn execution(matrix: &Matrix<'_>, engine: &str) -> Option<String> {
    let native = matrix.engines().into_iter().find(|name| matrix.is_baseline(name))?;
    let used = |engine: &str, work| {
        let mut own = matrix.executors.iter().filter(|executor| executor.engine == engine);
        own.find_map(|executor| matrix.metric(executor, work, Metric::WarmCall))
    };
    let mut suites: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for work in matrix.works.iter().filter(|work| matrix.is_preferred_only(work)) {
        if let (Some(own), Some(base)) = (used(engine, work), used(native, work)) {
            let (sum, number) = suites.entry(&work.guest).or_default();
            *sum += (own.median / base.median).ln();
            *number += 1.0;
        }
    }
    let means: Vec<f64> = suites.values().map(|(sum, number)| sum / number).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    mean.is_finite().then(|| {
        let median = mean.exp();
        units::times(&Estimate { median, interval: None, marked: false })
    })
}

/// Compiling and loading the guest of the payload.
fn compile_and_load(matrix: &Matrix<'_>, engine: &str, work: &Work) -> Option<String> {
    let own =
        |executor: &&Executor| executor.engine == engine && !executor.strategy.is_precompiled();
    matrix.executors.iter().filter(own).find_map(|executor| {
        let load = matrix.metric(executor, work, Metric::Load)?;
        let compile = matrix.metric(executor, work, Metric::Compile);
        Some(time(load.median + compile.map_or(0.0, |compile| compile.median)))
    })
}
