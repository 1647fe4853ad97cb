//! Encodings whose bytes are the account: nothing is decoded, the account is edited where
//! it lies.

use core::hint::black_box;

use crate::account::{Account, Key, OWNER, check};

/// An encoding that shows bytes as an account.
pub trait View {
    /// The account that the bytes are; panics where they are none.
    fn view(block: &mut [u8]) -> &mut Account;

    /// Its owner.
    #[inline(always)]
    fn owner(block: &mut [u8]) -> &Key {
        &Self::view(block).owner
    }
}

/// Checks an account, freezes it and adds a token; gives all of it.
pub fn full<V: View>(block: &mut [u8]) -> &[u8] {
    let account = black_box(V::view(block));
    check(&account.owner, account.state);
    account.edit();
    block
}

/// Freezes an account and adds a token, whatever else it says; gives all of it.
pub fn update_amount<V: View>(block: &mut [u8]) -> &[u8] {
    black_box(V::view(block)).edit();
    block
}

/// Gives 1 where an account is of the owner known here, and 0 elsewhere.
pub fn read_owner<V: View>(block: &mut [u8]) -> &[u8] {
    let same = *black_box(V::owner(block)) == OWNER;
    answer(block, same)
}

/// One byte, in the place of the input.
#[inline(always)]
pub fn answer(block: &mut [u8], yes: bool) -> &[u8] {
    let [first, ..] = block else { panic!("there is no room for an answer") };
    *first = u8::from(black_box(yes));
    core::slice::from_ref(first)
}
