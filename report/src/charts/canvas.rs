//! Shapes and text in px as SVG.
//!
//! The files come out the same on every machine: text is measured with an embedded font,
//! coordinates are whole tenths of a pixel, and nothing depends on the clock or the locale.

use ab_glyph::{Font, FontRef, ScaleFont};
use std::fmt::{self, Display, Formatter};
use std::sync::LazyLock;
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
/// Coordinates are whole; so many of them are a pixel, or curves would have steps.
const UNITS: f64 = 10.0;
/// The height of a line of the font, which scales it, is larger than the em by this factor.
const LINE_PER_EM: f64 = 1.24;

/// A point, px from the upper left corner.
pub(super) type Point = (f64, f64);

/// Red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Color(pub u8, pub u8, pub u8);

impl Display for Color {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// The colours of a shape: its outline, and what is inside of that.
pub(super) type Paint = (Color, Color);

/// The part of a text at which its point lies.
#[derive(Debug, Clone, Copy, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A chart with its shapes, from back to front.
pub(super) struct Canvas {
    size: Point,
    /// For readers who do not see it.
    pub title: String,
    background: Color,
    /// Elements of SVG.
    shapes: String,
}

impl Canvas {
    pub(super) fn new(size: Point, title: &str, background: Color) -> Self {
        let size = (size.0.ceil().max(1.0), size.1.ceil().max(1.0));
        let mut canvas = Self { size, title: title.to_owned(), background, shapes: String::new() };
        canvas.rect((0.0, 0.0), size, background);
        canvas
    }

    pub(super) fn text(&mut self, at: Point, text: &str, anchor: Anchor, color: Color) {
        self.add_text(at, text, anchor, (SMALL, ""), color);
    }

    /// Adds a bold heading that begins at a point.
    pub(super) fn heading(&mut self, at: Point, text: &str, size: f64, color: Color) {
        self.add_text(at, text, Anchor::Start, (size, " font-weight=\"bold\""), color);
    }

    fn add_text(&mut self, at: Point, text: &str, anchor: Anchor, font: (f64, &str), color: Color) {
        let (x, y, (size, weight)) = (whole(at.0), whole(at.1), font);
        let (size, text) = (whole(size), html(text).replace('\'', "&apos;"));
        self.shapes += &format!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.5ex\" text-anchor=\"{anchor}\" \
             font-family=\"sans-serif\" font-size=\"{size}\" opacity=\"1\" \
             fill=\"{color}\"{weight}>\n{text}\n</text>\n"
        );
    }

    pub(super) fn path(&mut self, corners: &[Point], width: u32, color: Color) {
        self.line(corners, width, "", color);
    }

    /// Adds a line with corners in dashes: their lengths and those of the gaps in turns, px.
    /// Without any, the line is solid.
    pub(super) fn dashed(&mut self, corners: &[Point], dashes: &[f64], color: Color) {
        let lengths: Vec<String> = dashes.iter().map(|own| whole(*own).to_string()).collect();
        let dashes = match lengths.is_empty() {
            true => String::new(),
            false => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
        };
        self.line(corners, 2, &dashes, color);
    }

    fn line(&mut self, corners: &[Point], width: u32, dashes: &str, color: Color) {
        let width = whole(f64::from(width));
        let corners: String =
            corners.iter().map(|(x, y)| format!("{},{} ", whole(*x), whole(*y))).collect();
        self.shapes += &format!(
            "<polyline fill=\"none\" opacity=\"1\" stroke=\"{color}\" stroke-width=\"{width}\" \
             points=\"{corners}\"{dashes}/>\n"
        );
    }

