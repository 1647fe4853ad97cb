//! Encodings that are decoded into an account and encoded from one, all of it each time,
//! and take the same room for every account.

use core::hint::black_box;

use crate::account::{Account, OWNER, check};
use crate::in_place::answer;

/// An encoding in which every account takes the same room.
pub trait Codec {
    /// The result of the decoder. The account stays in place: a move would be one more copy, and
    /// not the codec's.
    type Decoded;

    /// Decodes.
    fn decode(input: &[u8]) -> Self::Decoded;

    /// The account that was decoded from so many bytes; panics where there is none, or
    /// more.
    fn account(decoded: &mut Self::Decoded, length: usize) -> &mut Account;

    /// Writes an account to a block of its size.
    fn encode(account: &Account, block: &mut [u8]);
}

/// Decodes an account, checks it, freezes it and adds a token; gives all of it.
pub fn full<C: Codec>(block: &mut [u8]) -> &[u8] {
    let mut decoded = C::decode(block);
    let account = black_box(C::account(&mut decoded, block.len()));
    check(&account.owner, account.state);
    account.edit();
    C::encode(account, block);
    block
}

/// Freezes an account and adds a token, whatever else it says; gives all of it.
pub fn update_amount<C: Codec>(block: &mut [u8]) -> &[u8] {
    let mut decoded = C::decode(block);
    let account = black_box(C::account(&mut decoded, block.len()));
    account.edit();
    C::encode(account, block);
    block
}

/// Gives 1 where an account is of the owner known here, and 0 elsewhere.
pub fn read_owner<C: Codec>(block: &mut [u8]) -> &[u8] {
    let mut decoded = C::decode(block);
    let same = black_box(C::account(&mut decoded, block.len())).owner == OWNER;
    answer(block, same)
}
