//! Encodings that are decoded into an account and encoded from one, all of it each time,
//! and take the same room for every account.

use core::hint::black_box;

use crate::account::{Account, OWNER, check};
use crate::in_place::answer;

/// An encoding in which every account takes the same room.
pub trait Codec {
    /// The account that the bytes say; panics where they say none, or more.
    fn decode(input: &[u8]) -> Account;

    /// Writes an account to a block of its size.
    fn encode(account: &Account, block: &mut [u8]);
}

/// Decodes an account, checks it, freezes it and adds a token; gives all of it.
pub fn full<C: Codec>(block: &mut [u8]) -> &[u8] {
    let mut account = C::decode(block);
    black_box(&mut account);
    check(&account.owner, account.state);
    account.edit();
    C::encode(&account, block);
    block
}

/// Freezes an account and adds a token, whatever else it says; gives all of it.
pub fn update_amount<C: Codec>(block: &mut [u8]) -> &[u8] {
    let mut account = C::decode(block);
    black_box(&mut account);
    account.edit();
    C::encode(&account, block);
    block
}

/// Gives 1 where an account is of the owner known here, and 0 elsewhere.
pub fn read_owner<C: Codec>(block: &mut [u8]) -> &[u8] {
    let account = C::decode(block);
    let same = black_box(&account).owner == OWNER;
    answer(block, same)
}