    pub(super) fn rect(&mut self, (x, y): Point, (width, height): Point, color: Color) {
        let [left, top, right, bottom] = [x, y, x + width, y + height].map(whole);
        let (width, height) = (right - left, bottom - top);
        self.shapes += &format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" opacity=\"1\" \
             fill=\"{color}\" stroke=\"none\"/>\n"
        );
    }

    fn circle(&mut self, (x, y): Point, radius: f64, color: Color) {
        let [x, y, radius] = [x, y, radius].map(whole);
        self.shapes += &format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" opacity=\"1\" fill=\"{color}\" \
             stroke=\"none\" stroke-width=\"1\"/>\n"
        );
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
        self.circle(at, DOT, paint.0);
        if let Some((width, inside)) = self.inside(paint, hollow) {
            self.circle(at, DOT - width, inside);
        }
    }

    /// The width of an outline, px, and the colour inside of it; `None` for a shape of one colour.
    fn inside(&self, (outline, inside): Paint, hollow: bool) -> Option<(f64, Color)> {
        let pale = (inside != outline).then_some((EDGE, inside));
        if hollow { Some((OUTLINE, self.background)) } else { pale }
    }

    pub(super) fn svg(&self) -> String {
        let ((width, height), shapes) = (self.size, &self.shapes);
        let [wide, high] = [width, height].map(whole);
        // Readers that cannot show the picture read its title.
        let title = html(&self.title);
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {wide} {high}\" \
             xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n<title>{title}</title>\n\
             {shapes}</svg>\n"
        )
    }
}

/// A length in whole units, clamped to what a picture can hold; the cast loses only fractions.
fn whole(length: f64) -> i32 {
    (length * UNITS).round().clamp(-300_000.0, 300_000.0) as i32
}

/// The embedded fonts, normal and bold.
static FONTS: LazyLock<[Option<FontRef<'static>>; 2]> = LazyLock::new(|| {
    let fonts = [dejavu::sans::regular(), dejavu::sans::bold()];
    fonts.map(|font| FontRef::try_from_slice(font).ok())
});

/// Width of a text, px. The embedded font is wider than most: the reader's own font fits all
/// the more.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let Some(font) = &FONTS[usize::from(bold)] else {
        // A generous mean width of a letter.
        return text.chars().count() as f64 * size * 0.65;
    };
    let font = font.as_scaled((size * LINE_PER_EM) as f32);
    let (mut width, mut last) = (0.0_f32, None);
    for glyph in text.chars().map(|letter| font.glyph_id(letter)) {
        width += font.h_advance(glyph);
        width += last.map_or(0.0, |last| font.kern(last, glyph));
        last = Some(glyph);
    }
    f64::from(width.floor())
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
    fn long_texts_lose_their_end() {
        assert!(FONTS.iter().all(Option::is_some));
        let whole = "Now: a processor of a long name (family 6, model 167)";
        assert_eq!(fitted(whole, 1000.0, NORMAL), whole);
        let short = fitted(whole, 200.0, NORMAL);
        assert!(short.starts_with("Now: a proc") && short.ends_with('…'), "{short}");
        assert!(width(&short, NORMAL, true) <= 200.0);
        assert_eq!(fitted(whole, 0.0, NORMAL), "");
    }

    #[test]
    fn marked_values_are_hollow() {
        let (white, blue) = (Color(255, 255, 255), Color(0, 0, 255));
        let drawn = |hollow| {
            let mut canvas = Canvas::new((100.0, 50.0), "a <b>", white);
            canvas.bar((10.0, 10.0), (50.0, 10.0), (blue, blue), hollow);
            canvas.dot((80.0, 15.0), (blue, blue), hollow);
            canvas.svg()
        };
        let shapes = |svg: &str, color: &str| svg.matches(&format!("fill=\"{color}\"")).count();
        let (filled, hollow) = (drawn(false), drawn(true));
        assert_eq!((shapes(&filled, "#FFFFFF"), shapes(&filled, "#0000FF")), (1, 2));
        assert_eq!((shapes(&hollow, "#FFFFFF"), shapes(&hollow, "#0000FF")), (3, 2));
        assert!(hollow.contains("<title>a &lt;b&gt;</title>"));
        assert!(hollow.starts_with("<svg width=\"100\" height=\"50\" viewBox=\"0 0 1000 500\""));
    }
}
