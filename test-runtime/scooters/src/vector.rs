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

/// The same with the host's vectors, which every x86-64 has.
///
/// Written out as well: the compiler sees which of the words get zero added, and makes an
/// addition in memory of each of the others.
#[cfg(target_arch = "x86_64")]
pub(crate) fn add(words: &mut [u32], more: [u32; 4]) -> &mut [u32] {
    use core::arch::x86_64::{__m128i, _mm_add_epi32, _mm_loadu_si128, _mm_storeu_si128};

    let (fours, rest) = words.as_chunks_mut::<4>();
    // SAFETY: `more` and each of the four words are 16 initialised bytes, and neither the load
    // nor the store wants them aligned.
    unsafe {
        let more = _mm_loadu_si128(more.as_ptr().cast());
        for four in fours {
            let place = four.as_mut_ptr().cast::<__m128i>();
            _mm_storeu_si128(place, _mm_add_epi32(_mm_loadu_si128(place), more));
        }
    }
    rest
}

/// The same where the module has no vectors, and on other hosts.
#[cfg(not(any(all(target_arch = "wasm32", target_feature = "simd128"), target_arch = "x86_64")))]
pub(crate) fn add(words: &mut [u32], more: [u32; 4]) -> &mut [u32] {
    let (fours, rest) = words.as_chunks_mut::<4>();
    for four in fours {
        for (word, more) in four.iter_mut().zip(more) {
            *word = word.wrapping_add(more);
        }
    }
    rest
}
