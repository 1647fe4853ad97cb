//! Encodings that are decoded into an account and encoded from one, and take more room for
//! some accounts than for others.

use alloc::vec::Vec;
use core::hint::black_box;

use guest_support::Output;

use crate::account::{Account, Key, OWNER, check};
use crate::in_place::answer;

/// An encoding whose size depends on the account.
pub trait Codec {
    /// The account that the bytes say; panics where they say none, or more.
    fn decode(input: &[u8]) -> Account;

    /// An account's bytes.
    fn encode(account: &Account) -> Vec<u8>;

    /// The owner, after decoding no more than the encoding needs for that.
    #[inline(always)]
    fn owner(input: &[u8]) -> Key {
        let account = Self::decode(input);
        black_box(&account).owner
    }
}

/// Decodes an account, checks it, freezes it and adds a token; gives all of it.
pub fn full<C: Codec>(input: &[u8]) -> Output {
    let mut account = C::decode(input);
    black_box(&mut account);
    check(&account.owner, account.state);
    account.edit();
    C::encode(&account).into()
}

/// Freezes an account and adds a token, whatever else it says; gives all of it.
pub fn update_amount<C: Codec>(input: &[u8]) -> Output {
    let mut account = C::decode(input);
    black_box(&mut account);
    account.edit();
    C::encode(&account).into()
}

/// Gives 1 where an account is of the owner known here, and 0 elsewhere.
pub fn read_owner<C: Codec>(block: &mut [u8]) -> &[u8] {
    let same = black_box(C::owner(block)) == OWNER;
    answer(block, same)
}
