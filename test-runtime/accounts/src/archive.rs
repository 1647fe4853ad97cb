//! `rkyv`: an archive that is read and edited where it lies, after it was validated.

use core::hint::black_box;

use rkyv::api::low;
use rkyv::munge::munge;
use rkyv::rancor::Failure;
use rkyv::seal::Seal;

use crate::account::{FROZEN, OWNER, check, one_more};
use crate::in_place::answer;

type Archived = crate::account::ArchivedAccount;

/// The account of an archive; panics where there is none, and where there is more.
#[inline(always)]
fn view(block: &mut [u8]) -> Seal<'_, Archived> {
    assert!(block.len() == size_of::<Archived>(), "no archive has this size");
    match low::access_mut::<Archived, Failure>(block) {
        Ok(account) => account,
        Err(_) => panic!("the archive is not valid"),
    }
}

#[inline(always)]
fn edit(account: Seal<'_, Archived>) {
    munge!(let Archived { mut state, mut amount, .. } = account);
    *state = FROZEN;
    *amount = one_more(amount.to_native()).into();
}

/// As [`in_place::full`](crate::in_place::full).
pub fn full(block: &mut [u8]) -> &[u8] {
    let account = black_box(view(block));
    check(&account.owner, account.state);
    edit(account);
    block
}

/// As [`in_place::update_amount`](crate::in_place::update_amount).
pub fn update_amount(block: &mut [u8]) -> &[u8] {
    edit(black_box(view(block)));
    block
}

/// As [`in_place::read_owner`](crate::in_place::read_owner).
pub fn read_owner(block: &mut [u8]) -> &[u8] {
    let same = black_box(view(block)).owner == OWNER;
    answer(block, same)
}
