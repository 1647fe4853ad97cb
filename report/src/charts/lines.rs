//! Lines over two logarithmic axes, named at their ends; where the lowest line changes, the
//! point is marked and named.

use super::Form;
use super::canvas::{self, Anchor, Canvas, Point};
use super::frame::{self, Axis, FOOT, Frame, LINE, MARGIN, PAD, Spread, WIDTH};
use super::theme::{Fill, Theme};
use crate::tables::charts::Hue;
use crate::units;
use touchstone_record::Estimate;

pub(super) struct Lines {
    /// Title, legend and notes; the axis' text is that of the horizontal axis.
    pub frame: Frame,
    pub vertical: String,
    /// The values of the horizontal axis with a mark, and their labels.
    pub marks: Vec<(f64, String)>,
    pub series: Vec<Series>,
    pub crossings: Vec<Crossing>,
}

/// Length of the sample of a line with dashes, px: each of the patterns fits once.
const SAMPLE: f64 = 42.0;

pub(super) const LINES: [Hue; 6] =
    [Hue::Blue, Hue::Orange, Hue::Green, Hue::Red, Hue::Violet, Hue::Grey];

/// Distinct dashes, the solid line first.
pub(super) const DASHES: [&[f64]; 6] = [
    &[],
    &[14.0, 5.0],
    &[7.0, 5.0],
    &[2.5, 4.5],
    &[14.0, 4.0, 2.5, 4.0],
    &[7.0, 4.0, 2.5, 4.0, 2.5, 4.0],
];

pub(super) struct Series {
    /// Stands at its end.
    pub label: String,
    pub fill: Fill,
    /// Lengths of its dashes and of the gaps between them in turns, px; solid where there are
    /// none.
    pub dashes: &'static [f64],
    pub points: Vec<(f64, Estimate)>,
    /// `true` if its points are measured and therefore shown.
    pub dotted: bool,
}

impl Series {
    /// The line's height at `x`, straight between its points as drawn, on logarithmic axes.
    pub(super) fn at(&self, x: f64) -> Option<f64> {
        self.points.windows(2).find_map(|pair| {
            let [(left, from), (right, to)] = [pair[0], pair[1]];
            let share = (x / left).ln() / (right / left).ln();
            (0.0..=1.0)
                .contains(&share)
                .then(|| from.median * (to.median / from.median).powf(share))
        })
    }
}

/// A point at which another line becomes the lowest.
pub(super) struct Crossing {
    /// Where on the horizontal axis.
    pub x: f64,
    /// The time there, ns.
    pub y: f64,
    pub label: String,
}

/// Height of the plot, px.
const HEIGHT: f64 = 340.0;
/// Least distance of the names at the lines' ends, px.
const APART: f64 = 17.0;

impl Form for Lines {
    fn canvas(&self, theme: &Theme) -> Option<Canvas> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let vertical = Axis::of_points(points().map(|point| point.1.median))?;
        let (first, last) =
            units::range(points().map(|point| point.0)).filter(|(first, last)| first < last)?;
        let band = 1.5 * LINE + self.crossings.len() as f64 * LINE + 10.0;
        let is_marked = points().any(|point| point.1.marked);
        let mut canvas = self.frame.canvas(band + HEIGHT + FOOT, is_marked, theme);
        let top = self.frame.top() + band;
        let bottom = top + HEIGHT;
        let vertical = vertical.on(bottom, top);
        let ticks = vertical.marks(30.0).into_iter().map(|(y, ns)| (y, frame::tick(ns)));
        let ticks: Vec<(f64, String)> = ticks.collect();
        let left = MARGIN + canvas::widest(ticks.iter().map(|tick| &tick.1)) + PAD;
        let has_dashes = self.series.iter().any(|series| !series.dashes.is_empty());
        let sample = if has_dashes { SAMPLE } else { 0.0 };
        let names = WIDTH - MARGIN - canvas::widest(self.series.iter().map(|own| &own.label));
        let right = names - sample - 26.0;
        let horizontal = Axis::new(Spread::Logarithmic, first, last).on(left + 4.0, right);
        for (y, label) in &ticks {
            canvas.path(&[(left, *y), (right, *y)], 1, theme.grid);
            canvas.text((left - PAD, *y), label, Anchor::End, theme.muted);
        }
        let mut free = 0.0;
        for (value, label) in &self.marks {
            let (x, half) = (horizontal.at(*value), canvas::small(label) / 2.0);
            canvas.path(&[(x, top), (x, bottom)], 1, theme.grid);
            if x - half >= free {
                canvas.text((x, bottom + 12.0), label, Anchor::Middle, theme.muted);
                free = x + half + 10.0;
            }
        }
        let above = self.frame.top() + LINE / 2.0;
        canvas.text((MARGIN, above), &self.vertical, Anchor::Start, theme.muted);
        let at = |x: f64, y: f64| (horizontal.at(x), vertical.at(y));
        let crossings: Vec<(Point, &str)> =
            self.crossings.iter().map(|own| (at(own.x, own.y), &*own.label)).collect();
        for (index, ((x, end), label)) in crossings.iter().enumerate() {
            // A line of text for each above the plot, with a line down to the point.
            let y = above + 1.4 * LINE + index as f64 * LINE;
            let is_left = x + PAD + canvas::small(label) <= WIDTH - MARGIN;
            canvas.path(&[(*x, y - 8.0), (*x, *end)], 1, theme.muted);
            let (x, anchor) =
                if is_left { (x + PAD, Anchor::Start) } else { (x - PAD, Anchor::End) };
            canvas.text((x, y), label, anchor, theme.text);
        }
        let mut ends: Vec<(Point, &Series)> = Vec::new();
        for series in &self.series {
            let color = theme.fill(series.fill);
            let own = series.points.iter().map(|(x, value)| at(*x, value.median));
            let own: Vec<Point> = own.collect();
            canvas.dashed(&own, series.dashes, color);
            for (at, (x, value)) in own.iter().zip(&series.points).filter(|_| series.dotted) {
                if let Some((low, high)) = value.interval {
                    let ends = [low, high].map(|end| (horizontal.at(*x), vertical.at(end)));
                    canvas.path(&ends, 2, color);
                }
                canvas.dot(*at, (color, color), value.marked);
            }
            ends.extend(own.last().map(|end| (*end, series)));
        }
        for (at, _) in crossings {
            canvas.dot(at, (theme.text, theme.text), false);
        }
        ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
        let wanted: Vec<f64> = ends.iter().map(|end| end.0.1).collect();
        for (((x, from), series), y) in ends.into_iter().zip(apart(&wanted, (top, bottom))) {
            let (color, begin) = (theme.fill(series.fill), names - 4.0 - sample);
            canvas.path(&[(x + 8.0, from), (begin, y)], 1, color);
            canvas.dashed(&[(begin, y), (names - 4.0, y)], series.dashes, color);
            canvas.text((names, y), &series.label, Anchor::Start, theme.text);
        }
        Some(canvas)
    }
}

/// Places as near to some sorted ones as their distance and the room allow.
fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut places = wanted.to_vec();
    let mut least = top;
    for place in &mut places {
        *place = place.max(least);
        least = *place + APART;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - APART;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance_and_stay_inside() {
        let places = apart(&[10.0, 11.0, 12.0, 95.0, 99.0], (0.0, 100.0));
        assert_eq!(places, [10.0, 27.0, 44.0, 83.0, 100.0]);
    }
}
