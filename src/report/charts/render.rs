//! Scenes as SVG and as PNG.
//!
//! Both come out the same on every machine: the font is embedded, coordinates
//! are whole pixels, and nothing depends on the clock or the locale.

use super::scene::{Align, Item, Point, Scene, Text};
use super::text;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Pixels of the PNG for one pixel of the scene: sharp on dense screens too.
const PNG_SCALE: f64 = 1.5;

/// Plotters centres a bitmap's text by its em box, an SVG's by the height of an
/// x. So much lower a bitmap's text must go to look the same, em.
const PNG_NUDGE: f64 = 0.15;

/// The scene as an SVG document.
pub(super) fn svg(scene: &Scene) -> Result<Vec<u8>> {
    let mut document = String::new();
    {
        let area = SVGBackend::with_string(&mut document, pixels(scene, 1.0)).into_drawing_area();
        draw(scene, &area, 1.0, 0.0)?;
    }
    // Readers that cannot show the picture read its title.
    let title = format!(" role=\"img\">\n<title>{}</title>\n", escape(&scene.title));
    Ok(document.replacen(">\n", &title, 1).into_bytes())
}

/// The scene as a PNG file.
pub(super) fn png(scene: &Scene) -> Result<Vec<u8>> {
    let (width, height) = pixels(scene, PNG_SCALE);
    // At most 30 000 pixels either way: the product fits.
    let mut rgb = vec![0; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut rgb, (width, height)).into_drawing_area();
        draw(scene, &area, PNG_SCALE, PNG_NUDGE)?;
    }
    super::png::encode(&rgb, (width, height))
}

/// Size in whole pixels.
fn pixels(scene: &Scene, scale: f64) -> (u32, u32) {
    // Scenes are at most some thousand pixels wide and high.
    let whole = |size: f64| (size * scale).ceil().clamp(1.0, 30_000.0) as u32;
    (whole(scene.size.0), whole(scene.size.1))
}

/// Draws every shape onto a backend; `nudge` moves text down, em.
fn draw<DB: DrawingBackend>(
    scene: &Scene,
    area: &DrawingArea<DB, plotters::coord::Shift>,
    scale: f64,
    nudge: f64,
) -> Result<()> {
    let failed = |error: DrawingAreaErrorKind<DB::ErrorType>| anyhow!("drawing a chart: {error}");
    // Clamped to what a picture can hold; the casts lose only fractions.
    let whole = |value: f64| (value * scale).round().clamp(-30_000.0, 30_000.0) as i32;
    let at = |(x, y): Point| (whole(x), whole(y));
    let wide = |width: f64| (width * scale).round().clamp(1.0, 1000.0) as u32;

    area.fill(&scene.background).map_err(failed)?;
    for item in &scene.items {
        match item {
            Item::Rect((x, y), (w, h), color) => {
                let corners = [at((*x, *y)), at((x + w, y + h))];
                area.draw(&Rectangle::new(corners, color.filled())).map_err(failed)?;
            }
            Item::Line(from, to, width, color) => {
                let style = color.stroke_width(wide(f64::from(*width)));
                area.draw(&PathElement::new([at(*from), at(*to)], style)).map_err(failed)?;
            }
            Item::Disc(centre, radius, color) => {
                let disc = Circle::new(at(*centre), wide(*radius), color.filled());
                area.draw(&disc).map_err(failed)?;
            }
            Item::Polygon(points, color) => {
                let points: Vec<(i32, i32)> = points.iter().map(|point| at(*point)).collect();
                area.draw(&Polygon::new(points, color.filled())).map_err(failed)?;
            }
            Item::Text(label) => {
                let place = at((label.at.0, label.at.1 + nudge * label.size));
                draw_text(area, label, place, scale).map_err(failed)?;
            }
        }
    }
    area.present().map_err(failed)
}

/// Draws one line of text.
fn draw_text<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    label: &Text,
    at: (i32, i32),
    scale: f64,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let side = match label.align {
        Align::Start => HPos::Left,
        Align::Middle => HPos::Center,
        Align::End => HPos::Right,
    };
    let style = TextStyle::from(text::font(label.size * scale, label.bold))
        .color(&label.color)
        .pos(Pos::new(side, VPos::Center));
    area.draw_text(&label.text, &style, at)
}

/// Text that XML can hold.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
