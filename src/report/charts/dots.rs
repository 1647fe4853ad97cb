//! Dot plots: a row for each executor or call, a panel for each work, a logarithmic axis.
//! Dots and not bars, because a bar's length means nothing on a logarithmic axis.

use super::axis::LogAxis;
use super::canvas::{self, Canvas, DOT, NORMAL, Point, SMALL, TITLE};
use super::theme::Theme;
use crate::record::Estimate;
use crate::report::markdown::NOTHING;
use crate::report::units::{self, MARK};
use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

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
    /// Whether each row's first value is written beside it.
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

impl Block {
    /// Height with heading and labels, px.
    fn height(&self) -> f64 {
        HEAD + self.rows.len() as f64 * ROW + FOOT
    }
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    /// Stands left of the panels.
    pub label: String,
    /// Whether a line separates it from the row above.
    pub separated: bool,
    /// What each panel shows.
    pub panels: Vec<Vec<Dot>>,
}

impl Row {
    /// The first value in the first panel, infinite where there is none.
    pub(super) fn first(&self) -> f64 {
        let first = self.panels.first().and_then(|panel| panel.first());
        first.map_or(f64::INFINITY, |dot| dot.estimate.median)
    }
}

/// One value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dot {
    /// Index of the category: colour and form.
    pub category: usize,
    /// Whether it is a stroke, beside a dot of the same category.
    pub is_stroke: bool,
    /// The value.
    pub estimate: Estimate,
}

/// Distance of everything from the edges, px.
const MARGIN: f64 = 18.0;
/// Height of title, subtitle and legend, px.
const TOP: f64 = 92.0;
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
/// Width of a legend's entry beside its name: marker and distance to the next, px.
const ENTRY: f64 = 34.0;

/// Lays the plot out. `None` if nothing in it was timed.
pub(super) fn canvas(dots: &Dots, theme: &Theme) -> Option<Canvas> {
    let panels = dots.blocks.iter().map(|block| block.panels.len()).max()?;
    let axes: Vec<Option<LogAxis>> = (0..panels).map(|panel| axis(dots, panel)).collect();
    if axes.iter().all(Option::is_none) {
        return None;
    }
    let rows = || dots.blocks.iter().flat_map(|block| &block.rows);
    let left = MARGIN + canvas::widest(rows().map(|row| row.label.as_str())) + 12.0;
    let names = dots.legend.iter().map(|(_, name)| name).chain(dots.kinds.iter().flatten());
    let legend: f64 = names.map(|name| canvas::width(name, SMALL, false) + ENTRY).sum();
    let is_marked = rows().flat_map(|row| row.panels.iter().flatten()).any(|d| d.estimate.marked);
    let note = if is_marked { format!(" {MARK} Interference.") } else { String::new() };
    let subtitle = format!("{}{note}", dots.subtitle);
    let title = canvas::width(&dots.title, TITLE, true);
    let texts = title.max(canvas::width(&subtitle, SMALL, false)).max(legend);
    // Where the texts are wider than the panels, these fill their width.
    let width = ((texts + MARGIN + GAP - left) / panels as f64 - GAP).max(PANEL);
    let height = TOP + dots.blocks.iter().map(Block::height).sum::<f64>() + MARGIN / 2.0;
    let size = (left + panels as f64 * (width + GAP) - GAP + MARGIN, height);
    let mut canvas = Canvas::new(size, &dots.title, theme.background);
    canvas.heading((MARGIN, 24.0), &dots.title, TITLE, theme.text);
    canvas.text((MARGIN, 47.0), &subtitle, HPos::Left, theme.muted);
    let mut plot = Plot { canvas, dots, theme, left, width };
    plot.legend();
    let mut top = TOP;
    for block in &dots.blocks {
        plot.block(block, top, &axes);
        top += block.height();
    }
    Some(plot.canvas)
}

/// The axis that holds all values of a panel. `None` without any.
fn axis(dots: &Dots, panel: usize) -> Option<LogAxis> {
    let rows = dots.blocks.iter().flat_map(|block| &block.rows);
    let all = rows.filter_map(|row| row.panels.get(panel)).flatten();
    let reach =
        |Dot { estimate, .. }: &Dot| [estimate.ends().0, estimate.median, estimate.ends().1];
    let mut values: Vec<f64> = all.flat_map(reach).collect();
    if let (Scale::Ratio(ideal), false) = (dots.scale, values.is_empty()) {
        values.extend([1.0, ideal]);
    }
    LogAxis::over(values)
}

/// A plot that is being drawn.
struct Plot<'a> {
    canvas: Canvas,
    dots: &'a Dots,
    theme: &'a Theme,
    /// Where the first panel begins, px.
    left: f64,
    /// Of a panel, px.
    width: f64,
}

