//! A guest that executes blocks of transfers over the storage of its host: the state transition of
//! a small chain, with the exports that a node of Substrate calls.
//!
//! | export | input | output |
//! |---|---|---|
//! | `Core_initialize_block` | number of the block | |
//! | `BlockBuilder_apply_extrinsic` | from, to, nonce, amount | 0: done, 1: failed, 2: invalid |
//! | `BlockBuilder_finalize_block` | | number of the block, root of the state |
//! | `AccountApi_balance` | account | balance |
//!
//! Amounts and balances have 64 bits, all other numbers 32. A transfer has no signature: it is
//! valid if its nonce is that of the sender, who pays a fee of 1 even if the transfer fails.

#![no_std]

extern crate alloc;

mod state;
mod storage;

use alloc::vec::Vec;
use guest_support::{Output, u32_at};
use state::{Account, Transfer};

guest_support::export! {
    Core_initialize_block = initialize,
    BlockBuilder_apply_extrinsic = apply,
    BlockBuilder_finalize_block = finalize,
    AccountApi_balance = balance,
}

/// Fee of a valid transfer.
const FEE: u64 = 1;

/// How a transfer ended.
#[derive(Clone, Copy)]
enum Applied {
    /// The amount was moved.
    Well = 0,
    /// The sender paid the fee and has less than the amount.
    Failed = 1,
    /// Nothing was written.
    Invalid = 2,
}

/// Begins a block: removes the events of the one before.
fn initialize(input: &[u8]) -> Output {
    state::remove_events();
    state::begin(u32_at(input, 0));
    Output::EMPTY
}

/// Applies a transfer.
fn apply(input: &[u8]) -> Output {
    let amount = u64::from(u32_at(input, 12)) | u64::from(u32_at(input, 16)) << 32;
    let transfer =
        Transfer { from: u32_at(input, 0), to: u32_at(input, 4), nonce: u32_at(input, 8), amount };
    Output::from(&[pay(&transfer) as u8][..])
}

/// Takes the fee, then moves the amount inside of a transaction.
fn pay(transfer: &Transfer) -> Applied {
    let Some(sender) = Account::read(transfer.from) else { return Applied::Invalid };
    if sender.nonce != transfer.nonce || sender.free < FEE {
        return Applied::Invalid;
    }
    let sender = Account { nonce: sender.nonce.wrapping_add(1), free: sender.free - FEE };
    sender.write(transfer.from);
    let index = state::next_index();
    storage::start();
    if carry(transfer, sender, index).is_some() {
        storage::commit();
        Applied::Well
    } else {
        storage::rollback();
        Applied::Failed
    }
}

/// Deposits the event and moves the amount; `None` if the sender has less or the recipient would
/// have too much, and then the caller undoes what was written.
fn carry(transfer: &Transfer, sender: Account, index: u32) -> Option<()> {
    transfer.deposit_event(index);
    let free = sender.free.checked_sub(transfer.amount)?;
    Account { free, ..sender }.write(transfer.from);
    let recipient = Account::read(transfer.to).unwrap_or_default();
    let free = recipient.free.checked_add(transfer.amount)?;
    Account { free, ..recipient }.write(transfer.to);
    Some(())
}

/// Ends a block.
fn finalize(_: &[u8]) -> Output {
    let mut header: Vec<u8> = state::number().to_le_bytes().to_vec();
    header.extend(storage::root());
    Output::from(header)
}

/// The balance of an account, 0 if there is none.
fn balance(input: &[u8]) -> Output {
    let account = Account::read(u32_at(input, 0)).unwrap_or_default();
    Output::from(&account.free.to_le_bytes()[..])
}
