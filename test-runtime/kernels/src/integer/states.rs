//! A state machine that tells numbers from other words, a byte at a time.

use super::crc::Crc;

/// The type of a word so far.
#[derive(Clone, Copy)]
enum State {
    Start,
    Sign,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    Scientific,
    Invalid,
}

const STATES: usize = State::Invalid as usize + 1;

/// Words of each kind; the seed says in which order.
const WORDS: [&[u8]; 16] = [
    b"5012",
    b"-874",
    b"+122",
    b"35.54400",
    b".1234500",
    b"-110.700",
    b"+0.64400",
    b"5.500e+3",
    b"-.123e-2",
    b"-87e+832",
    b"+0.6e-12",
    b"T0.3e-1F",
    b"-T.T++Tq",
    b"1T3.4e4z",
    b"34.0e-T^",
    b"",
];
/// Words in a text.
const LENGTH: u16 = 32;

/// Goes through a text of words with commas between, and adds how often each state was
/// entered and how often a word ended in it.
pub fn round(seed: u16, crc: &mut Crc) {
    let mut entered = [0_u16; STATES];
    let mut ended = [0_u16; STATES];
    let mut state = State::Start;
    for place in 0..LENGTH {
        let index = seed.wrapping_add(place.wrapping_mul(7)) ^ seed >> 8;
        for byte in WORDS[usize::from(index) % WORDS.len()].iter().chain(b",") {
            if *byte == b',' {
                ended[state as usize] += 1;
                state = State::Start;
            } else {
                state = state.after(*byte);
                entered[state as usize] += 1;
            }
        }
    }
    for count in entered.into_iter().chain(ended) {
        crc.add(count);
    }
}

impl State {
    const fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Start, b'+' | b'-') => Self::Sign,
            (Self::Start | Self::Sign | Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Start | Self::Sign | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Integer | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::Scientific, b'0'..=b'9') => {
                Self::Scientific
            }
            _ => Self::Invalid,
        }
    }
}
