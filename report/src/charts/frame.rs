//! The common parts of charts: width, title, legend, the note on hollow marks.
//!
//! Axes: values to pixels, and the round values that have a mark.

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

/// Height of the axis' labels, px.
pub(super) const FOOT: f64 = 24.0;

/// The texts of a chart beside its marks.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub title: String,
    /// The quantity on the axis, with the unit where the labels do not have it.
    pub axis: String,
    /// The meaning of colours or marks, where it is not written beside them.
    pub legend: Vec<(Fill, String)>,
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
        let mut note = self.note.clone();
        // Unless the note is about marks.
        if has_marked && !note.contains(MARK) {
            note += &format!(" {MARK}, hollow: touched by interference, may read up to 2× slow.");
        }
        let notes = wrapped(&note, WIDTH - 2.0 * MARGIN);
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
}

/// A text in lines of small text that are at most so wide, where its words allow it.
fn wrapped(text: &str, most: f64) -> Vec<String> {
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

/// How an axis spreads its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Equal ratios have equal lengths.
    Logarithmic,
    /// From zero.
    Linear,
}

/// An axis from one value to another, on a stretch of pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    spread: Spread,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// A logarithmic axis with a little air at both ends; `None` without any positive value.
    /// The pixels are set with [`Self::on`].
    pub(super) fn of_points(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = units::range(values)?;
        // At least a factor of two, else noise would fill the chart.
        let span = (high / low).log10();
        let air = (0.04 * span).max((0.3 - span) / 2.0);
        Some(Self::new(Spread::Logarithmic, low / 10_f64.powf(air), high * 10_f64.powf(air)))
    }

    /// A logarithmic axis with room for values and their intervals.
    pub(super) fn of_estimates(values: impl IntoIterator<Item = Estimate>) -> Option<Self> {
        Self::of_points(values.into_iter().flat_map(|value| {
            let (low, high) = value.ends();
            [low, value.median, high]
        }))
    }

    /// An axis for bars, from zero.
    pub(super) fn of_bars(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Some(Self::new(Spread::Linear, 0.0, units::range(values)?.1))
    }

    pub(super) fn new(spread: Spread, low: f64, high: f64) -> Self {
        Self { spread, low, high, from: 0.0, to: 1.0 }
    }

    /// The same axis from pixel `from` to pixel `to`.
    pub(super) fn on(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// Pixel of a value; the end where it lies outside.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Logarithmic => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Pixels and values of the marks: as many round values as can have their labels at
    /// least `room` pixels apart.
    pub(super) fn marks(&self, room: f64) -> Vec<(f64, f64)> {
        let values = match self.spread {
            Spread::Linear => self.multiples(room),
            Spread::Logarithmic => self.round(),
        };
        let mut every = 1;
        while every < values.len() && self.closest(&values, every) < room {
            every += 1;
        }
        values.into_iter().step_by(every).map(|value| (self.at(value), value)).collect()
    }

    /// Multiples of a round step.
    fn multiples(&self, room: f64) -> Vec<f64> {
        let least = (self.high - self.low) * room / (self.to - self.from).abs();
        let decade = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = step.into_iter().find(|step| *step >= least).unwrap_or(10.0 * decade);
        let whole = |index: u32| self.low + f64::from(index) * step;
        (0..1000).map(whole).take_while(|value| *value <= self.high * 1.000_001).collect()
    }

    /// Round values: decades if there are at least three, else finer steps.
    fn round(&self) -> Vec<f64> {
        const STEPS: [&[f64]; 3] =
            [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]];
        // A little beyond the ends: a power of ten may be off by its last digit.
        let (low, high) = (self.low * 0.999_999, self.high * 1.000_001);
        // Some 20 decades at most.
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let inside = |steps: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
                .filter(|value| (low..=high).contains(value))
                .collect()
        };
        let enough = STEPS.iter().map(|steps| inside(steps)).find(|values| values.len() >= 3);
        enough.unwrap_or_else(|| inside(STEPS[2]))
    }

    /// Smallest distance between every `every`th of some values, pixels.
    fn closest(&self, values: &[f64], every: usize) -> f64 {
        let places: Vec<f64> = values.iter().step_by(every).map(|value| self.at(*value)).collect();
        let apart = places.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        apart.fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(axis: Axis, room: f64) -> Vec<f64> {
        axis.on(0.0, 300.0).marks(room).into_iter().map(|mark| mark.1).collect()
    }

    #[test]
    fn marks_keep_their_distance_and_are_round() {
        let axis = Axis::of_points([130.0, 6.2e7]).unwrap();
        assert_eq!(marks(axis, 60.0), [1e2, 1e4, 1e6, 1e8]);
        let narrow = Axis::of_points([3000.0, 4000.0]).unwrap();
        assert!(!marks(narrow, 60.0).is_empty());
        let from_zero = Axis::of_bars([21.0, 43.0]).unwrap();
        assert_eq!(marks(from_zero, 60.0), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert!(Axis::of_points([0.0, f64::NAN]).is_none());
    }
}
