//! An empty call of a host function, through the contract and through Wasm3's own interface, in
//! turns: a million calls a sample.
//!
//! A table of functions, whose closures are known at run time only, needs at least the second way:
//! a boxed closure whose panics are caught.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use std::ffi::c_void;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use touchstone_executor::{Strategy, Trap};
use turns::{CALLS, empty_calls};
use wasm3_sys as ffi;

unsafe extern "C" fn empty(
    _: ffi::IM3Runtime,
    _: ffi::IM3ImportContext,
    _: *mut u64,
    _: *mut c_void,
) -> *const c_void {
    null()
}

type Body = Box<dyn Fn(*mut u64) -> Result<(), Box<Trap>>>;

unsafe extern "C" fn boxed(
    _: ffi::IM3Runtime,
    context: ffi::IM3ImportContext,
    slots: *mut u64,
    _: *mut c_void,
) -> *const c_void {
    // SAFETY: `main` passed a body that lives to the end of the program.
    let body = unsafe { &*(*context).userdata.cast_const().cast::<Body>() };
    match catch_unwind(AssertUnwindSafe(|| body(slots))) {
        Ok(Ok(())) => null(),
        _ => c"stopped".as_ptr().cast(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines = touchstone_wasm3::engines();
    let own = engines.iter().find(|engine| engine.id() == "wasm3").ok_or("no engine")?;
    let (wasm, mut own) = empty_calls(&**own, Strategy::INTERPRETED)?;
    let body: Body = black_box(Box::new(|_| Ok(())));
    let ways: [(_, ffi::M3RawCall); 2] =
        [("a C function", Some(empty)), ("a boxed closure", Some(boxed))];
    for (against, host) in ways {
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: bytes and body live to the end of the program, as what is made here. Each pointer
        // is of a call before.
        unsafe {
            let environment = ffi::m3_NewEnvironment();
            let runtime = ffi::m3_NewRuntime(environment, 64 << 10, null_mut());
            let size = u32::try_from(wasm.len())?;
            let parsed = ffi::m3_ParseModule(environment, &raw mut module, wasm.as_ptr(), size);
            assert!(parsed.is_null());
            assert!(ffi::m3_LoadModule(runtime, module).is_null());
            let [place, name, ty] = [c"env", c"f", c"v()"].map(|text| text.as_ptr());
            let data = (&raw const body).cast();
            assert!(ffi::m3_LinkRawFunctionEx(module, place, name, ty, host, data).is_null());
            assert!(ffi::m3_FindFunction(&raw mut function, runtime, name).is_null());
        }
        turns::compare(&format!("a million calls, against {against}"), &mut own, || {
            let calls = CALLS;
            let mut arguments = [(&raw const calls).cast::<c_void>()];
            // SAFETY: the function takes one 32-bit number.
            assert!(unsafe { ffi::m3_Call(function, 1, arguments.as_mut_ptr()) }.is_null());
        });
    }
    Ok(())
}
