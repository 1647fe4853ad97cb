//! The charts in the page, each with a sentence on how to read it.

use crate::report::charts::{self, Chart};
use crate::report::markdown::code;
use crate::report::matrix::{Executor, Matrix};
use crate::report::order;
use crate::report::units::{time, times};
use std::fmt::Write;

/// `folder` is where the images are, as seen from the page.
pub(in crate::report) fn section(charts: &[Chart], matrix: &Matrix, folder: &str) -> String {
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
fn sentence(name: &str, matrix: &Matrix) -> String {
    match name {
        "latency" => {
            "Every executor by the time of an empty call, without precompiled twins: they load faster \
             and call alike. Equal distances are equal ratios."
                .to_owned()
        }
        "recreate" => spread(matrix, "make a new instance for each call", charts::makes_new),
        "reuse" => spread(matrix, "reset one instance", charts::reuses),
        "pooling" => "For each backend that pools: left of its `instance_reuse` is what the pool \
                      wins, right of it what the pool costs."
            .to_owned(),
        "threads" => {
            "A line on the dashed one scales perfectly; a flat one means that the threads \
                      wait for each other."
                .to_owned()
        }
        "shares" => "What is left without the first two parts is the call on an \
                     instance that was used before."
            .to_owned(),
        "suites" => "Read along a row: light is near the fastest, dark is far from it. Each engine \
                     runs these suites under one strategy, because what the guest does is the same \
                     under all."
            .to_owned(),
        _ => "Read down a column: light is near the fastest of that column, dark is far from it, \
              a dash was not timed. A \
              precompiled executor has a row only if in some cell its interval parts from its \
              twin's and the medians are further apart than the worst null row of the case."
            .to_owned(),
    }
}

/// The fastest and the slowest of a family on the main guest.
fn spread(matrix: &Matrix, what: &str, wanted: fn(&Executor) -> bool) -> String {
    let computed = matrix.main_work(order::EMPTY).and_then(|work| {
        let executors = matrix.executors.iter();
        let wanted = executors.filter(|e| wanted(e) && !matrix.is_baseline(&e.backend));
        let timed: Vec<(&Executor, f64)> =
            wanted.filter_map(|e| Some((e, matrix.time(e, work, 1)?.median))).collect();
        let (best, fastest) = timed.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (_, slowest) = timed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let factor = slowest / fastest;
        let guest = code(&work.guest);
        let mut text = format!(
            "Of the executors that {what}, {} has the lowest median for an empty call on {guest}, {}",
            code(&best.name()),
            time(*fastest)
        );
        if factor > 1.0 {
            let _ = write!(text, "; the slowest takes {} as long", times(factor));
        }
        Some(text + ".")
    });
    computed.unwrap_or_else(|| format!("The executors that {what}, fastest on top."))
}
