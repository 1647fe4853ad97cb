//! A live instance, and its calls by every convention.

use crate::abi::Abi;
use crate::call::{CallOptions, EnforcedLimits};
use crate::contract::{ExportId, Exports};
use crate::error::{Error, Result};
use crate::heap::HeapError;
use crate::host::HostState;
use crate::memory::Rights;
use crate::outcome::{Claim, HostPanic, Outcome, Trap, TrapKind};
use crate::typed::Values;
use crate::{Signature, Value, wapc};
use smallvec::smallvec;

/// The operations of a live instance that [`invoke`] needs; each backend implements them.
pub trait Live {
    /// The linear memory; empty if the module has none. Where there are [`rights`](Self::rights),
    /// this thread must have them as long as it uses it.
    fn memory(&mut self) -> &mut [u8] {
        self.memory_and_host().0
    }

    /// The same for everybody; `None` if the module has none.
    fn shown_memory(&mut self) -> Option<&[u8]> {
        Some(&*self.memory()).filter(|memory| !memory.is_empty())
    }

    /// The rights that this thread needs while the guest runs or its memory is used.
    fn rights(&self) -> Rights {
        Rights::default()
    }

    /// Grows the memory; `false` if the runtime refuses.
    fn grow_memory(&mut self, pages: u32) -> bool;

    /// Allocator, input and log of this instance.
    fn host(&mut self) -> &mut HostState {
        self.memory_and_host().1
    }

    /// Memory and host state at once.
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState);

    /// Calls an export of Substrate's signature. The default is [`call_plain`](Self::call_plain),
    /// for runtimes that have no faster way. The outer error is the host's failure, the inner one
    /// the guest's trap.
    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let params = [Value::I32(pointer.cast_signed()), Value::I32(length.cast_signed())];
        let mut results = [Value::I64(0)];
        let ended = self.call_plain(index, &params, &mut results)?;
        match results {
            [Value::I64(packed)] => Ok(ended.map(|()| packed.cast_unsigned())),
            _ => Err(Error::FOREIGN_HANDLE),
        }
    }

    /// Calls an export with values, of which no reference is opaque. `results` has the right number
    /// of entries, each of its type. The outer error is the host's failure, the inner one the
    /// guest's trap.
    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>>;

    /// The limits that a call can have. The default is none.
    fn enforced_limits(&self) -> EnforcedLimits {
        EnforcedLimits::default()
    }

    /// Begins a call with [limits](HostState::limits). Fails where the runtime does.
    fn begin_limits(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends such a call.
    fn end_limits(&mut self) {}

    /// See [`Instance::operators`](crate::Instance::operators).
    fn operators(&mut self) -> Option<u64> {
        None
    }
}

/// Runs one of these exports by its convention, with the options of this call if it has any.
/// `output` is cleared first.
/// Fails when the host side fails, the handle is of another module, or a limit cannot be enforced.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it only forwards, in each call of a guest")]
pub fn invoke<L: Live>(
    live: &mut L,
    exports: &Exports,
    export: ExportId,
    input: &[u8],
    output: &mut Vec<u8>,
    options: Option<CallOptions<'_>>,
) -> Result<Outcome> {
    output.clear();
    if !exports.has(export) {
        return Err(Error::FOREIGN_HANDLE);
    }
    match options {
        None => by_convention(live, exports, export, input, output),
        Some(options) => with_options(live, exports, export, input, output, options),
    }
}

