//! The functions themselves.

use super::{Function, Storage, StorageError};
use crate::host::{HostFunction, Parameters};
use crate::outcome::{Trap, TrapKind};

/// The answer to a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The function has no result.
    Done,
    /// Bytes that the guest gets in a new block.
    Bytes(Vec<u8>),
}

/// Answers a call. A call that reads may be made again when its answer did not fit the memory.
///
/// # Errors
///
/// When there is no storage, a place lies outside the memory, or the storage refuses the call.
pub(crate) fn answer(
    storage: Option<&dyn Storage>,
    memory: &[u8],
    function: Function,
    parameters: &Parameters,
) -> Result<Answer, Trap> {
    let host = HostFunction::Storage(function);
    let Some(storage) = storage else {
        let (module, name) = (host.module().to_owned(), host.name().to_owned());
        return Err(TrapKind::MissingImport { module, name }.into());
    };
    let bytes = |index: usize| {
        let packed = parameters[index];
        let (pointer, length) = (packed as u32 as usize, (packed >> 32) as usize);
        let found = memory.get(pointer..).and_then(|rest| rest.get(..length));
        found.ok_or_else(|| host.refuse("a key or value lies outside the memory"))
    };
    let refuse = |error: StorageError| host.refuse(error);
    let done = |()| Answer::Done;
    match function {
        Function::Get => storage.get(bytes(0)?).map(option),
        Function::NextKey => storage.next_key(bytes(0)?).map(option),
        Function::Root => storage.root().map(Answer::Bytes),
        Function::Set => storage.set(bytes(0)?, Some(bytes(1)?)).map(done),
        Function::Clear => storage.set(bytes(0)?, None).map(done),
        Function::Start => storage.start().map(done),
        Function::Rollback => storage.rollback().map(done),
        Function::Commit => storage.commit().map(done),
    }
    .map_err(refuse)
}

/// The SCALE encoding of an optional byte string.
fn option(value: Option<Vec<u8>>) -> Answer {
    let Some(value) = value else { return Answer::Bytes(vec![0]) };
    let mut encoded = Vec::with_capacity(value.len() + 6);
    encoded.push(1);
    // A compact number: its two lowest bits say how many bytes it has.
    match value.len() as u64 {
        length @ ..0x40 => encoded.push((length << 2) as u8),
        length @ ..0x4000 => encoded.extend((((length << 2) | 1) as u16).to_le_bytes()),
        length @ ..0x4000_0000 => encoded.extend((((length << 2) | 2) as u32).to_le_bytes()),
        // Memories of guests have at most 4 GiB, so 4 bytes are enough.
        length => {
            encoded.push(3);
            encoded.extend((length as u32).to_le_bytes());
        }
    }
    encoded.extend(value);
    Answer::Bytes(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_bytes_are_encoded_as_scale_does() {
        let start = |length: usize| match option(Some(vec![7; length])) {
            Answer::Bytes(bytes) => {
                assert!(bytes.ends_with(&vec![7; length]));
                bytes[..bytes.len() - length].to_vec()
            }
            Answer::Done => Vec::new(),
        };
        assert_eq!(option(None), Answer::Bytes(vec![0]));
        assert_eq!(start(0), [1, 0]);
        assert_eq!(start(63), [1, 0xfc]);
        assert_eq!(start(64), [1, 0x01, 0x01]);
        assert_eq!(start(16_383), [1, 0xfd, 0xff]);
        assert_eq!(start(16_384), [1, 2, 0, 1, 0]);
    }
}
