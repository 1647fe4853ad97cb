//! The charts: each as SVG on a light and on a dark ground, and as PNG.

mod axis;
mod dots;
mod legend;
mod map;
mod maps;
mod picks;
mod png;
mod render;
mod scene;
mod shares;
mod text;
mod theme;

use super::matrix::{Executor, Matrix, Work};
use super::rank::Noise;
use crate::tables::Layouts;
use anyhow::{Context, Result};
use rayon::prelude::*;
use scene::Scene;
use theme::Theme;
use touchstone_executor::InstanceFrom;

/// Names of all charts there can be. A file in the images folder that is named after one
/// of them is removed when there is nothing to draw for it any more.
pub(super) const NAMES: [&str; 9] = [
    "latency", "recreate", "reuse", "pooling", "threads", "heatmap", "shares", "payloads", "suites",
];

/// The files of one chart.
const ENDINGS: [&str; 3] = [".svg", "-dark.svg", ".png"];

/// File names that a chart of this name can have.
pub(super) fn file_names(name: &str) -> [String; 3] {
    ENDINGS.map(|ending| format!("{name}{ending}"))
}

/// Whether an executor makes a new instance for each call, without a pool.
fn makes_new(executor: &Executor) -> bool {
    executor.strategy.is_new_instance() && !pools(executor)
}

/// Whether an executor resets one instance for each call, without a pool.
fn reuses(executor: &Executor) -> bool {
    !executor.strategy.is_new_instance() && !pools(executor)
}

/// Whether instances come from a pool, the runtime's or Touchstone's.
fn pools(executor: &Executor) -> bool {
    matches!(executor.strategy.instance, InstanceFrom::Pooling | InstanceFrom::PoolingLate)
}

/// A chart that was drawn.
#[derive(Debug)]
pub(super) struct Chart {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// File names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Draws every chart for which there are records, in the order of [`NAMES`].
pub(super) fn draw(matrix: &Matrix<'_>, noise: &Noise, layouts: &Layouts) -> Result<Vec<Chart>> {
    text::register()?;
    let charts: Vec<Option<Chart>> = NAMES
        .into_par_iter()
        .map(|name| chart(name, |theme| scene(name, matrix, noise, layouts, theme)))
        .collect::<Result<_>>()?;
    Ok(charts.into_iter().flatten().collect())
}

/// One chart in all its files. `None` if there is nothing to show.
fn chart(
    name: &'static str,
    scene: impl Fn(&'static Theme) -> Option<Scene>,
) -> Result<Option<Chart>> {
    let (Some(light), Some(dark)) = (scene(&theme::LIGHT), scene(&theme::DARK)) else {
        return Ok(None);
    };
    let contents = [render::svg(&light), render::svg(&dark), render::png(&light)];
    let files = file_names(name)
        .into_iter()
        .zip(contents)
        .map(|(file, content)| {
            let content = content.with_context(|| format!("drawing {file}"))?;
            Ok((file, content))
        })
        .collect::<Result<_>>()?;
    Ok(Some(Chart { name, title: light.title, files }))
}

/// One chart, laid out. `None` if there is nothing to show.
fn scene(
    name: &str,
    matrix: &Matrix<'_>,
    noise: &Noise,
    layouts: &Layouts,
    theme: &Theme,
) -> Option<Scene> {
    let of =
        |wanted: &dyn Fn(&Work) -> bool| matrix.only(|cell| wanted(&super::matrix::work_of(cell)));
    match name {
        "latency" => dots::scene(&picks::latency(matrix), theme),
        "recreate" => {
            dots::scene(&picks::family(matrix, "A new instance for each call", makes_new), theme)
        }
        "reuse" => {
            dots::scene(&picks::family(matrix, "One instance, reset for each call", reuses), theme)
        }
        "pooling" => dots::scene(&picks::pooling(matrix), theme),
        "threads" => dots::scene(&picks::threads(matrix)?, theme),
        "shares" => shares::scene(matrix, layouts.shares.first()?, theme),
        "heatmap" => {
            let known = of(&|work| matrix.is_on_overview_guest(work));
            map::scene(&maps::executors(&known, "Time of one call, every executor", noise), theme)
        }
        "payloads" => {
            let payloads =
                of(&|work| !matrix.is_on_overview_guest(work) && !matrix.is_preferred_only(work));
            let title = "Time of one call with a payload, every executor";
            map::scene(&maps::executors(&payloads, title, noise), theme)
        }
        "suites" => {
            let suites = of(&|work| matrix.is_preferred_only(work));
            map::scene(&maps::engines(&suites), theme)
        }
        _ => None,
    }
}
