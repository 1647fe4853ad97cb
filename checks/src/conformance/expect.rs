//! Expected results of calls, and their comparison with real ones.

use std::fmt;
use touchstone_executor::TrapKind;
use wast::WastRet;
use wast::core::{NanPattern, V128Pattern, WastRetCore};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Any return.
    Anything,
    Returns(Vec<Pattern>),
    /// A trap with the script's message.
    Traps(String),
}

/// The message of scripts for an exhausted stack.
const EXHAUSTED: &str = "call stack exhausted";

impl Expected {
    /// `true` for the trap of endless recursion.
    pub fn is_exhaustion(&self) -> bool {
        matches!(self, Self::Traps(message) if message == EXHAUSTED)
    }
}

/// An expected value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// A number of this size in bytes, bit by bit.
    Bits(u8, u64),
    /// A NaN of this size in bytes whose payload is its highest bit alone.
    CanonicalNan(u8),
    /// A NaN of this size in bytes with the highest payload bit set.
    ArithmeticNan(u8),
    /// A vector, lane by lane.
    Lanes(Vec<Pattern>),
    /// A reference, null or not.
    Null(bool),
    Either(Vec<Pattern>),
}

impl Pattern {
    /// Reads a pattern; `None` for values that only a host can make.
    pub(super) fn of(expected: &WastRet<'_>) -> Option<Self> {
        match expected {
            WastRet::Core(expected) => Self::of_core(expected),
            #[allow(unreachable_patterns, reason = "there is one more with components")]
            _ => None,
        }
    }

    fn of_core(expected: &WastRetCore<'_>) -> Option<Self> {
        let lane = |size: u8, bits: u64| Self::Bits(size, bits);
        Some(match expected {
            WastRetCore::I32(value) => lane(4, u64::from(*value as u32)),
            WastRetCore::I64(value) => lane(8, *value as u64),
            WastRetCore::F32(value) => float(4, value, |value| u64::from(value.bits)),
            WastRetCore::F64(value) => float(8, value, |value| value.bits),
            WastRetCore::V128(lanes) => Self::Lanes(match lanes {
                V128Pattern::I8x16(all) => all.map(|one| lane(1, u64::from(one as u8))).into(),
                V128Pattern::I16x8(all) => all.map(|one| lane(2, u64::from(one as u16))).into(),
                V128Pattern::I32x4(all) => all.map(|one| lane(4, u64::from(one as u32))).into(),
                V128Pattern::I64x2(all) => all.map(|one| lane(8, one as u64)).into(),
                V128Pattern::F32x4(all) => {
                    all.each_ref().map(|one| float(4, one, |one| u64::from(one.bits))).into()
                }
                V128Pattern::F64x2(all) => {
                    all.each_ref().map(|one| float(8, one, |one| one.bits)).into()
                }
            }),
            WastRetCore::RefNull(_) => Self::Null(true),
            WastRetCore::RefFunc(_)
            | WastRetCore::RefExtern(None)
            | WastRetCore::RefAny
            | WastRetCore::RefEq
            | WastRetCore::RefArray
            | WastRetCore::RefStruct
            | WastRetCore::RefI31
            | WastRetCore::RefI31Shared => Self::Null(false),
            WastRetCore::RefExtern(Some(_)) | WastRetCore::RefHost(_) => return None,
            WastRetCore::Either(all) => {
                Self::Either(all.iter().map(Self::of_core).collect::<Option<_>>()?)
            }
        })
    }

    /// Size of a matching value, bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Bits(size, _) | Self::CanonicalNan(size) | Self::ArithmeticNan(size) => {
                usize::from(*size)
            }
            Self::Lanes(lanes) => lanes.iter().map(Self::size).sum(),
            // A reference arrives as the result of `ref.is_null`.
            Self::Null(_) => 4,
            Self::Either(all) => all.first().map_or(0, Self::size),
        }
    }

    /// `true` if these little-endian bytes match.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        if bytes.len() != self.size() {
            return false;
        }
        let found = || {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(wide)
        };
        match self {
            Self::Bits(_, bits) => found() == *bits,
            Self::CanonicalNan(size) => {
                let (sign, quiet) = nan(*size);
                found() & !sign == quiet
            }
            Self::ArithmeticNan(size) => {
                let (_, quiet) = nan(*size);
                found() & quiet == quiet
            }
            Self::Lanes(lanes) => {
                let mut rest = bytes;
                lanes.iter().all(|lane| {
                    let (one, tail) = rest.split_at(lane.size());
                    rest = tail;
                    lane.matches(one)
                })
            }
            Self::Null(null) => found() == u64::from(*null),
            Self::Either(all) => all.iter().any(|one| one.matches(bytes)),
        }
    }
}

/// The sign bit, and the bits that every `quiet` NaN has set.
fn nan(size: u8) -> (u64, u64) {
    match size {
        4 => (1 << 31, 0x7fc0_0000),
        _ => (1 << 63, 0x7ff8_0000_0000_0000),
    }
}

fn float<T>(size: u8, value: &NanPattern<T>, bits: impl Fn(&T) -> u64) -> Pattern {
    match value {
        NanPattern::CanonicalNan => Pattern::CanonicalNan(size),
        NanPattern::ArithmeticNan => Pattern::ArithmeticNan(size),
        NanPattern::Value(value) => Pattern::Bits(size, bits(value)),
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, all: &[Self], between: &str| {
            let all: Vec<_> = all.iter().map(ToString::to_string).collect();
            f.write_str(&all.join(between))
        };
        match self {
            Self::Bits(size, bits) => {
                write!(f, "0x{bits:0width$x}", width = usize::from(*size) * 2)
            }
            Self::CanonicalNan(_) => f.write_str("nan:canonical"),
            Self::ArithmeticNan(_) => f.write_str("nan:arithmetic"),
            Self::Lanes(lanes) => list(f, lanes, ","),
            Self::Null(true) => f.write_str("null"),
            Self::Null(false) => f.write_str("no null"),
            Self::Either(all) => list(f, all, " or "),
        }
    }
}

