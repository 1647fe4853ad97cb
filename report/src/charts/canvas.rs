//! Shapes and text in px, turned into SVG by plotters.
//!
//! The files come out the same on every machine: text is measured with an embedded font,
//! coordinates are whole tenths of a pixel, and nothing depends on the clock or the locale.

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, register_font};
use touchstone_executor::text::line;
use touchstone_record::escape::html;

/// Text of labels and numbers, px: the smallest in any chart.
pub(super) const SMALL: f64 = 13.0;
/// Text of headings, px.
pub(super) const NORMAL: f64 = 14.0;
/// Text of titles, px.
pub(super) const TITLE: f64 = 18.0;
/// Radius of a dot, px.
pub(super) const DOT: f64 = 6.0;
/// Width of the outline of a hollow mark, px.
const OUTLINE: f64 = 2.0;
/// Width of the outline of a pale mark, px.
const EDGE: f64 = 1.0;
/// Plotters draws in whole units; so many of them are a pixel, or curves would have steps.
const UNITS: f64 = 10.0;
/// The font size of plotters is the height of a line, larger than the em of SVG by this factor.
const LINE_PER_EM: f64 = 1.24;

/// A point, px from the upper left corner.
pub(super) type Point = (f64, f64);

/// The colours of a shape: its outline, and what is inside of that.
pub(super) type Paint = (RGBColor, RGBColor);

/// One shape.
enum Item {
    /// Corner, size.
    Rect(Point, Point),
    /// Corners, width.
    Path(Vec<Point>, u32),
    /// Centre, radius.
    Dot(Point, f64),
    /// Text of a size, bold or not, whose point is on a side of it.
    Text(Point, String, (f64, bool, HPos)),
}

/// A whole chart, before it is SVG.
pub(super) struct Canvas {
    size: Point,
    /// For readers who do not see it.
    pub title: String,
    background: RGBColor,
    /// Shapes with their colours, from back to front.
    items: Vec<(Item, RGBColor)>,
}

impl Canvas {
    pub(super) fn new(size: Point, title: &str, background: RGBColor) -> Self {
        Self { size, title: title.to_owned(), background, items: Vec::new() }
    }

    /// Adds small text; its point is on `side` of it.
    pub(super) fn text(&mut self, at: Point, text: &str, side: HPos, color: RGBColor) {
        self.add_text(at, text, (SMALL, false, side), color);
    }

    /// Adds a bold heading that begins at a point.
    pub(super) fn heading(&mut self, at: Point, text: &str, size: f64, color: RGBColor) {
        self.add_text(at, text, (size, true, HPos::Left), color);
    }

    fn add_text(&mut self, at: Point, text: &str, style: (f64, bool, HPos), color: RGBColor) {
        // Plotters escapes the syntax of XML, which has no way to write most control characters.
        self.items.push((Item::Text(at, line(text), style), color));
    }

    /// Adds a line with corners.
    pub(super) fn path(&mut self, corners: Vec<Point>, width: u32, color: RGBColor) {
        self.items.push((Item::Path(corners, width), color));
    }

    /// Adds a line with corners in dashes: their lengths and those of the gaps in turns, px.
    /// Without any, the line is solid.
    pub(super) fn dashed(&mut self, corners: &[Point], dashes: &[f64], color: RGBColor) {
        for dash in pieces(corners, dashes) {
            self.path(dash, 2, color);
        }
    }

    /// Adds a filled rectangle.
    pub(super) fn rect(&mut self, corner: Point, size: Point, color: RGBColor) {
        self.items.push((Item::Rect(corner, size), color));
    }

    /// Adds a bar or a cell; hollow where its value is marked.
    pub(super) fn bar(&mut self, corner: Point, size: Point, paint: Paint, hollow: bool) {
        self.rect(corner, size, paint.0);
        if let Some((width, inside)) = self.inside(paint, hollow) {
            let room = (size.0 - 2.0 * width, size.1 - 2.0 * width);
            if room.0 > 0.0 && room.1 > 0.0 {
                self.rect((corner.0 + width, corner.1 + width), room, inside);
            }
        }
    }

