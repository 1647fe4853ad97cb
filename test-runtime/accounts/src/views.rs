//! The encodings whose bytes are the account, one crate each, and one without.

use core::ptr::from_mut;

use zerocopy::FromBytes;

use crate::account::{Account, SIZE};
use crate::in_place::View;

/// Nothing but a cast of a pointer.
pub struct Transmute;

impl View for Transmute {
    #[inline(always)]
    fn view(block: &mut [u8]) -> &mut Account {
        let bytes = from_mut(block);
        let account = bytes.cast::<Account>();
        assert!(bytes.len() == SIZE && account.is_aligned(), "no account has this size");
        // SAFETY: `block` is borrowed as long as the result is; it has as many bytes as
        // an account and its alignment, as was just looked at; an account has no gaps, and
        // any bytes are one.
        unsafe { &mut *account }
    }
}

/// `bytemuck`.
pub struct Bytemuck;

impl View for Bytemuck {
    #[inline(always)]
    fn view(block: &mut [u8]) -> &mut Account {
        match bytemuck::try_from_bytes_mut(block) {
            Ok(account) => account,
            Err(_) => panic!("no account has this size"),
        }
    }
}

/// `zerocopy`.
pub struct Zerocopy;

impl View for Zerocopy {
    #[inline(always)]
    fn view(block: &mut [u8]) -> &mut Account {
        match Account::mut_from_bytes(block) {
            Ok(account) => account,
            Err(_) => panic!("no account has this size"),
        }
    }
}
