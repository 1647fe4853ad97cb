//! The chain without a guest: random transfers and their effects.

use super::{Changes, Root, root};
use fastrand::Rng;

/// Fee of a valid transfer.
const FEE: u64 = 1;
/// Initial balance of each account.
const BALANCE: u64 = 1_000_000;
/// Largest amount of an ordinary transfer.
const MOST: u64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub from: u32,
    pub to: u32,
    /// Number of earlier transfers of the sender.
    pub nonce: u32,
    pub amount: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The amount is moved.
    Well = 0,
    /// The sender pays the fee and has less than the amount.
    Failed = 1,
    /// Nothing is written.
    Invalid = 2,
}

/// A block and its required results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub number: u32,
    pub transfers: Vec<(Transfer, Applied)>,
    pub root: Root,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Account {
    nonce: u32,
    free: u64,
}

#[derive(Debug, Clone)]
pub struct Chain {
    accounts: Vec<Account>,
    /// Keys of the events of the last block.
    events: Vec<u32>,
    number: u32,
    root: Root,
    random: Rng,
}

impl Transfer {
    /// The guest's encoding.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.from, self.to, self.nonce].map(u32::to_le_bytes);
        [&numbers.concat()[..], &self.amount.to_le_bytes()[..]].concat()
    }

    fn event(&self) -> Vec<u8> {
        let numbers = [self.from, self.to].map(u32::to_le_bytes);
        [&numbers.concat()[..], &self.amount.to_le_bytes()[..]].concat()
    }
}

impl Chain {
    /// The chain before its first block.
    pub fn new(accounts: u32, seed: u64) -> Self {
        Self {
            accounts: vec![Account { nonce: 0, free: BALANCE }; accounts.max(1) as usize],
            events: Vec::new(),
            number: 0,
            root: Root::default(),
            random: Rng::with_seed(seed),
        }
    }

    /// The keys and values of all accounts.
    pub fn accounts(&self) -> Changes {
        let one = |(number, account): (usize, &Account)| {
            (account_key(number as u32), Some(account.encode()))
        };
        self.accounts.iter().enumerate().map(one).collect()
    }

    /// Makes and applies the next block: of 100 transfers, one has a wrong nonce and two exceed the
    /// balance.
    pub fn next_block(&mut self, transfers: u32) -> Block {
        self.number += 1;
        let mut changes: Changes =
            self.events.drain(..).map(|event| (event_key(event), None)).collect();
        changes.insert(b"number".to_vec(), Some(self.number.to_le_bytes().to_vec()));
        let mut index = 0_u32;
        let mut apply = |_| {
            let transfer = self.transfer();
            (transfer, self.apply(&transfer, &mut index, &mut changes))
        };
        let transfers = (0..transfers).map(&mut apply).collect();
        changes.insert(b"index".to_vec(), Some(index.to_le_bytes().to_vec()));
        self.root = root(&self.root, &changes);
        Block { number: self.number, transfers, root: self.root }
    }

    fn transfer(&mut self) -> Transfer {
        let accounts = self.accounts.len() as u32;
        let (from, to) = (self.random.u32(..accounts), self.random.u32(..accounts));
        let nonce = self.accounts[from as usize].nonce;
        let (wrong, amount) = match self.random.u32(..100) {
            0 => (1, MOST),
            1 | 2 => (0, u64::MAX),
            _ => (0, self.random.u64(1..=MOST)),
        };
        Transfer { from, to, nonce: nonce + wrong, amount }
    }

    fn apply(&mut self, transfer: &Transfer, index: &mut u32, changes: &mut Changes) -> Applied {
        let (from, to) = (transfer.from as usize, transfer.to as usize);
        let sender = &mut self.accounts[from];
        if sender.nonce != transfer.nonce || sender.free < FEE {
            return Applied::Invalid;
        }
        sender.nonce += 1;
        sender.free -= FEE;
        let event = std::mem::replace(index, *index + 1);
        let applied = match sender.free.checked_sub(transfer.amount) {
            Some(left) => {
                sender.free = left;
                self.accounts[to].free += transfer.amount;
                self.events.push(event);
                changes.insert(event_key(event), Some(transfer.event()));
                Applied::Well
            }
            None => Applied::Failed,
        };
        let changed = if applied == Applied::Well { vec![from, to] } else { vec![from] };
        for account in changed {
            let value = self.accounts[account].encode();
            changes.insert(account_key(account as u32), Some(value));
        }
        applied
    }
}

impl Account {
    fn encode(self) -> Vec<u8> {
        [&self.nonce.to_le_bytes()[..], &self.free.to_le_bytes()[..]].concat()
    }
}

pub(super) fn account_key(number: u32) -> Vec<u8> {
    [&b"account:"[..], &number.to_be_bytes()[..]].concat()
}

fn event_key(number: u32) -> Vec<u8> {
    [&b"event:"[..], &number.to_be_bytes()[..]].concat()
}

/// The balance in the value of an account; 0 if it is too short.
pub(super) fn balance(account: &[u8]) -> u64 {
    account.get(4..).and_then(|rest| rest.first_chunk()).map_or(0, |free| u64::from_le_bytes(*free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_fees_is_lost() {
        let mut chain = Chain::new(10, 7);
        let (mut fees, mut seen) = (0, Vec::new());
        for _ in 0..20 {
            let block = chain.next_block(100);
            fees += block.transfers.iter().filter(|(_, how)| *how != Applied::Invalid).count();
            seen.extend(block.transfers.into_iter().map(|(_, how)| how));
        }
        let all: u64 = chain.accounts.iter().map(|account| account.free).sum();
        assert_eq!(all + fees as u64, 10 * BALANCE);
        for how in [Applied::Well, Applied::Failed, Applied::Invalid] {
            assert!(seen.contains(&how), "{how:?}");
        }
    }

    #[test]
    fn a_seed_is_a_chain() {
        let blocks = |seed| {
            let mut chain = Chain::new(10, seed);
            [chain.next_block(5), chain.next_block(5)]
        };
        assert_eq!(blocks(1), blocks(1));
        assert_ne!(blocks(1)[1].root, blocks(2)[1].root);
    }
}