    /// Adds a dot; hollow where its value is marked.
    pub(super) fn dot(&mut self, at: Point, paint: Paint, hollow: bool) {
        self.items.push((Item::Dot(at, DOT), paint.0));
        if let Some((width, inside)) = self.inside(paint, hollow) {
            self.items.push((Item::Dot(at, DOT - width), inside));
        }
    }

    /// The width of an outline, px, and the colour inside of it; `None` for a shape of one colour.
    fn inside(&self, (outline, inside): Paint, hollow: bool) -> Option<(f64, RGBColor)> {
        let pale = (inside != outline).then_some((EDGE, inside));
        if hollow { Some((OUTLINE, self.background)) } else { pale }
    }

    /// The chart as an SVG document.
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        let mut document = String::new();
        let (width, height) = (pixels(self.size.0), pixels(self.size.1));
        let [wide, high] = [width, height].map(|pixels| pixels * UNITS as u32);
        let area = SVGBackend::with_string(&mut document, (wide, high)).into_drawing_area();
        self.draw(&area)?;
        drop(area);
        let (_, shapes) =
            document.split_once('>').context("drawing a chart: no SVG was written")?;
        // Readers that cannot show the picture read its title.
        let title = html(&self.title);
        let svg = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {wide} {high}\" \
             xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n<title>{title}</title>{shapes}"
        );
        Ok(svg.into_bytes())
    }

    /// Draws every shape onto a backend.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Result<()> {
        let failed =
            |error: DrawingAreaErrorKind<DB::ErrorType>| anyhow!("drawing a chart: {error}");
        // Clamped to what a picture can hold; the casts lose only fractions.
        let whole = |value: f64| (value * UNITS).round().clamp(-300_000.0, 300_000.0) as i32;
        let units = |pixels: u32| pixels * UNITS as u32;
        let at = |(x, y): Point| (whole(x), whole(y));
        area.fill(&self.background).map_err(failed)?;
        for (item, color) in &self.items {
            match item {
                Item::Rect((x, y), (w, h)) => {
                    let corners = [at((*x, *y)), at((x + w, y + h))];
                    area.draw(&Rectangle::new(corners, color.filled()))
                }
                Item::Path(corners, width) => {
                    let corners: Vec<(i32, i32)> = corners.iter().copied().map(at).collect();
                    area.draw(&PathElement::new(corners, color.stroke_width(units(*width))))
                }
                Item::Dot(centre, radius) => {
                    area.draw(&Circle::new(at(*centre), whole(*radius), color.filled()))
                }
                Item::Text(point, text, (size, bold, side)) => {
                    let style = TextStyle::from(font(size * UNITS, *bold))
                        .color(color)
                        .pos(Pos::new(*side, VPos::Center));
                    area.draw_text(text, &style, at(*point))
                }
            }
            .map_err(failed)?;
        }
        area.present().map_err(failed)
    }
}

/// The pieces of a line with corners that its dashes leave: all of it where there are none.
fn pieces(corners: &[Point], dashes: &[f64]) -> Vec<Vec<Point>> {
    let mut lengths = dashes.iter().copied().cycle();
    let Some(mut left) = lengths.next() else { return vec![corners.to_vec()] };
    let mut pieces: Vec<Vec<Point>> =
        corners.first().map(|first| vec![*first]).into_iter().collect();
    let mut is_dash = true;
    for pair in corners.windows(2) {
        let ((mut x, mut y), (end_x, end_y)) = (pair[0], pair[1]);
        loop {
            let rest = (end_x - x).hypot(end_y - y);
            let step = left.min(rest);
            if rest > 0.0 {
                (x, y) = (x + (end_x - x) * step / rest, y + (end_y - y) * step / rest);
            }
            if let Some(piece) = pieces.last_mut().filter(|_| is_dash && step > 0.0) {
                piece.push((x, y));
            }
            left -= step;
            if left > 0.0 || rest <= step {
                break;
            }
            left = lengths.next().unwrap_or(f64::INFINITY);
            is_dash = !is_dash;
            if is_dash {
                pieces.push(vec![(x, y)]);
            }
        }
    }
    pieces
}

