//! What charts are drawn with: shapes and text in px, turned into SVG and PNG by plotters.
//!
//! Both files come out the same on every machine: the font is embedded, coordinates are
//! whole pixels, and nothing depends on the clock or the locale.

use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, register_font};

/// Smallest text in any chart, px.
pub(super) const SMALL: f64 = 11.0;
/// Text of headings, px.
pub(super) const NORMAL: f64 = 12.0;
/// Text of titles, px.
pub(super) const TITLE: f64 = 17.0;
/// Radius of a marker, px.
pub(super) const DOT: f64 = 4.5;
/// What plotters calls a size is the height of a line; the em that SVG and people mean is
/// this much smaller.
const LINE_PER_EM: f64 = 1.24;
/// Plotters centres a bitmap's text by its em box, an SVG's by the height of an x. So much
/// lower a bitmap's text must go to look the same, em.
const PNG_NUDGE: f64 = 0.15;

/// A point, px from the upper left corner.
pub(super) type Point = (f64, f64);

/// The corners of each form of marker, as multiples of its radius, so that all forms weigh
/// alike; a disc has none. The form is a second way, besides colour, to tell categories
/// apart: five forms against seven colours repeat only after 35.
const FORMS: [&[Point]; 5] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
    &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
    &[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
];

/// One shape.
enum Item {
    /// Corner, size.
    Rect(Point, Point),
    /// Ends, width.
    Line(Point, Point, u32),
    /// Index of the form, centre.
    Marker(usize, Point),
    /// Text of a size, bold or not, whose point is on a side of it.
    Text { at: Point, text: String, size: f64, bold: bool, side: HPos },
}

/// A whole chart, before it is SVG or PNG: both are drawn from the same list.
pub(super) struct Canvas {
    /// Size, px.
    pub size: Point,
    /// For readers who do not see it.
    pub title: String,
    /// Ground.
    pub background: RGBColor,
    /// Shapes with their colours, from back to front.
    items: Vec<(Item, RGBColor)>,
}

impl Canvas {
    /// An empty chart.
    pub(super) fn new(size: Point, title: &str, background: RGBColor) -> Self {
        Self { size, title: title.to_owned(), background, items: Vec::new() }
    }

    /// Adds small text; its point is on `side` of it.
    pub(super) fn text(&mut self, at: Point, text: &str, side: HPos, color: RGBColor) {
        // XML has no way to write most control characters.
        let text = text.replace(char::is_control, " ");
        self.items.push((Item::Text { at, text, size: SMALL, bold: false, side }, color));
    }

    /// Adds a bold heading that begins at a point.
    pub(super) fn heading(&mut self, at: Point, text: &str, size: f64, color: RGBColor) {
        let (text, side) = (text.replace(char::is_control, " "), HPos::Left);
        self.items.push((Item::Text { at, text, size, bold: true, side }, color));
    }

    /// Adds a line.
    pub(super) fn line(&mut self, from: Point, to: Point, width: u32, color: RGBColor) {
        self.items.push((Item::Line(from, to, width), color));
    }

    /// Adds a filled rectangle.
    pub(super) fn rect(&mut self, corner: Point, size: Point, color: RGBColor) {
        self.items.push((Item::Rect(corner, size), color));
    }

    /// Adds the marker of a category.
    pub(super) fn marker(&mut self, category: usize, at: Point, color: RGBColor) {
        self.items.push((Item::Marker(category % FORMS.len(), at), color));
    }

    /// Adds an upright stroke, for a second value beside a marker: thin, so that both show
    /// where they coincide.
    pub(super) fn stroke(&mut self, (x, y): Point, color: RGBColor) {
        self.line((x, y - 6.5), (x, y + 6.5), 2, color);
    }

    /// The chart as an SVG document.
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        let mut document = String::new();
        let area = SVGBackend::with_string(&mut document, self.pixels()).into_drawing_area();
        self.draw(&area, 0.0)?;
        drop(area);
        // Readers that cannot show the picture read its title.
        let title = self.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = format!(" role=\"img\">\n<title>{title}</title>\n");
        Ok(document.replacen(">\n", &title, 1).into_bytes())
    }

    /// The chart as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>> {
        let (width, height) = self.pixels();
        let mut rgb = vec![0; width as usize * height as usize * 3];
        let area = BitMapBackend::with_buffer(&mut rgb, (width, height)).into_drawing_area();
        self.draw(&area, PNG_NUDGE)?;
        drop(area);
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::Best);
        let mut writer = encoder.write_header().context("encoding a chart")?;
        writer.write_image_data(&rgb).context("encoding a chart")?;
        writer.finish().context("encoding a chart")?;
        Ok(file)
    }

    /// Size in whole pixels; charts are at most some thousand pixels wide and high.
    fn pixels(&self) -> (u32, u32) {
        let whole = |size: f64| size.ceil().clamp(1.0, 30_000.0) as u32;
        (whole(self.size.0), whole(self.size.1))
    }

    /// Draws every shape onto a backend; `nudge` moves text down, em.
    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, nudge: f64) -> Result<()> {
        let failed =
            |error: DrawingAreaErrorKind<DB::ErrorType>| anyhow!("drawing a chart: {error}");
        // Clamped to what a picture can hold; the casts lose only fractions.
        let whole = |value: f64| value.round().clamp(-30_000.0, 30_000.0) as i32;
        let at = |(x, y): Point| (whole(x), whole(y));
        area.fill(&self.background).map_err(failed)?;
        for (item, color) in &self.items {
            match item {
                Item::Rect((x, y), (w, h)) => {
                    let corners = [at((*x, *y)), at((x + w, y + h))];
                    area.draw(&Rectangle::new(corners, color.filled()))
                }
                Item::Line(from, to, width) => {
                    let style = color.stroke_width(*width);
                    area.draw(&PathElement::new([at(*from), at(*to)], style))
                }
                Item::Marker(form, centre) if FORMS[*form].is_empty() => {
                    area.draw(&Circle::new(at(*centre), DOT.ceil() as i32, color.filled()))
                }
                Item::Marker(form, (x, y)) => {
                    let corner = |corner: &Point| at((x + corner.0 * DOT, y + corner.1 * DOT));
                    let corners: Vec<(i32, i32)> = FORMS[*form].iter().map(corner).collect();
                    area.draw(&Polygon::new(corners, color.filled()))
                }
                Item::Text { at: (x, y), text, size, bold, side } => {
                    let style = TextStyle::from(font(*size, *bold))
                        .color(color)
                        .pos(Pos::new(*side, VPos::Center));
                    area.draw_text(text, &style, at((*x, y + nudge * size)))
                }
            }
            .map_err(failed)?;
        }
        area.present().map_err(failed)
    }
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

/// Width of a text, px. The embedded font is wider than most: in an SVG the reader's own
/// font is used and fits all the more.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    // Without the font: a generous mean width of a letter.
    let guess = |_| text.chars().count() as f64 * size * 0.65;
    font(size, bold).box_size(text).map_or_else(guess, |(width, _)| f64::from(width))
}

/// Widest of some small texts, px; 0 without any.
pub(super) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    texts.into_iter().map(|text| width(text, SMALL, false)).fold(0.0, f64::max)
}