/// One copy for calls with options and without: so it has its callees within.
#[inline(never)]
fn by_convention<L: Live>(
    live: &mut L,
    exports: &Exports,
    export: ExportId,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Outcome> {
    let _rights = live.rights();
    let index = export.index();
    let signature = || exports.signature(index).ok_or(Error::FOREIGN_HANDLE);
    let ended = match export.abi() {
        Abi::Substrate => substrate(live, index, input, output)?,
        Abi::Input => {
            live.host().set_input(input);
            values(live, index, signature()?, &[], output)?
        }
        Abi::Bytes => bytes(live, export, signature()?, input, output)?,
        Abi::Plain => plain(live, index, signature()?, input, output)?,
        Abi::Wasi => program(live, index, input, output)?,
        Abi::Wapc => message(live, index, input, output)?,
        Abi::Typed | Abi::Codec => return Err(Error::FOREIGN_HANDLE),
    };
    outcome(ended)
}

#[inline(never)]
fn with_options<L: Live>(
    live: &mut L,
    exports: &Exports,
    export: ExportId,
    input: &[u8],
    output: &mut Vec<u8>,
    options: CallOptions<'_>,
) -> Result<Outcome> {
    live.enforced_limits().check(&options)?;
    if let Err(trap) = options.check_interrupt() {
        return Ok(Outcome::Trapped(trap));
    }
    // SAFETY: dropping the guard leaves the call, while the options are lent.
    unsafe { live.host().enter(options) };
    let entered = Entered(live);
    if entered.0.host().is_limited() {
        entered.0.begin_limits()?;
    }
    by_convention(&mut *entered.0, exports, export, input, output)
}

/// The outcome of a call that returned or trapped. Fails with [`Error::HostPanicked`], if the trap
/// stands for it.
pub fn outcome(ended: Result<(), Trap>) -> Result<Outcome> {
    match ended {
        Ok(()) => Ok(Outcome::Returned),
        Err(Trap { kind: TrapKind::HostPanic(panic), .. }) => {
            let HostPanic { module, name, message } = *panic;
            Err(Error::HostPanicked { module, name, message })
        }
        Err(trap) => Ok(Outcome::Trapped(trap)),
    }
}

struct Entered<'a, L: Live>(&'a mut L);

impl<L: Live> Drop for Entered<'_, L> {
    fn drop(&mut self) {
        if self.0.host().is_limited() {
            self.0.end_limits();
        }
        self.0.host().leave();
    }
}

/// Places the input. An empty input is allocated too, on every backend, as Substrate's
/// executor does.
fn substrate<L: Live>(
    live: &mut L,
    index: u32,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    let Ok(length) = u32::try_from(input.len()) else {
        return Ok(Err(refuse("it is larger than 4 GiB".to_owned())));
    };
    let pointer = match place(live, input, length) {
        Ok(pointer) => pointer,
        Err(error) => return Ok(Err(refuse(error.to_string()))),
    };
    let packed = match live.call_substrate(index, pointer, length)? {
        Ok(packed) => packed,
        Err(trap) => return Ok(Err(trap)),
    };
    let (pointer, length) = (packed as u32, (packed >> 32) as u32);
    if length == 0 {
        return Ok(Ok(()));
    }
    let (memory, host) = live.memory_and_host();
    let memory = host.own(memory);
    let end = pointer as usize + length as usize;
    Ok(match memory.get(pointer as usize..end) {
        Some(bytes) => {
            output.extend_from_slice(bytes);
            Ok(())
        }
        None => {
            let claim = Claim { pointer, length, memory: memory.len() };
            Err(TrapKind::BadResult { claim: Some(claim) }.into())
        }
    })
}

/// Places the input, of so many bytes, in the host's heap, and grows the memory if the heap
/// requests it.
#[inline]
fn place<L: Live>(live: &mut L, input: &[u8], length: u32) -> Result<u32, HeapError> {
    loop {
        let (memory, host) = live.memory_and_host();
        match host.malloc(memory, length) {
            Ok(pointer) => {
                // The allocator gives only addresses whose whole extent lies in memory.
                memory[pointer as usize..][..input.len()].copy_from_slice(input);
                return Ok(pointer);
            }
            Err(HeapError::NeedsMemory { pages }) if live.grow_memory(pages) => {}
            Err(error) => return Err(error),
        }
    }
}

