//! The encodings that take more room for some accounts than for others.

use alloc::vec::Vec;

use planus::{Builder, ReadAsRoot};

use crate::account::{Account, Key};
use crate::account_generated as generated;
use crate::varying::Codec;

/// `postcard`.
pub struct Postcard;

impl Codec for Postcard {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match postcard::take_from_bytes(input) {
            Ok((account, [])) => account,
            _ => panic!("this is no account in postcard"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        match postcard::to_allocvec(account) {
            Ok(bytes) => bytes,
            Err(_) => panic!("the account cannot be encoded"),
        }
    }
}

/// `serde_json`.
pub struct Json;

impl Codec for Json {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match serde_json::from_slice(input) {
            Ok(account) => account,
            Err(_) => panic!("this is no account in JSON"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        match serde_json::to_vec(account) {
            Ok(bytes) => bytes,
            Err(_) => panic!("the account cannot be encoded"),
        }
    }
}

/// FlatBuffers, by `planus`, which checks each offset and length when it follows it.
pub struct FlatBuffers;

impl FlatBuffers {
    /// The largest size of an account, bytes. A buffer does not say how long it is, so
    /// that nothing else tells bytes after its end.
    const MOST: usize = 216;

    #[inline(always)]
    fn root(input: &[u8]) -> planus::Result<generated::AccountRef<'_>> {
        assert!(input.len() <= Self::MOST, "no account has this size");
        generated::AccountRef::read_as_root(input)
    }

    fn try_decode(input: &[u8]) -> planus::Result<Account> {
        let account = Self::root(input)?;
        Ok(Account {
            mint: key(account.mint()?),
            owner: key(account.owner()?),
            amount: account.amount()?,
            delegate: key(account.delegate()?),
            state: account.state()?,
            padding: [0; 7],
            native_amount: account.native_amount()?,
            delegated_amount: account.delegated_amount()?,
            close_authority: key(account.close_authority()?),
        })
    }
}

#[inline(always)]
fn key(bytes: &[u8]) -> Key {
    match bytes.try_into() {
        Ok(key) => key,
        Err(_) => panic!("a key has 32 bytes"),
    }
}

impl Codec for FlatBuffers {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match Self::try_decode(input) {
            Ok(account) => account,
            Err(_) => panic!("this is no account in FlatBuffers"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        let mut builder = Builder::new();
        let root = generated::Account::create(
            &mut builder,
            &account.mint[..],
            &account.owner[..],
            account.amount,
            &account.delegate[..],
            account.state,
            account.native_amount,
            account.delegated_amount,
            &account.close_authority[..],
        );
        builder.finish(root, None).to_vec()
    }

    #[inline(always)]
    fn owner(input: &[u8]) -> Key {
        match Self::root(input).and_then(|account| account.owner()) {
            Ok(owner) => key(owner),
            Err(_) => panic!("this is no account in FlatBuffers"),
        }
    }
}
