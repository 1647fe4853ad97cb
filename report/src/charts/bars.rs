//! Groups of horizontal bars with their numbers, in one panel or in several beside each other. On a
//! logarithmic axis, where a bar would begin at an arbitrary value, they are dots with intervals.

use super::Form;
use super::canvas::{self, Anchor, Canvas, NORMAL, Point};
use super::frame::{self, Axis, FOOT, Frame, MARGIN, PAD, Spread, WIDTH};
use super::theme::{Fill, Theme};
use crate::markdown::NOTHING;
use crate::units::short;
use touchstone_record::Estimate;

pub(super) struct Bars {
    pub frame: Frame,
    pub spread: Spread,
    /// Headings above the panels; empty where a single panel has none.
    pub panels: Vec<String>,
    pub groups: Vec<Group>,
}

pub(super) struct Group {
    pub heading: String,
    pub rows: Vec<Row>,
}

/// Its colour and value.
pub(super) type Bar = (Fill, Option<Estimate>);

pub(super) struct Row {
    pub label: String,
    /// The bars of each panel, from above; `None` where there is no value.
    pub panels: Vec<Vec<Bar>>,
}

/// Height of a group's heading, px.
const HEAD: f64 = 26.0;
/// Height of a bar among several of a row, with its distance to the next, px.
const PITCH: f64 = 15.0;
/// Height of a bar that is the only one of its row, with its distance to the next, px.
const ALONE: f64 = 20.0;
/// Distance between groups, px.
const BREAK: f64 = 8.0;
/// Distance between panels, px.
const GAP: f64 = 24.0;

impl Bars {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    fn values(&self, panel: usize) -> impl Iterator<Item = Estimate> {
        let bars = self.rows().filter_map(move |row| row.panels.get(panel)).flatten();
        bars.filter_map(|bar| bar.1)
    }
}

impl Form for Bars {
    fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        self.rows().next()?;
        let heads = if self.panels.iter().any(|heading| !heading.is_empty()) { HEAD } else { 0.0 };
        let bars = |row: &Row| row.panels.iter().map(Vec::len).max().unwrap_or(1);
        let is_single = self.rows().all(|row| bars(row) == 1);
        let (pitch, air) = if is_single { (ALONE, 5.0) } else { (PITCH, 9.0) };
        let tall = |row: &Row| bars(row) as f64 * pitch + air;
        let of_group = |group: &Group| {
            let heading = if group.heading.is_empty() { 0.0 } else { HEAD };
            heading + group.rows.iter().map(tall).sum::<f64>() + BREAK
        };
        let height = heads + self.groups.iter().map(of_group).sum::<f64>() - BREAK;
        let count = self.panels.len();
        let has_marked = (0..count).flat_map(|panel| self.values(panel)).any(|v| v.marked);
        let mut canvas = self.frame.canvas(height + FOOT, has_marked, theme);
        let left = MARGIN + canvas::widest(self.rows().map(|row| &row.label)) + PAD;
        let width = ((WIDTH - MARGIN - left + GAP) / count as f64 - GAP).max(40.0);
        let begin = |panel: usize| left + panel as f64 * (width + GAP);
        let top = self.frame.top();
        let axis = |panel: usize| {
            let room = canvas::widest(self.values(panel).map(|value| short(&value))) + PAD;
            let axis = match self.spread {
                Spread::Linear => Axis::of_bars(self.values(panel).map(|value| value.median))?,
                Spread::Logarithmic => Axis::of_estimates(self.values(panel))?,
            };
            Some(axis.on(begin(panel), begin(panel) + (width - room).max(20.0)))
        };
        let axes: Vec<Option<Axis>> = (0..count).map(axis).collect();
        for (panel, (axis, heading)) in axes.iter().zip(&self.panels).enumerate() {
            if !heading.is_empty() {
                let heading = canvas::fitted(heading, width, NORMAL);
                canvas.heading((begin(panel), top + HEAD / 2.0), &heading, NORMAL, theme.text);
            }
            if let Some(axis) = axis {
                frame::grid(&mut canvas, axis, (top + heads, top + height), theme);
            }
        }
        let mut y = top + heads;
        for group in &self.groups {
            if !group.heading.is_empty() {
                let wide = canvas::width(&group.heading, NORMAL, true);
                canvas.rect((MARGIN, y + 2.0), (wide + PAD, HEAD - 4.0), theme.background);
                canvas.heading((MARGIN, y + HEAD / 2.0), &group.heading, NORMAL, theme.text);
                y += HEAD;
            }
            for row in &group.rows {
                let own = tall(row);
                canvas.text((left - PAD, y + own / 2.0), &row.label, Anchor::End, theme.text);
                for (panel, (bars, axis)) in row.panels.iter().zip(&axes).enumerate() {
                    let Some(axis) = axis else { continue };
                    let first = y + (own - bars.len() as f64 * pitch) / 2.0;
                    for (index, bar) in bars.iter().enumerate() {
                        let corner = (begin(panel), first + index as f64 * pitch);
                        draw(&mut canvas, (axis, self.spread), (corner, pitch), *bar, theme);
                    }
                }
                y += own;
            }
            y += BREAK;
        }
        Some(canvas)
    }
}

/// Draws a bar, or a dot with its interval, and its number; a dash without a value.
fn draw(
    canvas: &mut Canvas,
    (axis, spread): (&Axis, Spread),
    ((begin, y), pitch): (Point, f64),
    (fill, value): Bar,
    theme: &Theme,
) {
    let middle = y + pitch / 2.0;
    let Some(value) = value else {
        return canvas.text((begin + 3.0, middle), NOTHING, Anchor::Start, theme.muted);
    };
    let (at, paint) = (axis.at(value.median), theme.paint(fill));
    let end = match spread {
        Spread::Linear => {
            let end = at.max(begin + 2.0);
            canvas.bar((begin, y + 1.0), (end - begin, pitch - 2.0), paint, value.marked);
            end
        }
        Spread::Logarithmic => {
            frame::whisker(canvas, axis, middle, &value, paint.0);
            canvas.dot((at, middle), paint, value.marked);
            axis.at(value.ends().1).max(at + canvas::DOT)
        }
    };
    let ground = (theme.background, theme.text);
    frame::on_ground(canvas, (end + 5.0, middle), &short(&value), ground);
}
