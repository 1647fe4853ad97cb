//! The version of a runtime, from its custom sections.

use codec::{Decode, Encode};
use sp_maybe_compressed_blob::{CODE_BLOB_BOMB_LIMIT, decompress};
use wasmparser::{Parser, Payload};

/// An interface of a runtime: its identifier and its version.
type Interface = ([u8; 8], u32);
/// Names, and the versions of authoring, of the specification and of the implementation.
type Head = (String, String, u32, u32, u32);

/// The identifier of the interface `Core`, and its first version whose `RuntimeVersion` has the
/// versions of transactions and of the system.
const CORE: [u8; 8] = [0xdf, 0x6a, 0xcb, 0x68, 0x99, 0x07, 0x60, 0x9b];
const CORE_VERSION: u32 = 4;

/// The encoded `RuntimeVersion` of a runtime, which may be compressed; `None` if it has no sections
/// for it, or those of an old layout.
pub(crate) fn embedded(code: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let wasm = decompress(code, CODE_BLOB_BOMB_LIMIT).map_err(|error| error.to_string())?;
    let (mut version, mut interfaces) = (None, None);
    for payload in Parser::new(0).parse_all(&wasm) {
        let Payload::CustomSection(section) = payload.map_err(|error| error.to_string())? else {
            continue;
        };
        match section.name() {
            "runtime_version" => version = Some(section.data()),
            "runtime_apis" => interfaces = Some(section.data()),
            _ => {}
        }
    }
    let (Some(mut version), Some(mut list)) = (version, interfaces) else { return Ok(None) };
    let corrupted = |_| "the runtime's section with its version is corrupted".to_owned();
    let mut interfaces: Vec<Interface> = Vec::new();
    while !list.is_empty() {
        interfaces.push(Decode::decode(&mut list).map_err(corrupted)?);
    }
    if !interfaces.iter().any(|(id, version)| *id == CORE && *version >= CORE_VERSION) {
        return Ok(None);
    }
    let head = Head::decode(&mut version).map_err(corrupted)?;
    // The compiler of the runtime does not know the list when it writes the version.
    Vec::<Interface>::decode(&mut version).map_err(corrupted)?;
    let tail = <(u32, u8)>::decode(&mut version).map_err(corrupted)?;
    Ok(Some((head, interfaces, tail).encode()))
}
