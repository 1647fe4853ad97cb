//! The encodings that take more room for some accounts than for others; [`crate::capnproto`]
//! has one more.

use alloc::vec::Vec;

use messagepack_serde::messagepack_core::io::{IoRead, RError, Reference, SliceReader};
use planus::{Builder, ReadAsRoot};
use prost::Message;

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

/// MessagePack, by `messagepack-serde`: a map with the fields' names.
pub struct MessagePack;

/// A reader that leaves what it did not read, so that bytes after the end are found.
struct Reader<'a, 'de>(&'a mut SliceReader<'de>);

impl<'de> IoRead<'de> for Reader<'_, 'de> {
    type Error = RError;

    #[inline(always)]
    fn read_slice<'a>(&'a mut self, length: usize) -> Result<Reference<'de, 'a>, RError> {
        self.0.read_slice(length)
    }
}

impl Codec for MessagePack {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        let mut reader = SliceReader::new(input);
        match messagepack_serde::de::from_core_reader(Reader(&mut reader)) {
            Ok(account) if reader.rest().is_empty() => account,
            _ => panic!("this is no account in MessagePack"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        match messagepack_serde::to_vec(account) {
            Ok(bytes) => bytes,
            Err(_) => panic!("the account cannot be encoded"),
        }
    }
}

/// Protobuf, by `prost`. A reader skips fields that it does not know.
pub struct Protobuf;

/// The account as prost-build would make it of a schema of version 3.
#[derive(Clone, PartialEq, Message)]
struct ProtoAccount {
    #[prost(bytes = "vec", tag = "1")]
    mint: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    owner: Vec<u8>,
    #[prost(uint64, tag = "3")]
    amount: u64,
    #[prost(bytes = "vec", tag = "4")]
    delegate: Vec<u8>,
    #[prost(uint32, tag = "5")]
    state: u32,
    #[prost(uint64, tag = "6")]
    native_amount: u64,
    #[prost(uint64, tag = "7")]
    delegated_amount: u64,
    #[prost(bytes = "vec", tag = "8")]
    close_authority: Vec<u8>,
}

/// The part of it that says whose it is.
#[derive(Clone, PartialEq, Message)]
struct ProtoOwner {
    #[prost(bytes = "vec", tag = "2")]
    owner: Vec<u8>,
}

/// A message; panics where the bytes are none.
#[inline(always)]
fn message<M: Message + Default>(input: &[u8]) -> M {
    match M::decode(input) {
        Ok(message) => message,
        Err(_) => panic!("this is no account in Protobuf"),
    }
}

impl Codec for Protobuf {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        let account: ProtoAccount = message(input);
        Account {
            mint: key(&account.mint),
            owner: key(&account.owner),
            amount: account.amount,
            delegate: key(&account.delegate),
            state: match account.state.try_into() {
                Ok(state) => state,
                Err(_) => panic!("a state has one byte"),
            },
            padding: [0; 7],
            native_amount: account.native_amount,
            delegated_amount: account.delegated_amount,
            close_authority: key(&account.close_authority),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        ProtoAccount {
            mint: account.mint.to_vec(),
            owner: account.owner.to_vec(),
            amount: account.amount,
            delegate: account.delegate.to_vec(),
            state: account.state.into(),
            native_amount: account.native_amount,
            delegated_amount: account.delegated_amount,
            close_authority: account.close_authority.to_vec(),
        }
        .encode_to_vec()
    }

    #[inline(always)]
    fn owner(input: &[u8]) -> Key {
        key(&message::<ProtoOwner>(input).owner)
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
pub(crate) fn key(bytes: &[u8]) -> Key {
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
