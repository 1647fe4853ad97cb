//! The order in which messages of two kinds come.

/// Which of the two kinds each message is of, drawn from a seed: the highest bits of
/// SplitMix64, one number a message. The same seed gives the same order on every
/// machine, and a longer order begins with the shorter one.
#[must_use]
pub fn random_order(seed: u64, messages: usize) -> Vec<usize> {
    let mut state = seed;
    (0..messages).map(|_| usize::from(splitmix(&mut state) >> 63 == 1)).collect()
}

/// The next number of SplitMix64 (Steele, Lea and Flood, 2014).
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The same messages by kind, those of `first` before the others.
#[must_use]
pub fn sorted(order: &[usize], first: usize) -> Vec<usize> {
    let mut sorted = order.to_vec();
    sorted.sort_by_key(|kind| *kind != first);
    sorted
}

/// How often a message is of another kind than the one before.
#[must_use]
pub fn changes(order: &[usize]) -> u64 {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut state = 1_234_567;
        let numbers = [(); 3].map(|()| splitmix(&mut state));
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(random_order(1_234_567, 3), [0, 0, 1]);
    }

    #[test]
    fn an_order_is_its_seeds_and_about_half_of_each_kind() {
        let order = random_order(4, 1024);
        assert_eq!(order, random_order(4, 1024));
        assert_eq!(order[..100], random_order(4, 100));
        assert_ne!(order, random_order(5, 1024));
        let second = order.iter().sum::<usize>();
        assert!((400..624).contains(&second), "{second}");
        assert!((400..624).contains(&changes(&order)), "{}", changes(&order));
    }

    #[test]
    fn sorted_are_the_same_messages_with_one_change() {
        let order = random_order(4, 64);
        for first in [0, 1] {
            let sorted = sorted(&order, first);
            assert_eq!((sorted[0], changes(&sorted)), (first, 1));
            let second = |order: &[usize]| order.iter().sum::<usize>();
            assert_eq!(second(&sorted), second(&order));
        }
        assert_eq!(changes(&[]), 0);
    }
}
