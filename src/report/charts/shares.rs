//! What calls are made of: a bar for each executor, as long for all, because shares
//! are what is shown; the time that they are shares of stands beside it.

use super::scene::{Align, MARGIN, Scene};
use super::text::{self, NORMAL, SMALL};
use super::theme::Theme;
use crate::report::matrix::Matrix;
use crate::report::shares::{PARTS, Row, rows};
use crate::report::units;
use crate::tables::Shares;

/// Width of a bar, px.
const BAR: f64 = 520.0;
/// Height of a row, px.
const ROW: f64 = 19.0;
/// Height of a panel's heading, px.
const HEAD: f64 = 34.0;
/// Height of the labels below a panel, px.
const FOOT: f64 = 26.0;
/// Height of title, subtitle and legend, px.
const TOP: f64 = 88.0;
/// Room for the time beside a bar, px.
const VALUE: f64 = 66.0;
/// Categories of the theme that the parts are drawn in.
const COLORS: [usize; 4] = [0, 1, 4, 2];

/// `None` if nothing of it was timed.
pub(super) fn scene(matrix: &Matrix<'_>, shares: &Shares, theme: &Theme) -> Option<Scene> {
    let panels: Vec<(&str, Vec<Row<'_>>)> = shares
        .panels
        .iter()
        .map(|panel| (panel.heading.as_str(), rows(matrix, shares, panel)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    if panels.is_empty() {
        return None;
    }
    let names: Vec<String> =
        panels.iter().flat_map(|(_, rows)| rows).map(|row| row.executor.to_string()).collect();
    let left = MARGIN + text::widest(names.iter().map(String::as_str), SMALL) + 12.0;
    let title = format!("{}: shares of a call on a clean instance, 1 thread", shares.title);
    let subtitle = "Each bar is one call; beside it the time of the whole call (median).";
    let rows = || panels.iter().flat_map(|(_, rows)| rows);
    let heights = panels.iter().map(|(_, rows)| HEAD + rows.len() as f64 * ROW + FOOT);
    let size = (left + BAR + VALUE + MARGIN, TOP + heights.sum::<f64>());
    let is_marked = rows().any(|row| row.split.marked);
    let mut scene = Scene::new(size, &title, subtitle, is_marked, theme);
    let mut x = MARGIN;
    for (part, color) in PARTS.iter().zip(COLORS) {
        scene.rect((x, 66.0), (11.0, 11.0), theme.category(color));
        scene.text((x + 17.0, 71.5), *part, SMALL, Align::Start, theme.text);
        x += 17.0 + text::width(part, SMALL, false) + 20.0;
    }
    let mut top = TOP;
    for (heading, rows) in &panels {
        scene.bold((MARGIN, top + 18.0), *heading, NORMAL, Align::Start, theme.text);
        let bottom = top + HEAD + rows.len() as f64 * ROW;
        for (index, row) in rows.iter().enumerate() {
            let middle = top + HEAD + (index as f64 + 0.5) * ROW;
            bar(&mut scene, row, (left, middle), theme);
        }
        for percent in [0, 25, 50, 75, 100] {
            let x = left + BAR * f64::from(percent) / 100.0;
            scene.line((x, bottom), (x, bottom + 4.0), 1, theme.muted);
            let label = format!("{percent} %");
            scene.text((x, bottom + 12.0), label, SMALL, Align::Middle, theme.muted);
        }
        top = bottom + FOOT;
    }
    Some(scene)
}

fn bar(scene: &mut Scene, row: &Row<'_>, (left, middle): (f64, f64), theme: &Theme) {
    let name = row.executor.to_string();
    scene.text((left - 8.0, middle), name, SMALL, Align::End, theme.text);
    let whole: f64 = row.split.parts.iter().sum();
    let mut x = left;
    for (part, color) in row.split.parts.iter().zip(COLORS) {
        let width = BAR * part / whole;
        if width >= 0.5 {
            scene.rect((x, middle - ROW / 2.0 + 2.0), (width, ROW - 4.0), theme.category(color));
        }
        x += width;
    }
    let time = units::marked(units::time_short(row.split.fresh), row.split.marked);
    scene.text((left + BAR + 8.0, middle), time, SMALL, Align::Start, theme.text);
}
