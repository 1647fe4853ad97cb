//! A chart as a list of shapes, before it is SVG or PNG.
//!
//! Both outputs are drawn from the same list, so they cannot disagree, and a
//! test can look at the list.

use super::text::{self, NORMAL, TITLE};
use super::theme::Theme;
use crate::report::units::MARK;
use plotters::style::RGBColor;

/// Distance of everything from the edges, px.
pub(super) const MARGIN: f64 = 18.0;
/// Height of title, subtitle and legend, px.
pub(super) const TOP: f64 = 92.0;

/// A point, px from the upper left corner.
pub(super) type Point = (f64, f64);

/// Which side of a text its point is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// The text begins at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// One line of text, centred on its point vertically.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// Where it is.
    pub at: Point,
    /// What it says.
    pub text: String,
    /// Height of its em, px.
    pub size: f64,
    /// Whether it is bold.
    pub bold: bool,
    /// Which side the point is on.
    pub align: Align,
    /// Its colour.
    pub color: RGBColor,
}

/// One shape.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// A filled rectangle: corner, size, colour.
    Rect(Point, Point, RGBColor),
    /// A line: ends, width, colour.
    Line(Point, Point, u32, RGBColor),
    /// A filled disc: centre, radius, colour.
    Disc(Point, f64, RGBColor),
    /// A filled polygon.
    Polygon(Vec<Point>, RGBColor),
    /// Text.
    Text(Text),
}

/// A whole chart.
#[derive(Debug)]
pub(super) struct Scene {
    /// Size, px.
    pub size: (f64, f64),
    /// For readers who do not see it.
    pub title: String,
    /// Ground.
    pub background: RGBColor,
    /// Shapes, from back to front.
    pub items: Vec<Item>,
}

/// The form of a marker: a second way, besides colour, to tell categories apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// ●
    Disc,
    /// ■
    Square,
    /// ▲
    Up,
    /// ◆
    Diamond,
    /// ▼
    Down,
}

impl Shape {
    /// Form of the category with this index. Five forms against seven colours:
    /// the pairs repeat only after 35.
    pub(super) fn category(index: usize) -> Self {
        [Self::Disc, Self::Square, Self::Up, Self::Diamond, Self::Down][index % 5]
    }

    /// The corners around `at`, sized so that all forms weigh alike. `None` for a disc.
    fn corners(self, (x, y): Point, radius: f64) -> Option<Vec<Point>> {
        let r = radius;
        Some(match self {
            Self::Disc => return None,
            Self::Square => {
                let r = r * 0.9;
                vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)]
            }
            Self::Up => {
                vec![(x, y - r * 1.2), (x + r * 1.15, y + r * 0.85), (x - r * 1.15, y + r * 0.85)]
            }
            Self::Down => {
                vec![(x, y + r * 1.2), (x + r * 1.15, y - r * 0.85), (x - r * 1.15, y - r * 0.85)]
            }
            Self::Diamond => {
                let r = r * 1.25;
                vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
            }
        })
    }
}

impl Scene {
    /// A chart with nothing but title and subtitle, at least wide enough for both. The
    /// subtitle says what † means, where a value is marked.
    pub(super) fn new(
        (width, height): Point,
        title: &str,
        subtitle: &str,
        is_marked: bool,
        theme: &Theme,
    ) -> Self {
        let note = if is_marked { format!(" {MARK} Interference.") } else { String::new() };
        let subtitle = format!("{subtitle}{note}");
        let wide = text::width(title, TITLE, true).max(text::width(&subtitle, NORMAL, false))
            + 2.0 * MARGIN;
        let size = (width.max(wide), height);
        let background = theme.background;
        let mut scene = Self { size, title: title.to_owned(), background, items: Vec::new() };
        scene.bold((MARGIN, 24.0), title, TITLE, Align::Start, theme.text);
        scene.text((MARGIN, 47.0), subtitle, NORMAL, Align::Start, theme.muted);
        scene
    }

    /// Adds text.
    pub(super) fn text(
        &mut self,
        at: Point,
        text: impl Into<String>,
        size: f64,
        align: Align,
        color: RGBColor,
    ) {
        self.label(Text { at, text: text.into(), size, bold: false, align, color });
    }

    /// Adds bold text.
    pub(super) fn bold(
        &mut self,
        at: Point,
        text: impl Into<String>,
        size: f64,
        align: Align,
        color: RGBColor,
    ) {
        self.label(Text { at, text: text.into(), size, bold: true, align, color });
    }

    fn label(&mut self, mut text: Text) {
        // XML has no way to write most control characters.
        text.text = text.text.replace(char::is_control, " ");
        self.items.push(Item::Text(text));
    }

    /// Adds a line.
    pub(super) fn line(&mut self, from: Point, to: Point, width: u32, color: RGBColor) {
        self.items.push(Item::Line(from, to, width, color));
    }

    /// Adds a line of dashes.
    pub(super) fn dashed(&mut self, from: Point, to: Point, width: u32, color: RGBColor) {
        const DASH: f64 = 5.0;
        const GAP: f64 = 4.0;
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let at = |along: f64| (from.0 + dx * along / length, from.1 + dy * along / length);
        let mut start = 0.0;
        while start < length {
            self.line(at(start), at((start + DASH).min(length)), width, color);
            start += DASH + GAP;
        }
    }

    /// Adds a filled rectangle.
    pub(super) fn rect(&mut self, corner: Point, size: Point, color: RGBColor) {
        self.items.push(Item::Rect(corner, size, color));
    }

    /// Adds a filled marker.
    pub(super) fn marker(&mut self, shape: Shape, at: Point, radius: f64, color: RGBColor) {
        self.items.push(match shape.corners(at, radius) {
            None => Item::Disc(at, radius, color),
            Some(corners) => Item::Polygon(corners, color),
        });
    }

    /// Adds an upright stroke, for a second value beside a marker: thin, so that
    /// both show where they coincide.
    pub(super) fn stroke(&mut self, (x, y): Point, color: RGBColor) {
        self.line((x, y - 6.5), (x, y + 6.5), 2, color);
    }
}
