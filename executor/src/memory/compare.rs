//! Writing the clean content only where it differs.
//!
//! A line that is stored to has to be written back to memory some day, also when
//! the value was there already; a line that is only compared does not. Most of
//! what a reset looks at is clean.

/// Bytes that are compared at once: a cache line.
const LINE: usize = 64;

/// Makes `used` equal to `clean`; whether anything was another.
///
/// # Panics
///
/// When the two are not of the same length, or not of whole lines.
pub(super) fn restore(used: &mut [u8], clean: &[u8]) -> bool {
    let (used, rest) = used.as_chunks_mut::<LINE>();
    let (clean, clean_rest) = clean.as_chunks::<LINE>();
    assert!(rest.is_empty() && clean_rest.is_empty() && used.len() == clean.len());
    let mut changed = false;
    for (line, clean) in used.iter_mut().zip(clean) {
        if differ(line, clean) {
            *line = *clean;
            changed = true;
        }
    }
    changed
}

/// Makes all of `used` zero; whether anything was not.
///
/// # Panics
///
/// When it is not of whole lines.
pub(super) fn clear(used: &mut [u8]) -> bool {
    let (used, rest) = used.as_chunks_mut::<LINE>();
    assert!(rest.is_empty());
    let mut changed = false;
    for line in used {
        if differ(line, &[0; LINE]) {
            *line = [0; LINE];
            changed = true;
        }
    }
    changed
}

/// Whether two lines differ. All words are looked at, without a branch in
/// between, so that the compiler makes vector instructions of it; leaving at the
/// first difference took ten times as long.
#[inline]
fn differ(a: &[u8; LINE], b: &[u8; LINE]) -> bool {
    let words = |line: &[u8; LINE]| {
        let (words, _) = line.as_chunks::<8>();
        std::array::from_fn::<u64, { LINE / 8 }, _>(|index| u64::from_ne_bytes(words[index]))
    };
    words(a).iter().zip(words(b)).fold(0, |seen, (a, b)| seen | (a ^ b)) != 0
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
}
