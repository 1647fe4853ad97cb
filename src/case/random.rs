//! Random order from a recorded seed.

/// Random numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014). The same seed
/// gives the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn coin(&mut self) -> bool {
        self.next_number() >> 63 == 1
    }
}

/// The same items in random order (Fisher and Yates).
pub fn shuffled<T>(mut things: Vec<T>, random: &mut Random) -> Vec<T> {
    for last in (1..things.len()).rev() {
        // The bias of the remainder is below 2^-40 for any list that fits a run.
        let other = random.next_number() % (last as u64 + 1);
        things.swap(last, other as usize);
    }
    things
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let numbers = [(); 3].map(|()| random.next_number());
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn an_order_is_its_seeds_and_holds_everything() {
        let order = |seed| shuffled((0..100).collect::<Vec<_>>(), &mut Random::new(seed));
        assert_eq!(order(4), order(4));
        assert_ne!(order(4), order(5));
        let mut sorted = order(4);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert!(shuffled(Vec::<u8>::new(), &mut Random::new(1)).is_empty());
    }
}
