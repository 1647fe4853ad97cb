//! A matrix of small integers: by a number, by a vector and by itself.

use super::crc::Crc;

const SIZE: usize = 12;

/// Makes a matrix, multiplies it by a number, and adds some bits of every element of what
/// it then makes with its first row and with itself.
pub fn round(seed: u16, crc: &mut Crc) {
    let mut matrix: [[i16; SIZE]; SIZE] = core::array::from_fn(|row| {
        core::array::from_fn(|column| {
            seed.wrapping_mul((row * SIZE + column + 1) as u16).rotate_left(3) as i16 & 0xff
        })
    });
    for element in matrix.as_flattened_mut() {
        *element = element.wrapping_mul(seed as i16 | 1);
    }
    for row in &matrix {
        let product: i32 = row.iter().zip(&matrix[0]).map(|(a, b)| wide(*a, *b)).fold(0, add);
        crc.add(folded(product));
    }
    for row in &matrix {
        for column in 0..SIZE {
            let product =
                row.iter().zip(&matrix).map(|(a, other)| wide(*a, other[column])).fold(0, add);
            crc.add(folded(product));
        }
    }
}

fn wide(a: i16, b: i16) -> i32 {
    i32::from(a) * i32::from(b)
}

fn add(a: i32, b: i32) -> i32 {
    a.wrapping_add(b)
}

/// Some of a product's bits from the middle, as CoreMark takes them, and its sign.
fn folded(product: i32) -> u16 {
    ((product >> 2 & 0xf) as u16 * (product >> 5 & 0x7f) as u16) ^ (product >> 16) as u16
}
