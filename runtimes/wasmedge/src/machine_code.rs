//! What WasmEdge's compiler adds to a module: the linked machine code, in a custom section.

use wasmparser::{BinaryReader, BinaryReaderError, Parser, Payload};

/// Version of the section's layout that is read here.
const VERSION: u32 = 2;
/// Kind of a part with instructions.
const TEXT: u8 = 1;
/// Kind of a part with unwind tables.
const UNWIND: u8 = 4;

/// Bytes of the section's content, `None` for a module that was not compiled.
pub(crate) fn section(module: &[u8]) -> Option<&[u8]> {
    let payloads = Parser::new(0).parse_all(module);
    payloads.filter_map(Result::ok).find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == "wasmedge" => Some(section.data()),
        _ => None,
    })
}

/// The content of the section.
pub(crate) struct MachineCode<'a> {
    /// WasmEdge's number of the processor's architecture.
    pub(crate) architecture: u8,
    /// Addresses of the functions through which the host calls, by type.
    pub(crate) entries: Vec<u64>,
    /// Addresses of the module's own functions, in their order.
    pub(crate) functions: Vec<u64>,
    pub(crate) text: Option<Part<'a>>,
    /// The content of `.eh_frame`.
    pub(crate) unwind: Option<Part<'a>>,
}

/// A part of the linked code.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
}

impl<'a> MachineCode<'a> {
    /// Reads a section's content.
    ///
    /// # Errors
    ///
    /// When it is cut off, or of another layout.
    pub(crate) fn read(section: &'a [u8]) -> Result<Self, String> {
        let mut reader = BinaryReader::new(section, 0);
        match reader.read_var_u32() {
            Ok(VERSION) => {}
            _ => return Err("its layout is of another version".to_owned()),
        }
        let code = Self::read_parts(&mut reader).map_err(|error| error.message().to_owned())?;
        code.ok_or_else(|| "a part is there twice".to_owned())
    }

    /// `None` where a part is there twice.
    fn read_parts(reader: &mut BinaryReader<'a>) -> Result<Option<Self>, BinaryReaderError> {
        let _system = reader.read_u8()?;
        let architecture = reader.read_u8()?;
        let _version = reader.read_var_u64()?;
        let _intrinsics = reader.read_var_u64()?;
        let entries = addresses(reader)?;
        let functions = addresses(reader)?;
        let mut code = Self { architecture, entries, functions, text: None, unwind: None };
        for _ in 0..reader.read_var_u32()? {
            let kind = reader.read_u8()?;
            let address = reader.read_var_u64()?;
            let _size = reader.read_var_u64()?;
            let length = reader.read_var_u32()?;
            let part = Part { address, bytes: reader.read_bytes(length as usize)? };
            let place = match kind {
                TEXT => &mut code.text,
                UNWIND => &mut code.unwind,
                _ => continue,
            };
            if place.replace(part).is_some() {
                return Ok(None);
            }
        }
        Ok(Some(code))
    }
}

fn addresses(reader: &mut BinaryReader<'_>) -> Result<Vec<u64>, BinaryReaderError> {
    (0..reader.read_var_u64()?).map(|_| reader.read_var_u64()).collect()
}

impl<'a> Part<'a> {
    /// The bytes from an address on, none behind the end.
    pub(crate) fn from(&self, address: u64) -> &'a [u8] {
        let offset = address.checked_sub(self.address).and_then(|offset| offset.try_into().ok());
        offset.and_then(|offset: usize| self.bytes.get(offset..)).unwrap_or_default()
    }
}
