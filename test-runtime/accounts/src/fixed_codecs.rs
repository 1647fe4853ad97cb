//! The encodings in which every account takes the same room.

use bincode::config::{self, Configuration, Fixint, LittleEndian};

use crate::account::Account;
use crate::decoded::Codec;

/// `bincode`, with integers of fixed size.
pub struct Bincode;

const BINCODE: Configuration<LittleEndian, Fixint> = config::standard().with_fixed_int_encoding();

impl Codec for Bincode {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match bincode::decode_from_slice(input, BINCODE) {
            Ok((account, read)) if read == input.len() => account,
            _ => panic!("this is no account in bincode"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account, block: &mut [u8]) {
        let size = block.len();
        match bincode::encode_into_slice(account, block, BINCODE) {
            Ok(written) if written == size => {}
            _ => panic!("the account does not fit"),
        }
    }
}

/// `borsh`.
pub struct Borsh;

impl Codec for Borsh {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match borsh::from_slice(input) {
            Ok(account) => account,
            Err(_) => panic!("this is no account in borsh"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account, mut block: &mut [u8]) {
        if borsh::to_writer(&mut block, account).is_err() || !block.is_empty() {
            panic!("the account does not fit");
        }
    }
}

/// `wincode`.
pub struct Wincode;

impl Codec for Wincode {
    #[inline(always)]
    fn decode(input: &[u8]) -> Account {
        match wincode::deserialize_exact(input) {
            Ok(account) => account,
            Err(_) => panic!("this is no account in wincode"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account, mut block: &mut [u8]) {
        if wincode::serialize_into(&mut block, account).is_err() || !block.is_empty() {
            panic!("the account does not fit");
        }
    }
}
