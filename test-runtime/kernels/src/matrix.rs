//! Matrix product.

use guest_support::Output;

/// The largest matrix, rows and columns.
const MOST: usize = 64;

type Matrix = [[f64; MOST]; MOST];

/// Takes a size `n`, up to 64, and multiplies two matrices of `n` rows and columns, in the
/// order row, inner, column. For `i` and `j` from 0, the one on the left has
/// `1 / (i + j + 1)` in row `i` and column `j`, the other `1 / (i + 2 j + 1)`.
///
/// Returns a digest of the product's elements, row by row: from `h = 0xcbf29ce484222325`,
/// with each element's bits `h = (h ^ bits) * 0x100000001b3`, modulo 2^64.
pub fn multiply(input: &[u8]) -> Output {
    let size = crate::amount(input, MOST as u32) as usize;
    let mut left: Matrix = [[0.0; MOST]; MOST];
    let mut right = left;
    let mut product = left;
    for row in 0..size {
        for column in 0..size {
            left[row][column] = 1.0 / (row + column + 1) as f64;
            right[row][column] = 1.0 / (row + 2 * column + 1) as f64;
        }
    }
    for (sums, factors) in product.iter_mut().zip(&left).take(size) {
        for (factor, others) in factors.iter().zip(&right).take(size) {
            for (sum, other) in sums.iter_mut().zip(others).take(size) {
                *sum += factor * other;
            }
        }
    }
    let elements = product.iter().take(size).flat_map(|row| &row[..size]);
    crate::answer(elements.fold(0xcbf2_9ce4_8422_2325, |digest: u64, element| {
        (digest ^ element.to_bits()).wrapping_mul(0x0100_0000_01b3)
    }))
}
