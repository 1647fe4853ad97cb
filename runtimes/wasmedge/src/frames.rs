//! How large the stack frames of compiled code are.
//!
//! `calls.rs` reckons a frame from what the guest's text says. LLVM may need much more: it keeps
//! results of calls in memory, a slot for each call, and values over a call instead of computing
//! them again. So the frames are read out of the compiled code: from its unwind tables, and where
//! these name the frame pointer alone, from the instructions that set the frame up.

use crate::machine_code::{MachineCode, Part, section};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, FrameDescriptionEntry, LittleEndian, UnwindContext,
    UnwindSection, X86_64,
};
use std::collections::HashMap;
use touchstone_executor::Error;

/// WasmEdge's numbers of architectures.
const X86: u8 = 1;
const ARM: u8 = 2;
/// The stack pointer's number in unwind tables of AArch64.
const ARM_SP: gimli::Register = gimli::Register(31);

/// Why a frame is refused whose prologue is not of the known form.
const ODD: &str = "a frame is set up in an unknown way";

type Entry<'a> = FrameDescriptionEntry<gimli::EndianSlice<'a, LittleEndian>>;

/// Bytes of stack that compiled functions take: their frames, with the return addresses.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Frames {
    /// Those of the module's own functions, in their order.
    functions: Vec<u64>,
    /// The largest of functions that have no number: what calls the host, and copies that LLVM
    /// made of others.
    pub(crate) unnamed: u64,
    /// The largest of functions through which the host calls.
    pub(crate) entries: u64,
}

impl Frames {
    /// Reads the frames of a compiled module; without machine code there are none. `arguments`
    /// is the most that the arguments of one call take on the stack.
    ///
    /// # Errors
    ///
    /// When a frame's size cannot be told.
    pub(crate) fn read(module: &[u8], arguments: u64) -> Result<Self, Error> {
        let Some(section) = section(module) else { return Ok(Self::default()) };
        let code = MachineCode::read(section).map_err(|error| unreadable(&error))?;
        let mut found = table(&code, arguments)?;
        let mut functions = Vec::with_capacity(code.functions.len());
        for (index, address) in code.functions.iter().enumerate() {
            let frame = found.get(address);
            functions
                .push(*frame.ok_or_else(|| unreadable(&format!("function {index} has none")))?);
        }
        let entries = code.entries.iter().filter_map(|address| found.get(address)).max();
        let entries = entries.copied().unwrap_or(0);
        for address in code.functions.iter().chain(&code.entries) {
            found.remove(address);
        }
        let unnamed = found.into_values().max().unwrap_or(0);
        Ok(Self { functions, unnamed, entries })
    }

    /// Bytes of the frame of the function with this index among the module's own, 0 where it is
    /// not known.
    pub(crate) fn of(&self, index: usize) -> u64 {
        // A copy of it may stand for any function.
        self.functions.get(index).copied().unwrap_or(0).max(self.unnamed)
    }

    /// Takes over what is larger in another compilation of the same module.
    pub(crate) fn grow_to(&mut self, other: &Self) {
        self.functions.resize(self.functions.len().max(other.functions.len()), 0);
        for (own, other) in self.functions.iter_mut().zip(&other.functions) {
            *own = (*own).max(*other);
        }
        self.unnamed = self.unnamed.max(other.unnamed);
        self.entries = self.entries.max(other.entries);
    }
}

#[cold]
fn unreadable(reason: &str) -> Error {
    Error::unhostable(format!("the stack frames of its compiled code cannot be measured: {reason}"))
}

