//! Hostile calls, each with its required end.

use super::bench::{BRIEF, Bench, PATIENT};
use super::guests;
use anyhow::{Context, Result, bail, ensure};
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{Abi, Error, Outcome, TrapKind};

/// Maximum size of the memory, 64 MiB.
const MOST_PAGES: u32 = 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    export: &'static str,
    abi: Abi,
    input: &'static [u8],
    must: Must,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Must {
    Deadline,
    Stack,
    /// Refused result.
    BadResult,
    /// Refused by a host function.
    Refused,
    /// Return, because requests were refused or limited.
    Return,
}

const fn call(export: &'static str, must: Must) -> Call {
    Call { export, abi: Abi::Plain, input: b"", must }
}

const fn by(export: &'static str, abi: Abi, input: &'static [u8], must: Must) -> Call {
    Call { export, abi, input, must }
}

pub(super) const ENDLESS: &[Call] = &[
    call("endless", Must::Deadline),
    call("endless_calls", Must::Deadline),
    call("endless_host", Must::Deadline),
];

pub(super) const MEMORY: &[Call] = &[
    call("memory_by_pages", Must::Return),
    call("memory_at_once", Must::Return),
    call("memory_of_host", Must::Refused),
];

pub(super) const TABLE: &[Call] =
    &[call("table_by_parts", Must::Return), call("table_at_once", Must::Return)];

pub(super) const STACK: &[Call] = &[
    call("recurse", Must::Stack),
    call("recurse_large", Must::Stack),
    call("recurse_table", Must::Stack),
];

pub(super) const HOST_STACK: &[Call] = &[
    call("recurse_level", Must::Stack),
    call("recurse_malloc", Must::Stack),
    call("recurse_log", Must::Stack),
];

pub(super) const RESULTS: &[Call] = &[
    by("result_length", Abi::Substrate, b"", Must::BadResult),
    by("result_pointer", Abi::Substrate, b"", Must::BadResult),
    by("result_both", Abi::Substrate, b"", Must::BadResult),
    by("result_wraps", Abi::Substrate, b"", Must::BadResult),
    by("result_end", Abi::Substrate, b"", Must::BadResult),
    by("take", Abi::Bytes, b"input", Must::BadResult),
];

pub(super) const HOST: &[Call] = &[
    call("log_pointer", Must::Refused),
    call("log_length", Must::Refused),
    call("log_both", Must::Refused),
    by("input_pointer", Abi::Input, b"input", Must::Refused),
    by("input_end", Abi::Input, b"input", Must::Refused),
    call("free_null", Must::Refused),
    call("free_end", Must::Refused),
    call("free_data", Must::Refused),
    call("free_never", Must::Refused),
    call("free_twice", Must::Refused),
    call("malloc_huge", Must::Refused),
    call("malloc_large", Must::Refused),
    call("header_out", Must::Refused),
    call("header_class", Must::Refused),
];

pub(super) fn guest() -> Result<GuestModule> {
    let heap = HeapPages { extra: 0, growth: Growth::UpTo(MOST_PAGES) };
    Ok(GuestModule::new("hostile", &wat::parse_str(guests::hostile())?, heap)?)
}

/// Makes the calls on one instance, each followed by a harmless call.
pub(super) fn make(bench: &mut Bench<'_>, calls: &[Call]) -> Result<()> {
    let guest = guest()?;
    // Endless calls get a near deadline; all others must not meet one.
    let ended_by_deadline = calls.iter().all(|call| call.must == Must::Deadline);
    let deadline = if ended_by_deadline { BRIEF } else { PATIENT };
    let module = bench.load(&guest, deadline)?;
    let mut instance = module.new_instance()?;
    for call in calls {
        let export = match module.export(call.export, call.abi) {
            Err(Error::ExportUnsupported { .. } | Error::WrongSignature { .. })
                if call.abi != Abi::Plain =>
            {
                continue;
            }
            found => found
                .or_else(|_| module.export(&format!("{}_packed", call.export), Abi::Substrate))?,
        };
        let mut output = b"left over".to_vec();
        let outcome = instance.call(export, call.input, &mut output);
        bench.saw(judge(call, &outcome, &output).with_context(|| call.export)?);
        bench
            .answers(&*module, &mut *instance)
            .with_context(|| format!("the next call after {}", call.export))?;
    }
    Ok(())
}

/// The end of the call in words, if it is the required one.
fn judge(
    call: &Call,
    outcome: &touchstone_executor::Result<Outcome>,
    output: &[u8],
) -> Result<String> {
    let fits = match (outcome, call.must) {
        (Ok(Outcome::Returned), Must::Return) => true,
        (Ok(Outcome::Trapped(trap)), must) => matches!(
            (&trap.kind, must),
            (TrapKind::DeadlineExceeded, Must::Deadline)
                | (TrapKind::StackOverflow, Must::Stack)
                | (TrapKind::BadResult { .. }, Must::BadResult)
                | (TrapKind::HostFunction { .. }, Must::Refused)
        ),
        _ => false,
    };
    let words = match outcome {
        Ok(outcome) => words(outcome),
        Err(error) => error.to_string(),
    };
    ensure!(fits, "ended with: {words}");
    if matches!(outcome, Ok(Outcome::Trapped(_))) && !output.is_empty() {
        bail!("left an output of {} bytes with its trap", output.len());
    }
    Ok(words)
}

/// The end of a call in a few words, the same for all arguments.
pub(super) fn words(outcome: &Outcome) -> String {
    match outcome.trap().map(|trap| &trap.kind) {
        None => "refused within the guest".to_owned(),
        Some(TrapKind::HostFunction { .. }) => "trap: a host function refuses".to_owned(),
        Some(TrapKind::BadResult { .. }) => "trap: result lies outside the memory".to_owned(),
        Some(TrapKind::BadInput { .. }) => "trap: input refused".to_owned(),
        Some(TrapKind::Other) => {
            format!("trap: {}", outcome.trap().map_or("", |trap| &trap.detail))
        }
        Some(kind) => format!("trap: {kind}"),
    }
}
