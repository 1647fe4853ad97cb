//! Dot plots: a row for each executor, a panel for each work, a logarithmic axis. Dots and
//! not bars, because a bar's length means nothing on a logarithmic axis.

use super::axis::LogAxis;
use super::legend::{self, DOT};
use super::scene::{Align, MARGIN, Scene, Shape, TOP};
use super::text::{self, NORMAL, SMALL};
use super::theme::Theme;
use crate::record::Estimate;
use crate::report::units;
use plotters::style::RGBColor;

/// A dot plot, ready to be laid out.
#[derive(Debug)]
pub(super) struct Dots {
    /// What is shown.
    pub title: String,
    /// How to read it.
    pub subtitle: String,
    /// Categories: index and name.
    pub legend: Vec<(usize, String)>,
    /// What a dot and a stroke mean, if there are both.
    pub kinds: Option<[String; 2]>,
    /// Groups of rows under each other; they share the axes.
    pub blocks: Vec<Block>,
    /// What the axes are of.
    pub scale: Scale,
    /// Whether each dot's value is written beside it.
    pub values: bool,
}

/// What an axis is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    /// Times, ns.
    Time,
    /// Ratios, with the one that would be ideal.
    Ratio(f64),
}

impl Scale {
    /// A value as it stands beside its dot.
    fn value(self, value: f64) -> String {
        match self {
            Self::Time => units::time_short(value),
            Self::Ratio(_) => format!("{value:.2} ×"),
        }
    }

    /// A round value as it stands at an axis.
    fn mark(self, value: f64) -> String {
        match self {
            Self::Time => units::time_short(value).replace(".0 ", " "),
            Self::Ratio(_) => format!("{value} ×"),
        }
    }

    /// Room for a mark's label, px.
    fn room(self) -> f64 {
        match self {
            Self::Time => 62.0,
            Self::Ratio(_) => 44.0,
        }
    }

    /// What the axis has to hold beside the values.
    fn ends(self) -> Vec<f64> {
        match self {
            Self::Time => Vec::new(),
            Self::Ratio(ideal) => vec![1.0, ideal],
        }
    }
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
    pub dots: Vec<[Option<Estimate>; 2]>,
}

/// Height of a row, px.
const ROW: f64 = 19.0;
/// Height of a block's heading with the panels' headings, px.
const HEAD: f64 = 46.0;
/// Height of the labels below a block's panels, px.
const FOOT: f64 = 32.0;
/// Least width of a panel, px.
const PANEL: f64 = 300.0;
/// Distance between panels, px.
const GAP: f64 = 22.0;

/// Lays the plot out. `None` if nothing in it was timed.
pub(super) fn scene(dots: &Dots, theme: &Theme) -> Option<Scene> {
    let panels = dots.blocks.iter().map(|block| block.panels.len()).max()?;
    let axes: Vec<Option<LogAxis>> = (0..panels).map(|panel| axis(dots, panel)).collect();
    if axes.iter().all(Option::is_none) {
        return None;
    }
    let labels = dots.blocks.iter().flat_map(|block| &block.rows).map(|row| row.label.as_str());
    let left = MARGIN + text::widest(labels, SMALL) + 12.0;
    let names = dots.legend.iter().map(|(_, name)| name).chain(dots.kinds.iter().flatten());
    let legend = legend::width(names.map(String::as_str)) + MARGIN - left;
    // Where the legend is wider than the panels, they fill its width.
    let panel = (legend / panels as f64 - GAP).max(PANEL);
    let width = left + panels as f64 * (panel + GAP) - GAP + MARGIN;
    let height = TOP
        + dots.blocks.iter().map(|b| HEAD + b.rows.len() as f64 * ROW + FOOT).sum::<f64>()
        + MARGIN / 2.0;
    let is_marked = estimates(dots).any(|estimate| estimate.marked);
    let mut scene = Scene::new((width, height), &dots.title, &dots.subtitle, is_marked, theme);
    let at = (MARGIN + 5.0, 71.0);
    legend::draw(&mut scene, at, &dots.legend, dots.kinds.as_ref(), theme);
    let mut top = TOP;
    for block in &dots.blocks {
        top = draw_block(&mut scene, dots, block, (left, top, panel), &axes, theme);
    }
    Some(scene)
}

/// Everything that is drawn.
fn estimates(dots: &Dots) -> impl Iterator<Item = &Estimate> {
    let rows = dots.blocks.iter().flat_map(|block| &block.rows);
    rows.flat_map(|row| &row.dots).flatten().flatten()
}

