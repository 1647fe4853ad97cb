//! Host functions over the guest's memory, with their parameters as numbers: one path for backends
//! that call them without types, and for functions that are called seldom.

use super::{HostFunction, HostState, unless_it_panics};
use crate::heap::HeapError;
use crate::outcome::Trap;
use crate::storage;

/// Parameters of a call, zero-extended, in order; unused places are zero.
pub type Parameters = [u64; 9];

/// The parameters of a call. Numbers behind the ninth are ignored: no function has more.
#[must_use]
pub fn parameters(numbers: impl IntoIterator<Item = u64>) -> Parameters {
    let mut parameters = Parameters::default();
    parameters.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    parameters
}

/// The answer of [`HostState::answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The function's result, zero-extended; 0 where it has none.
    Result(u64),
    /// The backend must grow the memory and ask again; if it cannot, it must refuse the call with
    /// [`HostFunction::full`].
    NeedsMemory {
        /// Missing pages of 64 KiB.
        pages: u32,
    },
}

impl HostState {
    /// Answers any host function over the guest's memory, which is empty if there is none.
    ///
    /// # Errors
    ///
    /// When a function refuses its parameters, or [`TrapKind::Exit`](crate::TrapKind::Exit), when
    /// the guest ends itself.
    pub fn answer(
        &mut self,
        function: HostFunction,
        memory: &mut [u8],
        parameters: &Parameters,
    ) -> Result<Answer, Trap> {
        let [first, second, third, ..] = *parameters;
        Ok(Answer::Result(match function {
            HostFunction::Malloc => return self.allocated(function, memory, first as u32),
            HostFunction::Free => self.free(memory, first as u32).map(|()| 0)?,
            HostFunction::MaxLogLevel => self.max_log_level().into(),
            HostFunction::Log => self.log(memory, first as u32, second, third).map(|()| 0)?,
            HostFunction::InputLength => self.input_len(),
            HostFunction::Input => self.input(memory, first).map(|()| 0)?,
            HostFunction::Wasi(function) => {
                let memory = self.own(memory);
                self.wasi(function, memory, parameters)?.into()
            }
            HostFunction::Storage(called) => {
                let (storage, memory_of_guest) = (self.storage.as_deref(), self.own(memory));
                let answered = unless_it_panics(|| {
                    storage::answer(storage, memory_of_guest, called, parameters)
                });
                let panicked = || function.refuse("the storage panicked");
                match answered.ok_or_else(panicked)?? {
                    storage::Answer::Done => 0,
                    storage::Answer::Bytes(bytes) => return self.place(function, memory, &bytes),
                }
            }
        }))
    }

    /// Allocates, or says what is missing.
    fn allocated(
        &mut self,
        function: HostFunction,
        memory: &mut [u8],
        size: u32,
    ) -> Result<Answer, Trap> {
        match self.malloc(memory, size) {
            Ok(pointer) => Ok(Answer::Result(pointer.into())),
            Err(HeapError::NeedsMemory { pages }) => Ok(Answer::NeedsMemory { pages }),
            Err(error) => Err(function.refuse(error)),
        }
    }

    /// Copies bytes into a new block, and gives its packed place.
    fn place(
        &mut self,
        function: HostFunction,
        memory: &mut [u8],
        bytes: &[u8],
    ) -> Result<Answer, Trap> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let pointer = match self.allocated(function, memory, length)? {
            Answer::Result(pointer) => pointer,
            missing @ Answer::NeedsMemory { .. } => return Ok(missing),
        };
        let place = memory.get_mut(pointer as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        let place = place.ok_or_else(|| function.refuse("a block lies outside the memory"))?;
        place.copy_from_slice(bytes);
        Ok(Answer::Result(u64::from(length) << 32 | pointer))
    }
}
