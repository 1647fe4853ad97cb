//! Rows of two values that belong together, joined by a line, on a logarithmic axis.

use super::axis::Axis;
use super::canvas::{self, Canvas, DOT};
use super::frame::{self, Frame, MARGIN, PAD, Value, WIDTH};
use super::theme::{Fill, Theme};
use plotters::style::RGBColor;
use plotters::style::text_anchor::HPos;

/// Dumbbells, ready to be laid out.
#[derive(Debug)]
pub(super) struct Dumbbells {
    /// Title, legend and notes.
    pub frame: Frame,
    /// The rows, from above.
    pub rows: Vec<Row>,
    /// A value to hold the others against, with its name.
    pub line: Option<(Value, String)>,
    /// Stands above the texts on the right.
    pub heading: String,
}

/// A row.
#[derive(Debug)]
pub(super) struct Row {
    /// Stands left of the axis.
    pub label: String,
    /// One or two values, with their colours.
    pub ends: Vec<(Fill, Value)>,
    /// Stands right of the axis.
    pub text: String,
}

/// Height of a row, px.
const ROW: f64 = 30.0;
/// Height of the axis' labels, px.
const FOOT: f64 = 24.0;

impl Dumbbells {
    /// Lays the rows out; `None` without any value.
    pub(super) fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        let ends = || self.rows.iter().flat_map(|row| &row.ends).map(|end| end.1);
        let values = ends().chain(self.line.iter().map(|line| line.0));
        let axis = Axis::of_points(values.map(|value| value.median))?;
        let is_headed = self.line.is_some() || !self.heading.is_empty();
        let head = if is_headed { 26.0 } else { 4.0 };
        let height = head + self.rows.len() as f64 * ROW;
        let mut canvas = self.frame.canvas(height + FOOT, ends().any(|v| v.marked), theme);
        let left = canvas::widest(self.rows.iter().map(|row| &*row.label));
        let left = MARGIN + left + PAD;
        let texts = self.rows.iter().map(|row| &*row.text).chain([&*self.heading]);
        let texts = canvas::widest(texts);
        let right = WIDTH - MARGIN - if texts > 0.0 { texts + PAD } else { 0.0 };
        let numbers: Vec<String> = ends().map(Value::time).collect();
        let room = canvas::widest(numbers.iter().map(String::as_str)) + DOT + PAD;
        let axis = axis.on(left + room, (right - room).max(left + room + 40.0));
        let (top, bottom) = (self.frame.top() + head, self.frame.top() + height);
        for index in (0..self.rows.len()).filter(|index| index % 2 == 0) {
            let y = top + index as f64 * ROW;
            canvas.rect((MARGIN, y), (WIDTH - 2.0 * MARGIN, ROW), theme.band);
        }
        frame::grid(&mut canvas, &axis, (top, bottom), theme);
        if let Some((value, name)) = &self.line {
            let x = axis.at(value.median);
            canvas.line((x, top - 4.0), (x, bottom), 2, theme.muted);
            let half = canvas::small(name) / 2.0;
            let x = x.clamp(MARGIN + half, (right - half).max(MARGIN + half));
            canvas.text((x, top - 14.0), name, HPos::Center, theme.text);
        }
        if !self.heading.is_empty() {
            let at = (WIDTH - MARGIN, top - 14.0);
            canvas.text(at, &self.heading, HPos::Right, theme.muted);
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * ROW;
            let ground = if index % 2 == 0 { theme.band } else { theme.background };
            draw(&mut canvas, row, (left, y), &axis, (ground, theme));
        }
        Some(canvas)
    }
}

/// Draws a row on its ground.
fn draw(
    canvas: &mut Canvas,
    row: &Row,
    (left, y): (f64, f64),
    axis: &Axis,
    (ground, theme): (RGBColor, &Theme),
) {
    canvas.text((left - PAD, y), &row.label, HPos::Right, theme.text);
    canvas.text((WIDTH - MARGIN, y), &row.text, HPos::Right, theme.muted);
    let by_value = |a: &&(Fill, Value), b: &&(Fill, Value)| a.1.median.total_cmp(&b.1.median);
    let (least, most) = (row.ends.iter().min_by(by_value), row.ends.iter().max_by(by_value));
    let (Some((_, least)), Some((fill, most))) = (least, most) else { return };
    let at = |value: &Value| axis.at(value.median);
    canvas.line((at(least), y), (at(most), y), 3, theme.fill(Fill { share: 0.35, ..*fill }));
    // Later values lie below earlier ones.
    for (fill, value) in row.ends.iter().rev() {
        let (outline, place) = (theme.outline(*fill), (at(value), y));
        if value.marked {
            canvas.dot(place, true, outline);
        } else {
            canvas.outlined_dot(place, outline, theme.fill(*fill));
        }
    }
    let mut number = |x, text: &str| {
        canvas.rect((x - 2.0, y - 8.0), (canvas::small(text) + 4.0, 16.0), ground);
        canvas.text((x, y), text, HPos::Left, theme.text);
    };
    number(at(most) + DOT + 5.0, &most.time());
    if row.ends.len() > 1 {
        let text = least.time();
        number(at(least) - DOT - 5.0 - canvas::small(&text), &text);
    }
}
