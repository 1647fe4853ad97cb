//! Pixels as a small PNG file: at most 256 colours, packed as well as can be.
//!
//! A chart has few colours and, where text meets the ground, many shades that
//! lie between them. Shades beyond the 256 that cover most pixels are drawn in
//! the nearest of those; nobody sees it, and the file is a quarter of the size.

use anyhow::{Context, Result};
use png::{BitDepth, ColorType, Compression, Encoder, FilterType};
use std::collections::HashMap;

/// A palette can hold so many colours.
const MOST: usize = 256;

type Rgb = [u8; 3];

/// Encodes pixels, three bytes each, row by row. The same pixels give the same file.
pub(super) fn encode(rgb: &[u8], (width, height): (u32, u32)) -> Result<Vec<u8>> {
    let (pixels, _) = rgb.as_chunks::<3>();
    let palette = palette(pixels);
    let mut known: HashMap<Rgb, u8> = HashMap::new();
    let indices: Vec<u8> = pixels
        .iter()
        .map(|pixel| *known.entry(*pixel).or_insert_with(|| nearest(&palette, *pixel)))
        .collect();

    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(palette.as_flattened());
    encoder.set_compression(Compression::Best);
    // Neighbouring indices are no neighbouring colours: nothing to filter.
    encoder.set_filter(FilterType::NoFilter);
    let mut writer = encoder.write_header().context("encoding a chart")?;
    writer.write_image_data(&indices).context("encoding a chart")?;
    writer.finish().context("encoding a chart")?;
    Ok(file)
}

/// The colours that cover most pixels, the most frequent first.
fn palette(pixels: &[Rgb]) -> Vec<Rgb> {
    let mut counts: HashMap<Rgb, usize> = HashMap::new();
    for pixel in pixels {
        *counts.entry(*pixel).or_default() += 1;
    }
    let mut counts: Vec<(Rgb, usize)> = counts.into_iter().collect();
    // By colour where the counts are equal: hashing decides nothing.
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.into_iter().take(MOST).map(|(color, _)| color).collect()
}

/// Index of the colour nearest to another; the first of equals.
fn nearest(palette: &[Rgb], color: Rgb) -> u8 {
    let distance = |other: &Rgb| -> u32 {
        color.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let index = (0..palette.len()).min_by_key(|index| distance(&palette[*index]));
    u8::try_from(index.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(file: &[u8]) -> Vec<u8> {
        let mut decoder = png::Decoder::new(file);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    }

    #[test]
    fn few_colours_are_kept_as_they_are() {
        let pixels: Vec<u8> = (0..=255).flat_map(|shade| [shade, 7, 255 - shade]).collect();
        assert_eq!(decode(&encode(&pixels, (16, 16)).unwrap()), pixels);
    }

    #[test]
    fn rare_shades_become_the_nearest_frequent_colour() {
        // 300 shades; the first 256 twice.
        let shade = |n: usize| [u8::try_from(n / 2).unwrap(), u8::try_from(n % 2).unwrap(), 0];
        let pixels: Vec<Rgb> = (0..300).chain(0..256).map(shade).collect();
        let decoded = decode(&encode(pixels.as_flattened(), (4, 139)).unwrap());
        let (decoded, _) = decoded.as_chunks::<3>();
        assert_eq!(decoded[..256], pixels[..256]);
        assert_eq!(decoded[299], [127, 1, 0]);
    }
}
