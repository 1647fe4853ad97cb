//! Colours that are distinct for colour-blind readers, on a light and a dark background.

use super::canvas::{Color, Paint};
use crate::tables::charts::Hue;

/// The colours of one variant of every chart.
pub(super) struct Theme {
    /// Opaque: a chart must be readable whatever page it lies on.
    pub background: Color,
    /// Text that must be read.
    pub text: Color,
    /// Text that may be overlooked.
    pub muted: Color,
    /// Lines to look along.
    pub grid: Color,
    /// Every other row.
    pub band: Color,
    /// The two ends of the scale of a heat table.
    heat: [Color; 2],
    /// One for each [`Hue`], in its order.
    hues: [u32; 10],
}

/// A colour as it is used: a hue, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fill {
    pub hue: Hue,
    /// The share of the hue; the rest is the background.
    pub share: f64,
}

impl Fill {
    /// All of a hue: a value with Touchstone's part in it.
    pub(super) fn full(hue: Hue) -> Self {
        Self { hue, share: 1.0 }
    }

    /// Half of it: a value of the runtime alone.
    pub(super) fn half(hue: Hue) -> Self {
        Self { hue, share: 0.5 }
    }
}

pub(super) static LIGHT: Theme = Theme {
    background: Color(0xfd, 0xfd, 0xfc),
    text: Color(0x1f, 0x23, 0x28),
    muted: Color(0x59, 0x63, 0x6e),
    grid: Color(0xdc, 0xe0, 0xe5),
    band: Color(0xf3, 0xf5, 0xf7),
    heat: [Color(0xf0, 0xf4, 0xf8), Color(0x08, 0x3c, 0x6e)],
    hues: [
        0x00_72_b2, 0x2a_94_c9, 0x7a_5c_b8, 0xc7_75_00, 0xa6_8b_00, 0x00_9e_73, 0xa8_2a_3c,
        0xcc_6f_a2, 0x8a_5a_3c, 0x6b_73_7c,
    ],
};

pub(super) static DARK: Theme = Theme {
    background: Color(0x0d, 0x11, 0x17),
    text: Color(0xe6, 0xed, 0xf3),
    muted: Color(0x9d, 0xa7, 0xb3),
    grid: Color(0x2d, 0x33, 0x3b),
    band: Color(0x15, 0x1b, 0x23),
    heat: [Color(0x16, 0x22, 0x30), Color(0x7c, 0xc4, 0xf5)],
    hues: [
        0x2f_92_d6, 0x6c_c4_f0, 0x9e_84_d8, 0xf0_9c_1a, 0xe3_ca_3a, 0x1f_b8_8b, 0xd8_5a_66,
        0xd9_8c_b8, 0xb0_80_60, 0x98_a0_a8,
    ],
};

impl Theme {
    pub(super) fn fill(&self, fill: Fill) -> Color {
        let [_, red, green, blue] = self.hues[fill.hue as usize].to_be_bytes();
        mix(self.background, Color(red, green, blue), fill.share)
    }

    pub(super) fn paint(&self, fill: Fill) -> Paint {
        (self.outline(fill), self.fill(fill))
    }

    /// The colour around a bar: its own, or all of its hue where the bar is too pale to be seen.
    fn outline(&self, fill: Fill) -> Color {
        let own = self.fill(fill);
        let is_seen = contrast(own, self.background) >= LEAST_CONTRAST;
        if is_seen { own } else { self.fill(Fill::full(fill.hue)) }
    }

    /// The ground of a cell of a heat table, 0 to 1, and the colour of text on it.
    pub(super) fn heat(&self, share: f64) -> (Color, Color) {
        let ground = mix(self.heat[0], self.heat[1], share);
        // Black and white are equally far from this luminance.
        let text = if luminance(ground) > 0.179 { Color(0, 0, 0) } else { Color(255, 255, 255) };
        (ground, text)
    }
}

/// Contrast that a shape must have with its ground, as WCAG asks for.
const LEAST_CONTRAST: f64 = 3.0;

/// Contrast of two colours as WCAG defines it, 1 to 21.
fn contrast(a: Color, b: Color) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    (a / b).max(b / a)
}

/// A share of the second colour in the first.
fn mix(a: Color, b: Color, share: f64) -> Color {
    // Between the two, so never out of range.
    let part = |a: u8, b: u8| {
        (f64::from(a) + (f64::from(b) - f64::from(a)) * share.clamp(0.0, 1.0)).round() as u8
    };
    Color(part(a.0, b.0), part(a.1, b.1), part(a.2, b.2))
}

/// Relative luminance as WCAG defines it, 0 to 1.
fn luminance(Color(red, green, blue): Color) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_is_seen_on_its_ground() {
        let hues = [
            Hue::Blue,
            Hue::Sky,
            Hue::Violet,
            Hue::Orange,
            Hue::Yellow,
            Hue::Green,
            Hue::Red,
            Hue::Pink,
            Hue::Brown,
            Hue::Grey,
        ];
        for theme in [&LIGHT, &DARK] {
            for (hue, share) in hues.into_iter().flat_map(|hue| [(hue, 1.0), (hue, 0.3)]) {
                let outline = theme.outline(Fill { hue, share });
                let contrast = contrast(outline, theme.background);
                assert!(contrast >= LEAST_CONTRAST, "{hue:?} {share}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn every_text_can_be_read_on_its_ground() {
        for theme in [&LIGHT, &DARK] {
            for ground in [theme.background, theme.band] {
                assert!(contrast(theme.text, ground) > 7.0);
                assert!(contrast(theme.muted, ground) > 4.5);
            }
            for step in 0..=20 {
                let (ground, text) = theme.heat(f64::from(step) / 20.0);
                assert!(contrast(text, ground) > 4.5, "{step}: {ground:?}");
            }
        }
    }
}
