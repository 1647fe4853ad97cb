//! The charts in the page, each with a sentence on how to read it.

use crate::record::{Estimate, Role};
use crate::report::charts::{self, Chart};
use crate::report::markdown::code;
use crate::report::matrix::{Executor, Matrix, quotient};
use crate::report::units::{median, times};
use std::fmt::Write;
use touchstone_executor::InstanceFrom;

/// `folder` is where the images are, as seen from the page.
pub(in crate::report) fn section(charts: &[Chart], matrix: &Matrix<'_>, folder: &str) -> String {
    let mut text = String::from("## Charts\n\n");
    for name in charts::NAMES {
        let Some(chart) = charts.iter().find(|chart| chart.name == name) else {
            let _ = writeln!(text, "There is nothing to draw for the chart {}.\n", code(name));
            continue;
        };
        let [light, dark, _] = charts::file_names(name);
        let _ = writeln!(
            text,
            "{}\n\n<picture>\n  <source media=\"(prefers-color-scheme: dark)\" \
             srcset=\"{folder}{dark}\">\n  <img alt=\"{}\" src=\"{folder}{light}\">\n</picture>\n",
            sentence(name, matrix),
            chart.title
        );
    }
    text
}

/// How to read a chart.
fn sentence(name: &str, matrix: &Matrix<'_>) -> String {
    let text = match name {
        "latency" => {
            "Every executor by the time of an empty call, without precompiled variants. \
             Logarithmic axis."
        }
        "recreate" => {
            return spread(matrix, "make a new instance for each call", |executor| {
                executor.strategy.is_new_instance()
            });
        }
        "reuse" => {
            return spread(matrix, "reset one instance", |executor| {
                executor.strategy.instance == InstanceFrom::Reuse
            });
        }
        "pooling" => {
            "Pools beside `instance_reuse`, engine by engine: a pool that lies to the left of it is \
             faster."
        }
        "threads" => {
            "Throughput against threads: the dashed line is perfect scaling; on a flat line the \
             threads wait for each other."
        }
        "shares" => "Without the first two parts, a call runs on an instance that was used before.",
        "suites" => {
            "One row a call: light is near the fastest engine, dark is far from it. Each engine \
             runs these suites under one strategy, because the guest's work is the same under all."
        }
        _ => {
            "One column a call: light is near the fastest executor, dark is far from it, – was not \
             timed. A precompiled variant has a row only where its time differs from that of its \
             base by more than the noise."
        }
    };
    text.to_owned()
}

/// The fastest and the slowest of a family in an empty call.
fn spread(matrix: &Matrix<'_>, what: &str, wanted: fn(&Executor) -> bool) -> String {
    let computed = matrix.main_work(Role::EmptyCall).and_then(|work| {
        let executors = matrix.executors.iter();
        let wanted = executors.filter(|e| wanted(e) && !matrix.is_baseline(&e.engine));
        let timed: Vec<(&Executor, Estimate)> =
            wanted.filter_map(|e| Some((e, matrix.time(e, work, 1)?))).collect();
        let (best, fastest) = timed.iter().min_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
        let (_, slowest) = timed.iter().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
        let mut text = format!(
            "Of the executors that {what}, {} has the lowest median for an empty call on {}, {}",
            code(&best.to_string()),
            code(&work.guest),
            median(fastest)
        );
        if slowest.median > fastest.median {
            let ratio = times(&quotient(*slowest, *fastest));
            let _ = write!(text, "; the slowest takes {ratio} as long");
        }
        Some(text + ".")
    });
    computed.unwrap_or_else(|| format!("The executors that {what}, fastest on top."))
}
