//! How much room text takes.
//!
//! Measured with the font that is embedded here, which is wider than most: in
//! an SVG the reader's own font is used and fits all the more.

use anyhow::{Result, bail};
use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};
use std::sync::OnceLock;

/// Smallest text in any chart, px.
pub(super) const SMALL: f64 = 11.0;
/// Text of labels, px.
pub(super) const NORMAL: f64 = 12.0;
/// Text of titles, px.
pub(super) const TITLE: f64 = 17.0;

/// What plotters calls a size is the height of a line; the em that SVG and
/// people mean is this much smaller.
const LINE_PER_EM: f64 = 1.24;

/// Makes the fonts known to plotters. The rest of this module needs it.
pub(super) fn register() -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font("sans-serif", FontStyle::Bold, dejavu::sans::bold()).is_ok()
    });
    if !done {
        bail!("the embedded fonts cannot be read");
    }
    Ok(())
}

/// The font for text of `size` px.
pub(super) fn font(size: f64, bold: bool) -> FontDesc<'static> {
    let style = if bold { FontStyle::Bold } else { FontStyle::Normal };
    FontDesc::new(FontFamily::SansSerif, size * LINE_PER_EM, style)
}

/// Width of a text, px.
pub(super) fn width(text: &str, size: f64, bold: bool) -> f64 {
    font(size, bold).box_size(text).map_or_else(
        // Without the font: a generous mean width of a letter.
        |_| f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX)) * size * 0.65,
        |(width, _)| f64::from(width),
    )
}

/// Widest of some texts, px; 0 without any.
pub(super) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>, size: f64) -> f64 {
    texts.into_iter().map(|text| width(text, size, false)).fold(0.0, f64::max)
}

/// Breaks a name into lines that fit, at spaces and after underscores. A part
/// that does not fit alone stays whole.
pub(super) fn wrap(text: &str, room: f64, size: f64, bold: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive(['_', ' ']) {
        match lines.last_mut() {
            Some(line) if width(format!("{line}{part}").trim_end(), size, bold) <= room => {
                line.push_str(part);
            }
            _ => lines.push(part.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}