fn plain<L: Live>(
    live: &mut L,
    index: u32,
    signature: &Signature,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    let needed: usize = signature.params.iter().map(|ty| ty.size()).sum();
    if needed != input.len() {
        return Err(Error::WrongArguments(format!(
            "{signature} takes {needed} bytes of parameters, the input has {}",
            input.len()
        )));
    }
    let mut rest = input;
    let mut params: Values = smallvec![Value::I32(0); signature.params.len()];
    for (param, ty) in params.iter_mut().zip(&signature.params) {
        let (bytes, tail) = rest.split_at(ty.size());
        rest = tail;
        match Value::from_le_bytes(*ty, bytes).filter(|value| !value.is_opaque()) {
            Some(value) => *param = value,
            None => {
                return Err(Error::WrongArguments(format!("a {ty} can only be null, the byte 0")));
            }
        }
    }
    values(live, index, signature, &params, output)
}

/// Runs a program of WASI. An exit with code 0 is a return. The output is what the program has
/// written, however it ends.
fn program<L: Live>(
    live: &mut L,
    index: u32,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    live.host().begin_program(input);
    let ended = match live.call_plain(index, &[], &mut [])? {
        Err(Trap { kind: TrapKind::Exit { code: 0 }, .. }) => Ok(()),
        ended => ended,
    };
    output.extend_from_slice(live.host().end_program());
    Ok(ended)
}

/// Calls a guest of waPC, which takes operation and message from the host and gives it the output.
fn message<L: Live>(
    live: &mut L,
    index: u32,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    let lengths = wapc::parts(input).map(|part| i32::try_from(part.len()));
    let [Ok(operation), Ok(message)] = lengths else {
        return Ok(Err(refuse("it is larger than 2 GiB".to_owned())));
    };
    wapc::begin(live.host(), input);
    let mut result = [Value::I32(0)];
    let params = [Value::I32(operation), Value::I32(message)];
    let ended = live.call_plain(index, &params, &mut result)?;
    Ok(ended.and_then(|()| wapc::end(live.host(), result == [Value::I32(1)], output)))
}

/// The guest's own allocator gives the buffer, before the call and as part of it.
fn bytes<L: Live>(
    live: &mut L,
    export: ExportId,
    signature: &Signature,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    let allocator = export.allocator().ok_or(Error::FOREIGN_HANDLE)?;
    let Ok(length) = u32::try_from(input.len()) else {
        return Ok(Err(refuse("it is larger than 4 GiB".to_owned())));
    };
    let size = Value::I32(length as i32);
    let mut given = [Value::I32(0)];
    if let Err(trap) = live.call_plain(allocator, &[size], &mut given)? {
        return Ok(Err(trap));
    }
    let [Value::I32(start)] = given else { return Err(Error::FOREIGN_HANDLE) };
    let pointer = start as u32;
    let (memory, host) = live.memory_and_host();
    let memory = host.own(memory);
    let place = memory.get_mut(pointer as usize..).and_then(|rest| rest.get_mut(..input.len()));
    let Some(place) = place else {
        let claim = Claim { pointer, length, memory: memory.len() };
        return Ok(Err(TrapKind::BadResult { claim: Some(claim) }.into()));
    };
    place.copy_from_slice(input);
    values(live, export.index(), signature, &[Value::I32(start), size], output)
}

/// Calls with values; the results become the output.
fn values<L: Live>(
    live: &mut L,
    index: u32,
    signature: &Signature,
    params: &[Value],
    output: &mut Vec<u8>,
) -> Result<Result<(), Trap>> {
    let mut results: Values = smallvec![Value::I32(0); signature.results.len()];
    for (result, ty) in results.iter_mut().zip(&signature.results) {
        *result = Value::zero(*ty);
    }
    let ended = live.call_plain(index, params, &mut results)?;
    if ended.is_ok() {
        for value in results {
            output.extend_from_slice(&value.to_le_bytes()[..value.ty().size()]);
        }
    }
    Ok(ended)
}

fn refuse(reason: String) -> Trap {
    TrapKind::BadInput { reason }.into()
}
