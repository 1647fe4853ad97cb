//! A guest that contains a JavaScript engine: Boa with its built-in objects, and 2,000 objects
//! that a script made. Its heap is its own.
//!
//! `init` makes all of that. A host that runs it once and keeps the memory as an image gives it
//! to every instance; without an image, the first call of an instance makes it. Errors are traps.

// It is a module and nothing else: see README.md.
#![cfg(target_arch = "wasm32")]

mod block;
mod environment;

use boa_engine::{Context, JsResult, JsString, Source, js_string};
use std::cell::RefCell;
use std::hint::black_box;

/// Bytes of heap that are there for calls, so that they do not grow the memory.
const RESERVE: usize = 1 << 20;

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// Makes the engine and its objects.
// SAFETY: no other symbol of the module has this name, or the linker would refuse the module.
#[unsafe(no_mangle)]
extern "C" fn init() {
    with_context(|_| ());
    drop(black_box(vec![0_u8; RESERVE]));
}

/// Does nothing, so that a call costs only what the executor adds.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn noop() {}

/// The price of an order, given as JSON text: a script is compiled, parses the text and looks
/// each line of it up.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn price(address: u32, length: u32) -> u64 {
    // SAFETY: the calling convention has the host pass a block that `alloc` gave for this
    // length, and forget it.
    let order = unsafe { block::take(address, length) };
    let order = str::from_utf8(&order).expect("JSON is UTF-8");
    with_context(|context| evaluate(context, order)).expect("the script returns a number")
}

/// Lends the engine, which is made where it is not there yet.
fn with_context<R>(body: impl FnOnce(&mut Context) -> R) -> R {
    CONTEXT.with_borrow_mut(|context| {
        body(context.get_or_insert_with(|| prepared().expect("the prelude runs")))
    })
}

fn prepared() -> JsResult<Context> {
    let mut context = environment::context()?;
    context.eval(Source::from_bytes(include_str!("prelude.js")))?;
    Ok(context)
}

fn evaluate(context: &mut Context, order: &str) -> JsResult<u64> {
    let global = context.global_object();
    global.set(js_string!("input"), JsString::from(order), true, context)?;
    let price = context.eval(Source::from_bytes(include_str!("request.js")))?;
    Ok(price.to_number(context)? as u64)
}
