//! The same call against WAMR's own interface, without this project's contract: the raw reference
//! for the adapter.
//!
//! Written as a careful user would: translated once, from a module whose memory WAMR does not cut
//! off, with a stack that serves all instances. Each call makes an instance, places header and
//! input at the heap base, calls, reads the output and drops the instance.

use crate::ID;
use crate::api::{Code, ExecEnv, Instance};
use crate::host::bytes;
use crate::module::STACK;
use crate::rewrite::{START, rewrite};
use std::sync::Arc;
use touchstone_executor::adapter::{Changes, RawCall, RawCaller, RawFrame, copy_output};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Error, Result, Signature, ValueType};

pub(crate) fn caller(guest: &GuestModule, call: &RawCall<'_>) -> Result<Option<RawCaller>> {
    let Some(frame) = RawFrame::of(guest, call) else { return Ok(None) };
    let mut module = rewrite(guest, Changes::default())?;
    let place = guest.info().exports.iter().position(|export| export.name == frame.export);
    let Some(place) = place else { return Ok(None) };
    let substrate = Signature::new(&[ValueType::I32; 2], &[ValueType::I64]);
    if guest.info().exports[place].signature.as_ref() != Some(&substrate) {
        return Ok(None);
    }
    let export = module.functions.swap_remove(place);
    let failed = || Error::runtime(ID, "set up its raw interface");
    // Without host functions: a call of one is a trap.
    let code = Arc::new(Code::load(&module.wasm, 0).map_err(failed())?);
    let instance = Instance::new(&code).map_err(failed())?;
    let env = ExecEnv::new(&instance, STACK);
    let env = env.ok_or_else(|| failed()("out of memory".to_owned()))?;
    drop(instance);
    Ok(Some(frame.caller(ID, move |frame, output| -> Result<(), String> {
        let instance = Instance::new(&code)?;
        env.serve(&instance);
        let missing = || "an export is missing".to_owned();
        let memory = instance.memory().ok_or_else(missing)?;
        if module.has_start {
            let start = instance.function(START).ok_or_else(missing)?;
            // SAFETY: a function of this instance without parameters and results.
            if !unsafe { env.call(start, 0, &mut [0; 2]) } {
                return Err(instance.exception());
            }
        }
        // SAFETY: the instance is alive and does not run.
        frame.place(unsafe { bytes(memory) }).ok_or_else(missing)?;
        let function = instance.function(&export).ok_or_else(missing)?;
        let mut cells = [frame.pointer(), frame.length()];
        // SAFETY: a function of this instance, of Substrate's type; no host function is linked.
        if !unsafe { env.call(function, 2, &mut cells) } {
            return Err(instance.exception());
        }
        let packed = u64::from(cells[1]) << 32 | u64::from(cells[0]);
        // SAFETY: as above.
        copy_output(unsafe { bytes(memory) }, packed, output).ok_or_else(missing)
    })))
}
