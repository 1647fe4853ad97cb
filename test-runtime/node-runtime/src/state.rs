//! The content of the storage: accounts, the events of a block, its number and its transfers.

use alloc::vec::Vec;
use guest_support::u32_at;

use crate::storage;

/// The number of the block.
const NUMBER: &[u8] = b"number";
/// The number of valid transfers in the block so far.
const INDEX: &[u8] = b"index";
const ACCOUNT: &[u8] = b"account:";
const EVENT: &[u8] = b"event:";

/// A key: a prefix and a number, in the order of the numbers.
fn key(prefix: &[u8], number: u32) -> Vec<u8> {
    [prefix, &number.to_be_bytes()].concat()
}

/// An account.
#[derive(Clone, Copy, Default)]
pub(crate) struct Account {
    /// The number of its transfers.
    pub(crate) nonce: u32,
    /// Its balance.
    pub(crate) free: u64,
}

impl Account {
    pub(crate) fn read(number: u32) -> Option<Self> {
        let value = storage::get(&key(ACCOUNT, number))?;
        let free = u64::from(u32_at(&value, 4)) | u64::from(u32_at(&value, 8)) << 32;
        Some(Self { nonce: u32_at(&value, 0), free })
    }

    pub(crate) fn write(self, number: u32) {
        let mut value = [0; 12];
        value[..4].copy_from_slice(&self.nonce.to_le_bytes());
        value[4..].copy_from_slice(&self.free.to_le_bytes());
        storage::set(&key(ACCOUNT, number), &value);
    }
}

/// A transfer.
pub(crate) struct Transfer {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) nonce: u32,
    pub(crate) amount: u64,
}

impl Transfer {
    /// Writes the event: sender, recipient and amount.
    pub(crate) fn deposit_event(&self, index: u32) {
        let mut value = [0; 16];
        value[..4].copy_from_slice(&self.from.to_le_bytes());
        value[4..8].copy_from_slice(&self.to.to_le_bytes());
        value[8..].copy_from_slice(&self.amount.to_le_bytes());
        storage::set(&key(EVENT, index), &value);
    }
}

/// Removes the events of the block before.
pub(crate) fn remove_events() {
    let mut last = EVENT.to_vec();
    while let Some(next) = storage::next_key(&last).filter(|next| next.starts_with(EVENT)) {
        storage::clear(&next);
        last = next;
    }
}

/// Begins a block.
pub(crate) fn begin(number: u32) {
    storage::set(NUMBER, &number.to_le_bytes());
    storage::set(INDEX, &0_u32.to_le_bytes());
}

/// The number of the block.
pub(crate) fn number() -> u32 {
    storage::get(NUMBER).map_or(0, |value| u32_at(&value, 0))
}

/// The number of valid transfers so far, which is raised by one.
pub(crate) fn next_index() -> u32 {
    let index = storage::get(INDEX).map_or(0, |value| u32_at(&value, 0));
    storage::set(INDEX, &index.wrapping_add(1).to_le_bytes());
    index
}
