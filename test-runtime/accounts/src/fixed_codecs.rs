//! The encodings in which every account takes the same room.

use bincode::config::{self, Configuration, Fixint, LittleEndian};
use bincode::error::DecodeError;
use wincode::ReadResult;

use crate::account::Account;
use crate::decoded::Codec;

/// `bincode`, with integers of fixed size.
pub struct Bincode;

const BINCODE: Configuration<LittleEndian, Fixint> = config::standard().with_fixed_int_encoding();

impl Codec for Bincode {
    type Decoded = Result<(Account, usize), DecodeError>;

    #[inline(always)]
    fn decode(input: &[u8]) -> Self::Decoded {
        bincode::decode_from_slice(input, BINCODE)
    }

    #[inline(always)]
    fn account(decoded: &mut Self::Decoded, length: usize) -> &mut Account {
        match decoded {
            Ok((account, read)) if *read == length => account,
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
    type Decoded = Result<Account, borsh::io::Error>;

    #[inline(always)]
    fn decode(input: &[u8]) -> Self::Decoded {
        borsh::from_slice(input)
    }

    #[inline(always)]
    fn account(decoded: &mut Self::Decoded, _: usize) -> &mut Account {
        match decoded {
            Ok(account) => account,
            _ => panic!("this is no account in borsh"),
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
    type Decoded = ReadResult<Account>;

    #[inline(always)]
    fn decode(input: &[u8]) -> Self::Decoded {
        wincode::deserialize_exact(input)
    }

    #[inline(always)]
    fn account(decoded: &mut Self::Decoded, _: usize) -> &mut Account {
        match decoded {
            Ok(account) => account,
            _ => panic!("this is no account in wincode"),
        }
    }

    #[inline(always)]
    fn encode(account: &Account, mut block: &mut [u8]) {
        if wincode::serialize_into(&mut block, account).is_err() || !block.is_empty() {
            panic!("the account does not fit");
        }
    }
}
