//! Writing the clean content only where it differs.
//!
//! Most of what a reset looks at is clean, and a line that is only compared need not be written
//! back to memory. Blocks of several lines are compared with the processor's vectors, one branch
//! each, and only in a block that differs line by line: a page takes a third less than with a
//! branch for each line. A block to be cleared whose ends are both not zero is written whole.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{BitOr, BitXor};

/// Bytes that are stored at once: a cache line.
const LINE: usize = 64;
/// Bytes that are compared at once.
pub(super) const BLOCK: usize = 512;

type Block = [u8; BLOCK];

/// How this processor compares and stores, chosen once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compare {
    restore: unsafe fn(&mut [Block], &[Block]) -> bool,
    clear: unsafe fn(&mut [Block]) -> bool,
    exchange: unsafe fn(&mut [Block], &mut [Block]) -> bool,
}

impl Compare {
    /// The fastest way that this processor has.
    pub(super) fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return avx512::COMPARE;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return avx2::COMPARE;
            }
        }
        plain::COMPARE
    }

    /// Makes `used` equal to `clean`; whether anything was another.
    #[inline]
    pub(super) fn restore(self, used: &mut [u8], clean: &[u8]) -> bool {
        let (used, rest) = used.as_chunks_mut::<BLOCK>();
        let (clean, clean_rest) = clean.as_chunks::<BLOCK>();
        assert!(rest.is_empty() && clean_rest.is_empty() && used.len() == clean.len());
        // SAFETY: `new` found that the processor has what the function needs.
        unsafe { (self.restore)(used, clean) }
    }

    /// Makes all of `used` zero; whether anything was not.
    #[inline]
    pub(super) fn clear(self, used: &mut [u8]) -> bool {
        let (used, rest) = used.as_chunks_mut::<BLOCK>();
        assert!(rest.is_empty());
        // SAFETY: as above.
        !used.is_empty() && unsafe { (self.clear)(used) }
    }

    /// Exchanges the contents of two pages; whether they differed.
    #[inline]
    pub(super) fn exchange(self, one: &mut [u8], other: &mut [u8]) -> bool {
        let (one, rest) = one.as_chunks_mut::<BLOCK>();
        let (other, other_rest) = other.as_chunks_mut::<BLOCK>();
        assert!(rest.is_empty() && other_rest.is_empty() && one.len() == other.len());
        // SAFETY: as above.
        unsafe { (self.exchange)(one, other) }
    }
}

