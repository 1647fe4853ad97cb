//! Dot plots: one row for each executor, one panel for each work, a
//! logarithmic axis.
//!
//! Dots and not bars, because a bar's length means nothing on a logarithmic
//! axis.

use super::axis::LogAxis;
use super::legend::{self, DOT};
use super::scene::{Align, Scene, Shape};
use super::text::{self, NORMAL, SMALL, TITLE};
use super::theme::Theme;
use crate::report::rank::Timing;
use crate::report::units;
use plotters::style::RGBColor;

/// A dot plot, ready to be laid out.
#[derive(Debug)]
pub(super) struct Dots {
    /// What is shown, with the unit.
    pub title: String,
    /// How to read it.
    pub subtitle: String,
    /// Categories: index and name.
    pub legend: Vec<(usize, String)>,
    /// What a dot and a stroke mean, if there are both.
    pub kinds: Option<[String; 2]>,
    /// Groups of rows under each other; they share the axes.
    pub blocks: Vec<Block>,
    /// Whether each first dot's value is written beside it.
    pub values: bool,
}

/// Rows with a heading.
#[derive(Debug)]
pub(super) struct Block {
    /// Stands above the rows.
    pub heading: String,
    /// Stands above each panel.
    pub panels: Vec<String>,
    /// The rows, from above.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    /// Stands left of the panels.
    pub label: String,
    /// Index of the category: colour and form of its dots.
    pub category: usize,
    /// Whether a line separates it from the row above.
    pub separated: bool,
    /// For each panel, the dot and the stroke.
    pub dots: Vec<[Option<Timing>; 2]>,
}

/// Height of a row, px.
const ROW: f64 = 19.0;
/// Height of a block's heading with the panels' headings, px.
const HEAD: f64 = 46.0;
/// Height of the labels below a block's panels, px.
const FOOT: f64 = 32.0;
/// Width of a panel, px.
const PANEL: f64 = 300.0;
/// Distance between panels, px.
const GAP: f64 = 22.0;
/// Distance from the edges, px.
const MARGIN: f64 = 18.0;
/// Height of title, subtitle and legend, px.
const TOP: f64 = 92.0;

/// Lays the plot out. `None` if nothing in it was timed.
pub(super) fn scene(dots: &Dots, theme: &Theme) -> Option<Scene> {
    let panels = dots.blocks.iter().map(|block| block.panels.len()).max()?;
    let axes: Vec<Option<LogAxis>> =
        (0..panels).map(|panel| LogAxis::over(reach(dots, panel))).collect();
    if axes.iter().all(Option::is_none) {
        return None;
    }
    let labels = dots.blocks.iter().flat_map(|block| &block.rows).map(|row| row.label.as_str());
    let left = MARGIN + text::widest(labels, SMALL) + 12.0;
    let across = panels as f64 * (PANEL + GAP) - GAP;
    let names = dots.legend.iter().map(|(_, name)| name).chain(dots.kinds.iter().flatten());
    let names = names.map(String::as_str);
    let heads = [
        MARGIN * 2.0 + text::width(&dots.title, TITLE, true),
        MARGIN * 2.0 + text::width(&dots.subtitle, NORMAL, false),
        MARGIN * 2.0 + legend::width(names),
    ];
    let width = heads.into_iter().fold(left + across + MARGIN, f64::max);
    let height = TOP
        + dots.blocks.iter().map(|b| HEAD + b.rows.len() as f64 * ROW + FOOT).sum::<f64>()
        + MARGIN / 2.0;

    let mut scene = Scene::new((width, height), &dots.title, theme.background);
    scene.bold((MARGIN, 24.0), dots.title.as_str(), TITLE, Align::Start, theme.text);
    scene.text((MARGIN, 47.0), dots.subtitle.as_str(), NORMAL, Align::Start, theme.muted);
    let at = (MARGIN + 5.0, 71.0);
    legend::draw(&mut scene, at, &dots.legend, dots.kinds.as_ref(), theme);
    let mut top = TOP;
    for block in &dots.blocks {
        top = draw_block(&mut scene, dots, block, (left, top), &axes, theme);
    }
    Some(scene)
}

/// Every time that a panel's axis must hold.
fn reach(dots: &Dots, panel: usize) -> impl Iterator<Item = f64> {
    dots.blocks
        .iter()
        .flat_map(|block| &block.rows)
        .filter_map(move |row| row.dots.get(panel))
        .flat_map(|dots| dots.iter().flatten())
        .flat_map(|timing| {
            let (low, high) = timing.interval.unwrap_or((timing.median, timing.median));
            [low, timing.median, high]
        })
}

