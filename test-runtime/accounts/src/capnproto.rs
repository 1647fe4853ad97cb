//! Cap'n Proto, unpacked, by `capnp`, which checks each pointer when it follows it.

use alloc::vec::Vec;

use capnp::message::{Builder, Reader, ReaderOptions, SingleSegmentAllocator};
use capnp::serialize::{self, NoAllocSliceSegments};
use capnp::{Word, word};

use crate::account::{Account, Key};
use crate::account_capnp::account;
use crate::varying::Codec;
use crate::varying_codecs::key;

/// Cap'n Proto.
pub struct CapnProto;

/// Words of an account's only segment: the pointer to the account, its four words of numbers
/// and four pointers, and four keys of four words each.
const WORDS: usize = 1 + 4 + 4 + 4 * 4;

/// Opens a message. The traversal limit is the message's own length, because in what a writer
/// made, no two pointers lead to the same word.
#[inline(always)]
fn open(input: &[u8]) -> capnp::Result<Reader<NoAllocSliceSegments<'_>>> {
    let options = ReaderOptions {
        traversal_limit_in_words: Some(input.len() / 8),
        ..ReaderOptions::default()
    };
    let mut rest = input;
    let message = serialize::read_message_from_flat_slice_no_alloc(&mut rest, options)?;
    assert!(rest.is_empty(), "there are bytes after the account");
    Ok(message)
}

fn try_decode(input: &[u8]) -> capnp::Result<Account> {
    let message = open(input)?;
    let account: account::Reader<'_> = message.get_root()?;
    Ok(Account {
        mint: key(account.get_mint()?),
        owner: key(account.get_owner()?),
        amount: account.get_amount(),
        delegate: key(account.get_delegate()?),
        state: account.get_state(),
        padding: [0; 7],
        native_amount: account.get_native_amount(),
        delegated_amount: account.get_delegated_amount(),
        close_authority: key(account.get_close_authority()?),
    })
}

#[inline(always)]
fn try_owner(input: &[u8]) -> capnp::Result<Key> {
    let message = open(input)?;
    let account: account::Reader<'_> = message.get_root()?;
    Ok(key(account.get_owner()?))
}

impl Codec for CapnProto {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match try_decode(input) {
            Ok(account) => account,
            Err(_) => panic!("this is no account in Cap'n Proto"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account) -> Vec<u8> {
        // The segment is built on the stack: a block of the host's would cost two calls.
        let mut space = [word(0, 0, 0, 0, 0, 0, 0, 0); WORDS];
        let space = SingleSegmentAllocator::new(Word::words_to_bytes_mut(&mut space));
        let mut message = Builder::new(space);
        let mut root: account::Builder<'_> = message.init_root();
        root.set_mint(&account.mint);
        root.set_owner(&account.owner);
        root.set_amount(account.amount);
        root.set_delegate(&account.delegate);
        root.set_state(account.state);
        root.set_native_amount(account.native_amount);
        root.set_delegated_amount(account.delegated_amount);
        root.set_close_authority(&account.close_authority);
        serialize::write_message_to_words(&message)
    }

    #[inline(always)]
    fn owner(input: &[u8]) -> Key {
        match try_owner(input) {
            Ok(owner) => owner,
            Err(_) => panic!("this is no account in Cap'n Proto"),
        }
    }
}
