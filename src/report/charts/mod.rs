//! The charts: dot plots, each as SVG on a light and on a dark ground, and as PNG.

mod axis;
mod canvas;
mod dots;
mod picks;
mod theme;

use super::markdown::code;
use super::matrix::Matrix;
use anyhow::{Context, Result};
use canvas::Canvas;
use dots::Dots;
use rayon::prelude::*;
use std::fmt::Write;

/// The name of a chart, what it shows and how to read it, and what goes into it.
type Kind = (&'static str, &'static str, fn(&Matrix<'_>) -> Option<Dots>);

/// All charts there can be. A file in the images folder that is named after one of them is
/// removed when there is nothing to draw for it any more.
const CHARTS: [Kind; 6] = [
    (
        "latency",
        "Every executor by the time of an empty call, without precompiled variants.",
        picks::latency,
    ),
    (
        "recreate",
        "The executors that make a new instance for each call, fastest on top.",
        |matrix| picks::family(matrix, "A new instance for each call", true),
    ),
    ("reuse", "The executors that reset one instance, fastest on top.", |matrix| {
        picks::family(matrix, "One instance, reset for each call", false)
    }),
    (
        "pooling",
        "Pools beside `instance_reuse`, engine by engine: a pool that lies to the left of it is \
         faster.",
        picks::pooling,
    ),
    (
        "threads",
        "Throughput over that of one thread: on the thick line, scaling is perfect; at 1 × the \
         threads wait for each other.",
        picks::threads,
    ),
    (
        "suites",
        "The guests' own work, one row a call, one dot an engine. Each engine runs these suites \
         under one strategy, because the guest's work is the same under all.",
        picks::suites,
    ),
];

/// A chart that was drawn.
#[derive(Debug)]
pub(super) struct Chart {
    name: &'static str,
    title: String,
    /// File names and contents.
    pub files: [(String, Vec<u8>); 3],
}

/// File names of a chart: on a light and on a dark ground, and as PNG.
fn file_names(name: &str) -> [String; 3] {
    [".svg", "-dark.svg", ".png"].map(|ending| format!("{name}{ending}"))
}

/// Draws every chart for which there are records.
pub(super) fn draw(matrix: &Matrix<'_>) -> Result<Vec<Chart>> {
    canvas::register()?;
    let chart = |(name, _, pick): Kind| {
        let dots = pick(matrix)?;
        let light = dots::canvas(&dots, &theme::LIGHT)?;
        let dark = dots::canvas(&dots, &theme::DARK)?;
        Some(files(name, &light, &dark).map(|files| Chart { name, title: dots.title, files }))
    };
    let charts = CHARTS.into_par_iter().filter_map(chart);
    charts.collect::<Result<_>>().context("drawing the charts")
}

/// The files of a chart.
fn files(name: &str, light: &Canvas, dark: &Canvas) -> Result<[(String, Vec<u8>); 3]> {
    let [svg, dark_svg, png] = file_names(name);
    Ok([(svg, light.svg()?), (dark_svg, dark.svg()?), (png, light.png()?)])
}

/// File names of the charts that were not drawn.
pub(super) fn absent(charts: &[Chart]) -> impl Iterator<Item = String> {
    let names = CHARTS.into_iter().map(|(name, ..)| name);
    names.filter(|name| charts.iter().all(|chart| chart.name != *name)).flat_map(file_names)
}

/// The charts in the page; `folder` is where the images are, as seen from it.
pub(super) fn section(charts: &[Chart], folder: &str) -> String {
    let mut text = String::from("## Charts\n\n");
    for (name, reading, _) in CHARTS {
        let Some(chart) = charts.iter().find(|chart| chart.name == name) else {
            let _ = writeln!(text, "There is nothing to draw for the chart {}.\n", code(name));
            continue;
        };
        let [light, dark, _] = file_names(name);
        let _ = writeln!(
            text,
            "{reading}\n\n<picture>\n  <source media=\"(prefers-color-scheme: dark)\" \
             srcset=\"{folder}{dark}\">\n  <img alt=\"{}\" src=\"{folder}{light}\">\n</picture>\n",
            chart.title
        );
    }
    text
}