/// The functions with vectors of one kind: how one is loaded from an address, `or` and `xor` of two
/// of them, and whether one has a bit set.
macro_rules! with_vectors {
    ($name:ident, $(#[$on:meta])?, $vector:ty, $load:path, $or:path, $xor:path, $is_set:expr) => {
        mod $name {
            use super::*;

            pub(super) const COMPARE: Compare = Compare { restore, clear, exchange };

            const WIDTH: usize = size_of::<$vector>();

            $(#[$on])?
            fn restore(used: &mut [Block], clean: &[Block]) -> bool {
                let mut changed = false;
                for (used, clean) in used.iter_mut().zip(clean) {
                    if differs::<BLOCK>(used, clean) {
                        changed = true;
                        let lines = used.as_chunks_mut::<LINE>().0.iter_mut();
                        for (line, clean) in lines.zip(clean.as_chunks::<LINE>().0) {
                            if differs::<LINE>(line, clean) {
                                *line = *clean;
                            }
                        }
                    }
                }
                changed
            }

            $(#[$on])?
            fn clear(used: &mut [Block]) -> bool {
                let mut changed = false;
                for used in used {
                    if is_set::<BLOCK>(used) {
                        changed = true;
                        let lines = used.as_chunks_mut::<LINE>().0;
                        let all = is_set(&lines[0]) && is_set(&lines[lines.len() - 1]);
                        for line in lines {
                            if all || is_set::<LINE>(line) {
                                *line = [0; LINE];
                            }
                        }
                    }
                }
                changed
            }

            $(#[$on])?
            fn exchange(one: &mut [Block], other: &mut [Block]) -> bool {
                let mut changed = false;
                for (one, other) in one.iter_mut().zip(other) {
                    if differs::<BLOCK>(one, other) {
                        changed = true;
                        let lines = one.as_chunks_mut::<LINE>().0.iter_mut();
                        for (line, other) in lines.zip(other.as_chunks_mut::<LINE>().0) {
                            if differs::<LINE>(line, other) {
                                std::mem::swap(line, other);
                            }
                        }
                    }
                }
                changed
            }

            #[inline]
            $(#[$on])?
            fn differs<const N: usize>(a: &[u8; N], b: &[u8; N]) -> bool {
                let mut bits = $xor(load(a, 0), load(b, 0));
                for at in (WIDTH..N).step_by(WIDTH) {
                    bits = $or(bits, $xor(load(a, at), load(b, at)));
                }
                $is_set(bits)
            }

            #[inline]
            $(#[$on])?
            fn is_set<const N: usize>(bytes: &[u8; N]) -> bool {
                let mut bits = load(bytes, 0);
                for at in (WIDTH..N).step_by(WIDTH) {
                    bits = $or(bits, load(bytes, at));
                }
                $is_set(bits)
            }

            #[inline]
            $(#[$on])?
            fn load<const N: usize>(bytes: &[u8; N], at: usize) -> $vector {
                assert!(at + WIDTH <= N);
                // SAFETY: so many bytes from there on lie in the array; the load needs no
                // alignment.
                unsafe { $load(bytes.as_ptr().add(at).cast()) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
with_vectors!(
    avx512,
    #[target_feature(enable = "avx512f")],
    __m512i,
    _mm512_loadu_si512,
    _mm512_or_si512,
    _mm512_xor_si512,
    |bits| _mm512_test_epi64_mask(bits, bits) != 0
);
#[cfg(target_arch = "x86_64")]
with_vectors!(
    avx2,
    #[target_feature(enable = "avx2")],
    __m256i,
    _mm256_loadu_si256,
    _mm256_or_si256,
    _mm256_xor_si256,
    |bits| _mm256_testz_si256(bits, bits) == 0
);
// For all other processors.
with_vectors!(plain, , u64, std::ptr::read_unaligned, u64::bitor, u64::bitxor, |bits| bits != 0);

#[cfg(test)]
mod tests {
    use super::*;

    /// All ways that this processor has.
    fn ways() -> Vec<Compare> {
        let mut ways = vec![Compare::new(), plain::COMPARE];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            ways.push(avx2::COMPARE);
        }
        ways
    }

    #[test]
    fn every_byte_of_a_page_is_looked_at() {
        let clean: Vec<u8> = (0..3 * BLOCK).map(|index| (index % 251) as u8).collect();
        for way in ways() {
            for at in 0..clean.len() {
                let mut used = clean.clone();
                used[at] ^= 1;
                assert!(way.restore(&mut used, &clean), "byte {at}");
                assert_eq!(used, clean);
                let mut used = vec![0; clean.len()];
                used[at] = 1;
                assert!(way.clear(&mut used), "byte {at}");
                assert_eq!(used, vec![0; clean.len()]);
                let mut other = clean.clone();
                other[at] ^= 1;
                let (mut used, changed) = (clean.clone(), other.clone());
                assert!(way.exchange(&mut used, &mut other), "byte {at}");
                assert!(used == changed && other == clean, "byte {at}");
            }
            assert!(!way.exchange(&mut clean.clone(), &mut clean.clone()));
            assert!(!way.restore(&mut clean.clone(), &clean));
            assert!(!way.clear(&mut vec![0; 4 * BLOCK]));
        }
    }

    #[test]
    fn all_that_differs_is_restored() {
        let clean: Vec<u8> = (0..8 * BLOCK).map(|index| (index % 253) as u8).collect();
        for way in ways() {
            for step in [1, 7, 64, 65, 511, 513, 4095] {
                let mut used = clean.clone();
                used.iter_mut().step_by(step).for_each(|byte| *byte = !*byte);
                let (mut one, mut other) = (used.clone(), clean.clone());
                assert!(way.exchange(&mut one, &mut other));
                assert!(one == clean && other == used, "every {step} bytes");
                assert!(way.restore(&mut used, &clean));
                assert!(used == clean, "every {step} bytes");
                assert!(way.clear(&mut used));
                assert!(used.iter().all(|byte| *byte == 0), "every {step} bytes");
            }
        }
    }
}
