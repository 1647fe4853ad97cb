//! The common parts of charts: width, title, legend, the note on hollow marks.

use super::axis::Axis;
use super::canvas::{self, Anchor, Canvas, Color, Paint, Point, SMALL, TITLE};
use super::theme::{Fill, Theme};
use crate::units::{self, MARK};
use touchstone_record::Estimate;

/// Width of every chart, px.
pub(super) const WIDTH: f64 = 800.0;
/// Distance of everything from the edges, px.
pub(super) const MARGIN: f64 = 20.0;
/// Distance between a label and what it names, px.
pub(super) const PAD: f64 = 8.0;
/// Height of a line of small text with its distance to the next, px.
pub(super) const LINE: f64 = 18.0;

/// The texts of a chart beside its marks.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub title: String,
    /// The quantity on the axis, with the unit where the labels do not have it.
    pub axis: String,
    /// The meaning of colours or marks, where it is not written beside them.
    pub legend: Vec<(Fill, String)>,
    /// Further notes.
    pub note: String,
}

impl Frame {
    /// Height of everything above the plot, px.
    pub(super) fn top(&self) -> f64 {
        if self.legend.is_empty() { 50.0 } else { 76.0 }
    }

    /// A canvas with all of this and an empty plot of a height. The axis' labels are part of
    /// the plot.
    pub(super) fn canvas(&self, plot: f64, has_marked: bool, theme: &Theme) -> Canvas {
        let notes = self.notes(has_marked);
        let lines = usize::from(!self.axis.is_empty()) + notes.len();
        let height = self.top() + plot + lines as f64 * LINE + 12.0;
        let mut canvas = Canvas::new((WIDTH, height), &self.title, theme.background);
        canvas.heading((MARGIN, 26.0), &self.title, TITLE, theme.text);
        let mut at: Point = (MARGIN + 6.0, 56.0);
        for (fill, text) in &self.legend {
            canvas.dot(at, theme.paint(*fill), false);
            canvas.text((at.0 + 12.0, at.1), text, Anchor::Start, theme.text);
            at.0 += canvas::small(text) + 36.0;
        }
        let mut y = self.top() + plot + LINE / 2.0;
        if !self.axis.is_empty() {
            canvas.text((WIDTH - MARGIN, y), &self.axis, Anchor::End, theme.muted);
            y += LINE;
        }
        for note in notes {
            canvas.text((MARGIN, y), &note, Anchor::Start, theme.muted);
            y += LINE;
        }
        canvas
    }

    /// The note and the one on marks, unless the note is about them, in lines that fit.
    fn notes(&self, has_marked: bool) -> Vec<String> {
        let marked = format!("{MARK}, hollow: touched by interference, may read up to 2× slow.");
        let mut text = self.note.clone();
        if has_marked && !text.contains(MARK) {
            text = format!("{text} {marked}");
        }
        wrapped(&text, WIDTH - 2.0 * MARGIN)
    }
}

/// A text in lines of small text that are at most so wide, where its words allow it.
pub(super) fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if canvas::width(&format!("{line} {word}"), SMALL, false) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The label of a mark on an axis of times.
pub(super) fn tick(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { units::time_short(ns).replace(".0 ", " ") }
}

/// Lines and labels of a horizontal axis of times from `top` to `bottom`; the labels stand
/// below.
pub(super) fn grid(canvas: &mut Canvas, axis: &Axis, (top, bottom): Point, theme: &Theme) {
    for (x, value) in axis.marks(66.0) {
        canvas.path(&[(x, top), (x, bottom)], 1, theme.grid);
        canvas.text((x, bottom + 12.0), &tick(value), Anchor::Middle, theme.muted);
    }
}

/// The interval of a value on a horizontal axis: a line with an end on both sides.
pub(super) fn whisker(canvas: &mut Canvas, axis: &Axis, y: f64, value: &Estimate, ink: Color) {
    let Some((low, high)) = value.interval else { return };
    let [low, high] = [low, high].map(|end| axis.at(end));
    canvas.path(&[(low, y), (high, y)], 2, ink);
    for x in [low, high] {
        canvas.path(&[(x, y - 4.0), (x, y + 4.0)], 2, ink);
    }
}

/// A text with its ground, which hides the lines behind it. It begins at a point.
pub(super) fn on_ground(canvas: &mut Canvas, (x, y): Point, text: &str, (ground, ink): Paint) {
    canvas.rect((x - 2.0, y - 8.0), (canvas::small(text) + 4.0, 16.0), ground);
    canvas.text((x, y), text, Anchor::Start, ink);
}