impl Plot<'_> {
    /// The categories, then what a dot and a stroke mean if the chart has both.
    fn legend(&mut self) {
        let (theme, mut at) = (self.theme, (MARGIN + 5.0, 71.0));
        for (category, name) in &self.dots.legend {
            self.canvas.marker(*category, at, theme.category(*category));
            self.name(&mut at, name);
        }
        if let Some([dot, stroke]) = &self.dots.kinds {
            self.canvas.marker(0, at, theme.muted);
            self.name(&mut at, dot);
            self.canvas.stroke(at, theme.muted);
            self.name(&mut at, stroke);
        }
    }

    /// Writes a name in the legend and goes on to the place of the next.
    fn name(&mut self, at: &mut Point, name: &str) {
        self.canvas.text((at.0 + 11.0, at.1), name, HPos::Left, self.theme.text);
        at.0 += canvas::width(name, SMALL, false) + ENTRY;
    }

    fn block(&mut self, block: &Block, top: f64, axes: &[Option<LogAxis>]) {
        let (left, width, theme) = (self.left, self.width, self.theme);
        let begin = |panel: usize| left + panel as f64 * (width + GAP);
        let row_top = |row: usize| top + HEAD + row as f64 * ROW;
        let (bottom, right) = (row_top(block.rows.len()), begin(axes.len()) - GAP);
        let ground = |row: usize| if row % 2 == 1 { theme.band } else { theme.background };
        let canvas = &mut self.canvas;
        for (index, row) in block.rows.iter().enumerate() {
            let y = row_top(index);
            canvas.rect((MARGIN, y), (right - MARGIN, ROW), ground(index));
            if row.separated {
                canvas.line((MARGIN, y), (right, y), 1, theme.muted);
            }
            canvas.text((left - 10.0, y + ROW / 2.0), &row.label, HPos::Right, theme.text);
        }
        canvas.heading((MARGIN, top + 16.0), &block.heading, NORMAL, theme.text);
        for (panel, axis) in axes.iter().enumerate() {
            let room = (begin(panel), begin(panel) + width);
            let Some(axis) = axis.map(|axis| axis.on(room.0 + 6.0, room.1 - 6.0)) else { continue };
            if let Some(heading) = block.panels.get(panel) {
                self.canvas.heading((room.0, top + 16.0), heading, NORMAL, theme.text);
            }
            self.grid(&axis, top + HEAD, bottom);
            for (index, row) in block.rows.iter().enumerate() {
                let y = row_top(index) + ROW / 2.0;
                match row.panels.get(panel).map(Vec::as_slice) {
                    None => {}
                    Some([]) => {
                        self.canvas.text((axis.at(0.0), y), NOTHING, HPos::Left, theme.muted);
                    }
                    Some(own) => {
                        self.row(own, y, &axis);
                        self.value(own, y, &axis, room, ground(index));
                    }
                }
            }
        }
    }

    /// Draws the marks of an axis and, of ratios, the ideal one.
    fn grid(&mut self, axis: &LogAxis, top: f64, bottom: f64) {
        let apart = if matches!(self.dots.scale, Scale::Time) { 62.0 } else { 44.0 };
        for (x, value) in axis.marks(apart) {
            self.canvas.line((x, top), (x, bottom), 1, self.theme.grid);
            let label = match self.dots.scale {
                Scale::Time => units::time_short(value).replace(".0 ", " "),
                Scale::Ratio(_) => format!("{value} ×"),
            };
            // Labels above and below: a long block does not fit a screen.
            for y in [top - 9.0, bottom + 11.0] {
                self.canvas.text((x, y), &label, HPos::Center, self.theme.muted);
            }
        }
        if let Scale::Ratio(ideal) = self.dots.scale {
            let x = axis.at(ideal);
            self.canvas.line((x, top), (x, bottom), 2, self.theme.muted);
        }
    }

    /// Draws the values of one row in one panel, joined by a line.
    fn row(&mut self, own: &[Dot], y: f64, axis: &LogAxis) {
        let at = |dot: &Dot| (axis.at(dot.estimate.median), y);
        let ends = |a: &&Dot, b: &&Dot| a.estimate.median.total_cmp(&b.estimate.median);
        if let (Some(first), Some(last)) = (own.iter().min_by(ends), own.iter().max_by(ends)) {
            self.canvas.line(at(first), at(last), 1, self.theme.muted);
        }
        for dot in own {
            let ((low, high), color) = (dot.estimate.ends(), self.theme.category(dot.category));
            self.canvas.line((axis.at(low), y), (axis.at(high), y), 2, color);
        }
        for dot in own.iter().rev() {
            let color = self.theme.category(dot.category);
            if dot.is_stroke {
                self.canvas.stroke(at(dot), color);
            } else {
                self.canvas.marker(dot.category, at(dot), color);
            }
        }
    }

    /// Writes the first value of a row, or the mark of any, beside its dots: on their right if
    /// there is room, else on their left, else at the end of the panel.
    fn value(
        &mut self,
        own: &[Dot],
        y: f64,
        axis: &LogAxis,
        (begin, end): (f64, f64),
        ground: RGBColor,
    ) {
        let value = own.first().filter(|_| self.dots.values).map(|dot| dot.estimate.median);
        let value = value.map(|value| match self.dots.scale {
            Scale::Time => units::time_short(value),
            Scale::Ratio(_) => format!("{value:.2} ×"),
        });
        let is_marked = own.iter().any(|dot| dot.estimate.marked);
        let label = units::marked(value.unwrap_or_default(), is_marked);
        if label.is_empty() {
            return;
        }
        let reach = |dot: &Dot| {
            let (at, (low, high)) = (axis.at(dot.estimate.median), dot.estimate.ends());
            ((at - DOT).min(axis.at(low)), (at + DOT).max(axis.at(high)))
        };
        let left = own.iter().map(|dot| reach(dot).0).fold(f64::INFINITY, f64::min);
        let right = own.iter().map(|dot| reach(dot).1).fold(0.0, f64::max);
        let width = canvas::width(&label, SMALL, false);
        let start = if right + 5.0 + width <= end {
            right + 5.0
        } else if left - 5.0 - width >= begin {
            left - 5.0 - width
        } else {
            end - width
        };
        // The ground hides the lines of the axis behind the text.
        let canvas = &mut self.canvas;
        canvas.rect((start - 1.0, y - ROW / 2.0 + 2.0), (width + 2.0, ROW - 4.0), ground);
        canvas.text((start, y), &label, HPos::Left, self.theme.text);
    }
}
