//! Rows of two values that belong together, joined by a line, on a logarithmic axis.

use super::Form;
use super::canvas::{self, Anchor, Canvas, Color, DOT};
use super::frame::{self, Axis, FOOT, Frame, MARGIN, PAD, WIDTH};
use super::theme::{Fill, Theme};
use crate::units::short;
use touchstone_record::Estimate;

pub(super) struct Dumbbells {
    pub frame: Frame,
    pub rows: Vec<Row>,
    /// A value to hold the others against, with its name.
    pub line: Option<(Estimate, String)>,
    /// Stands above the texts on the right.
    pub heading: String,
}

pub(super) struct Row {
    /// Stands left of the axis.
    pub label: String,
    /// One or two values, with their colours.
    pub ends: Vec<(Fill, Estimate)>,
    /// Stands right of the axis.
    pub text: String,
}

/// Height of a row, px.
const ROW: f64 = 30.0;

impl Form for Dumbbells {
    fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        let ends = || self.rows.iter().flat_map(|row| &row.ends).map(|end| end.1);
        let values = ends().chain(self.line.iter().map(|line| line.0));
        let axis = Axis::of_estimates(values)?;
        let is_headed = self.line.is_some() || !self.heading.is_empty();
        let head = if is_headed { 26.0 } else { 4.0 };
        let height = head + self.rows.len() as f64 * ROW;
        let mut canvas = self.frame.canvas(height + FOOT, ends().any(|v| v.marked), theme);
        let left = MARGIN + canvas::widest(self.rows.iter().map(|row| &row.label)) + PAD;
        let texts = self.rows.iter().map(|row| &row.text).chain([&self.heading]);
        let texts = canvas::widest(texts);
        let right = WIDTH - MARGIN - if texts > 0.0 { texts + PAD } else { 0.0 };
        let room = canvas::widest(ends().map(|end| short(&end))) + DOT + PAD;
        let axis = axis.on(left + room, (right - room).max(left + room + 40.0));
        let (top, bottom) = (self.frame.top() + head, self.frame.top() + height);
        for index in (0..self.rows.len()).step_by(2) {
            let y = top + index as f64 * ROW;
            canvas.rect((MARGIN, y), (WIDTH - 2.0 * MARGIN, ROW), theme.band);
        }
        frame::grid(&mut canvas, &axis, (top, bottom), theme);
        if let Some((value, name)) = &self.line {
            let x = axis.at(value.median);
            canvas.path(&[(x, top - 4.0), (x, bottom)], 2, theme.muted);
            let half = canvas::small(name) / 2.0;
            let x = x.clamp(MARGIN + half, (right - half).max(MARGIN + half));
            canvas.text((x, top - 14.0), name, Anchor::Middle, theme.text);
        }
        if !self.heading.is_empty() {
            let at = (WIDTH - MARGIN, top - 14.0);
            canvas.text(at, &self.heading, Anchor::End, theme.muted);
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + (index as f64 + 0.5) * ROW;
            let ground = if index % 2 == 0 { theme.band } else { theme.background };
            draw(&mut canvas, row, (left, y), &axis, (ground, theme));
        }
        Some(canvas)
    }
}

fn draw(
    canvas: &mut Canvas,
    row: &Row,
    (left, y): (f64, f64),
    axis: &Axis,
    (ground, theme): (Color, &Theme),
) {
    canvas.text((left - PAD, y), &row.label, Anchor::End, theme.text);
    canvas.text((WIDTH - MARGIN, y), &row.text, Anchor::End, theme.muted);
    let mut sorted: Vec<_> = row.ends.iter().collect();
    sorted.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let (Some((_, least)), Some((fill, most))) = (sorted.first(), sorted.last()) else { return };
    let at = |value: &Estimate| axis.at(value.median);
    let joint = theme.fill(Fill { share: 0.35, ..*fill });
    canvas.path(&[(at(least), y), (at(most), y)], 3, joint);
    // Later values lie below earlier ones.
    for (fill, value) in row.ends.iter().rev() {
        frame::whisker(canvas, axis, y, value, theme.paint(*fill).0);
        canvas.dot((at(value), y), theme.paint(*fill), value.marked);
    }
    let mut number = |x, text: &str| frame::on_ground(canvas, (x, y), text, (ground, theme.text));
    let end = axis.at(most.ends().1).max(at(most) + DOT);
    number(end + 5.0, &short(most));
    if row.ends.len() > 1 {
        let text = short(least);
        let end = axis.at(least.ends().0).min(at(least) - DOT);
        number(end - 5.0 - canvas::small(&text), &text);
    }
}