/// Frames by the address of their function.
fn table(code: &MachineCode<'_>, arguments: u64) -> Result<HashMap<u64, u64>, Error> {
    let failed = |error: gimli::Error| unreadable(&error.to_string());
    let mut frames = HashMap::new();
    let (Some(text), Some(unwind)) = (code.text, code.unwind) else { return Ok(frames) };
    let section = EhFrame::new(unwind.bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(unwind.address).set_text(text.address);
    let mut context = UnwindContext::new();
    let mut entries = section.entries(&bases);
    while let Some(entry) = entries.next().map_err(failed)? {
        let CieOrFde::Fde(partial) = entry else { continue };
        let entry = partial.parse(EhFrame::cie_from_offset).map_err(failed)?;
        // Whether the frame pointer holds the frame, and what its prologue takes.
        let (mut pointed, mut taken) = (false, None);
        let mut largest = 0;
        let mut rows = entry.rows(&section, &bases, &mut context).map_err(failed)?;
        while let Some(row) = rows.next_row().map_err(failed)? {
            let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
                return Err(unreadable("an expression tells a frame"));
            };
            let offset = u64::try_from(*offset).map_err(|_| unreadable("a frame is negative"))?;
            match (code.architecture, *register) {
                (X86, X86_64::RSP) | (ARM, ARM_SP) => largest = largest.max(offset),
                (X86, X86_64::RBP) => {
                    pointed = true;
                    if let Some(prologue) = prologue(&text, &entry, row.start_address()) {
                        let set_up = set_up(prologue).ok_or_else(|| unreadable(ODD))?;
                        taken = taken.max(Some(offset + set_up));
                    }
                }
                _ => return Err(unreadable("an unknown register holds a frame")),
            }
        }
        if pointed {
            // Calls of such a function push their arguments behind its frame.
            largest = largest.max(taken.ok_or_else(|| unreadable(ODD))? + arguments);
        }
        frames.insert(entry.initial_address(), largest);
    }
    Ok(frames)
}

/// The instructions of a function from an address on, if `mov rbp, rsp` is before them.
fn prologue<'a>(text: &Part<'a>, entry: &Entry<'_>, address: u64) -> Option<&'a [u8]> {
    const MOVE: &[u8] = &[0x48, 0x89, 0xe5];
    let start = address.checked_sub(MOVE.len() as u64)?;
    let bytes = text.from(start.max(entry.initial_address())).strip_prefix(MOVE)?;
    let length = usize::try_from(entry.end_address().checked_sub(address)?).ok()?;
    bytes.get(..length)
}

/// Bytes that a prologue takes after `mov rbp, rsp`: it pushes registers, may align the stack
/// pointer, and lowers it by the size of the frame. LLVM puts no other instruction between these.
/// `None` where the stack pointer is lowered in another way.
fn set_up(mut code: &[u8]) -> Option<u64> {
    let mut taken = 0_u64;
    loop {
        let (size, length) = match *code {
            // push
            [0x50..=0x57, ..] => (8, 1),
            [0x41, 0x50..=0x57, ..] => (8, 2),
            // and rsp, -alignment
            [0x48, 0x83, 0xe4, by, ..] => (lowest(by.cast_signed().into())?, 4),
            [0x48, 0x81, 0xe4, a, b, c, d, ..] => {
                (lowest(i32::from_le_bytes([a, b, c, d]).into())?, 7)
            }
            // sub rsp, size
            [0x48, 0x83, 0xec, by, ..] => (by.cast_signed().into(), 4),
            [0x48, 0x81, 0xec, a, b, c, d, ..] => (i32::from_le_bytes([a, b, c, d]).into(), 7),
            // add rsp, -size: of 128, because that is shorter
            [0x48, 0x83, 0xc4, by, ..] => (-i64::from(by.cast_signed()), 4),
            // lea rsp, [rsp - size]: where the flags are in use
            [0x48, 0x8d, 0x64, 0x24, by, ..] => (-i64::from(by.cast_signed()), 5),
            [0x48, 0x8d, 0xa4, 0x24, a, b, c, d, ..] => {
                (-i64::from(i32::from_le_bytes([a, b, c, d])), 8)
            }
            // mov rax or r11, size, and add or sub rsp, rax or r11: more than 2 GiB
            [0xb8, _, _, _, _, 0x48, 0x01 | 0x29, 0xc4, ..]
            | [0x48, 0xb8, _, _, _, _, _, _, _, _, 0x48, 0x01 | 0x29, 0xc4, ..]
            | [0x41, 0xbb, _, _, _, _, 0x4c, 0x01 | 0x29, 0xdc, ..]
            | [0x49, 0xbb, _, _, _, _, _, _, _, _, 0x4c, 0x01 | 0x29, 0xdc, ..]
            | [] => return None,
            _ => return Some(taken),
        };
        taken += u64::try_from(size).ok()?;
        code = &code[length..];
    }
}

