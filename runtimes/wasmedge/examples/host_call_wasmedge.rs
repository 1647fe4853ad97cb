//! An empty call of a host function by code that WasmEdge compiled, through the contract and
//! through WasmEdge's own interface, in turns: a million calls a sample.
//!
//! A table of functions, whose closures are known at run time only, needs at least the second way:
//! a boxed closure whose panics are caught.

#[path = "../../../tests/fixtures/turns.rs"]
mod turns;

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::os::unix::ffi::OsStringExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};
use touchstone_executor::{Strategy, Trap};
use turns::{CALLS, empty_calls};
use wasmedge_sys::ffi;

unsafe extern "C" fn empty(
    _: *mut c_void,
    _: *const ffi::WasmEdge_CallingFrameContext,
    _: *const ffi::WasmEdge_Value,
    _: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    ffi::WasmEdge_Result { Code: 0 }
}

type Body = Box<dyn Fn(*const ffi::WasmEdge_Value) -> Result<(), Box<Trap>>>;

unsafe extern "C" fn boxed(
    data: *mut c_void,
    _: *const ffi::WasmEdge_CallingFrameContext,
    params: *const ffi::WasmEdge_Value,
    _: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // SAFETY: `main` passed a body that lives to the end of the program.
    let body = unsafe { &*data.cast_const().cast::<Body>() };
    let failed = !matches!(catch_unwind(AssertUnwindSafe(|| body(params))), Ok(Ok(())));
    ffi::WasmEdge_Result { Code: failed.into() }
}

fn check(result: ffi::WasmEdge_Result) {
    // SAFETY: only looks at the number.
    assert!(unsafe { ffi::WasmEdge_ResultOK(result) });
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engines = touchstone_wasmedge::engines();
    let own = engines.iter().find(|engine| engine.id() == "wasmedge_aot").ok_or("no engine")?;
    let (wasm, mut own) = empty_calls(&**own, Strategy::TRACKED)?;
    let folder = tempfile::tempdir()?;
    let code = CString::new(folder.path().join("loop.so").into_os_string().into_vec())?;
    let name = |name: &'static str| {
        // SAFETY: only borrows the text.
        unsafe { ffi::WasmEdge_StringWrap(name.as_ptr().cast(), name.len() as u32) }
    };
    let body: Body = black_box(Box::new(|_| Ok(())));
    let ways: [(_, ffi::WasmEdge_HostFunc_t); 2] =
        [("a C function", Some(empty)), ("a boxed closure", Some(boxed))];
    for (against, body_of) in ways {
        // A VM would look at the clock around each host call, for its statistics.
        let (mut module, mut instance) = (null_mut(), null_mut());
        // SAFETY: body and name live to the end of the program, as does all that is made here.
        // Each pointer is of a call before.
        let (executor, f) = unsafe {
            let config = ffi::WasmEdge_ConfigureCreate();
            ffi::WasmEdge_ConfigureSetRunMode(config, ffi::WasmEdge_RunMode_AOT);
            let compiler = ffi::WasmEdge_CompilerCreate(config);
            let bytes = ffi::WasmEdge_BytesWrap(wasm.as_ptr(), u32::try_from(wasm.len())?);
            check(ffi::WasmEdge_CompilerCompileFromBytes(compiler, bytes, code.as_ptr()));
            let loader = ffi::WasmEdge_LoaderCreate(config);
            check(ffi::WasmEdge_LoaderParseFromFile(loader, &raw mut module, code.as_ptr()));
            check(ffi::WasmEdge_ValidatorValidate(ffi::WasmEdge_ValidatorCreate(config), module));
            let data = (&raw const body).cast_mut().cast();
            let ty = ffi::WasmEdge_FunctionTypeCreate(null(), 0, null(), 0);
            let function = ffi::WasmEdge_FunctionInstanceCreate(ty, body_of, data, 0);
            let host = ffi::WasmEdge_ModuleInstanceCreate(name("env"));
            ffi::WasmEdge_ModuleInstanceAddFunction(host, name("f"), function);
            let executor = ffi::WasmEdge_ExecutorCreate(config, null_mut());
            let store = ffi::WasmEdge_StoreCreate();
            check(ffi::WasmEdge_ExecutorRegisterImport(executor, store, host));
            check(ffi::WasmEdge_ExecutorInstantiate(executor, &raw mut instance, store, module));
            (executor, ffi::WasmEdge_ModuleInstanceFindFunction(instance, name("f")))
        };
        turns::compare(&format!("a million calls, against {against}"), &mut own, || {
            // SAFETY: the function takes one 32-bit number and gives nothing.
            check(unsafe {
                let calls = ffi::WasmEdge_ValueGenI32(CALLS);
                ffi::WasmEdge_ExecutorInvoke(executor, f, &raw const calls, 1, null_mut(), 0)
            });
        });
    }
    Ok(())
}
