//! The charts, each as SVG on a light and on a dark ground. What they show stands in
//! `benches/charts.toml`; each comes with a sentence that says what it shows, in numbers.

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
use anyhow::Result;
use canvas::Canvas;
pub(super) use picks::{Overall, overall};
use theme::Theme;
use touchstone_record::escape::html;

pub(super) struct Chart {
    pub name: String,
    pub title: String,
    /// The finding, one sentence with numbers in Markdown.
    pub finding: String,
    /// The part of a detailed page that it stands in; the short page where there is none.
    pub part: Option<Part>,
    /// File names and contents: on a light and on a dark ground.
    pub files: Vec<(String, String)>,
}

/// The layout of a chart.
trait Form {
    /// Lays the chart out; `None` where there is nothing to show.
    fn canvas(&self, theme: &Theme) -> Option<Canvas>;
}

/// File names of a chart: on a light and on a dark ground.
fn file_names(name: &str) -> [String; 2] {
    [".svg", "-dark.svg"].map(|ending| format!("{name}{ending}"))
}

/// Draws every chart for which there are records. The names are those of the files of the others.
/// Fails when a chart shows a table or a column that is not among `tables`.
pub(super) fn draw(
    matrix: &Matrix<'_>,
    charts: &Charts,
    tables: &[Layout],
) -> Result<(Vec<Chart>, Vec<String>)> {
    let chart = |(name, part, pick): picks::Drawing| {
        let names = file_names(&name);
        let drawn = pick.and_then(|(finding, form)| {
            Some((finding, form.canvas(&theme::LIGHT)?, form.canvas(&theme::DARK)?))
        });
        let Some((finding, light, dark)) = drawn else { return Err(names) };
        let files = names.into_iter().zip([light.svg(), dark.svg()]).collect();
        Ok(Chart { name, title: light.title, finding, part, files })
    };
    let all: Vec<_> = picks::all(matrix, charts, tables)?.into_iter().map(chart).collect();
    let absent = all.iter().filter_map(|chart| chart.as_ref().err().cloned()).flatten().collect();
    Ok((all.into_iter().flatten().collect(), absent))
}

/// The charts of the short page, if there are any; `folder` is where the images are, seen from it.
pub(super) fn section(charts: &[Chart], folder: &str) -> String {
    match of_part(charts, None, folder) {
        text if text.is_empty() => text,
        text => format!("## Charts\n\n{text}"),
    }
}

/// The charts of a part of a detailed page, or of the short page; `folder` is where the images
/// are, as seen from the page.
pub(super) fn of_part(charts: &[Chart], part: Option<&Part>, folder: &str) -> String {
    let mut text = String::new();
    let own = charts.iter().filter(|chart| chart.part.as_ref() == part);
    for Chart { name, title, finding, .. } in own {
        let ([light, dark], title) = (file_names(name), html(title));
        text += &format!(
            "{finding}\n\n<picture>\n  <source media=\"(prefers-color-scheme: dark)\" \
             srcset=\"{folder}{dark}\">\n  <img alt=\"{title}\" src=\"{folder}{light}\">\n\
             </picture>\n\n"
        );
    }
    text
}