/// A size in whole pixels; charts are at most some thousand pixels wide and high.
fn pixels(size: f64) -> u32 {
    size.ceil().clamp(1.0, 30_000.0) as u32
}

/// Makes the fonts known to plotters. Everything else here needs it.
pub(super) fn register() -> Result<()> {
    let fonts =
        [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())];
    let register = |(style, font)| register_font("sans-serif", style, font);
    let registered = fonts.into_iter().try_for_each(register);
    registered.map_err(|_| anyhow!("the embedded fonts cannot be read"))
}

fn font(size: f64, bold: bool) -> FontDesc<'static> {
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    FontDesc::new(FontFamily::SansSerif, size * LINE_PER_EM, style)
}

/// Width of a text, px. The embedded font is wider than most: the reader's own font fits all
/// the more.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    // Without the font: a generous mean width of a letter.
    let guess = |_| text.chars().count() as f64 * size * 0.65;
    font(size, bold).box_size(text).map_or_else(guess, |(width, _)| f64::from(width))
}

/// A bold text that is at most `most` px wide: its end is left out if need be.
pub(super) fn fitted(text: &str, most: f64, size: f64) -> String {
    if width(text, size, true) <= most {
        return text.to_owned();
    }
    let mut ends = text.char_indices().rev().map(|(end, _)| format!("{}…", text[..end].trim_end()));
    ends.find(|short| width(short, size, true) <= most).unwrap_or_default()
}

/// Width of a small text, px.
pub(super) fn small(text: &str) -> f64 {
    width(text, SMALL, false)
}

/// Widest of some small texts, px; 0 without any.
pub(super) fn widest<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> f64 {
    texts.into_iter().map(|text| small(text.as_ref())).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners() {
        let corners = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)];
        assert_eq!(pieces(&corners, &[]), [corners.to_vec()]);
        let expected = [
            vec![(0.0, 0.0), (4.0, 0.0)],
            vec![(6.0, 0.0), (10.0, 0.0)],
            vec![(10.0, 2.0), (10.0, 6.0)],
            vec![(10.0, 8.0), (10.0, 10.0)],
        ];
        assert_eq!(pieces(&corners, &[4.0, 2.0]), expected);
        let around = pieces(&corners, &[15.0, 100.0]);
        assert_eq!(around, [vec![(0.0, 0.0), (10.0, 0.0), (10.0, 5.0)]]);
        assert_eq!(pieces(&[], &[4.0, 2.0]), Vec::<Vec<Point>>::new());
    }

    #[test]
    fn long_texts_lose_their_end() {
        register().unwrap();
        let whole = "Now: a processor of a long name (family 6, model 167)";
        assert_eq!(fitted(whole, 1000.0, NORMAL), whole);
        let short = fitted(whole, 200.0, NORMAL);
        assert!(short.starts_with("Now: a proc") && short.ends_with('…'), "{short}");
        assert!(width(&short, NORMAL, true) <= 200.0);
        assert_eq!(fitted(whole, 0.0, NORMAL), "");
    }

    #[test]
    fn marked_values_are_hollow() {
        let drawn = |hollow| {
            let mut canvas = Canvas::new((100.0, 50.0), "a <b>", WHITE);
            canvas.bar((10.0, 10.0), (50.0, 10.0), (BLUE, BLUE), hollow);
            canvas.dot((80.0, 15.0), (BLUE, BLUE), hollow);
            String::from_utf8(canvas.svg().unwrap()).unwrap()
        };
        let shapes = |svg: &str, color: &str| svg.matches(&format!("fill=\"{color}\"")).count();
        let (filled, hollow) = (drawn(false), drawn(true));
        assert_eq!((shapes(&filled, "#FFFFFF"), shapes(&filled, "#0000FF")), (1, 2));
        assert_eq!((shapes(&hollow, "#FFFFFF"), shapes(&hollow, "#0000FF")), (3, 2));
        assert!(hollow.contains("<title>a &lt;b&gt;</title>"));
        assert!(hollow.starts_with("<svg width=\"100\" height=\"50\" viewBox=\"0 0 1000 500\""));
    }
}
