//! The decoder of `json-module` as a guest of waPC, by the published crate `wapc-guest`: operations
//! in place of exports, and a response in place of a result.

// It is a module and nothing else: see README.md.
#![cfg(target_arch = "wasm32")]

use std::hint::black_box;

use wapc_guest::{console_log, host_call, register_function};

/// Registers the operations. A host of waPC calls it once on a new instance.
// SAFETY: no other symbol of the module has this name, or the linker would refuse the module.
#[unsafe(no_mangle)]
extern "C" fn wapc_init() {
    register_function("noop", |_| Ok(Vec::new()));
    register_function("run_small", |json| {
        json_payload::decode_small(json);
        Ok(Vec::new())
    });
    register_function("run_big", |json| {
        json_payload::decode_big(json);
        Ok(Vec::new())
    });
    register_function("run_any", |json| Ok(json_payload::decode_any(json).to_le_bytes().to_vec()));
    register_function("take_input", |input| {
        black_box(input);
        Ok(Vec::new())
    });
    register_function("log", |text| {
        console_log(std::str::from_utf8(text)?);
        Ok(Vec::new())
    });
    register_function("call_host", |message| host_call("json", "touchstone", "answer", message));
}
