//! The charts: each as SVG on a light and on a dark ground, and as PNG.

mod axis;
mod dots;
mod grid;
mod heatmap;
mod legend;
mod picks;
mod png;
mod render;
mod scene;
mod shares;
mod text;
mod theme;
mod threads;

use super::matrix::Matrix;
use super::rank::Believable;
use crate::tables::Layouts;
use anyhow::{Context, Result};
pub(super) use picks::{makes_new, reuses};
use rayon::prelude::*;
use scene::Scene;
use theme::Theme;

/// Names of all charts there can be. A file in the images folder is ours, and
/// is removed when its chart is no longer made, if its name is made of these.
pub(super) const NAMES: [&str; 9] = [
    "latency", "recreate", "reuse", "pooling", "threads", "heatmap", "shares", "payloads", "suites",
];

/// The files of one chart.
const ENDINGS: [&str; 3] = [".svg", "-dark.svg", ".png"];

/// File names that a chart of this name can have.
pub(super) fn file_names(name: &str) -> [String; 3] {
    ENDINGS.map(|ending| format!("{name}{ending}"))
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
pub(super) fn draw(
    matrix: &Matrix,
    believable: &Believable,
    layouts: &Layouts,
) -> Result<Vec<Chart>> {
    text::register()?;
    let charts: Vec<Option<Chart>> = NAMES
        .into_par_iter()
        .map(|name| chart(name, |theme| scene(name, matrix, believable, layouts, theme)))
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
    matrix: &Matrix,
    believable: &Believable,
    layouts: &Layouts,
    theme: &Theme,
) -> Option<Scene> {
    let plot = match name {
        "latency" => picks::latency(matrix),
        "recreate" => picks::family(matrix, "A new instance for each call", picks::makes_new),
        "reuse" => picks::family(matrix, "One instance, reset for each call", picks::reuses),
        "pooling" => picks::pools(matrix),
        "threads" => return threads::scene(matrix, theme),
        "shares" => return shares::scene(matrix, layouts.shares.first()?, theme),
        "heatmap" => {
            let known = matrix.of_works(|work| matrix.is_on_overview_guest(work));
            let title = "Time of one call: every executor in every cell";
            return heatmap::scene(&known, title, believable, theme);
        }
        "payloads" => {
            let payloads =
                matrix.of_works(|work| !matrix.is_on_overview_guest(work) && !matrix.is_once(work));
            let title = "Time of one call with a payload: every executor in every cell";
            return heatmap::scene(&payloads, title, believable, theme);
        }
        "suites" => {
            let once = matrix.of_works(|work| matrix.is_once(work));
            let title = "The guest's work: a call on a used instance, engine by engine";
            return grid::scene(&once, title, theme);
        }
        _ => return None,
    };
    dots::scene(&plot, theme)
}
