//! Colours that a colour-blind reader can tell apart, on a light and on a dark
//! ground.

use plotters::style::RGBColor;

/// The colours of one variant of every chart.
#[derive(Debug)]
pub(super) struct Theme {
    /// Opaque: a chart must be readable whatever page it lies on.
    pub background: RGBColor,
    /// Text that must be read.
    pub text: RGBColor,
    /// Text that may be overlooked.
    pub muted: RGBColor,
    /// Lines to look along.
    pub grid: RGBColor,
    /// Every other row.
    pub band: RGBColor,
    /// Cells without a value.
    pub missing: RGBColor,
    /// Categories, after Okabe and Ito; the order is the same in both themes.
    pub categories: [RGBColor; 7],
    /// From best to worst, all of one lightness direction.
    pub ramp: [RGBColor; 5],
}

/// Light ground.
pub(super) static LIGHT: Theme = Theme {
    background: RGBColor(0xfd, 0xfd, 0xfc),
    text: RGBColor(0x1f, 0x23, 0x28),
    muted: RGBColor(0x59, 0x63, 0x6e),
    grid: RGBColor(0xdc, 0xe0, 0xe5),
    band: RGBColor(0xf3, 0xf5, 0xf7),
    missing: RGBColor(0xe9, 0xec, 0xef),
    categories: [
        RGBColor(0x00, 0x72, 0xb2),
        RGBColor(0xd5, 0x5e, 0x00),
        RGBColor(0x00, 0x9e, 0x73),
        RGBColor(0xcc, 0x79, 0xa7),
        RGBColor(0xe6, 0x9f, 0x00),
        RGBColor(0x56, 0xb4, 0xe9),
        RGBColor(0x4d, 0x4d, 0x4d),
    ],
    ramp: RAMP,
};

/// Dark ground.
pub(super) static DARK: Theme = Theme {
    background: RGBColor(0x0d, 0x11, 0x17),
    text: RGBColor(0xe6, 0xed, 0xf3),
    muted: RGBColor(0x9d, 0xa7, 0xb3),
    grid: RGBColor(0x2d, 0x33, 0x3b),
    band: RGBColor(0x15, 0x1b, 0x23),
    missing: RGBColor(0x21, 0x26, 0x2d),
    categories: [
        RGBColor(0x56, 0xb4, 0xe9),
        RGBColor(0xe8, 0x73, 0x22),
        RGBColor(0x1f, 0xb8, 0x8b),
        RGBColor(0xd9, 0x8c, 0xb8),
        RGBColor(0xe6, 0x9f, 0x00),
        RGBColor(0xf0, 0xe4, 0x42),
        RGBColor(0xb8, 0xb8, 0xb8),
    ],
    ramp: RAMP,
};

/// Cividis, from its light end to its dark end: one ramp for both themes, so
/// that a colour means the same in both.
const RAMP: [RGBColor; 5] = [
    RGBColor(0xfe, 0xe8, 0x38),
    RGBColor(0xbc, 0xaf, 0x6f),
    RGBColor(0x7c, 0x7b, 0x78),
    RGBColor(0x3f, 0x4d, 0x6d),
    RGBColor(0x00, 0x22, 0x4e),
];

impl Theme {
    /// Colour of the category with this index; after the last it starts again.
    pub(super) fn category(&self, index: usize) -> RGBColor {
        self.categories[index % self.categories.len()]
    }

    /// Colour of a share from 0 (best) to 1 (worst).
    pub(super) fn ramp(&self, share: f64) -> RGBColor {
        // Clamped to the ramp: the cast cannot lose anything.
        let place = share.clamp(0.0, 1.0) * (self.ramp.len() - 1) as f64;
        let index = (place.floor() as usize).min(self.ramp.len() - 2);
        let part = place - index as f64;
        let (a, b) = (self.ramp[index], self.ramp[index + 1]);
        let mix =
            |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
        RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
    }
}

/// Black or white, whichever stands out more from `ground` (WCAG contrast).
pub(super) fn readable_on(ground: RGBColor) -> RGBColor {
    let linear = |channel: u8| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    let luminance =
        0.2126 * linear(ground.0) + 0.7152 * linear(ground.1) + 0.0722 * linear(ground.2);
    // Where both contrasts are equal: sqrt(1.05 × 0.05) − 0.05.
    if luminance > 0.179 { RGBColor(0x11, 0x11, 0x11) } else { RGBColor(0xff, 0xff, 0xff) }
}