/// Draws a block and returns where the next one begins.
fn draw_block(
    scene: &mut Scene,
    dots: &Dots,
    block: &Block,
    (left, top): (f64, f64),
    axes: &[Option<LogAxis>],
    theme: &Theme,
) -> f64 {
    let place = |panel: usize| left + panel as f64 * (PANEL + GAP);
    let row_top = |row: usize| top + HEAD + row as f64 * ROW;
    let bottom = row_top(block.rows.len());
    let right = place(axes.len()) - GAP;

    for (index, row) in block.rows.iter().enumerate() {
        if index % 2 == 1 {
            scene.rect((MARGIN, row_top(index)), (right - MARGIN, ROW), theme.band);
        }
        if row.separated {
            let y = row_top(index);
            scene.line((MARGIN, y), (right, y), 1, theme.muted);
        }
    }
    scene.bold((MARGIN, top + 16.0), block.heading.as_str(), NORMAL, Align::Start, theme.text);
    for (panel, axis) in axes.iter().enumerate() {
        let Some(axis) = axis.map(|axis| axis.on(place(panel) + 6.0, place(panel) + PANEL - 6.0))
        else {
            continue;
        };
        if let Some(heading) = block.panels.get(panel) {
            let at = (place(panel), top + 16.0);
            scene.bold(at, heading.as_str(), NORMAL, Align::Start, theme.text);
        }
        for x in axis.lines() {
            scene.line((x, top + HEAD), (x, bottom), 1, theme.grid);
        }
        for (x, label) in axis.marks(62.0) {
            // Labels above and below: a long block does not fit a screen.
            for y in [top + HEAD - 9.0, bottom + 11.0] {
                scene.text((x, y), label.as_str(), SMALL, Align::Middle, theme.muted);
            }
        }
        for (index, row) in block.rows.iter().enumerate() {
            if let Some(pair) = row.dots.get(panel) {
                let y = row_top(index) + ROW / 2.0;
                let ground = if index % 2 == 1 { theme.band } else { theme.background };
                draw_dots(scene, row, *pair, y, &axis, theme);
                if let Some(timing) = pair[0].filter(|_| dots.values) {
                    value(scene, timing, (y, place(panel) + PANEL), &axis, [ground, theme.text]);
                }
            }
        }
    }
    for (index, row) in block.rows.iter().enumerate() {
        let at = (left - 10.0, row_top(index) + ROW / 2.0);
        scene.text(at, row.label.as_str(), SMALL, Align::End, theme.text);
    }
    bottom + FOOT
}

/// Draws the dot and the stroke of one row in one panel.
fn draw_dots(
    scene: &mut Scene,
    row: &Row,
    [dot, stroke]: [Option<Timing>; 2],
    y: f64,
    axis: &LogAxis,
    theme: &Theme,
) {
    let color = theme.category(row.category);
    if let (Some(dot), Some(stroke)) = (dot, stroke) {
        scene.line((axis.at(dot.median), y), (axis.at(stroke.median), y), 1, color);
    }
    for timing in [dot, stroke].into_iter().flatten() {
        if let Some((low, high)) = timing.interval {
            scene.line((axis.at(low), y), (axis.at(high), y), 2, color);
        }
    }
    if let Some(timing) = stroke {
        scene.stroke((axis.at(timing.median), y), color);
    }
    if let Some(timing) = dot {
        let shape = Shape::category(row.category);
        scene.marker(shape, (axis.at(timing.median), y), DOT, color);
    }
    if dot.is_none() && stroke.is_none() {
        scene.text((axis.at(0.0), y), "–", SMALL, Align::Start, theme.muted);
    }
}

/// Writes a dot's value beside it: on its right if there is room before `end`,
/// else on its left.
fn value(
    scene: &mut Scene,
    timing: Timing,
    (y, end): (f64, f64),
    axis: &LogAxis,
    [ground, color]: [RGBColor; 2],
) {
    let label = units::time_short(timing.median);
    let width = text::width(&label, SMALL, false);
    let (low, high) = timing.interval.unwrap_or((timing.median, timing.median));
    let beside = axis.at(high).max(axis.at(timing.median) + DOT) + 5.0;
    let start = if beside + width <= end {
        beside
    } else {
        axis.at(low).min(axis.at(timing.median) - DOT) - 5.0 - width
    };
    // The ground hides the lines of the axis behind the text.
    scene.rect((start - 1.0, y - ROW / 2.0 + 2.0), (width + 2.0, ROW - 4.0), ground);
    scene.text((start, y), label, SMALL, Align::Start, color);
}
