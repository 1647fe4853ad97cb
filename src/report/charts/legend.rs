//! The line that says which marker is which backend.

use super::scene::{Align, Point, Scene, Shape};
use super::text::{self, SMALL};
use super::theme::Theme;

/// Radius of a marker, here and in the charts, px.
pub(super) const DOT: f64 = 4.5;

/// Width of an entry: marker, name, distance to the next, px.
fn entry(name: &str) -> f64 {
    16.0 + text::width(name, SMALL, false) + 18.0
}

/// Width of a legend with these names, px.
pub(super) fn width<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(entry).sum()
}

/// Draws the categories (index and name), then what a dot and a stroke mean if
/// the chart has both.
pub(super) fn draw(
    scene: &mut Scene,
    (mut x, y): Point,
    categories: &[(usize, String)],
    kinds: Option<&[String; 2]>,
    theme: &Theme,
) {
    for (category, name) in categories {
        scene.marker(Shape::category(*category), (x, y), DOT, theme.category(*category));
        scene.text((x + 11.0, y), name.as_str(), SMALL, Align::Start, theme.text);
        x += entry(name);
    }
    for (index, name) in kinds.into_iter().flatten().enumerate() {
        if index == 0 {
            scene.marker(Shape::Disc, (x, y), DOT, theme.muted);
        } else {
            scene.stroke((x, y), theme.muted);
        }
        scene.text((x + 11.0, y), name.as_str(), SMALL, Align::Start, theme.text);
        x += entry(name);
    }
}
