//! Writing the clean content only where it differs.
//!
//! A line that is stored to has to be written back to memory some day, also when
//! the value was there already; a line that is only compared does not. Most of
//! what a reset looks at is clean.
//!
//! The comparison is written with the processor's vectors: of a plain loop over
//! words the compiler makes one branch for each word, which takes five times as
//! long.

/// Bytes that are compared at once: a cache line.
const LINE: usize = 64;
type Line = [u8; LINE];

/// Makes `used` equal to `clean`; whether anything was another.
///
/// # Panics
///
/// When the two are not of the same length, or not of whole lines.
pub(super) fn restore(used: &mut [u8], clean: &[u8]) -> bool {
    let (used, rest) = used.as_chunks_mut::<LINE>();
    let (clean, clean_rest) = clean.as_chunks::<LINE>();
    assert!(rest.is_empty() && clean_rest.is_empty() && used.len() == clean.len());
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { x86::restore(used, clean) };
    }
    restore_lines(used, clean, |a, b| a != b)
}

/// Makes all of `used` zero; whether anything was not.
///
/// # Panics
///
/// When it is not of whole lines.
pub(super) fn clear(used: &mut [u8]) -> bool {
    let (used, rest) = used.as_chunks_mut::<LINE>();
    assert!(rest.is_empty());
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { x86::clear(used) };
    }
    clear_lines(used, |line| *line != [0; LINE])
}

#[inline(always)]
fn restore_lines(used: &mut [Line], clean: &[Line], differ: impl Fn(&Line, &Line) -> bool) -> bool {
    let mut changed = false;
    for (line, clean) in used.iter_mut().zip(clean) {
        if differ(line, clean) {
            *line = *clean;
            changed = true;
        }
    }
    changed
}

#[inline(always)]
fn clear_lines(used: &mut [Line], is_set: impl Fn(&Line) -> bool) -> bool {
    let mut changed = false;
    for line in used {
        if is_set(line) {
            *line = [0; LINE];
            changed = true;
        }
    }
    changed
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Line, clear_lines, restore_lines};
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_or_si256, _mm256_testz_si256, _mm256_xor_si256,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn restore(used: &mut [Line], clean: &[Line]) -> bool {
        restore_lines(used, clean, |a, b| {
            let ([a, b], [c, d]) = (halves(a), halves(b));
            is_set(_mm256_or_si256(_mm256_xor_si256(a, c), _mm256_xor_si256(b, d)))
        })
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn clear(used: &mut [Line]) -> bool {
        clear_lines(used, |line| {
            let [a, b] = halves(line);
            is_set(_mm256_or_si256(a, b))
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(line: &Line) -> [__m256i; 2] {
        let start = line.as_ptr().cast::<__m256i>();
        // SAFETY: both halves of the line are 32 readable bytes, at any address.
        unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn is_set(bits: __m256i) -> bool {
        _mm256_testz_si256(bits, bits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_page_is_looked_at() {
        let clean: Vec<u8> = (0..4 * LINE).map(|index| (index % 251) as u8).collect();
        for at in 0..clean.len() {
            let mut used = clean.clone();
            used[at] ^= 1;
            assert!(restore(&mut used, &clean), "byte {at}");
            assert_eq!(used, clean);
            let mut used = vec![0; clean.len()];
            used[at] = 1;
            assert!(clear(&mut used), "byte {at}");
            assert_eq!(used, vec![0; clean.len()]);
        }
        assert!(!restore(&mut clean.clone(), &clean));
        assert!(!clear(&mut vec![0; 4 * LINE]));
    }

    /// The same on processors without AVX2.
    #[test]
    fn without_vectors_it_is_the_same() {
        let clean = [[3; LINE], [4; LINE]];
        let mut used = [[3; LINE], [5; LINE]];
        assert!(restore_lines(&mut used, &clean, |a, b| a != b));
        assert_eq!(used, clean);
        assert!(!restore_lines(&mut used, &clean, |a, b| a != b));
        assert!(clear_lines(&mut used, |line| *line != [0; LINE]));
        assert_eq!(used, [[0; LINE]; 2]);
    }
}
