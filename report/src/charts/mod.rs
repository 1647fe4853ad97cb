//! The charts, each as SVG on a light and on a dark ground. What they show stands in
//! `benches/charts.toml`; each comes with a sentence that says what it shows, in numbers.

mod axis;
mod bars;
mod canvas;
mod dumbbells;
mod frame;
mod heat;
mod lines;
mod picks;
mod theme;

use super::matrix::Matrix;
use crate::pages::Part;
use crate::tables::Layout;
use crate::tables::charts::Charts;
use anyhow::{Context, Result};
use bars::Bars;
use canvas::Canvas;
use dumbbells::Dumbbells;
use heat::Heat;
use lines::Lines;
pub(super) use picks::Overall;
use rayon::prelude::*;
use std::fmt::Write;
use theme::Theme;
use touchstone_record::Experiment;
use touchstone_record::escape::html;

/// A chart that was drawn.
#[derive(Debug)]
pub(super) struct Chart {
    /// The name of its files.
    pub name: String,
    pub title: String,
    /// The finding, one sentence with numbers in Markdown.
    pub finding: String,
    /// The part of a detailed page that it stands in; the short page where there is none.
    pub part: Option<Part>,
    /// File names and contents: on a light and on a dark ground.
    pub files: [(String, Vec<u8>); 2],
}

/// The content of a chart, before it is laid out.
struct Drawing {
    name: String,
    finding: String,
    /// The part of a detailed page that it stands in; the short page where there is none.
    part: Option<Part>,
    form: Form,
}

/// How a chart shows it.
enum Form {
    Bars(Bars),
    Dumbbells(Dumbbells),
    Lines(Lines),
    Heat(Heat),
}

impl Form {
    /// Lays the chart out; `None` where there is nothing to show.
    fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        match self {
            Self::Bars(bars) => Some(bars.canvas(theme)),
            Self::Dumbbells(dumbbells) => dumbbells.canvas(theme),
            Self::Lines(lines) => lines.canvas(theme),
            Self::Heat(heat) => heat.canvas(theme),
        }
    }
}

/// File names of a chart: on a light and on a dark ground.
fn file_names(name: &str) -> [String; 2] {
    [".svg", "-dark.svg"].map(|ending| format!("{name}{ending}"))
}

/// Draws every chart for which there are records.
///
/// # Errors
///
/// When a chart shows a table or a column that is not among `tables`.
pub(super) fn draw(matrix: &Matrix<'_>, charts: &Charts, tables: &[Layout]) -> Result<Vec<Chart>> {
    canvas::register()?;
    let drawings = picks::all(matrix, charts, tables)?;
    let chart = |Drawing { name, finding, part, form }: Drawing| {
        let (light, dark) = (form.canvas(&theme::LIGHT)?, form.canvas(&theme::DARK)?);
        let (title, [svg, dark_svg]) = (light.title.clone(), file_names(&name));
        let files = light.svg().and_then(|light| Ok([(svg, light), (dark_svg, dark.svg()?)]));
        Some(files.map(|files| Chart { name, title, finding, part, files }))
    };
    let drawn = drawings.into_par_iter().filter_map(chart);
    drawn.collect::<Result<_>>().context("drawing the charts")
}

/// How many times slower than native code each engine executes, over the suites of the chart.
pub(super) fn execution(matrix: &Matrix<'_>, charts: &Charts) -> Overall {
    charts.execution.as_ref().map(|chart| picks::overalls(matrix, chart)).unwrap_or_default()
}

/// File names of the charts that were not drawn.
pub(super) fn absent(
    charts: &Charts,
    experiments: &[Experiment],
    drawn: &[Chart],
) -> impl Iterator<Item = String> {
    let names = picks::names(charts, experiments)
        .filter(|name| drawn.iter().all(|chart| chart.name != *name));
    names.flat_map(|name| file_names(&name)).collect::<Vec<_>>().into_iter()
}

/// The charts of the short page; `folder` is where the images are, as seen from it.
pub(super) fn section(charts: &[Chart], folder: &str) -> String {
    let text = of_part(charts, None, folder);
    let none = "There are no records that a chart could show.\n\n";
    format!("## Charts\n\n{}", if text.is_empty() { none } else { &text })
}

/// The charts of a part of a detailed page, or of the short page; `folder` is where the images
/// are, as seen from the page.
pub(super) fn of_part(charts: &[Chart], part: Option<&Part>, folder: &str) -> String {
    let mut text = String::new();
    let own = charts.iter().filter(|chart| chart.part.as_ref() == part);
    for Chart { name, title, finding, .. } in own {
        let ([light, dark], title) = (file_names(name), html(title));
        let _ = writeln!(
            text,
            "{finding}\n\n<picture>\n  <source media=\"(prefers-color-scheme: dark)\" \
             srcset=\"{folder}{dark}\">\n  <img alt=\"{title}\" src=\"{folder}{light}\">\n\
             </picture>\n"
        );
    }
    text
}
