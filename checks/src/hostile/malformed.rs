//! Mutations of a valid guest: each is refused or runs harmlessly.

use super::bench::{BRIEF, Bench};
use super::guests;
use anyhow::Result;
use touchstone::plan::Random;
use touchstone_executor::guest::{self, GuestModule, HeapPages};
use touchstone_executor::{Abi, Error};

/// Mutations of each kind in a round.
const CUT: usize = 40;
const RANDOM: usize = 30;
const FLIPPED: usize = 100;
#[cfg(test)]
pub(super) const EACH_ROUND: usize = CUT + RANDOM + FLIPPED;

/// The mutations of a round, different in each round and the same on every machine.
pub(super) fn mutations(valid: &[u8], round: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(round as u64 + 1);
    let mut below = |limit: usize| (random.next_number() % limit.max(1) as u64) as usize;
    let mut all = Vec::new();
    for _ in 0..CUT {
        all.push(valid[..below(valid.len())].to_vec());
    }
    for index in 0..RANDOM {
        // Behind the header, so that not all fail at the first byte.
        let mut bytes = valid[..8 * (index % 2)].to_vec();
        bytes.extend((0..below(400)).map(|_| 0));
        bytes[8 * (index % 2)..].iter_mut().for_each(|byte| *byte = below(256) as u8);
        all.push(bytes);
    }
    for index in 0..FLIPPED {
        let mut bytes = valid.to_vec();
        for _ in 0..=index % 3 {
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
        }
        all.push(bytes);
    }
    all
}

/// Tries the mutations of a round.
pub(super) fn make(bench: &mut Bench<'_>, round: usize) -> Result<()> {
    let valid = wat::parse_str(guests::well())?;
    for bytes in mutations(&valid, round) {
        match run(bench, &bytes) {
            Ok(()) => bench.saw("runs without harm".to_owned()),
            Err(error) => bench.saw(kind(&error).to_owned()),
        }
    }
    Ok(())
}

/// Runs a mutation as far as possible; any answer is right.
fn run(bench: &mut Bench<'_>, bytes: &[u8]) -> touchstone_executor::Result<()> {
    let guest = GuestModule::new("mutation", bytes, HeapPages::default())?;
    let Ok(strategy) = bench.strategy(&guest) else { return Ok(()) };
    let artifact = bench.compile(&guest, strategy)?;
    let config = bench.config(BRIEF);
    let module = bench.engine.load(&guest, &artifact, strategy, &config)?;
    let mut instance = module.new_instance()?;
    for (name, abi) in [("count", Abi::Plain), ("count_packed", Abi::Substrate)] {
        let export = match module.export(name, abi) {
            Ok(export) => export,
            Err(Error::ExportUnsupported { .. }) => continue,
            Err(error) => return Err(error),
        };
        let _ = instance.call(export, b"", &mut Vec::new())?;
    }
    Ok(())
}

/// The kind of a refusal; the texts differ too much.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::Guest(guest::Error::NotAModule { .. }) => "refused: not a module",
        Error::Guest(guest::Error::Invalid { .. }) => "refused: does not validate",
        Error::Guest(guest::Error::Unhostable { .. }) => "refused: cannot be hosted",
        Error::NoSuchExport { .. } | Error::WrongSignature { .. } => "refused: no such export",
        Error::Runtime { .. } | Error::Instantiation { .. } => "refused by the runtime",
        _ => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_mutations_of_its_own_and_the_same_ones_again() {
        let valid = wat::parse_str(guests::well()).unwrap();
        let all: Vec<_> = (0..3).map(|round| mutations(&valid, round)).collect();
        assert!(all.iter().all(|mutations| mutations.len() == EACH_ROUND));
        assert_eq!(all[1], mutations(&valid, 1));
        assert_ne!(all[0], all[1]);
        assert!(all.iter().flatten().all(|bytes| *bytes != valid));
    }

    #[test]
    fn most_are_refused_and_some_are_not() {
        let valid = wat::parse_str(guests::well()).unwrap();
        let tried: Vec<_> = (0..3)
            .flat_map(|round| mutations(&valid, round))
            .map(|bytes| GuestModule::new("mutation", &bytes, HeapPages::default()))
            .collect();
        let valid = tried.iter().filter(|tried| tried.is_ok()).count();
        assert!((20..tried.len() / 2).contains(&valid), "{valid} of {}", tried.len());
    }
}
