//! The account, and what may be done with one.

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A public key.
pub type Key = [u8; 32];

/// The owner of the accounts that may be edited.
pub const OWNER: Key = *b"owner: who may freeze an account";

/// State of an account that is in use, the only one that can be frozen.
pub const INITIALIZED: u8 = 1;

/// State of an account that is frozen.
pub const FROZEN: u8 = 2;

/// An account that holds tokens: 160 bytes without a gap.
#[repr(C)]
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    bincode::Encode,
    bincode::Decode,
    borsh::BorshSerialize,
    borsh::BorshDeserialize,
    Pod,
    Zeroable,
    rkyv::Archive,
    rkyv::Serialize,
    Serialize,
    Deserialize,
    SchemaRead,
    SchemaWrite,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The kind of tokens.
    pub mint: Key,
    /// Whose tokens they are.
    pub owner: Key,
    /// How many there are.
    pub amount: u64,
    /// Who may move some of them.
    pub delegate: Key,
    /// 0 for an account that is not in use, [`INITIALIZED`] or [`FROZEN`].
    pub state: u8,
    /// Aligns what follows.
    pub padding: [u8; 7],
    /// Tokens of the chain itself.
    pub native_amount: u64,
    /// How many tokens the delegate may move.
    pub delegated_amount: u64,
    /// Who may close the account.
    pub close_authority: Key,
}

/// Size of an account in bytes, where an encoding takes none of its own.
pub const SIZE: usize = size_of::<Account>();

/// Panics unless an account may be frozen.
#[inline(always)]
pub fn check(owner: &Key, state: u8) {
    if *owner != OWNER {
        panic!("the account belongs to somebody else");
    }
    // Any other state, known or not.
    if state != INITIALIZED {
        panic!("the account is not in use, is frozen already, or has no known state");
    }
}

/// The amount and one token; panics where there is no such amount.
#[inline(always)]
pub fn one_more(amount: u64) -> u64 {
    match amount.checked_add(1) {
        Some(amount) => amount,
        None => panic!("the amount overflows"),
    }
}

impl Account {
    /// Freezes it and adds a token.
    #[inline(always)]
    pub fn edit(&mut self) {
        self.state = FROZEN;
        self.amount = one_more(self.amount);
    }
}
