//! The charts in the page, each with a sentence on how to read it.

use crate::report::charts::{self, Chart};
use crate::report::markdown::code;
use std::fmt::Write;

/// `folder` is where the images are, as seen from the page.
pub(in crate::report) fn section(charts: &[Chart], folder: &str) -> String {
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
            sentence(name),
            chart.title
        );
    }
    text
}

/// How to read a chart.
fn sentence(name: &str) -> &'static str {
    match name {
        "latency" => {
            "Every executor by the time of an empty call, without precompiled variants. \
             Logarithmic axis."
        }
        "recreate" => "The executors that make a new instance for each call, fastest on top.",
        "reuse" => "The executors that reset one instance, fastest on top.",
        "pooling" => {
            "Pools beside `instance_reuse`, engine by engine: a pool that lies to the left of it is \
             faster."
        }
        "threads" => {
            "Throughput over that of one thread: on the dashed line, scaling is perfect; at 1 × the \
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
    }
}
