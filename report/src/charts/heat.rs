//! A table of ratios whose cells are the darker the larger they are.

use super::Form;
use super::canvas::{self, Anchor, Canvas, DOT};
use super::frame::{Frame, MARGIN, PAD, WIDTH};
use super::theme::{Fill, Theme};
use crate::markdown::NOTHING;
use crate::units;
use touchstone_record::Estimate;

pub(super) struct Heat {
    pub frame: Frame,
    /// Two lines above each column.
    pub columns: Vec<[String; 2]>,
    pub rows: Vec<Row>,
}

pub(super) struct Row {
    pub label: String,
    pub fill: Fill,
    pub cells: Vec<Option<Estimate>>,
}

/// Height of the columns' headings, px.
const HEAD: f64 = 44.0;
/// Height of a row, px.
const ROW: f64 = 34.0;

impl Form for Heat {
    fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        let values = || self.rows.iter().flat_map(|row| row.cells.iter().flatten());
        let largest = values().map(|value| value.median).fold(1.0, f64::max);
        values().next()?;
        let height = HEAD + self.rows.len() as f64 * ROW + 6.0;
        let mut canvas = self.frame.canvas(height, values().any(|value| value.marked), theme);
        let dot = 2.0 * DOT + 6.0;
        let left = MARGIN + dot + canvas::widest(self.rows.iter().map(|row| &row.label)) + PAD;
        let width = (WIDTH - MARGIN - left) / self.columns.len() as f64;
        let middle = |column: usize| left + (column as f64 + 0.5) * width;
        let top = self.frame.top();
        for (index, [name, below]) in self.columns.iter().enumerate() {
            canvas.text((middle(index), top + 10.0), name, Anchor::Middle, theme.text);
            canvas.text((middle(index), top + 28.0), below, Anchor::Middle, theme.muted);
        }
        for (index, row) in self.rows.iter().enumerate() {
            let y = top + HEAD + index as f64 * ROW;
            let color = theme.fill(row.fill);
            canvas.dot((MARGIN + DOT, y + ROW / 2.0), (color, color), false);
            canvas.text((MARGIN + dot, y + ROW / 2.0), &row.label, Anchor::Start, theme.text);
            for (column, value) in row.cells.iter().enumerate() {
                let at = (middle(column), y + ROW / 2.0);
                let Some(value) = value else {
                    canvas.text(at, NOTHING, Anchor::Middle, theme.muted);
                    continue;
                };
                // A share of the way to the largest ratio, in powers.
                let share = value.median.max(1.0).ln() / largest.ln().max(f64::MIN_POSITIVE);
                let (ground, on_it) = theme.heat(share);
                let corner = (left + column as f64 * width + 1.0, y + 1.0);
                canvas.bar(corner, (width - 2.0, ROW - 2.0), (ground, ground), value.marked);
                let color = if value.marked { theme.text } else { on_it };
                canvas.text(at, &units::times(value), Anchor::Middle, color);
            }
        }
        Some(canvas)
    }
}