/// The most that an `and` with this mask lowers the stack pointer by.
fn lowest(mask: i64) -> Option<i64> {
    let alignment = mask.checked_neg()?;
    (alignment > 0 && alignment & (alignment - 1) == 0).then_some(alignment - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Calls;
    use crate::stack::FACTOR;

    #[test]
    fn prologues_tell_what_they_take() {
        let push_r15_rbx = [0x41, 0x57, 0x53];
        let with = |tail: &[u8]| set_up(&[&push_r15_rbx[..], tail].concat());
        assert_eq!(with(&[0xc3]), Some(16));
        assert_eq!(with(&[0x48, 0x83, 0xec, 0x20, 0x89, 0xf3]), Some(16 + 0x20));
        assert_eq!(with(&[0x48, 0x81, 0xec, 0, 0x71, 2, 0, 0xc3]), Some(16 + 0x27100));
        assert_eq!(with(&[0x48, 0x83, 0xc4, 0x80, 0xc3]), Some(16 + 128));
        assert_eq!(with(&[0x48, 0x8d, 0x64, 0x24, 0xf0, 0xc3]), Some(16 + 16));
        let aligned = [0x48, 0x83, 0xe4, 0xe0, 0x48, 0x81, 0xec, 0, 1, 0, 0, 0xc3];
        assert_eq!(with(&aligned), Some(16 + 31 + 256));
        // A constant of the function's own is no frame.
        assert_eq!(with(&[0xb8, 1, 0, 0, 0, 0x48, 0x29, 0xc3]), Some(16));
        let by_a_register = [0x48, 0xb8, 0, 0, 0, 0, 0xff, 0, 0, 0, 0x48, 0x29, 0xc4, 0xc3];
        assert_eq!(with(&by_a_register), None);
        assert_eq!(with(&[0x48, 0x83, 0xe4, 0xe1, 0xc3]), None, "no alignment");
        assert_eq!(with(&[0x48, 0x83, 0xec, 0xf0, 0xc3]), None, "raised");
        assert_eq!(with(&[]), None, "cut off");
    }

    #[test]
    fn functions_weigh_what_their_frames_take() {
        let text = r#"(module (import "" "" (func $host))
          (table 2 funcref) (elem (i32.const 0) $host $self)
          (func $leaf)
          (func $self (call $leaf) (call $self)
            (call_indirect (i32.const 0)) (call_indirect (i32.const 1))))"#;
        let wasm = wat::parse_str(text).unwrap();
        let weighed = |frames: &Frames| Calls::of(&wasm, frames).unwrap();
        let of = |functions: [u64; 3], unnamed, entries| {
            weighed(&Frames { functions: functions.into(), unnamed, entries })
        };
        let plain = weighed(&Frames::default());
        let (own, through) = (plain.direct(2, 2).unwrap(), plain.indirect(2, 0).unwrap());
        let same = of([100, FACTOR * own, 100], 0, 0);
        assert_eq!((same.direct(2, 2), same.uncounted), (Some(own), plain.uncounted));
        let larger = of([100, 5001, 100], 0, 0);
        assert_eq!((larger.direct(2, 2), larger.indirect(2, 0)), (Some(2501), Some(2501)));
        assert_eq!(larger.uncounted, plain.uncounted + 2501 - own);
        // The function that the table holds for the import comes last.
        let held = of([100, 100, 7000], 0, 0);
        assert_eq!((held.direct(2, 2), held.indirect(2, 0)), (Some(own), Some(3500)));
        assert!(through < 3500);
        let entries = of([0; 3], 0, 800);
        assert_eq!(entries.uncounted, plain.uncounted + 400);
        // A copy without a number may stand for any function.
        assert_eq!(of([100; 3], 9000, 0).direct(2, 2), Some(4500));
    }

    #[test]
    fn a_module_that_was_not_compiled_has_no_frames() {
        assert_eq!(Frames::read(b"\0asm\x01\0\0\0", 0).unwrap(), Frames::default());
    }
}
