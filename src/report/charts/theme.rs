//! Colours that are distinct for colour-blind readers, on a light and a dark background.

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
    /// Categories, after Okabe and Ito; the order is the same in both themes.
    categories: [RGBColor; 7],
}

/// Light ground.
pub(super) static LIGHT: Theme = Theme {
    background: RGBColor(0xfd, 0xfd, 0xfc),
    text: RGBColor(0x1f, 0x23, 0x28),
    muted: RGBColor(0x59, 0x63, 0x6e),
    grid: RGBColor(0xdc, 0xe0, 0xe5),
    band: RGBColor(0xf3, 0xf5, 0xf7),
    categories: [
        RGBColor(0x00, 0x72, 0xb2),
        RGBColor(0xd5, 0x5e, 0x00),
        RGBColor(0x00, 0x9e, 0x73),
        RGBColor(0xcc, 0x79, 0xa7),
        RGBColor(0xe6, 0x9f, 0x00),
        RGBColor(0x56, 0xb4, 0xe9),
        RGBColor(0x4d, 0x4d, 0x4d),
    ],
};

/// Dark ground.
pub(super) static DARK: Theme = Theme {
    background: RGBColor(0x0d, 0x11, 0x17),
    text: RGBColor(0xe6, 0xed, 0xf3),
    muted: RGBColor(0x9d, 0xa7, 0xb3),
    grid: RGBColor(0x2d, 0x33, 0x3b),
    band: RGBColor(0x15, 0x1b, 0x23),
    categories: [
        RGBColor(0x56, 0xb4, 0xe9),
        RGBColor(0xe8, 0x73, 0x22),
        RGBColor(0x1f, 0xb8, 0x8b),
        RGBColor(0xd9, 0x8c, 0xb8),
        RGBColor(0xe6, 0x9f, 0x00),
        RGBColor(0xf0, 0xe4, 0x42),
        RGBColor(0xb8, 0xb8, 0xb8),
    ],
};

impl Theme {
    /// Colour of the category with this index; after the last it starts again.
    pub(super) fn category(&self, index: usize) -> RGBColor {
        self.categories[index % self.categories.len()]
    }
}
