//! Four words at a time.

/// Adds four words to each four of an array, in place; what is left at its end is returned.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(crate) fn add(words: &mut [u32], more: [u32; 4]) -> &mut [u32] {
    use core::arch::wasm32::{u32x4, u32x4_add, v128, v128_load, v128_store};

    let [a, b, c, d] = more;
    let more = u32x4(a, b, c, d);
    let (fours, rest) = words.as_chunks_mut::<4>();
    for four in fours {
        let place = four.as_mut_ptr().cast::<v128>();
        // SAFETY: the 16 bytes of `four` are initialised and borrowed mutably, and neither
        // instruction wants them aligned.
        unsafe { v128_store(place, u32x4_add(v128_load(place), more)) };
    }
    rest
}

/// The same where the module has no vectors, and on the host, whose compiler makes vectors
/// of it.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(crate) fn add(words: &mut [u32], more: [u32; 4]) -> &mut [u32] {
    let (fours, rest) = words.as_chunks_mut::<4>();
    for four in fours {
        for (word, more) in four.iter_mut().zip(more) {
            *word = word.wrapping_add(more);
        }
    }
    rest
}