/// The axis that holds all values of a panel. `None` without any.
fn axis(dots: &Dots, panel: usize) -> Option<LogAxis> {
    let rows = dots.blocks.iter().flat_map(|block| &block.rows);
    let pairs = rows.filter_map(|row| row.dots.get(panel));
    let reach = |estimate: &Estimate| {
        let (low, high) = ends(*estimate);
        [low, estimate.median, high]
    };
    let mut values: Vec<f64> = pairs.flatten().flatten().flat_map(reach).collect();
    if !values.is_empty() {
        values.extend(dots.scale.ends());
    }
    LogAxis::over(values)
}

/// The ends of the interval, or the median where there is none.
fn ends(estimate: Estimate) -> (f64, f64) {
    estimate.interval.unwrap_or((estimate.median, estimate.median))
}

/// Draws a block and returns where the next one begins.
fn draw_block(
    scene: &mut Scene,
    dots: &Dots,
    block: &Block,
    (left, top, width): (f64, f64, f64),
    axes: &[Option<LogAxis>],
    theme: &Theme,
) -> f64 {
    let place = |panel: usize| left + panel as f64 * (width + GAP);
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
        let Some(axis) = axis.map(|axis| axis.on(place(panel) + 6.0, place(panel) + width - 6.0))
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
        if let Scale::Ratio(ideal) = dots.scale {
            let x = axis.at(ideal);
            scene.dashed((x, top + HEAD), (x, bottom), 1, theme.muted);
        }
        for (x, value) in axis.marks(dots.scale.room()) {
            let label = dots.scale.mark(value);
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
                let room = (place(panel), place(panel) + width);
                beside(scene, *pair, dots, (y, room), &axis, [ground, theme.text]);
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
    [dot, stroke]: [Option<Estimate>; 2],
    y: f64,
    axis: &LogAxis,
    theme: &Theme,
) {
    let color = theme.category(row.category);
    if let (Some(dot), Some(stroke)) = (dot, stroke) {
        scene.line((axis.at(dot.median), y), (axis.at(stroke.median), y), 1, color);
    }
    for estimate in [dot, stroke].into_iter().flatten() {
        if let Some((low, high)) = estimate.interval {
            scene.line((axis.at(low), y), (axis.at(high), y), 2, color);
        }
    }
    if let Some(estimate) = stroke {
        scene.stroke((axis.at(estimate.median), y), color);
    }
    if let Some(estimate) = dot {
        let shape = Shape::category(row.category);
        scene.marker(shape, (axis.at(estimate.median), y), DOT, color);
    }
    if dot.is_none() && stroke.is_none() {
        scene.text((axis.at(0.0), y), "–", SMALL, Align::Start, theme.muted);
    }
}

/// Writes a dot's value, or its mark alone, beside the row's dots: on their right if there
/// is room, else on their left, else at the end of the panel.
fn beside(
    scene: &mut Scene,
    pair: [Option<Estimate>; 2],
    dots: &Dots,
    (y, (begin, end)): (f64, (f64, f64)),
    axis: &LogAxis,
    [ground, color]: [RGBColor; 2],
) {
    let value = pair[0].filter(|_| dots.values).map(|dot| dots.scale.value(dot.median));
    let is_marked = pair.iter().flatten().any(|estimate| estimate.marked);
    let label = units::marked(value.unwrap_or_default(), is_marked);
    let places =
        || pair.iter().flatten().map(|estimate| (axis.at(estimate.median), ends(*estimate)));
    let right = places().map(|(at, (_, high))| (at + DOT).max(axis.at(high)));
    let left = places().map(|(at, (low, _))| (at - DOT).min(axis.at(low)));
    let (Some(right), Some(left)) = (right.reduce(f64::max), left.reduce(f64::min)) else {
        return;
    };
    if label.is_empty() {
        return;
    }
    let width = text::width(&label, SMALL, false);
    let start = if right + 5.0 + width <= end {
        right + 5.0
    } else if left - 5.0 - width >= begin {
        left - 5.0 - width
    } else {
        end - width
    };
    // The ground hides the lines of the axis behind the text.
    scene.rect((start - 1.0, y - ROW / 2.0 + 2.0), (width + 2.0, ROW - 4.0), ground);
    scene.text((start, y), label, SMALL, Align::Start, color);
}
