//! Shards of a run: parts that machines of one kind measure, each on its own.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const MOST: u32 = 4096;

/// One of the parts into which a run is divided, written `I/N`.
///
/// A case on a guest is in one shard, with all its engines, strategies, numbers of threads and
/// comparisons: every published ratio is of times from one machine. The division depends on the
/// names and the number of shards alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    pub of: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("'{text}' is no shard, which is I/N with I from 1 to N and N at most {MOST}")
        };
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let shard = Self { index: number(index)?, of: number(of)? };
        if shard.is_possible() { Ok(shard) } else { Err(wrong()) }
    }
}

impl Shard {
    /// `true` if there is a shard of this number.
    pub fn is_possible(self) -> bool {
        (1..=self.of).contains(&self.index) && self.of <= MOST
    }

    /// `true` if a case on a guest is in this shard.
    pub fn has(self, case: &str, guest: &str) -> bool {
        place(case, guest) % u64::from(self.of) == u64::from(self.index - 1)
    }
}

/// A number that names alone determine: FNV-1a, then the last step of MurmurHash3, because the low
/// bits of the first depend on few bits of the names.
fn place(case: &str, guest: &str) -> u64 {
    let bytes = case.bytes().chain([0]).chain(guest.bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(of: u32) -> impl Iterator<Item = Shard> {
        (1..=of).map(move |index| Shard { index, of })
    }

    #[test]
    fn texts_are_read_and_printed() {
        for text in ["1/1", "3/7", "4096/4096"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/4097", "1/2/3", "a/b", "1/99999999999"]
        {
            let error = wrong.parse::<Shard>().unwrap_err();
            assert!(error.contains("I from 1 to N"), "{error}");
        }
    }

    /// Machines with other builds of the standard library must divide in the same way.
    #[test]
    fn the_division_never_changes() {
        assert_eq!(place("", ""), 0xb903_4ad3_7056_f5fb);
        let of = |case, guest| all(6).find(|shard| shard.has(case, guest)).unwrap().index;
        assert_eq!(of("call_empty_function", "test_runtime"), 6);
        assert_eq!(of("dirty_1mb_of_memory", "test_runtime"), 4);
        // The end of the case's name is no part of the guest's.
        assert_ne!(place("ab", "c"), place("a", "bc"));
    }

    #[test]
    fn each_name_is_in_exactly_one_shard_and_none_has_much_more_than_its_share() {
        for of in [1, 2, 3, 6, 7, 16, 100] {
            let mut sizes = vec![0; of as usize];
            for number in 0..4000 {
                let (case, guest) = (format!("case_{number}"), format!("guest_{}", number % 7));
                let own: Vec<Shard> = all(of).filter(|shard| shard.has(&case, &guest)).collect();
                let [shard] = own[..] else { panic!("{case} is in {own:?}") };
                sizes[shard.index as usize - 1] += 1;
            }
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(most * of < 2 * 4000 && *least > 0, "{of} shards: {sizes:?}");
        }
    }
}