/// The first difference between results and patterns, in words.
pub fn difference(expected: &[Pattern], found: &[u8]) -> Option<String> {
    let size: usize = expected.iter().map(Pattern::size).sum();
    if size != found.len() {
        return Some(format!("expected {size} bytes of results, got {}", found.len()));
    }
    let mut rest = found;
    for (index, pattern) in expected.iter().enumerate() {
        let (one, tail) = rest.split_at(pattern.size());
        rest = tail;
        if !pattern.matches(one) {
            let which = if expected.len() == 1 { String::new() } else { format!("{index}: ") };
            return Some(format!("result {which}expected {pattern}, got {}", shown(pattern, one)));
        }
    }
    None
}

/// Bytes in the lanes of the pattern.
fn shown(pattern: &Pattern, bytes: &[u8]) -> String {
    let hex = |bytes: &[u8]| {
        let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
        format!("0x{digits}")
    };
    match pattern {
        Pattern::Lanes(lanes) => {
            let size = lanes.first().map_or(16, Pattern::size);
            bytes.chunks(size).map(hex).collect::<Vec<_>>().join(",")
        }
        Pattern::Null(_) if bytes == [1, 0, 0, 0] => "null".to_owned(),
        _ => hex(bytes),
    }
}

/// `true` if a trap is of the kind that the script's message means. An unknown message matches any
/// trap.
pub fn is_meant(message: &str, kind: &TrapKind) -> bool {
    let kinds: &[TrapKind] = match message {
        "unreachable" => &[TrapKind::Unreachable],
        "integer divide by zero" => &[TrapKind::DivisionByZero],
        "integer overflow" | "invalid conversion to integer" => &[TrapKind::BadArithmetic],
        "out of bounds memory access" => &[TrapKind::MemoryOutOfBounds],
        "out of bounds table access" => &[TrapKind::TableOutOfBounds],
        EXHAUSTED => &[TrapKind::StackOverflow],
        // The index is out of bounds; the message alone would allow a null entry.
        message if message.starts_with("undefined element") => {
            &[TrapKind::TableOutOfBounds, TrapKind::BadIndirectCall]
        }
        message
            if message.starts_with("uninitialized element")
                || message.starts_with("indirect call type mismatch") =>
        {
            &[TrapKind::BadIndirectCall]
        }
        _ => return true,
    };
    kinds.contains(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_bit_by_bit() {
        let zero = Pattern::Bits(4, 0);
        assert!(zero.matches(&[0; 4]));
        // A negative zero is another number.
        assert!(!zero.matches(&0x8000_0000_u32.to_le_bytes()));
        assert!(!zero.matches(&[0; 8]));
        assert_eq!(difference(&[zero.clone(), zero.clone()], &[0; 8]), None);
        let found = [0, 0, 0, 0, 1, 2, 0, 0];
        let says = difference(&[zero.clone(), zero.clone()], &found).unwrap();
        assert_eq!(says, "result 1: expected 0x00000000, got 0x00000201");
        assert!(difference(&[zero], &found).unwrap().contains("4 bytes"));
    }

    #[test]
    fn nans_are_told_apart() {
        let (canonical, arithmetic) = (Pattern::CanonicalNan(4), Pattern::ArithmeticNan(4));
        for (bits, is_canonical, is_arithmetic) in [
            (0x7fc0_0000_u32, true, true),
            (0xffc0_0000, true, true),
            (0x7fc0_0001, false, true),
            (0x7fa0_0000, false, false),
            (0x7f80_0000, false, false),
            (0x3f80_0000, false, false),
        ] {
            let bytes = bits.to_le_bytes();
            assert_eq!(canonical.matches(&bytes), is_canonical, "{bits:#x}");
            assert_eq!(arithmetic.matches(&bytes), is_arithmetic, "{bits:#x}");
        }
        let wide = 0xfff8_0000_0000_0000_u64;
        assert!(Pattern::CanonicalNan(8).matches(&wide.to_le_bytes()));
        assert!(!Pattern::CanonicalNan(8).matches(&(wide | 1).to_le_bytes()));
        assert!(Pattern::ArithmeticNan(8).matches(&(wide | 1).to_le_bytes()));
    }

    #[test]
    fn vectors_go_lane_by_lane_and_choices_are_choices() {
        let lanes = Pattern::Lanes(vec![Pattern::CanonicalNan(8), Pattern::Bits(8, 5)]);
        let mut bytes = 0x7ff8_0000_0000_0000_u64.to_le_bytes().to_vec();
        bytes.extend(5_u64.to_le_bytes());
        assert!(lanes.matches(&bytes));
        bytes[8] = 6;
        assert!(!lanes.matches(&bytes));
        assert!(Pattern::Either(vec![Pattern::Null(true), Pattern::Bits(4, 0)]).matches(&[0; 4]));
        assert!(Pattern::Null(true).matches(&[1, 0, 0, 0]));
        assert!(!Pattern::Null(false).matches(&[1, 0, 0, 0]));
    }

    #[test]
    fn traps_have_to_be_the_one_that_is_meant() {
        assert!(is_meant("uninitialized element 7", &TrapKind::BadIndirectCall));
        assert!(!is_meant("unreachable", &TrapKind::DivisionByZero));
        assert!(is_meant("what nobody has said before", &TrapKind::Other));
    }
}
